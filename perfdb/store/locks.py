"""Locks: a statement that waits for a table no longer than it should, and who holds it when it gave up."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from perfdb.errors import StoreError
from perfdb.store.engine import address

#: Longer than an ingest takes; shorter than anyone waits in front of a command that says nothing.
PATIENCE_S = 30.0
HOLDERS = """
    SELECT a.pid, coalesce(nullif(a.application_name, ''), 'a program without a name') AS program,
           coalesce(host(a.client_addr), 'this machine') AS place, coalesce(a.state, 'unknown') AS state,
           extract(epoch FROM clock_timestamp() - a.xact_start)::bigint AS seconds
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.pid <> :mine AND EXISTS (
        SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.pid = a.pid AND l.granted AND c.relnamespace = 'public'::regnamespace
    )
    ORDER BY a.xact_start LIMIT 3
"""


@contextmanager
def impatient(engine: Engine, connection: Connection, doing: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Within the open transaction wait for each lock at most ``patience_s``; writers meanwhile wait as long.

    Raises ``StoreError`` naming who holds the lock; the transaction is then void.
    """
    mine = connection.scalar(text("SELECT pg_backend_pid()"))
    connection.execute(text("SELECT set_config('lock_timeout', :wait, true)"), {"wait": f"{int(patience_s * 1000)}ms"})
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.orig, LockNotAvailable):
            raise
        raise StoreError(
            f"{doing} waited {patience_s:g} s for a table of {address(str(engine.url))} and changed nothing: "
            f"{_holders(engine, mine)}; end that, then repeat the command"
        ) from error


def _holders(engine: Engine, mine: int | None) -> str:
    with engine.connect() as connection:
        found = connection.execute(text(HOLDERS), {"mine": mine}).mappings().all()
    held = [
        f"{row['program']} (process {row['pid']} from {row['place']}, {row['state']}, for {row['seconds']} s) holds it"
        for row in found
    ]
    return ", ".join(held) or "who held it has just let go"
