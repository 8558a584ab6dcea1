"""Values by process of earlier runs: which runs count, and how many."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from perfdb.domain.commit import CodeState
from perfdb.domain.run import Run
from perfdb.store import processes
from perfdb.store.history import catalogue
from perfdb.store.ingest import ingest_run
from perfdb.store.processes import earlier_processes

Maker = Callable[..., Run]


def test_only_earlier_runs_that_may_be_baseline_count(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run([1.0, 1.1, 1.2], position=1))
    ingest_run(connection, make_run(2.0, position=2, complete=False))
    ingest_run(connection, make_run(3.0, position=3, state=CodeState.DIRTY))
    ingest_run(connection, make_run(4.0, position=4, benchmark="other"))
    head = make_run(5.0, position=5)
    ingest_run(connection, head)
    ingest_run(connection, make_run(6.0, position=6))
    (series,) = (s for s in catalogue(connection) if s.benchmark == "matmul")
    assert earlier_processes(connection, head.header.run_id) == {series.digest: [(1.0, 1.1, 1.2)]}


def test_a_run_can_be_left_out(connection: Connection, make_run: Maker) -> None:
    base, head = make_run(position=1), make_run(position=2)
    for run in (base, head):
        ingest_run(connection, run)
    assert earlier_processes(connection, head.header.run_id, without=[base.header.run_id]) == {}


def test_no_more_than_the_newest_are_read(
    connection: Connection, make_run: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "RUNS", 2)
    runs = [make_run(float(position), position=position) for position in range(1, 6)]
    for run in runs:
        ingest_run(connection, run)
    (found,) = earlier_processes(connection, runs[-1].header.run_id).values()
    assert sorted(values[0] for values in found) == [3.0, 4.0]
