"""A connection that ends in the midst of an ingest: one sentence, nothing half stored, and again it is stored once."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Engine, text

from benchmarks.generated import spool_file
from benchmarks.ledger import Ledger

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

BLOCKED = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
TABLES = ("runs", "measurements", "samples", "outcomes", "verdicts")


@pytest.mark.parametrize("table", ["outcomes", "verdicts"])  # in the midst of copying, and of judging
def test_a_connection_that_is_cut_leaves_nothing_and_again_the_run_is_stored_once(
    terminal: "Terminal", engine: Engine, database_url: str, table: str
) -> None:
    ledger = Ledger(terminal.home / "spool", terminal.home / "spool" / "ingested")
    ledger.spool.mkdir()
    ledger.closed = {spool_file(ledger.spool, 3_000, processes=2).stem}
    with engine.connect() as connection:
        connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
        with started(terminal, database_url) as ingest:
            terminate_blocked(engine)
            _, said = ingest.communicate(timeout=60)
        assert ingest.returncode == 1
        assert said.startswith("perfdb: the database at ")
        assert said.endswith("then repeat the command\n")
        assert said.count("\n") == 1
        connection.rollback()
        for each in TABLES:
            assert connection.scalar(text(f"SELECT count(*) FROM {each}")) == 0
    assert terminal("ingest", PERFDB_DATABASE_URL=database_url).returncode == 0
    with engine.connect() as connection:
        assert list(ledger.violations(connection)) == []


def started(terminal: "Terminal", database_url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "perfdb", "ingest"],
        cwd=terminal.folder,
        env={**terminal.environment, "PERFDB_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def terminate_blocked(engine: Engine) -> None:
    """End the session that waits for a lock, once there is one; the test's own time-out bounds it."""
    with engine.connect() as connection:
        while (pid := connection.scalar(text(BLOCKED))) is None:
            connection.rollback()
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
