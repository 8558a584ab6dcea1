"""Several perfdb processes of one state folder at once: each waits for what it needs, and nothing is doubled."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.generated import spool_file
from benchmarks.ledger import Ledger
from perfdb.database import open_migrated
from perfdb.settings import Settings

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

pytestmark = pytest.mark.slow


def test_ingests_and_a_migration_of_a_fresh_folder_at_once(terminal: "Terminal") -> None:
    settings = Settings(home=terminal.home, database_url=None)
    settings.spool.mkdir()
    ledger = Ledger(settings.spool, settings.ingested)
    ledger.closed = {spool_file(settings.spool, 100, processes=2).stem for _ in range(4)}
    together = [started(terminal, *verb) for verb in (["ingest"], ["db", "migrate"], ["ingest"])]
    for each in together:
        _, errors = each.communicate(timeout=120)
        assert (each.returncode, errors) == (0, "")
    with open_migrated(settings) as engine, engine.connect() as connection:
        assert list(ledger.violations(connection)) == []


def test_down_beside_an_ingest_ends_it_with_a_sentence_or_lets_it_finish(terminal: "Terminal") -> None:
    settings = Settings(home=terminal.home, database_url=None)
    settings.spool.mkdir()
    ledger = Ledger(settings.spool, settings.ingested)
    with open_migrated(settings):
        ledger.closed = {spool_file(settings.spool, 500, processes=2).stem for _ in range(4)}
        ingest = started(terminal, "ingest")
        while not any(settings.ingested.glob("*")):
            assert ingest.poll() is None
        assert terminal("down").returncode == 0
        _, errors = ingest.communicate(timeout=120)
        assert (ingest.returncode, errors.count("\n")) in ((0, 0), (1, 1)), errors
    assert terminal("ingest").returncode == 0
    with open_migrated(settings) as engine, engine.connect() as connection:
        assert list(ledger.violations(connection)) == []


def started(terminal: "Terminal", *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "perfdb", *arguments],
        cwd=terminal.folder,
        env=terminal.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
