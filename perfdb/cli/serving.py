"""Serving: show a dashboard in the foreground until someone stops it."""

import json
import os
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import typer

from perfdb.cli.dashboard_process import ANYWHERE_FREE, Place, dashboard
from perfdb.cli.state import UpState
from perfdb.errors import PerfdbError


@dataclass(frozen=True, slots=True)
class Manner:
    """How the dashboard is shown."""

    place: Place = ANYWHERE_FREE
    browser: bool = True
    as_json: bool = False
    is_demo: bool = False


def serve(home: Path, database_url: str, manner: Manner, state: UpState | None = None) -> None:
    """Show the dashboard until Ctrl-C or SIGTERM; raises ``PerfdbError`` when it ends by itself."""
    with dashboard(home, database_url, manner.place, is_demo=manner.is_demo) as (address, process):
        try:
            if state:
                state.tell(address)
            announce(address, manner)
            code = process.wait()
        except KeyboardInterrupt:
            typer.echo("stopping", err=True)
            return
    raise PerfdbError(f"the dashboard ended with exit code {code}; see {home / 'log' / 'dashboard.log'}")


def announce(address: str, manner: Manner) -> None:
    """Say where the dashboard is, and open it where there is a desktop."""
    if manner.as_json:
        typer.echo(json.dumps({"address": address, "pid": os.getpid()}))
    else:
        typer.echo(f"perfdb is at {address}   (Ctrl-C stops it)")
    has_desktop = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if manner.browser and has_desktop:
        webbrowser.open(address)
