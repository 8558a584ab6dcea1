"""``perfdb up``: database, one run of this machine, dashboard; in the foreground until Ctrl-C."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.cli.options import JsonOption, PortOption

if TYPE_CHECKING:
    from perfdb.cli.serving import Manner
    from perfdb.cli.state import UpState
    from perfdb.settings import Settings

INTERRUPTED = 130


def up(
    measure: Annotated[bool, typer.Option("--measure/--no-measure", help="Measure this machine first.")] = True,
    suite: Annotated[str, typer.Option(help="The suite to measure.")] = "smoke",
    port: PortOption = None,
    listen: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the dashboard listens.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it where there is a desktop.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Start the database, measure this machine at this commit, judge the run, and show the dashboard.

    It stays in the foreground. Ctrl-C stops what it started and loses nothing; run again, it adds a run.

    Example: perfdb up --no-measure --port 8600
    """
    from perfdb.cli.children import stoppable
    from perfdb.cli.dashboard_process import Place, free_port, refuse_missing
    from perfdb.cli.serving import Manner
    from perfdb.cli.state import UpState
    from perfdb.settings import load_settings

    settings = load_settings()
    refuse_missing()
    place = Place(port or settings.dashboard_port, listen)
    manner = Manner(place, browser, as_json)
    state = UpState(settings.home)
    with stoppable(), state.claim() as is_first:
        if is_first and place.port:
            free_port(place.port)
        _up(settings, manner, state if is_first else None, suite if measure else None)


def _up(settings: "Settings", manner: "Manner", state: "UpState | None", suite: str | None) -> None:
    from perfdb.cli.serving import serve
    from perfdb.database import database_address, database_url
    from perfdb.store.engine import address, explained, open_engine
    from perfdb.store.migrations import migrate

    typer.echo(f"database: {database_address(settings)}", err=True)
    with database_url(settings) as url:
        engine = open_engine(url)
        with explained(address(url)):
            migrate(engine)
        engine.dispose()
        measured = _measure(suite, settings.home) if suite else 0
        if measured:
            typer.echo(f"measuring ended with exit code {measured}; the dashboard shows what there is", err=True)
        if state is not None:
            serve(settings.home, url, manner, state)
    if state is None:
        _point_to_running(settings.home)
        raise typer.Exit(measured)


def _measure(suite: str, home: Path) -> int:
    """Run the suite as a child, so that it can be stopped as one; gives its exit code."""
    from perfdb.cli.children import child

    command = [sys.executable, "-P", "-m", "perfdb", "run", suite]
    try:
        with child(command, folder=Path.cwd(), environment={"PERFDB_HOME": str(home)}) as process:
            return process.wait()
    except KeyboardInterrupt:
        typer.echo("stopped while measuring; what was measured is kept", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _point_to_running(home: Path) -> None:
    from perfdb.cli.state import UpState

    running = UpState(home).running()
    where = running.address if running and running.address else "starting"
    typer.echo(f"perfdb is already up: {where}")
