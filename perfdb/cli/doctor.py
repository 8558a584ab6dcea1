"""``perfdb doctor``: what is missing on this machine, and what to do about it."""

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
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
#: Entry-point group through which other packages add verbs.
VERBS = "perfdb.verbs"
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
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
    yield from clusters_found(settings)
    yield _database(settings)
    yield proxies(os.environ)
    yield time_zone()
    yield _plugins()
    yield Finding("browser", True, "none is needed: any browser shows the dashboard, perfdb up prints its address")
    yield Finding("shell completion", True, 'for this shell: eval "$(perfdb completion bash)", or zsh, or fish')


def _added() -> Iterator[Finding]:
    for plugin in entry_points(group=PLUGINS):
        yield from plugin.load()()


def _folder(home: Path) -> Finding:
    from perfdb.store.folders import nearest_existing

    existing = nearest_existing(home)
    if os.access(existing, os.W_OK | os.X_OK):
        return Finding("state folder", True, str(home))
    return Finding("state folder", False, f"{home} cannot be written", "name another with PERFDB_HOME")


def _space(home: Path) -> Finding:
    from perfdb.store.folders import free_bytes, nearest_existing

    existing, free = nearest_existing(home), free_bytes(home)
    is_ok = free >= LEAST_FREE_BYTES
    return Finding("disk space", is_ok, f"{free / 2**30:.1f} GiB free", "" if is_ok else f"free space on {existing}")


def _dashboard() -> Finding:
    if importlib.util.find_spec("streamlit"):
        return Finding("dashboard", True, "installed")
    return Finding("dashboard", False, "not installed", "pip install 'perfdb[dashboard]'")


def _spool(settings: "Settings") -> Finding:
    from perfdb.state_folder import waiting_runs

    waiting = waiting_runs(settings.spool)
    if not waiting:
        return Finding("spool", True, "nothing waits")
    return Finding("spool", False, f"{waiting} runs wait in {settings.spool}", "perfdb ingest")


def clusters_found(settings: "Settings") -> Iterator[Finding]:
    """More than one data folder, or an unfinished upgrade: the one that is not used would be missed."""
    from perfdb.store.clusters import UPGRADING, clusters

    if settings.database_url:
        return
    found = [str(cluster.folder) for cluster in clusters(settings.home)]
    if (settings.home / UPGRADING).exists():
        yield Finding("data folder", False, f"an upgrade in {settings.home} is not finished", "perfdb db upgrade")
    elif len(found) > 1:
        action = "move aside, or remove, those that you do not need: only the one of the version at hand is used"
        yield Finding("data folder", False, f"there are {len(found)}: {', '.join(found)}", action)
    else:
        yield Finding("data folder", True, found[0] if found else "none yet")


def proxies(environment: Mapping[str, str]) -> Finding:
    """Whether a proxy would catch what this machine says to itself; perfdb itself goes past it."""
    named = [name for name in PROXIES if environment.get(name) or environment.get(name.upper())]
    spared = f"{environment.get('no_proxy', '')},{environment.get('NO_PROXY', '')}"
    if not named or "*" in spared or all(host in spared for host in ("127.0.0.1", "localhost")):
        return Finding("proxy", True, "loopback goes past it" if named else "none")
    text = f"{', '.join(named)} would catch 127.0.0.1 in a browser or curl that you start"
    return Finding("proxy", False, text, "export no_proxy=127.0.0.1,localhost", is_advice=True)


def time_zone() -> Finding:
    """The machine's zone and locale; times are kept in UTC and text in UTF-8, whatever they are."""
    name = datetime.now().astimezone().tzname() or "unknown"
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        text = f"zone {name}; the terminal takes {encoding}, so some signs cannot be shown"
        return Finding("locale", False, text, "export LC_ALL=C.UTF-8", is_advice=True)
    return Finding("locale", True, f"zone {name}, {encoding}; stored times are UTC")


def _plugins() -> Finding:
    added = sorted({found.name for found in entry_points(group=VERBS)})
    if "run" in added:
        return Finding("plugins", True, f"verbs added: {', '.join(added)}")
    return Finding("plugins", False, "no package adds `perfdb run`", "install perfdb again: pip install perfdb")


def _database(settings: "Settings") -> Finding:
    from perfdb.database import database_address, open_migrated
    from perfdb.errors import StoreError
    from perfdb.store.migrations import newest_revision

    try:
        with open_migrated(settings) as engine, engine.connect() as connection:
            version = connection.exec_driver_sql("SHOW server_version").scalar()
    except StoreError as error:
        seen, _, action = str(error).rpartition("; ")
        return Finding("database", False, seen or str(error), action)
    text = f"PostgreSQL {version}, revision {newest_revision()}, {database_address(settings)}"
    return Finding("database", True, text)
