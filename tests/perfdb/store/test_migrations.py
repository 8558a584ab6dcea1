"""Migrations: the migrated schema is the declared one, there and back, and the wrong revision is refused."""

from concurrent.futures import ThreadPoolExecutor

import alembic.command
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from perfdb.errors import StoreError
from perfdb.store.engine import address, open_engine, parse_url
from perfdb.store.migrations import alembic_config, check_migrated, migrate, newest_revision, revision
from perfdb.store.schema import metadata


def test_the_migrated_schema_is_the_declared_one(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []


def test_every_migration_can_be_taken_back(engine: Engine) -> None:
    with engine.begin() as connection:
        alembic.command.downgrade(alembic_config(connection), "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    migrate(engine)
    check_migrated(engine)


def test_migrations_at_once_wait_for_each_other(engine: Engine) -> None:
    with engine.begin() as connection:
        alembic.command.downgrade(alembic_config(connection), "base")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, [engine] * 4))
    with engine.connect() as connection:
        assert revision(connection) == newest_revision()


def test_a_database_that_was_not_migrated_is_refused_with_the_command(engine: Engine) -> None:
    with engine.begin() as connection:
        alembic.command.downgrade(alembic_config(connection), "base")
    with pytest.raises(StoreError, match=r"is at revision none, this perfdb needs .*; run: perfdb db migrate"):
        check_migrated(engine)


def test_a_database_of_a_newer_perfdb_is_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for check in (check_migrated, migrate):
        with pytest.raises(StoreError, match=r"revision 9999, .* a newer perfdb migrated it; upgrade perfdb"):
            check(engine)


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://h/d", "nonsense", ""])
def test_only_postgresql_is_taken(url: str) -> None:
    with pytest.raises(StoreError, match="write PERFDB_DATABASE_URL as postgresql://"):
        parse_url(url)


def test_a_server_that_is_down_is_named_without_its_password() -> None:
    with pytest.raises(StoreError, match=r"the database at 127\.0\.0\.1:1/perfdb cannot be used: .*refused") as caught:
        open_engine("postgresql://user:secret@127.0.0.1:1/perfdb")
    assert "secret" not in str(caught.value)


def test_an_address_for_people_holds_no_user_and_no_password() -> None:
    assert address("postgresql://user:secret@db.example.org/perfdb") == "db.example.org:5432/perfdb"
