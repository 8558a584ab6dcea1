"""Restoring: the old database stays as it was until the new one is whole, and what may not be restored is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url, text

from perfdb.domain.run import Run
from perfdb.errors import StoreError
from perfdb.store.backup import Place, back_up
from perfdb.store.contents import contents_at
from perfdb.store.engine import open_engine, rendered, sibling_database
from perfdb.store.ingest import ingest_run
from perfdb.store.migrations import newest_revision
from perfdb.store.restore import restore, rows_in, swap_names
from perfdb.store.scratch import scratch_database, server_connection

Maker = Callable[..., Run]


@pytest.fixture
def place(shared_home: Path) -> Place:
    return Place(shared_home)


@pytest.fixture
def dump(engine: Engine, database_url: str, make_run: Maker, tmp_path: Path, place: Place) -> Path:
    """A backup of a database with two runs."""
    store(engine, make_run(position=1), make_run(position=2))
    back_up(database_url, tmp_path / "two-runs.dump", place)
    engine.dispose()
    return tmp_path / "two-runs.dump"


@pytest.fixture
def empty_url(database_url: str) -> Iterator[str]:
    """A database without a table."""
    name = f"{make_url(database_url).database}_empty"
    yield sibling_database(database_url, name)
    with server_connection(database_url) as connection:
        connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')


def store(engine: Engine, *runs: Run) -> None:
    for run in runs:
        with engine.begin() as connection:
            ingest_run(connection, run)


def change(url: str, statement: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_an_empty_database_is_filled(dump: Path, empty_url: str, database_url: str, place: Place) -> None:
    done = restore(empty_url, dump, place)
    assert contents_at(empty_url) == contents_at(database_url)
    assert (done.revision, done.replaced_rows) == (newest_revision(), 0)
    assert done.rows == rows_in(database_url)


def test_a_database_that_holds_runs_is_only_replaced_when_asked(
    dump: Path, engine: Engine, database_url: str, make_run: Maker, place: Place
) -> None:
    held = contents_at(database_url)
    store(engine, make_run(position=3))
    engine.dispose()
    with pytest.raises(StoreError, match=r"holds \d+ rows; restore into an empty one, or replace it with .*--replace"):
        restore(database_url, dump, place)
    done = restore(database_url, dump, place, replace=True)
    assert done.replaced_rows > done.rows
    assert contents_at(database_url) == held
    with server_connection(database_url) as connection:
        left = connection.scalar(text("SELECT count(*) FROM pg_database WHERE datname LIKE 'perfdb_restore_%'"))
    assert left == 0


def test_a_broken_backup_loses_nothing(dump: Path, database_url: str, place: Place) -> None:
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) - 3000])
    held = contents_at(database_url)
    with pytest.raises(StoreError):
        restore(database_url, dump, place, replace=True)
    assert contents_at(database_url) == held


def test_a_backup_of_a_newer_perfdb_is_refused(
    database_url: str, empty_url: str, dump: Path, tmp_path: Path, place: Place
) -> None:
    change(database_url, "UPDATE alembic_version SET version_num = '9999'")
    back_up(database_url, tmp_path / "newer.dump", place)
    with pytest.raises(StoreError, match=r"newer\.dump was made at revision 9999, .* upgrade perfdb on this machine"):
        restore(empty_url, tmp_path / "newer.dump", place)
    assert contents_at(empty_url).rows == {}


def test_what_is_no_backup_of_perfdb_is_refused(
    database_url: str, empty_url: str, tmp_path: Path, place: Place
) -> None:
    (tmp_path / "note.dump").write_text("hello")
    change(empty_url, "CREATE TABLE mine (n int)")
    back_up(empty_url, tmp_path / "foreign.dump", place)
    for name, sentence in (
        ("note", r"note\.dump is no backup that can be read: .*; name a file that perfdb db backup made"),
        ("foreign", r"foreign\.dump holds no database of perfdb"),
        ("missing", r"missing\.dump is not there"),
    ):
        with pytest.raises(StoreError, match=sentence):
            restore(database_url, tmp_path / f"{name}.dump", place)


def test_a_database_of_someone_else_is_never_replaced(dump: Path, empty_url: str, place: Place) -> None:
    change(empty_url, "CREATE TABLE mine (n int)")
    with pytest.raises(StoreError, match="holds tables that are none of perfdb's"):
        restore(empty_url, dump, place, replace=True)


def test_a_database_in_use_is_left_alone(dump: Path, engine: Engine, database_url: str, place: Place) -> None:
    held = contents_at(database_url)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        with pytest.raises(StoreError, match=r"someone else uses the .* \(sessions: 1\); .*perfdb down"):
            restore(database_url, dump, place, replace=True)
        with scratch_database(database_url, "restore") as own, pytest.raises(StoreError, match="was left as it was"):
            swap_names(database_url, own)
    assert contents_at(database_url) == held


def test_a_user_who_may_make_no_database_is_told_so(dump: Path, database_url: str, place: Place) -> None:
    with server_connection(database_url) as connection:
        connection.exec_driver_sql("CREATE ROLE writer LOGIN PASSWORD 'writer' IN ROLE pg_read_all_data")
    url = rendered(make_url(database_url).set(username="writer", password="writer"))
    with pytest.raises(StoreError, match="give it CREATEDB"):
        restore(url, dump, place, replace=True)
    with server_connection(database_url) as connection:
        connection.exec_driver_sql("DROP ROLE writer")
