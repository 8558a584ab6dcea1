"""Verdicts: rows are added and never changed, and a late arrival finds the runs it may concern."""

from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from perfdb.domain.run import Run
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind
from perfdb.store.history import catalogue, run_measurements
from perfdb.store.ingest import ingest_run
from perfdb.store.verdicts import later_runs, mark_judged, save_verdicts

Maker = Callable[..., Run]
SUSPECT = Verdict(
    VerdictKind.UNDECIDED,
    Reason.SUSPECT,
    is_suspect=True,
    delta=0.2,
    low=0.1,
    high=0.3,
    smallest_detectable=0.05,
    floor=0.02,
    baseline=Baseline(100.0, 0.01, 20),
)
SHORT = Verdict(VerdictKind.UNDECIDED, Reason.SHORT_HISTORY, missing=14)


def run_id(number: int) -> str:
    return str(UUID(int=number + 1))


@pytest.mark.parametrize("verdict", [SUSPECT, SHORT])
def test_a_verdict_is_read_back_equal(connection: Connection, make_run: Maker, verdict: Verdict) -> None:
    ingest_run(connection, make_run())
    (series,) = catalogue(connection)
    assert save_verdicts(connection, run_id(1), {series.digest: verdict}) == 1
    assert run_measurements(connection, run_id(1))[0].point.verdict == verdict


def test_a_verdict_is_superseded_and_never_overwritten(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run())
    (series,) = catalogue(connection)
    added = [save_verdicts(connection, run_id(1), {series.digest: v}) for v in (SHORT, SHORT, SUSPECT, SHORT)]
    assert added == [1, 0, 1, 1]
    kept = connection.execute(text("SELECT reason FROM verdicts ORDER BY id")).scalars().all()
    assert kept == ["short_history", "suspect", "short_history"]
    assert run_measurements(connection, run_id(1))[0].point.verdict == SHORT


def test_a_late_arrival_concerns_the_judged_runs_after_it(connection: Connection, make_run: Maker) -> None:
    for position in (1, 3, 4, 5):
        ingest_run(connection, make_run(position=position))
    ingest_run(connection, make_run(position=6, benchmark="other"))
    for number in (1, 3, 5, 6):
        mark_judged(connection, run_id(number))
    ingest_run(connection, make_run(position=2, hours=100))
    assert later_runs(connection, run_id(2)) == [run_id(3), run_id(5)]
    assert later_runs(connection, run_id(5)) == []
