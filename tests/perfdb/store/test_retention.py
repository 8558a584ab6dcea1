"""Pruning: whole months, never the current one, in one transaction, and nothing but what was asked for."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from sqlalchemy import Connection, Engine, text

from perfdb.domain.run import Run
from perfdb.errors import StoreError
from perfdb.store.history import catalogue, series_history, series_samples
from perfdb.store.ingest import ingest_run
from perfdb.store.outcomes import run_outcomes
from perfdb.store.retention import (
    cutoff_before,
    cutoff_keeping,
    is_pruned,
    month_of,
    partitions_before,
    prune,
)
from perfdb.store.runs import recent_runs

Maker = Callable[..., Run]
NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
DAY = 24
FEBRUARY, MARCH = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def filled(engine: Engine, make_run: Maker) -> Engine:
    """One run in each of January, February and March 2026."""
    for number, hours in enumerate((0, 31 * DAY, 62 * DAY), start=1):
        with engine.begin() as connection:
            ingest_run(connection, make_run(position=number, hours=hours))
    return engine


def labels(connection: Connection, cutoff: datetime, *, measurements: bool = False) -> list[str]:
    found = partitions_before(connection, cutoff, measurements=measurements)
    return [f"{each.label} {each.owner} {each.rows}" for each in found]


def test_months_to_keep_are_counted_back_from_the_current_one() -> None:
    assert cutoff_keeping(0, NOW) == MARCH
    assert cutoff_keeping(1, NOW) == FEBRUARY
    assert cutoff_keeping(3, NOW) == datetime(2025, 12, 1, tzinfo=UTC)
    assert cutoff_keeping(999_999, NOW).year == 1


def test_a_date_in_the_current_month_or_later_spares_the_current_month() -> None:
    assert cutoff_before(date(2026, 2, 20), NOW) == datetime(2026, 2, 20, tzinfo=UTC)
    assert cutoff_before(date(2030, 1, 1), NOW) == MARCH


def test_only_months_that_are_over_by_then_would_go(filled: Engine) -> None:
    with filled.connect() as connection:
        assert labels(connection, datetime(2026, 2, 20, tzinfo=UTC)) == ["2026-01 samples 3"]
        assert labels(connection, MARCH) == ["2026-01 samples 3", "2026-02 samples 3"]
        assert labels(connection, FEBRUARY, measurements=True) == ["2026-01 samples 3", "2026-01 measurements 1"]


def test_samples_go_and_everything_else_stays(filled: Engine, make_run: Maker) -> None:
    with filled.connect() as connection:
        (series,) = catalogue(connection)
        before = series_history(connection, series.digest)
        runs = recent_runs(connection)
    gone = prune(filled, FEBRUARY)
    assert [each.name for each in gone] == ["samples_y2026m01"]
    with filled.connect() as connection:
        assert series_history(connection, series.digest) == before
        assert recent_runs(connection) == runs
        assert len(run_outcomes(connection, runs[-1].run_id)) == 3
        assert series_samples(connection, series.digest, runs[-1].run_id) == []
        assert len(series_samples(connection, series.digest, runs[0].run_id)) == 3
        assert is_pruned(connection, datetime(2026, 1, 1, 12, tzinfo=UTC))
        assert not is_pruned(connection, NOW)
    assert prune(filled, FEBRUARY) == []


def test_a_late_run_of_a_pruned_month_is_stored(filled: Engine, make_run: Maker) -> None:
    prune(filled, FEBRUARY, measurements=True)
    with filled.begin() as connection:
        assert ingest_run(connection, make_run(position=9, hours=5)).is_changed
    with filled.connect() as connection:
        assert labels(connection, FEBRUARY, measurements=True) == ["2026-01 samples 3", "2026-01 measurements 1"]


def test_a_reader_that_does_not_end_is_named_and_nothing_is_dropped(filled: Engine) -> None:
    with filled.connect() as reader:
        reader.execute(text("SELECT count(*) FROM samples"))
        with pytest.raises(StoreError, match=r"pruning waited .* s for a table of .*: perfdb \(process \d+ from"):
            prune(filled, FEBRUARY, patience_s=0.2)
    with filled.connect() as connection:
        assert len(partitions_before(connection, FEBRUARY)) == 1


def test_a_table_that_is_no_month_is_never_touched(filled: Engine) -> None:
    with filled.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE samples_archive PARTITION OF samples FOR VALUES FROM ('2001-01-01') TO ('2002-01-01')"
        )
    assert month_of("samples_archive") is None
    with filled.connect() as connection:
        assert labels(connection, FEBRUARY) == ["2026-01 samples 3"]
