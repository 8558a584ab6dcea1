"""Entry: the ``perfdb`` command. Verbs are loaded when they are needed; other packages add theirs by entry points."""

import importlib
import io
import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NoReturn

import typer
from typer import _click as click  # typer carries its own click; the installed one is another class tree
from typer.core import TyperGroup

from perfdb.errors import PerfdbError

VERBS = {
    "up": "perfdb.cli.up:up",
    "down": "perfdb.cli.down:down",
    "status": "perfdb.cli.status:status",
    "doctor": "perfdb.cli.doctor:doctor",
    "compare": "perfdb.cli.compare:compare",
    "history": "perfdb.cli.history:history",
    "list": "perfdb.cli.listing:list_nouns",
    "ingest": "perfdb.cli.ingest:ingest",
    "demo": "perfdb.cli.demo:demo",
    "db": "perfdb.cli.db:commands",
    "purge": "perfdb.cli.purge:purge",
    "completion": "perfdb.cli.completion:completion",
}
#: Entry-point group through which other packages add verbs: a name and a function.
PLUGINS = "perfdb.verbs"
#: In the order of a first hour, not of the alphabet.
ORDER = ("up", "down", "run", "compare", "history", "list", "status", "doctor", "ingest", "demo", "db", "purge")
INTERRUPTED = 130
#: A shell that completes runs perfdb with this variable; see ``perfdb completion``.
COMPLETING = "_PERFDB_COMPLETE"
OS_ACTION = "free space or fix the rights there, or name another state folder with PERFDB_HOME, then repeat the command"


class Verbs(TyperGroup):
    """Loads a verb's module when the verb is used or listed; those modules import nothing heavy at their top."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, built in or added."""
        known = {*VERBS, *_plugins()}
        return [verb for verb in ORDER if verb in known] + sorted(known - set(ORDER))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, or None for an unknown one; the name is click's."""
        if cmd_name in VERBS:
            module, _, name = VERBS[cmd_name].partition(":")
            return command_of(cmd_name, getattr(importlib.import_module(module), name))
        return plugin(cmd_name)


def plugin(verb: str) -> click.Command | None:
    """A verb that another package adds."""
    found = _plugins().get(verb)
    return command_of(verb, found.load()) if found else None


def command_of(verb: str, verb_function: Callable[..., Any] | typer.Typer) -> click.Command:
    """A command from a function whose docstring ends in ``Example: ...``, which its help then ends in too."""
    if isinstance(verb_function, typer.Typer):
        return typer.main.get_command(verb_function)
    text, _, example = (verb_function.__doc__ or "").partition("Example:")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        verb,
        help=text.strip(),
        short_help=text.strip().partition("\n\n")[0].replace("\n", " "),
        epilog=f"Example: {example.strip()}" if example else None,
        context_settings=PASS_THROUGH if verb == "list" else None,
    )(verb_function)
    return typer.main.get_command(app)


#: ``list`` hands what it does not know to the package that declares benchmarks.
PASS_THROUGH = {"ignore_unknown_options": True, "allow_extra_args": True}


def main() -> NoReturn:
    """Run the command line and exit: 0 fine, 1 an error a person can fix, 2 usage, 3 what --fail-on asked for."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a sign that the terminal cannot show is no reason to fail
    sys.exit(exit_code(sys.argv[1:]))


def exit_code(arguments: list[str]) -> int:
    """Run a command; every error that a person can fix is one line on standard error."""
    if COMPLETING in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        returned = _group().main(arguments, prog_name="perfdb", standalone_mode=False)
    except click.exceptions.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except PerfdbError as error:
        sys.stderr.write(f"perfdb: {error}\n")
        return 1
    except BrokenPipeError:
        # whoever read our output has gone; the interpreter must not try to flush the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        sys.stderr.write(f"perfdb: {error.filename or 'the system'} says: {error.strerror}; {OS_ACTION}\n")
        return 1
    return returned if isinstance(returned, int) else 0


def _group() -> click.Command:
    app = typer.Typer(
        cls=Verbs,
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        epilog="Example: perfdb up",
        help="Tracks the speed of GPU code over time: what got slower, since which commit, on which hardware, and why.",
    )

    @app.callback()
    def perfdb(
        version: bool = typer.Option(False, "--version", help="Print the version and exit.", callback=_show_version),
    ) -> None:
        pass

    return typer.main.get_command(app)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"perfdb {version('perfdb')}")
        raise typer.Exit


def _plugins() -> dict[str, Any]:
    return {found.name: found for found in entry_points(group=PLUGINS)}
