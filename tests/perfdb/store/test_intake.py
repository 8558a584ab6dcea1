"""Results of one run in blocks: what is sent, taken back and said twice."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from perfdb.domain.case import Case, Outcome
from perfdb.domain.run import CaseResult, Run
from perfdb.domain.series import SeriesKey, identities_in
from perfdb.store import intake
from perfdb.store.history import run_measurements, series_samples
from perfdb.store.ingest import ingest_run

Maker = Callable[..., Run]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "BLOCK", 4)
    monkeypatch.setattr(intake, "STRIDE", 1)


def wide(run: Run, cases: int) -> Run:
    """The run's results for so many cases, process by process."""
    return replace(run, results=tuple(replace(r, case=Case.of(m=m)) for r in run.results for m in range(cases)))


def count(connection: Connection, table: str) -> int:
    """How many rows."""
    return int(connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0)


def test_every_block_is_stored_once(connection: Connection, make_run: Maker) -> None:
    run = wide(make_run([1.0, 2.0, 4.0]), 7)
    report = ingest_run(connection, run)
    assert (report.measurements, report.outcomes, report.repeated) == (7, 21, 0)
    found = run_measurements(connection, run.header.run_id)
    assert [m.point.process_values for m in found] == [(1.0, 2.0, 4.0)] * 7
    assert [m.point.value for m in found] == [2.0] * 7
    assert series_samples(connection, found[0].series.digest, run.header.run_id) == [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)]
    assert (count(connection, "samples"), count(connection, "outcomes")) == (21, 21)


def test_known_series_are_found_again(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 3):
        assert ingest_run(connection, wide(make_run(position=position), 7)).measurements == 7
    assert (count(connection, "series"), count(connection, "cases"), count(connection, "measurements")) == (7, 7, 21)


def test_a_case_that_fails_in_its_last_process_loses_what_was_sent(connection: Connection, make_run: Maker) -> None:
    run = wide(make_run([1.0, 2.0, 3.0]), 3)
    failed = replace(run.results[-1], outcome=Outcome.FAILED, readings=(), process=3)
    report = ingest_run(connection, replace(run, results=(*run.results, failed)))
    assert report.measurements == 2
    assert (count(connection, "measurements"), count(connection, "samples"), count(connection, "outcomes")) == (
        2,
        6,
        10,
    )


def test_fewer_processes_than_planned_still_give_a_measurement(connection: Connection, make_run: Maker) -> None:
    run = wide(make_run([1.0, 3.0]), 5)
    assert ingest_run(connection, run).measurements == 5
    assert run_measurements(connection, run.header.run_id)[0].point.value == 2.0


@pytest.mark.parametrize("far", [0, 5])
def test_a_result_said_twice_counts_once(connection: Connection, make_run: Maker, far: int) -> None:
    run = wide(make_run(1.0), 4)
    again = replace(run.results[0], readings=tuple(replace(r, value=9.0) for r in run.results[0].readings))
    results = [*run.results]
    results.insert(1 + far, again)
    report = ingest_run(connection, replace(run, results=tuple(results)))
    assert (report.repeated, count(connection, "outcomes")) == (1, 12)
    assert {m.point.process_values for m in run_measurements(connection, run.header.run_id)} == {(1.0, 1.0, 1.0)}


def test_a_new_floor_or_cost_is_taken(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, wide(make_run(position=1), 5))
    run = wide(make_run(position=2), 5)
    ingest_run(connection, replace(run, results=tuple(replace(r, floor=0.05) for r in run.results)))
    ingest_run(connection, wide(make_run(position=3), 5))
    assert {m.series.floor for m in run_measurements(connection, run.header.run_id)} == {0.05}


def test_a_source_that_breaks_leaves_nothing_and_its_own_error(connection: Connection, make_run: Maker) -> None:
    run = wide(make_run(), 9)

    class Broken:
        header = run.header
        finished_at = None

        @property
        def results(self) -> Iterator[CaseResult]:
            yield from run.results[:20]
            raise RuntimeError("the file ended early")

    with pytest.raises(RuntimeError, match="ended early"), connection.begin_nested():
        ingest_run(connection, Broken())
    assert (count(connection, "runs"), count(connection, "measurements")) == (0, 0)


AXIS = st.text(max_size=8) | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


@given(axes=st.dictionaries(st.text(max_size=6), AXIS, max_size=4), name=st.text(), metric=st.text())
def test_identities_are_those_of_the_canonical_json(axes: dict[str, str], name: str, metric: str) -> None:
    key = SeriesKey("repository", name, Case.of(axes), "eager", "cpu", 1, metric, "hardware")
    assert key.canonical == json.dumps(key.named_fields(), sort_keys=True, separators=(",", ":"))
    assert identities_in(key)(name, key.case, "eager", metric).hex() == key.digest
