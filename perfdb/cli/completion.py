"""``perfdb completion``: what a shell needs to complete verbs and options."""

from enum import StrEnum
from typing import Annotated

import typer

from perfdb.cli.entry import COMPLETING


class Shell(StrEnum):
    """A shell that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
    """Print a script that completes perfdb's verbs, options and their values in a shell; it starts nothing.

    Bash: add `eval "$(perfdb completion bash)"` to ~/.bashrc. Zsh: the same with zsh, in ~/.zshrc. Fish:
    `perfdb completion fish > ~/.config/fish/completions/perfdb.fish`.

    Example: perfdb completion bash
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="perfdb", complete_var=COMPLETING, shell=shell.value))
