"""Connections: to a supported PostgreSQL, or one sentence that names it without its password."""

import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from perfdb.errors import StoreError
from perfdb.store import engine as engine_module
from perfdb.store.engine import explained, open_engine, parse_url, rendered, sibling_database


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_is_taken(scheme: str) -> None:
    assert parse_url(f"{scheme}://user@host/name").drivername == "postgresql+psycopg"


def test_a_server_older_than_15_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "OLDEST_SUPPORTED", 99)
    with pytest.raises(StoreError, match=r"is version \d+; perfdb needs 99 or newer: upgrade it"):
        open_engine(database_url)


def test_a_database_that_does_not_exist_is_named(database_url: str) -> None:
    url = rendered(make_url(database_url).set(database="nowhere"))
    with pytest.raises(StoreError, match=r"/nowhere cannot be used: .*does not exist"):
        open_engine(url)


def test_times_are_in_utc_whatever_the_server_thinks(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW timezone")) == "UTC"


def test_a_connection_lost_within_copy_is_one_sentence_too(engine: Engine) -> None:
    with pytest.raises(StoreError, match=r"^the database at here cannot be used: .*repeat the command$"):
        _copy_over_a_lost_connection(engine)


def _copy_over_a_lost_connection(engine: Engine) -> None:
    with explained("here"), engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        mine = connection.scalar(text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            assert other.scalar(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": mine})
        with raw.cursor() as cursor, cursor.copy("COPY repositories (name) FROM STDIN") as copy:
            copy.write_row(["r"])


def test_a_full_disk_is_one_sentence_that_says_so(engine: Engine) -> None:
    with (
        pytest.raises(
            StoreError, match=r"^the disk of the database at here is full: .*No space left.*; free space there"
        ),
        explained("here"),
        engine.connect() as connection,
    ):
        connection.execute(text("COPY (SELECT generate_series(1, 100000)) TO '/dev/full'"))


def test_a_mistake_in_our_own_sql_is_not_blamed_on_the_server(engine: Engine) -> None:
    with pytest.raises(ProgrammingError), explained("here"), engine.connect() as connection:
        connection.execute(text("SELECT nothing FROM nowhere"))


def test_another_database_of_the_same_server_is_made_once(database_url: str) -> None:
    first = sibling_database(database_url, "beside")
    assert sibling_database(database_url, "beside") == first
    engine = open_engine(first)
    engine.dispose()
    server = open_engine(database_url).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text('DROP DATABASE "beside" WITH (FORCE)'))
    server.dispose()
