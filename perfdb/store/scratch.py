"""Scratch: a database that perfdb makes beside its own for a moment, and drops again whatever happens."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from perfdb.errors import StoreError
from perfdb.store.engine import address, explained, parse_url, rendered

#: The comment by which a scratch database is known again after a kill: nothing else is ever dropped.
MARK = "made by perfdb for a moment"
#: Databases to connect to while others are made, renamed and dropped.
MAINTENANCE = ("postgres", "template1")


class ScratchRefusedError(StoreError):
    """The server does not let this user make a database."""


@contextmanager
def scratch_database(url: str, purpose: str) -> Iterator[str]:
    """An empty database like the one at ``url``, on the same server, dropped when the context ends.

    What a killed process left is dropped first. Raises ``ScratchRefusedError`` when this user may make none, and
    ``StoreError`` while another process works on this database for the same purpose.
    """
    database = str(parse_url(url).database)
    name = scratch_name(database, purpose)
    with server_connection(url) as connection:
        _claim(connection, name, address(url))
        _drop(connection, name)
        _make(connection, name, database)
        try:
            yield rendered(parse_url(url).set(database=name))
        finally:
            _drop(connection, name)


@contextmanager
def server_connection(url: str) -> Iterator[Connection]:
    """A connection to the server, not to the database at ``url``; each statement is its own transaction."""
    engine = create_engine(maintenance_url(url), isolation_level="AUTOCOMMIT")
    try:
        with explained(address(url)), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def maintenance_url(url: str) -> str:
    """The first database of the server, other than the one at ``url``, that lets us in; else the one at ``url``."""
    for name in MAINTENANCE:
        other = make_url(rendered(parse_url(url))).set(database=name)
        engine = create_engine(other)
        try:
            with engine.connect():
                return rendered(other)
        except OperationalError:
            continue
        finally:
            engine.dispose()
    return rendered(parse_url(url))


def scratch_name(database: str, purpose: str) -> str:
    """Always the same one, so that the next process finds what a killed one left; short enough for PostgreSQL."""
    return f"perfdb_{purpose}_{hashlib.sha256(database.encode()).hexdigest()[:12]}"


def _claim(connection: Connection, name: str, server: str) -> None:
    """Hold a lock on the name until the connection ends."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
    if not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}):
        raise StoreError(f"another process backs up or restores {server}; wait for it, then repeat the command")


def _drop(connection: Connection, name: str) -> None:
    marked = text("SELECT shobj_description(oid, 'pg_database') = :mark FROM pg_database WHERE datname = :name")
    is_ours = connection.scalar(marked, {"mark": MARK, "name": name})
    if is_ours:
        connection.exec_driver_sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _make(connection: Connection, name: str, like: str) -> None:
    try:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}" TEMPLATE template0 {_locale(connection, like)}')
    except ProgrammingError as error:
        if connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name}):
            raise StoreError(
                f"a database {name} is in the way, which is no scratch database of perfdb; rename it, then repeat the "
                "command"
            ) from error
        raise ScratchRefusedError(
            f"the database user may not make a database beside {like}; give it CREATEDB, then repeat the command"
        ) from error
    connection.exec_driver_sql(f"COMMENT ON DATABASE \"{name}\" IS '{MARK}'")


def _locale(connection: Connection, database: str) -> str:
    """The encoding and locale of a database, as CREATE DATABASE takes them; the columns differ by version."""
    query = """
        SELECT pg_encoding_to_char(encoding) AS encoding, datcollate AS collate, datctype AS ctype,
               CAST(datlocprovider AS text) AS provider,
               coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale') AS locale
        FROM pg_database d WHERE datname = :name
    """
    found = connection.execute(text(query), {"name": database}).mappings().one()
    said = f"ENCODING '{found['encoding']}' LC_COLLATE '{found['collate']}' LC_CTYPE '{found['ctype']}'"
    other = {"i": "icu", "b": "builtin"}.get(found["provider"])
    return f"{said} LOCALE_PROVIDER {other} {other}_locale '{found['locale']}'" if other else said
