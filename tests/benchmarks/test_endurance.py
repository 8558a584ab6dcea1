"""A few random kills, and a checker that sees each kind of damage."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from benchmarks.endurance import Endurance
from benchmarks.generated import spool_file
from benchmarks.ledger import Ledger
from perfdb.detect import ingest_folder

Damage = Callable[[Ledger], None]


def test_nothing_is_lost_or_doubled_by_kills_at_random_moments(home: Path) -> None:
    endurance = Endurance(home, random.Random(7))
    for victim in ("server", "ingest", "writer") * 2:
        endurance.kill(victim)
    assert endurance.violations == []
    assert endurance.ledger.closed
    assert endurance.kills.total() == 6


@pytest.fixture
def ledger(engine: Engine, tmp_path: Path) -> Ledger:
    """Two runs that were acknowledged and stored, in which nothing is wrong."""
    ledger = Ledger(tmp_path / "spool", tmp_path / "spool" / "ingested")
    ledger.spool.mkdir()
    ledger.closed = {spool_file(ledger.spool, 3, processes=2, samples=2).stem for _ in range(2)}
    ledger.stored = {done.report.run_id for done in ingest_folder(engine, ledger.spool, ledger.ingested) if done.report}
    assert ledger.stored == ledger.closed
    assert violations(ledger, engine) == []
    return ledger


def violations(ledger: Ledger, engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(ledger.violations(connection))


ONE = "FROM runs ORDER BY id LIMIT 1"
COPY_OF_A_MEASUREMENT = f"""
    INSERT INTO measurements
    SELECT series_id, started_at + interval '1 second', run_id, commit_id, value, process_values
    FROM measurements WHERE run_id = (SELECT id {ONE}) LIMIT 1
"""


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (f"DELETE FROM runs WHERE id = (SELECT id {ONE})", "was stored and is no longer in the database"),
        (f"DELETE FROM outcomes WHERE process = 0 AND run_id = (SELECT id {ONE})", "3 outcomes are missing"),
        (f"DELETE FROM samples WHERE process = 1 AND run_id = (SELECT id {ONE})", "3 samples are missing"),
        (f"DELETE FROM measurements WHERE run_id = (SELECT id {ONE})", "3 measurements are missing"),
        (COPY_OF_A_MEASUREMENT, "1 measurements are too many"),
        ("UPDATE measurements SET value = value * 1.0000001", "3 measurements are missing or differ"),
        ("UPDATE runs SET judged_at = NULL", "and in the database it is ('complete', False)"),
        (
            "INSERT INTO samples SELECT series_id, started_at, gen_random_uuid(), 0, '{1}' FROM samples",
            "belong to no run",
        ),
    ],
)
def test_damage_in_the_database_is_seen(ledger: Ledger, engine: Engine, statement: str, complaint: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM verdicts"))
        connection.execute(text(statement))
    assert complaint in "\n".join(violations(ledger, engine))


def test_a_run_that_nobody_measured_is_seen(ledger: Ledger, engine: Engine) -> None:
    ledger.closed.pop()
    ledger.stored &= ledger.closed
    assert "is in the database and no file says so" in "\n".join(violations(ledger, engine))


def lose(ledger: Ledger) -> None:
    next(ledger.ingested.iterdir()).unlink()


def double(ledger: Ledger) -> None:
    path = next(ledger.ingested.iterdir())
    shutil.copy(path, ledger.spool / path.name)


@pytest.mark.parametrize(("damage", "complaint"), [(lose, "in 0 places: lost"), (double, "in 2 places")])
def test_damage_in_the_spool_is_seen(ledger: Ledger, engine: Engine, damage: Damage, complaint: str) -> None:
    damage(ledger)
    assert complaint in "\n".join(violations(ledger, engine))
