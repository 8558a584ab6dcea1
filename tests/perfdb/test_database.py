"""The database that the settings name: opened, migrated where it may be, and lost with one sentence."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from perfdb.database import database_address, open_database, open_migrated
from perfdb.errors import StoreError
from perfdb.settings import Settings
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import open_engine, sibling_database
from perfdb.store.migrations import newest_revision, revision


def settings_of(home: Path, url: str | None = None) -> Settings:
    return Settings(home=home, database_url=url)


def current(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return revision(connection)


def test_without_a_setting_the_embedded_one_is_started_migrated_and_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERFDB_DATABASE_URL", raising=False)
    with open_migrated(settings_of(home)) as engine:
        assert current(engine) == newest_revision()
    assert not EmbeddedServer(home).is_running()


@pytest.fixture
def fresh_url(database_url: str) -> Iterator[str]:
    """An address of an empty database."""
    name = f"fresh_{os.getpid()}"
    yield sibling_database(database_url, name)
    server = open_engine(database_url).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))
    server.dispose()


def test_an_external_one_is_only_migrated_when_asked(fresh_url: str, tmp_path: Path) -> None:
    settings = settings_of(tmp_path, fresh_url)
    with pytest.raises(StoreError, match="run: perfdb db migrate"), open_migrated(settings):
        pass
    with open_database(settings, migrate=False) as engine:
        assert current(engine) is None
    with open_database(settings, migrate=True) as engine:
        assert current(engine) == newest_revision()
    with open_migrated(settings) as engine:
        assert current(engine) == newest_revision()


def test_a_server_that_goes_away_meanwhile_is_one_sentence(database_url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^the database at .* cannot be used: .*repeat the command$"):
        _ask_over_a_lost_connection(settings_of(tmp_path, database_url))


def _ask_over_a_lost_connection(settings: Settings) -> None:
    with open_database(settings) as engine, engine.connect() as connection:
        mine = connection.scalar(text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            assert other.scalar(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": mine})
        connection.execute(text("SELECT 1"))


def test_its_address_for_people_starts_nothing_and_tells_no_secret(tmp_path: Path) -> None:
    assert database_address(settings_of(tmp_path, "postgresql://u:secret@h:6543/d")) == "h:6543/d"
    assert database_address(settings_of(tmp_path / "none", None)) == f"embedded PostgreSQL in {tmp_path / 'none'}"
    assert not (tmp_path / "none").exists()
