"""Engine: connections to a PostgreSQL of a supported version, and one sentence when there is none."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.errors import DiskFull
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, ProgrammingError

from perfdb.errors import StoreError

OLDEST_SUPPORTED = 15
DRIVER = "postgresql+psycopg"
#: Without a handler psycopg warns on standard error of what follows from a lost connection, beside our one sentence.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


def open_engine(url: str) -> Engine:
    """Connect and check the server's version. Raises ``StoreError`` naming the server, never its password."""
    parsed = parse_url(url)
    engine = create_engine(
        parsed,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": 10,
            "options": "-c timezone=UTC",
            "fallback_application_name": "perfdb",  # who holds a lock has a name
        },
    )
    try:
        with explained(address(url)), engine.connect() as connection:
            check_version(connection, address(url))
    except StoreError:
        engine.dispose()
        raise
    return engine


def parse_url(url: str) -> URL:
    """A PostgreSQL address for psycopg 3; ``postgres://`` and ``postgresql://`` are taken too."""
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgres":
            parsed = parsed.set(drivername=DRIVER)
        parsed.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreError(
            "the database address is not an address; write PERFDB_DATABASE_URL as postgresql://user@host:5432/name"
        ) from error
    if parsed.drivername not in ("postgresql", DRIVER):
        raise StoreError(
            f"the database address names {parsed.drivername}; perfdb keeps its data in PostgreSQL only: "
            "write PERFDB_DATABASE_URL as postgresql://user@host:5432/name"
        )
    return parsed.set(drivername=DRIVER)


def rendered(url: URL, *, hide_password: bool = False) -> str:
    """The address as text, with %20 for a space: libpq, unlike SQLAlchemy, does not read ``+`` as one."""
    address_part, mark, query = url.render_as_string(hide_password=hide_password).partition("?")
    return address_part + mark + query.replace("+", "%20")


def address(url: str) -> str:
    """``host:port/database`` for people: no user, no password."""
    parsed = parse_url(url)
    host = parsed.query.get("host") or parsed.host or "localhost"
    port = parsed.port or parsed.query.get("port") or 5432
    return f"{host}:{port}/{parsed.database or ''}"


def check_version(connection: Connection, server: str) -> None:
    """Raise ``StoreError`` when the server is older than perfdb supports."""
    version = int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000
    if version < OLDEST_SUPPORTED:
        raise StoreError(
            f"the PostgreSQL at {server} is version {version}; perfdb needs {OLDEST_SUPPORTED} or newer: upgrade it, "
            "or unset PERFDB_DATABASE_URL to use the embedded one"
        )


@contextmanager
def explained(server: str) -> Iterator[None]:
    """Turn a lost or refused connection, or a full disk, into one sentence."""
    try:
        yield
    except (OperationalError, psycopg.OperationalError) as error:  # the latter from COPY, which SQLAlchemy never sees
        raise _unusable(server, error) from error
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise StoreError(f"the connection to the database at {server} was lost; repeat the command") from error


def _unusable(server: str, error: OperationalError | psycopg.OperationalError) -> StoreError:
    said = error.orig if isinstance(error, OperationalError) else error
    if isinstance(said, DiskFull):
        return StoreError(
            f"the disk of the database at {server} is full: {_first_line(said)}; free space there, then repeat the "
            "command: what was stored before is kept"
        )
    return StoreError(
        f"the database at {server} cannot be used: {_first_line(said)}; check that it runs and that "
        "PERFDB_DATABASE_URL is right, then repeat the command"
    )


def _first_line(said: BaseException | None) -> str:
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    return lines[0].rstrip(".;") if lines else "no answer"


def sibling_database(url: str, name: str) -> str:
    """The address of another database of the same server, made when it is not there.

    Raises ``StoreError`` when it can neither be found nor made.
    """
    server = create_engine(parse_url(url), isolation_level="AUTOCOMMIT")
    try:
        with explained(address(url)), server.connect() as connection:
            known = text("SELECT 1 FROM pg_database WHERE datname = :name")
            if not connection.scalar(known, {"name": name}):
                connection.execute(text(f'CREATE DATABASE "{name}"'))
    except ProgrammingError as error:
        raise StoreError(
            f"the database {name} cannot be made at {address(url)}: {error.orig}; make it as its owner, or unset "
            "PERFDB_DATABASE_URL to use the embedded server"
        ) from error
    finally:
        server.dispose()
    return rendered(parse_url(url).set(database=name))
