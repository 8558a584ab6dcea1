"""Ingest: what is stored, and that nothing is stored twice, torn, or lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, Engine, text

from perfdb.decoder import decode_header, decode_result
from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.run import Run, RunState
from perfdb.record import encode_header, encode_result
from perfdb.store.history import catalogue, run_measurements, series_history, series_samples
from perfdb.store.ingest import ingest_run
from perfdb.store.outcomes import failures, run_outcomes
from perfdb.store.partitions import month_bounds, month_name
from perfdb.store.runs import find_run, recent_runs, summary_counts

Maker = Callable[..., Run]


def test_a_run_is_read_back_as_it_was_measured(connection: Connection, make_run: Maker) -> None:
    run = make_run([10.0, 30.0, 11.0])
    report = ingest_run(connection, run)
    assert (report.is_changed, report.measurements, report.outcomes) == (True, 1, 3)
    (found,) = run_measurements(connection, run.header.run_id)
    assert found.point.value == 11.0
    assert found.point.process_values == (10.0, 30.0, 11.0)
    assert found.point.commit == run.header.code.commit
    assert found.series.digest == run.measurements()[0].series.digest
    assert found.series.label == "matmul[m=1]"
    assert series_samples(connection, found.series.digest, run.header.run_id) == [
        (10.0, 10.0),
        (30.0, 30.0),
        (11.0, 11.0),
    ]


def test_the_same_run_twice_changes_nothing(connection: Connection, make_run: Maker) -> None:
    assert ingest_run(connection, make_run()).is_changed
    assert not ingest_run(connection, make_run()).is_changed
    counts = summary_counts(connection)
    assert (counts.runs, counts.measurements) == (1, 1)


def test_an_incomplete_run_is_completed_by_later_lines(connection: Connection, make_run: Maker) -> None:
    whole = make_run([10.0, 20.0, 30.0])
    part = Run(whole.header, whole.results[:1])
    ingest_run(connection, part)
    assert recent_runs(connection)[0].state is RunState.INCOMPLETE
    ingest_run(connection, whole)
    assert recent_runs(connection)[0].state is RunState.COMPLETE
    (found,) = run_measurements(connection, whole.header.run_id)
    assert found.point.process_values == (10.0, 20.0, 30.0)
    assert not ingest_run(connection, part).is_changed


def test_a_failure_is_an_outcome_and_never_a_number(connection: Connection, make_run: Maker) -> None:
    run = make_run(outcomes={"broken": Outcome.TIMED_OUT})
    ingest_run(connection, run)
    assert [m.series.benchmark for m in run_measurements(connection, run.header.run_id)] == ["matmul"]
    assert [(f.benchmark, f.outcome, f.detail) for f in failures(connection, [run.header.run_id])] == [
        ("broken", Outcome.TIMED_OUT, "broken ended as timed_out")
    ]
    assert recent_runs(connection)[0].outcomes == {Outcome.MEASURED: 1, Outcome.TIMED_OUT: 1}
    assert len(run_outcomes(connection, run.header.run_id)) == 4


def test_points_lie_in_the_order_of_their_commits_not_of_their_times(connection: Connection, make_run: Maker) -> None:
    for position, hours in ((3, 1), (1, 2), (2, 3)):
        ingest_run(connection, make_run(float(position), position=position, hours=hours))
    ingest_run(connection, make_run(9.0, position=None, number=9, hours=0))
    history = series_history(connection, catalogue(connection)[0].digest)
    assert [point.value for point in history.points] == [1.0, 2.0, 3.0, 9.0]
    assert [point.may_be_baseline for point in history.points] == [True, True, True, False]


def test_a_full_clone_gives_a_shallow_commit_its_place(connection: Connection, make_run: Maker) -> None:
    shallow = make_run(position=None, number=1)
    ingest_run(connection, shallow)
    sha = shallow.header.code.commit.sha if shallow.header.code.commit else ""
    full = make_run(position=5, number=2)
    known = full.header.code.commit
    assert known is not None
    placed = replace(known, sha=sha)
    header = replace(full.header, code=replace(full.header.code, commit=placed), commits=(placed,))
    ingest_run(connection, Run(header, full.results, full.finished_at))
    ingest_run(connection, make_run(position=None, number=3))
    assert {run.commit.position for run in recent_runs(connection) if run.commit} == {5}


def test_code_without_a_repository_is_stored(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(state=CodeState.UNVERSIONED))
    run = find_run(connection, "latest")
    assert run.commit is None
    assert run.code_state is CodeState.UNVERSIONED


def test_many_ingests_at_once_neither_collide_nor_deadlock(engine: Engine, make_run: Maker) -> None:
    runs = [make_run(position=n, repository=f"repository {n % 3}", benchmark=f"b{n % 4}") for n in range(1, 25)]

    def store(run: Run) -> bool:
        with engine.begin() as connection:
            return ingest_run(connection, run).is_changed

    with ThreadPoolExecutor(8) as pool:
        changed = list(pool.map(store, [*runs, *runs]))
    with engine.connect() as connection:
        counts = summary_counts(connection)
    assert sum(changed) == 24
    assert (counts.runs, counts.measurements) == (24, 24)


def test_an_ingest_that_fails_leaves_nothing_behind(engine: Engine, make_run: Maker) -> None:
    def fail() -> None:
        with engine.begin() as connection:
            ingest_run(connection, make_run())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with engine.connect() as connection:
        assert summary_counts(connection).runs == 0
        assert not connection.scalar(text("SELECT count(*) FROM repositories"))


def test_months_are_those_of_utc() -> None:
    late = datetime.fromisoformat("2026-12-31T23:30:00-02:00")
    assert month_name(late) == "y2027m01"
    assert month_bounds(late) == (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC))
    december = datetime(2026, 12, 5, tzinfo=UTC)
    assert month_bounds(december) == (datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))


FAR = [
    ("started_at", "1970-01-01T00:00:00+00:00"),
    ("started_at", "8999-12-31T23:59:59+00:00"),
    ("seed", -(2**63)),
    ("processes", 2**15 - 1),
    ("suite", "☃" * 200),
]


@pytest.mark.parametrize(("field", "value"), FAR)
def test_whatever_a_spool_line_may_say_fits(connection: Connection, make_run: Maker, field: str, value: object) -> None:
    run = make_run()
    header = decode_header({**encode_header(run.header), field: value})
    assert ingest_run(connection, Run(header, run.results, run.finished_at)).is_changed


def test_the_longest_names_and_the_largest_numbers_fit(connection: Connection, make_run: Maker) -> None:
    run = make_run([3e38, 3.4e38, -1e-320])
    header = replace(run.header, code=replace(run.header.code, repository="r" * 200))
    results = [
        decode_result({**encode_result(result), "benchmark": "b" * 200, "provider": "☃" * 200, "detail": "d" * 10_000})
        for result in (replace(r, readings=(replace(r.readings[0], samples=(3.4e38,)),)) for r in run.results)
    ]
    ingest_run(connection, Run(header, tuple(results), run.finished_at))
    (found,) = run_measurements(connection, run.header.run_id)
    assert found.point.process_values == (3e38, 3.4e38, -1e-320)
