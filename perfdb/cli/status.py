"""``perfdb status``: what runs, where it lies, and how much there is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.settings import Settings


def status(as_json: JsonOption = False) -> None:
    """Say what runs, where state lies and how large it is, what waits in the spool, and what the database holds.

    Example: perfdb status
    """
    from perfdb.settings import load_settings

    settings = load_settings()
    facts = _running(settings) | _files(settings) | _versions() | _database(settings)
    if as_json:
        print_json(facts)
        return
    lines = [line for name in facts if name != "estimated" for line in lines_of(name, facts)]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        typer.echo(f"{name:<{width}}  {value}")


def lines_of(name: str, facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A fact as people read it: a name and a value, or several of a kind."""
    spoken, value = name.replace("_", " "), facts[name]
    if name in ("folders", "logs"):
        return [(each["name"], f"{each['path']}  {each['size_mib']:,.1f} MiB") for each in value]
    if name == "set_aside_runs":
        return [(f"{spoken} in {folder}", f"{many:,}") for folder, many in value.items()]
    if name in facts.get("estimated", ()):
        return [(spoken, f"about {rounded(value)}")]
    return [(spoken, "-" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value))]


def _running(settings: "Settings") -> dict[str, Any]:
    from perfdb.cli.state import UpState
    from perfdb.database import database_address

    running = UpState(settings.home).running()
    return {
        "up": f"pid {running.pid}" if running else "not running",
        "dashboard": running.address or "starting" if running else "not running",
        "database": database_address(settings),
    }


def _files(settings: "Settings") -> dict[str, Any]:
    from perfdb.state_folder import log_files, parts, set_aside_runs, waiting_runs
    from perfdb.store.folders import free_bytes, size_of

    home = settings.home
    folders = [_sized(part.path.name, part.path, part.size_bytes) for part in parts(home) if part.path.is_dir()]
    return {
        "state_folder": str(home),
        "state_size_mib": _mib(size_of(home)),
        "disk_free_gib": round(free_bytes(home) / 2**30, 1),
        "folders": folders,
        "logs": [_sized(part.path.name, part.path, part.size_bytes) for part in log_files(home)],
        "spool": str(settings.spool),
        "waiting_runs": waiting_runs(settings.spool),
        "set_aside_runs": set_aside_runs(settings.spool),
    }


def _versions() -> dict[str, Any]:
    import platform
    from importlib.metadata import version

    return {"perfdb": version("perfdb"), "python": platform.python_version()}


def _database(settings: "Settings") -> dict[str, Any]:
    from perfdb.database import open_database
    from perfdb.errors import StoreError
    from perfdb.store.engine import address, rendered
    from perfdb.store.migrations import newest_revision, revision
    from perfdb.store.sizes import store_size

    facts: dict[str, Any] = {}
    try:
        with open_database(settings, migrate=False) as engine, engine.connect() as connection:
            now = revision(connection)
            facts["database_address"] = address(rendered(engine.url))
            facts["postgresql"] = connection.exec_driver_sql("SHOW server_version").scalar()
            facts |= {"revision": now, "newest_revision": newest_revision()}
            if now == newest_revision():
                size = store_size(connection)
                facts |= {"database_size_mib": _mib(size.size_bytes), "partitions": size.partitions}
                facts |= {name: found.rows for name, found in size.tables.items()}
                facts["estimated"] = [name for name, found in size.tables.items() if not found.is_exact]
                facts["newest_run"] = size.newest_run.isoformat() if size.newest_run else None
    except StoreError as error:
        facts["database_problem"] = str(error)
    return facts


def rounded(rows: int) -> str:
    """``5.0 M``, ``230 k``."""
    return f"{rows / 1e6:.1f} M" if rows >= 1_000_000 else f"{rows / 1e3:.0f} k"


def _sized(name: str, path: Path, size_bytes: int) -> dict[str, Any]:
    return {"name": name, "path": str(path), "size_mib": _mib(size_bytes)}


def _mib(size_bytes: int) -> float:
    return round(size_bytes / 2**20, 1)
