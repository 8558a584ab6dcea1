"""Migrations on a filled database while a writer runs: it waits or succeeds, and nothing is lost."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Engine, inspect, text

from perfdb.domain.run import Run
from perfdb.errors import StoreError
from perfdb.store.engine import open_engine
from perfdb.store.ingest import ingest_run
from perfdb.store.migrations import migrate, newest_revision, revision, scripts_folder
from perfdb.store.runs import recent_runs

Maker = Callable[..., Run]
NEXT = '''"""Add a column to a big table and to a small one."""

import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("note", sa.Text()))
    op.add_column("measurements", sa.Column("note", sa.Text()))
'''


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The migrations and one more."""
    folder = tmp_path / "alembic"
    shutil.copytree(scripts_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "next.py").write_text(NEXT.format(head=newest_revision()))
    return folder


def store(engine: Engine, run: Run) -> None:
    with engine.begin() as connection:
        ingest_run(connection, run)


def stored(engine: Engine) -> int:
    with engine.connect() as connection:
        return len(recent_runs(connection, limit=10_000))


def test_a_writer_loses_nothing_while_the_database_is_migrated(
    engine: Engine, database_url: str, make_run: Maker, scripts: Path
) -> None:
    for position in range(1, 20):
        store(engine, make_run(position=position))
    writing, migrated = Event(), Event()

    def write() -> int:
        own, after = open_engine(database_url), 0
        for position in count(100):
            store(own, make_run(position=position))
            after += migrated.is_set()
            if position == 103:
                writing.set()
            if after == 3:
                own.dispose()
                return position - 99
        raise AssertionError

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        assert writing.wait(60)
        migrate(engine, scripts)
        migrated.set()
        written = writer.result(60)
    assert stored(engine) == 19 + written
    with engine.connect() as connection:
        assert revision(connection) == "next"
    assert "note" in {column["name"] for column in inspect(engine).get_columns("measurements")}


def test_a_writer_in_the_midst_of_a_run_is_waited_for(
    engine: Engine, database_url: str, make_run: Maker, scripts: Path
) -> None:
    own = open_engine(database_url)
    with ThreadPoolExecutor(1) as pool, own.connect() as writer:
        begun = writer.begin()
        ingest_run(writer, make_run())
        migration = pool.submit(migrate, engine, scripts)
        wait_until_blocked(own)
        begun.commit()
        migration.result(60)
    own.dispose()
    assert stored(engine) == 1


def test_a_run_that_arrives_during_the_migration_waits_and_is_stored(
    engine: Engine, database_url: str, make_run: Maker
) -> None:
    own = open_engine(database_url)
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as migration:
            migration.exec_driver_sql("ALTER TABLE runs ADD COLUMN note text")
            writer = pool.submit(store, own, make_run())
            wait_until_blocked(engine)
            assert not writer.done()
        writer.result(60)
    own.dispose()
    assert stored(engine) == 1


def wait_until_blocked(engine: Engine) -> None:
    """Until a session of this database waits for a lock; the test's own time-out bounds it."""
    with engine.connect() as connection:
        waiting = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        while not connection.scalar(waiting):
            connection.rollback()


def test_a_lock_that_is_not_had_is_given_up_and_its_holder_is_named(
    engine: Engine, database_url: str, make_run: Maker, scripts: Path
) -> None:
    store(engine, make_run())
    own = open_engine(database_url)
    with own.connect() as holder:
        holder.execute(text("SET application_name = 'a long report'"))
        holder.execute(text("SELECT count(*) FROM runs"))
        with pytest.raises(
            StoreError,
            match=r"migration waited 0\.2 s .* changed nothing: a long report \(process \d+ from this machine, idle in",
        ):
            migrate(engine, scripts, patience_s=0.2)
        with engine.connect() as connection:
            assert revision(connection) == newest_revision()
    own.dispose()
    migrate(engine, scripts)


def test_an_older_perfdb_refuses_what_the_newer_one_migrated(engine: Engine, scripts: Path) -> None:
    migrate(engine, scripts)
    with pytest.raises(StoreError, match="revision next, which this perfdb does not know"):
        migrate(engine)
