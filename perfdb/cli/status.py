"""``perfdb status``: what runs, where it lies, and how much there is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.settings import Settings


def status(as_json: JsonOption = False) -> None:
    """Say what runs, where state lies, how large it is, and what waits in the spool.

    Example: perfdb status
    """
    from perfdb.settings import load_settings

    facts = _facts(load_settings())
    if as_json:
        print_json(facts)
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' '):<{width}}  {value if value is not None else '-'}")


def _facts(settings: "Settings") -> dict[str, Any]:
    from perfdb.cli.state import UpState
    from perfdb.database import database_address, open_database
    from perfdb.errors import StoreError
    from perfdb.spool import SUFFIX
    from perfdb.store.migrations import newest_revision, revision
    from perfdb.store.runs import summary_counts

    running = UpState(settings.home).running()
    facts: dict[str, Any] = {
        "up": f"pid {running.pid}" if running else "not running",
        "dashboard": running.address or "starting" if running else "not running",
        "state_folder": str(settings.home),
        "state_size_mib": round(folder_bytes(settings.home) / 2**20, 1),
        "logs": str(settings.logs),
        "spool": str(settings.spool),
        "waiting_runs": len(list(settings.spool.glob(f"*{SUFFIX}"))),
        "database": database_address(settings),
    }
    try:
        with open_database(settings, migrate=False) as engine, engine.connect() as connection:
            now = revision(connection)
            facts |= {"database_version": connection.exec_driver_sql("SHOW server_version").scalar(), "revision": now}
            if now == newest_revision():
                counts = summary_counts(connection)
                facts |= {"runs": counts.runs, "series": counts.series, "measurements": counts.measurements}
                facts["newest_run"] = counts.newest_run.isoformat() if counts.newest_run else None
    except StoreError as error:
        facts["database_problem"] = str(error)
    return facts


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below ``folder``; what vanishes or may not be read meanwhile counts as 0."""
    total = 0
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total
