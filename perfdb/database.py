"""Database: the one that the settings name, else the embedded server, opened and migrated."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from perfdb.errors import StoreError
from perfdb.settings import Settings
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import address, explained, open_engine
from perfdb.store.folders import NEEDED_BYTES, free_bytes
from perfdb.store.migrations import check_migrated
from perfdb.store.migrations import migrate as bring_up_to_date


@contextmanager
def open_database(settings: Settings, *, migrate: bool = True) -> Iterator[Engine]:
    """Open the database, and close what was opened.

    ``migrate`` brings it to this code's revision first. Raises ``StoreError`` when it cannot be used or is lost.
    """
    with database_url(settings) as url:
        engine = open_engine(url)
        try:
            with explained(address(url)):
                if migrate:
                    bring_up_to_date(engine)
                yield engine
        finally:
            engine.dispose()


@contextmanager
def open_migrated(settings: Settings) -> Iterator[Engine]:
    """Open the database for reading and writing: the embedded one is migrated, an external one must be."""
    with open_database(settings, migrate=settings.database_url is None) as engine:
        check_migrated(engine)
        yield engine


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    """The address to connect to, password included; the embedded server runs as long as the context lasts."""
    if settings.database_url:
        yield settings.database_url
    else:
        with roomy(settings.home), embedded_server(settings).use() as url:
            yield url


@contextmanager
def roomy(home: Path) -> Iterator[None]:
    """Say that the disk is full when the server fails for it: a crashed one only loses its connections."""
    try:
        yield
    except (StoreError, OSError) as error:
        free = free_bytes(home)
        if free >= NEEDED_BYTES:
            raise
        raise StoreError(
            f"the disk that holds {home} is full ({free / 2**20:.0f} MiB left), so its PostgreSQL cannot go on; "
            "nothing that was stored is lost: free space there, then repeat the command"
        ) from error


def embedded_server(settings: Settings) -> EmbeddedServer:
    """The embedded server of the state folder, run by the programs that the settings name; nothing is started."""
    return EmbeddedServer(settings.home, settings.postgres_bin)


def database_address(settings: Settings) -> str:
    """Which database it is, for people: no password, and nothing is started."""
    return address(settings.database_url) if settings.database_url else f"embedded PostgreSQL in {settings.home}"
