"""Asking: a question before what cannot be taken back; without a terminal there is no answer, so it is refused."""

import sys
from typing import Annotated

import typer

from perfdb.errors import PerfdbError

YesOption = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


def confirm(question: str, *, yes: bool) -> bool:
    """Whether to go on. Raises ``PerfdbError`` where nobody can be asked."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise PerfdbError(f"{question.rstrip('?')}? There is no terminal to ask at; add --yes, or run it at one")
    return typer.confirm(question, err=True)
