"""Upgrade: the embedded data folder of an older PostgreSQL brought to the version at hand, the old folder kept.

The work is done in ``upgrading/`` below the state folder; the old folder is only read until the new one is whole and
compared. Killed before that, a second upgrade begins anew; killed after it, it finishes the renames. The old server
runs under ``upgrading/old``, where a link leads to its data folder, so that each server has its own ``server.json``.
"""

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import make_url, text

from perfdb.errors import EmbeddedError, StoreError
from perfdb.store.binaries import Binaries, server_account
from perfdb.store.clusters import UPGRADING, Cluster, clusters, other_major
from perfdb.store.contents import Contents, contents_at, refuse_difference
from perfdb.store.dump_programs import programs_for_dump, programs_for_restore
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import open_engine, rendered, sibling_database
from perfdb.store.folders import free_bytes, persist_names, remove_folder, size_of

STATE = "server.json"
#: Databases that initdb makes.
INITIAL = ("postgres", "template0", "template1")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Names of data folders in the state folder: the old one, what it is called afterwards, and the new one."""

    old: str
    kept: str
    new: str


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A finished upgrade; ``rows`` is None when an earlier, killed one had counted them."""

    old_major: int
    major: int
    kept: Path
    databases: tuple[str, ...]
    rows: int | None


def upgrade(home: Path, binaries: Binaries, old_programs: Callable[[int], Binaries], tell: Tell) -> Upgraded | None:
    """Bring the data folder in ``home`` to the major version of ``binaries``; None when it is there already.

    ``old_programs`` finds the programs of the old version; ``tell`` hears each step. Raises ``StoreError`` when the
    data cannot be brought over; then the old folder is as it was.
    """
    with _alone(home):
        work = home / UPGRADING
        plan = _read_plan(work)
        if plan and not (home / plan.old).exists():
            return _finish(home, plan, (), None)
        cluster = _outdated(home, binaries)
        if cluster is None:
            if clusters(home):
                remove_folder(work)
            return None
        old = EmbeddedServer(work / "old", old_programs(cluster.major))
        new = EmbeddedServer(work / "new", binaries)
        _begin_anew(work, old, new)
        plan = _plan(home, cluster, binaries)
        _refuse_small_disk(home, cluster)
        _prepare(home, work, plan)
        databases, rows = _copy(work, old, new, tell)
        return _finish(home, plan, databases, rows)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep every other perfdb process off the server. Raises ``EmbeddedError`` while one uses it."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "server.lock").open("a") as users:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EmbeddedError(
                f"another perfdb process uses the database in {home}; stop it with perfdb down, then repeat the command"
            ) from None
        yield


def _outdated(home: Path, binaries: Binaries) -> Cluster | None:
    """The newest data folder, if it is older than the programs. Raises ``EmbeddedError`` if it is newer."""
    found = clusters(home)
    if not found or any(cluster.major == binaries.major for cluster in found):
        return None
    if found[-1].major > binaries.major:
        raise EmbeddedError(other_major(found[-1], binaries))
    return found[-1]


def _plan(home: Path, cluster: Cluster, binaries: Binaries) -> Plan:
    kept = f"{cluster.folder.name}.kept-{datetime.now(UTC):%Y%m%d}"
    taken = len(list(home.glob(f"{kept}*")))
    return Plan(cluster.folder.name, f"{kept}-{taken + 1}" if taken else kept, f"pg{binaries.major}")


def _refuse_small_disk(home: Path, cluster: Cluster) -> None:
    """The copy and the dump together are never larger than twice the old folder."""
    needed, free = 2 * size_of(cluster.folder), free_bytes(home)
    if free < needed:
        raise EmbeddedError(
            f"the upgrade may need {needed / 2**20:,.0f} MiB beside {cluster.folder}, and {free / 2**20:,.0f} MiB are "
            "free; free space, then repeat the command"
        )


def _begin_anew(work: Path, *servers: EmbeddedServer) -> None:
    """Stop what a killed upgrade left running, and remove what it had made."""
    for server in servers:
        if (server.home / STATE).exists():
            server.stop()
    remove_folder(work)


def _prepare(home: Path, work: Path, plan: Plan) -> None:
    """The folders to work in, which PostgreSQL's user can pass, and the plan that a second upgrade follows."""
    for folder in (work, work / "old", work / "new"):
        folder.mkdir()
        folder.chmod(0o711 if server_account() else 0o700)
    (work / "old" / plan.old).symlink_to(home / plan.old)
    shutil.copy2(home / STATE, work / "old" / STATE)
    unfinished = work / "plan.new"
    unfinished.write_text(json.dumps(asdict(plan)))
    unfinished.rename(work / "plan.json")
    persist_names(work)


def _copy(work: Path, old: EmbeddedServer, new: EmbeddedServer, tell: Tell) -> tuple[tuple[str, ...], int]:
    """Bring every database over, and compare each."""
    tell(f"starting PostgreSQL {old.binaries.major} and {new.binaries.major}")
    with old.use() as before, new.use() as after:
        names = _databases(before)
        rows = 0
        for name in names:
            tell(f"copying the database {name}")
            rows += _copy_database(work, _named(before, name), sibling_database(after, name), new.binaries).total
    _refuse_running(old, new)
    return names, rows


def _refuse_running(*servers: EmbeddedServer) -> None:
    """A data folder that a server still writes to must not be renamed."""
    for server in servers:
        if server.is_running():
            raise EmbeddedError(
                f"the server of {server.data} did not stop; its log is {server.log}; repeat the command"
            )


def _copy_database(work: Path, source: str, target: str, binaries: Binaries) -> Contents:
    file = work / "database.dump"
    programs_for_dump(binaries.major, binaries.folder).dump(source, file)
    programs_for_restore(binaries.major, binaries.folder).restore(file, target)
    file.unlink()
    original = contents_at(source)
    refuse_difference(original, contents_at(target), "the new data folder")
    return original


def _databases(url: str) -> tuple[str, ...]:
    query = text("SELECT datname FROM pg_database WHERE datname <> ALL(:initial) AND NOT datistemplate ORDER BY 1")
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            return tuple(connection.scalars(query, {"initial": list(INITIAL)}))
    finally:
        engine.dispose()


def _named(url: str, database: str) -> str:
    return rendered(make_url(url).set(database=database))


def _finish(home: Path, plan: Plan, databases: tuple[str, ...], rows: int | None) -> Upgraded:
    """Put the new folder in the old one's place; each step is left out when it was done before.

    Until the old folder has its new name an upgrade begins anew, from then on it only goes forward.
    """
    work, old, kept, new = home / UPGRADING, home / plan.old, home / plan.kept, home / plan.new
    made = work / "new" / plan.new
    if old.exists():
        old.rename(kept)
        persist_names(home)
    if (work / "old" / STATE).exists():
        shutil.copy2(work / "old" / STATE, kept / STATE)  # its password, for whoever opens it again
    if made.exists():
        shutil.copy2(work / "new" / STATE, home / "server.new")
        (home / "server.new").rename(home / STATE)
        made.rename(new)
        persist_names(home)
    if not (new / "PG_VERSION").exists():
        raise StoreError(f"{new} is missing after the upgrade; rename {kept} to {old.name}, then repeat the command")
    remove_folder(work)
    return Upgraded(int(plan.old[2:]), int(plan.new[2:]), kept, databases, rows)


def _read_plan(work: Path) -> Plan | None:
    try:
        return Plan(**json.loads((work / "plan.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
