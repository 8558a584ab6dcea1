"""``perfdb doctor``: what is missing on this machine, and what to do about it."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from perfdb.cli.options import JsonOption, print_json
from perfdb.domain.finding import Finding

if TYPE_CHECKING:
    from perfdb.settings import Settings

#: Entry-point group through which other packages add findings.
PLUGINS = "perfdb.doctor"
LEAST_FREE_BYTES = 2 * 2**30


def doctor(as_json: JsonOption = False) -> None:
    """Look at what perfdb needs on this machine and say what to do about what is missing. Exits with 1 if anything is.

    Example: perfdb doctor
    """
    from perfdb.cli.screen import console
    from perfdb.reports.encoding import encoded
    from perfdb.reports.terminal import findings_table
    from perfdb.settings import load_settings

    findings = [*_own(load_settings()), *_added()]
    if as_json:
        print_json({"findings": encoded(findings)})
    else:
        console().print(findings_table(findings))
    if not all(finding.is_ok or finding.is_advice for finding in findings):
        raise typer.Exit(1)


def _own(settings: "Settings") -> Iterator[Finding]:
    yield Finding("python", True, sys.version.split()[0])
    yield _folder(settings.home)
    yield _space(settings.home)
    yield _dashboard()
    yield _spool(settings)
    yield _database(settings)


def _added() -> Iterator[Finding]:
    for plugin in entry_points(group=PLUGINS):
        yield from plugin.load()()


def _folder(home: Path) -> Finding:
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if os.access(existing, os.W_OK | os.X_OK):
        return Finding("state folder", True, str(home))
    return Finding("state folder", False, f"{home} cannot be written", "name another with PERFDB_HOME")


def _space(home: Path) -> Finding:
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    is_ok = free >= LEAST_FREE_BYTES
    return Finding("disk space", is_ok, f"{free / 2**30:.1f} GiB free", "" if is_ok else f"free space on {existing}")


def _dashboard() -> Finding:
    if importlib.util.find_spec("streamlit"):
        return Finding("dashboard", True, "installed")
    return Finding("dashboard", False, "not installed", "pip install 'perfdb[dashboard]'")


def _spool(settings: "Settings") -> Finding:
    waiting = len(list(settings.spool.glob("*.jsonl")))
    if not waiting:
        return Finding("spool", True, "nothing waits")
    return Finding("spool", False, f"{waiting} runs wait in {settings.spool}", "perfdb ingest")


def _database(settings: "Settings") -> Finding:
    from perfdb.database import database_address, open_migrated
    from perfdb.errors import StoreError

    try:
        with open_migrated(settings) as engine, engine.connect() as connection:
            version = connection.exec_driver_sql("SHOW server_version").scalar()
    except StoreError as error:
        seen, _, action = str(error).rpartition("; ")
        return Finding("database", False, seen or str(error), action)
    return Finding("database", True, f"PostgreSQL {version}, {database_address(settings)}")
