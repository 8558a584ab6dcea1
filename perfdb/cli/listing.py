"""``perfdb list``: runs and series of the store; what the code declares is listed by the package that measures."""

from typing import Annotated

import typer

from perfdb.cli.options import JsonOption, RepositoryOption, print_json
from perfdb.errors import SelectionError

STORED = ("runs", "series")


def list_nouns(
    ctx: typer.Context,
    noun: Annotated[str, typer.Argument(metavar="runs|series|suites|benchmarks|cases", help="What to list.")],
    repository: RepositoryOption = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many runs.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List runs and series that are stored, or suites, benchmarks and cases that the code declares.

    The latter three take [SUITE|FILE.py], --repo DIR and --filter axis=value too.

    Example: perfdb list runs --limit 5
    """
    if noun not in STORED:
        _list_declared(ctx, noun, as_json=as_json)
        return
    if ctx.args:
        raise typer.BadParameter(f"perfdb list {noun} takes no {ctx.args[0]}")
    _list_stored(noun, repository, limit, as_json=as_json)


def _list_stored(noun: str, repository: str | None, limit: int, *, as_json: bool) -> None:
    from perfdb.cli.screen import console
    from perfdb.database import open_migrated
    from perfdb.reports.encoding import encoded
    from perfdb.reports.terminal import runs_table, series_table
    from perfdb.settings import load_settings
    from perfdb.store.history import catalogue
    from perfdb.store.runs import recent_runs

    with open_migrated(load_settings()) as engine, engine.connect() as connection:
        if noun == "runs":
            runs = recent_runs(connection, repository=repository, limit=limit)
            table, rows = runs_table(runs), encoded(runs)
        else:
            every = catalogue(connection, repository=repository)
            table, rows = series_table(every), encoded(every)
    if as_json:
        print_json({noun: rows})
    elif rows:
        console().print(table)
    else:
        typer.echo(f"There are no {noun} yet. Measure this machine with: perfdb run smoke")


def _list_declared(ctx: typer.Context, noun: str, *, as_json: bool) -> None:
    from perfdb.cli.entry import plugin

    command = plugin("list")
    if command is None or noun not in ("suites", "benchmarks", "cases"):
        known = STORED if command is None else (*STORED, "suites", "benchmarks", "cases")
        raise SelectionError.no_match("noun", noun, known, "perfdb list --help")
    arguments = [noun, *ctx.args, *(["--json"] if as_json else [])]
    command.main(arguments, prog_name="perfdb list", standalone_mode=False)
