"""Runs: folding processes into measurements, and what never becomes a number."""

from datetime import UTC, datetime
from uuid import UUID

from perfdb.domain.case import Case, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.metric import LATENCY, Better, Metric
from perfdb.domain.run import CaseResult, Protocol, Reading, Run, RunHeader, RunState

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HEADER = RunHeader(
    run_id=str(UUID(int=1)),
    suite="smoke",
    started_at=NOON,
    code=Code("perfdb", CodeState.UNVERSIONED),
    machine=Machine("key", "host"),
    hardware=Hardware.of(cpu_model="x", threads=2),
    environment=Environment.of(torch="2.13.0"),
    protocol=Protocol("cpu", 1),
    processes=3,
    seed=7,
    perfdb_version="0.1.0",
)


def result(process: int, value: float | None, benchmark: str = "matmul") -> CaseResult:
    outcome = Outcome.FAILED if value is None else Outcome.MEASURED
    readings = () if value is None else (Reading(LATENCY, value, (value,)),)
    return CaseResult(benchmark, Case.of(m=1), "eager", process, outcome, NOON, readings=readings)


def test_a_measurement_is_the_median_of_its_processes() -> None:
    run = Run(HEADER, tuple(result(process, value) for process, value in enumerate([10.0, 30.0, 11.0])))
    (measurement,) = run.measurements()
    assert measurement.value == 11.0
    assert measurement.process_values == (10.0, 30.0, 11.0)
    assert measurement.spread == 20.0 / 11.0


def test_a_case_that_failed_in_one_process_is_no_number() -> None:
    run = Run(HEADER, (result(0, 10.0), result(1, None), result(0, 5.0, "copy")))
    assert [m.series.benchmark for m in run.measurements()] == ["copy"]


def test_a_run_is_complete_once_it_is_closed() -> None:
    assert Run(HEADER).state is RunState.INCOMPLETE
    assert Run(HEADER, finished_at=NOON).state is RunState.COMPLETE


def test_only_committed_code_with_a_place_on_its_branch_forms_baselines() -> None:
    commit = Commit("a" * 40, (), 7, NOON, "subject")
    shallow = Commit("a" * 40, (), None, NOON, "subject")
    assert Code("r", CodeState.COMMITTED, commit).may_be_baseline
    assert not Code("r", CodeState.COMMITTED, shallow).may_be_baseline
    assert not Code("r", CodeState.DIRTY, commit, difference="d").may_be_baseline
    assert not Code("r", CodeState.UNVERSIONED).may_be_baseline


def test_a_slowdown_is_positive_whichever_way_is_better() -> None:
    assert LATENCY.slowdown(10.0, 11.0) == 0.1
    assert Metric("throughput", "GB/s", Better.HIGHER).slowdown(10.0, 9.0) == 0.1


def test_an_environment_names_what_changed() -> None:
    before, after = Environment.of(torch="2.11", python="3.11"), Environment.of(torch="2.13", python="3.11", mkl="1")
    assert before.changes_to(after) == {"mkl": (None, "1"), "torch": ("2.11", "2.13")}
