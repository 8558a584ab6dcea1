"""Backup: a database written to one file, and the proof that the file can be restored."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from perfdb.errors import StoreError
from perfdb.store.binaries import find_binaries
from perfdb.store.contents import Contents, contents, contents_at, refuse_difference
from perfdb.store.dump_programs import DumpPrograms, programs_for_dump, programs_for_restore
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import address, explained, open_engine
from perfdb.store.folders import persist_names, remove_folder
from perfdb.store.scratch import ScratchRefusedError, scratch_database

UNFINISHED = ".perfdb-unfinished"
#: A cluster for one test of a backup, below the state folder.
CHECKING = "checking"


@dataclass(frozen=True, slots=True)
class Place:
    """The state folder, and the folder of PostgreSQL's programs that a person chose, if one did."""

    home: Path
    programs: Path | None = None


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup; ``rows`` is None and ``tested`` is "" when it was not restored for a test."""

    file: Path
    database: str
    revision: str | None
    size_bytes: int
    tables: int | None
    rows: int | None
    tested: str


def back_up(url: str, file: Path, place: Place, *, verify: bool = True) -> Backup:
    """Write the database at ``url`` to a new file, which appears under its name only once it is whole and tested.

    Raises ``StoreError`` when the file exists, when no pg_dump fits the server, or when the test fails.
    """
    _refuse_existing(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(file.parent)
    with _aside(file) as (unfinished, descriptor):
        original = _dump(url, unfinished, place, descriptor, verify=verify)
        tested = prove(url, unfinished, original, place) if verify else ""
        size = unfinished.stat().st_size
        _publish(unfinished, file)
    tables, rows = (len(original.rows), original.total) if verify else (None, None)
    return Backup(file, address(url), original.revision, size, tables, rows, tested)


def prove(url: str, file: Path, original: Contents, place: Place) -> str:
    """Restore a backup beside its database, or into a cluster of its own, compare, and say where that was.

    Raises ``StoreError`` when what was restored differs, or when there is no place to restore it to.
    """
    try:
        programs = _restoring(url, place)
        with scratch_database(url, "check") as own:
            _compare(file, own, original, programs)
    except ScratchRefusedError:
        with temporary_cluster(place) as own:
            _compare(file, own, original, _restoring(own, place))
        return "a PostgreSQL of its own"
    return "a scratch database of the same server"


@contextmanager
def temporary_cluster(place: Place) -> Iterator[str]:
    """The address of an embedded server that lasts as long as the context; what a killed process left is removed."""
    home = place.home / CHECKING
    server = EmbeddedServer(home, find_binaries(place.home, place.programs))
    if (home / "server.json").exists():
        server.stop()
    remove_folder(home)
    try:
        with server.use() as url:
            yield url
    finally:
        remove_folder(home)


def server_major(connection: Connection) -> int:
    """The server's major version."""
    return int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000


def _dump(url: str, file: Path, place: Place, descriptor: int, *, verify: bool) -> Contents:
    """Dump and count in one snapshot, so that runs that arrive meanwhile are in neither."""
    engine = open_engine(url)
    try:
        with (
            explained(address(url)),
            engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection,
        ):
            snapshot = str(connection.scalar(text("SELECT pg_export_snapshot()")))
            programs = programs_for_dump(server_major(connection), place.programs)
            programs.dump(url, file, snapshot=snapshot, held=descriptor)
            return contents(connection) if verify else Contents(programs.revision_of(file), {})
    finally:
        engine.dispose()


def _restoring(url: str, place: Place) -> DumpPrograms:
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            return programs_for_restore(server_major(connection), place.programs)
    finally:
        engine.dispose()


def _compare(file: Path, own: str, original: Contents, programs: DumpPrograms) -> None:
    programs.restore(file, own)
    refuse_difference(original, contents_at(own), "the backup, restored for a test,")


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise StoreError(f"{file} exists, and a backup overwrites nothing; name another file, or remove it first")


@contextmanager
def _aside(file: Path) -> Iterator[tuple[Path, int]]:
    """A file to write to beside ``file``, locked as long as we or the pg_dump that we started live."""
    unfinished = file.with_name(f".{file.name}{UNFINISHED}")
    with unfinished.open("ab") as opened:
        os.fchmod(opened.fileno(), 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another backup writes {file}; wait for it, or name another file") from None
        try:
            yield unfinished, opened.fileno()
        finally:
            unfinished.unlink(missing_ok=True)


def _publish(unfinished: Path, file: Path) -> None:
    """Make the backup durable, then visible; a name that appeared meanwhile is left alone."""
    with unfinished.open("rb") as written:
        os.fsync(written.fileno())
    try:
        file.hardlink_to(unfinished)
    except FileExistsError:
        _refuse_existing(file)
    unfinished.unlink()
    persist_names(file.parent)


def _remove_left_over(folder: Path) -> None:
    """What killed backups wrote aside; those being written are locked."""
    for path in folder.glob(f".*{UNFINISHED}"):
        with path.open("ab") as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            path.unlink(missing_ok=True)
