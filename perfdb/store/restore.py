"""Restore: a database filled from a backup, made beside the old one and put in its place at the end."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from perfdb.errors import StoreError
from perfdb.store.backup import Place, server_major
from perfdb.store.contents import Contents, contents
from perfdb.store.dump_programs import DumpPrograms, programs_for_restore
from perfdb.store.engine import address, explained, open_engine, parse_url
from perfdb.store.migrations import knows_revision, migrate, newest_revision
from perfdb.store.scratch import scratch_database, server_connection


@dataclass(frozen=True, slots=True)
class Restored:
    """A finished restore: where to, what the backup held, and the rows that it replaced."""

    file: Path
    database: str
    backup_revision: str
    revision: str
    rows: int
    replaced_rows: int


def rows_in(url: str) -> int:
    """How many rows the database holds, so that whoever replaces it knows."""
    engine = open_engine(url)
    try:
        with explained(address(url)), engine.connect() as connection:
            return contents(connection).total
    finally:
        engine.dispose()


def restore(url: str, file: Path, place: Place, *, replace: bool = False) -> Restored:
    """Fill the database at ``url`` from a backup and bring it to this code's revision.

    All of that happens in a new database beside it; only then do the two swap names, in one transaction, and the old
    one is dropped. So whatever goes wrong before leaves the old one as it was. Raises ``StoreError`` when the file
    is no backup or one of a newer perfdb, when the database holds rows and may not be replaced, or is in use.
    """
    programs, before = _look(url, place)
    known = _known_revision(file, programs)
    if before.rows and before.revision is None:
        raise StoreError(
            f"the database at {address(url)} holds tables that are none of perfdb's; make a database for perfdb alone "
            "and name it with PERFDB_DATABASE_URL"
        )
    if before.total and not replace:
        raise StoreError(
            f"the database at {address(url)} holds {before.total:,} rows; restore into an empty one, or replace it "
            "with perfdb db restore --replace"
        )
    refuse_other_sessions(url)
    with scratch_database(url, "restore") as own:
        programs.restore(file, own)
        restored = _migrated(own)
        swap_names(url, own)
    return Restored(file, address(url), known, str(restored.revision), restored.total, before.total)


def refuse_other_sessions(url: str) -> None:
    """Raise ``StoreError`` while someone else is connected to the database."""
    query = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = :name AND coalesce(backend_type, 'client backend') = 'client backend'
    """
    with server_connection(url) as connection:
        others = connection.scalar(text(query), {"name": parse_url(url).database}) or 0
    if others:
        raise StoreError(
            f"someone else uses the database at {address(url)} (sessions: {others}); end that (perfdb down on each "
            "machine that has it open), then repeat the command"
        )


def swap_names(url: str, own: str) -> None:
    """Give two databases of a server each other's name, both or neither."""
    first, second = str(parse_url(url).database), str(parse_url(own).database)
    between = f"{second}_swap"
    renames = ((first, between), (second, first), (between, second))
    with server_connection(url) as connection:
        mark = connection.scalar(
            text("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = :name"),
            {"name": second},
        )
        try:
            connection.exec_driver_sql("BEGIN")
            for before, after in renames:
                connection.exec_driver_sql(f'ALTER DATABASE "{before}" RENAME TO "{after}"')
            connection.exec_driver_sql(f'COMMENT ON DATABASE "{first}" IS NULL')
            connection.exec_driver_sql(f"COMMENT ON DATABASE \"{second}\" IS '{mark}'")
            connection.exec_driver_sql("COMMIT")
        except (OperationalError, ProgrammingError) as error:
            raise StoreError(
                f"the database at {address(url)} was left as it was, for the new one could not take its name: "
                f"{str(error.orig).splitlines()[0]}; end other users of it (perfdb down on each machine), or own it, "
                "then repeat the command"
            ) from error


def _look(url: str, place: Place) -> tuple[DumpPrograms, Contents]:
    engine = open_engine(url)
    try:
        with explained(address(url)), engine.connect() as connection:
            return programs_for_restore(server_major(connection), place.programs), contents(connection)
    finally:
        engine.dispose()


def _known_revision(file: Path, programs: DumpPrograms) -> str:
    if not file.is_file():
        raise StoreError(f"{file} is not there; name a file that perfdb db backup made")
    found = programs.revision_of(file)
    if found is None:
        raise StoreError(f"{file} holds no database of perfdb; name a file that perfdb db backup made")
    if not knows_revision(found):
        raise StoreError(
            f"{file} was made at revision {found}, which this perfdb does not know: a newer perfdb made it; upgrade "
            f"perfdb on this machine, which is at {newest_revision()}"
        )
    return found


def _migrated(url: str) -> Contents:
    engine = open_engine(url)
    try:
        with explained(address(url)):
            migrate(engine)
            with engine.connect() as connection:
                return contents(connection)
    finally:
        engine.dispose()
