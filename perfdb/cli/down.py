"""``perfdb down``: stop what runs."""

import os
import signal
import time
from typing import TYPE_CHECKING

import typer

from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.cli.state import UpState

#: ``up`` gives its children half a minute to store what they have.
PATIENCE_S = 45.0


def down(as_json: JsonOption = False) -> None:
    """Stop `perfdb up`, its dashboard, and the embedded PostgreSQL; fine when nothing runs.

    Example: perfdb down
    """
    from perfdb.cli.state import UpState
    from perfdb.database import embedded_server
    from perfdb.settings import load_settings

    settings = load_settings()
    stopped = []
    if _stop_up(UpState(settings.home)):
        stopped.append("perfdb up")
    if (settings.home / "server.json").exists() and embedded_server(settings).stop():
        stopped.append("embedded PostgreSQL")
    if as_json:
        print_json({"stopped": stopped})
    else:
        typer.echo(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running")


def _stop_up(state: "UpState") -> bool:
    running = state.running()
    if running is None:
        return False
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_S
    while state.running() is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    return True
