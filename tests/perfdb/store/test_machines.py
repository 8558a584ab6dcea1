"""Machines: hardware, software, noise and controls as they come out of the store."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from perfdb.domain.case import Case, Outcome
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.machine_record import MachineNoise
from perfdb.domain.metric import RELATIVE_ERROR
from perfdb.domain.run import CaseResult, Reading, Run
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind
from perfdb.store import machines as hosts
from perfdb.store.history import catalogue
from perfdb.store.ingest import ingest_run
from perfdb.store.machines import (
    controls,
    environment_spans,
    hardware_spans,
    machines,
    noise_trend,
)
from perfdb.store.verdicts import mark_judged, save_verdicts

Maker = Callable[..., Run]
QUIET = Verdict(VerdictKind.OK, Reason.WITHIN_NOISE, delta=0.01, baseline=Baseline(100.0, 0.01, 20))
SUSPECT = Verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, True, delta=0.2, baseline=Baseline(100.0, 0.01, 20))
UNIT = GpuUnit("a" * 16, "GPU", "96.00")
SLOW, FAST = (Hardware.of(gpu_name="GPU", power_limit_w=watts) for watts in (600, 700))


def on(run: Run, machine: Machine | None = None, hardware: Hardware | None = None) -> Run:
    head = run.header
    return replace(run, header=replace(head, machine=machine or head.machine, hardware=hardware or head.hardware))


def frozen(run: Run) -> Run:
    return replace(run, results=tuple(replace(result, is_control=True) for result in run.results))


def store(connection: Connection, run: Run, verdict: Verdict | None = QUIET) -> None:
    """A run with one verdict for every series that it measured."""
    ingest_run(connection, run)
    if verdict is not None:
        measured = {
            run.series_of(result, reading.metric).digest for result in run.results for reading in result.readings
        }
        save_verdicts(connection, run.header.run_id, dict.fromkeys(measured, verdict))
        mark_judged(connection, run.header.run_id)


def noisy(noise: float, *, detectable: float = 0.05, delta: float = 0.0, missing: int = 0) -> Verdict:
    base = Baseline(100.0, noise, 20)
    return replace(QUIET, baseline=base, smallest_detectable=detectable, delta=delta, missing=missing)


def test_an_empty_store_has_no_machine(connection: Connection) -> None:
    assert machines(connection) == []
    assert hardware_spans(connection, "key") == []
    assert environment_spans(connection, "key") == []
    assert noise_trend(connection, "key") == []


def test_machines_of_one_hostname_are_told_apart_and_the_last_comes_first(
    connection: Connection, make_run: Maker
) -> None:
    first, second = Machine("k1", "host", UNIT), Machine("k2", "host", replace(UNIT, uuid_digest="b" * 16))
    store(connection, on(make_run(position=1), first))
    store(connection, on(make_run(position=2), second))
    store(connection, on(make_run(position=3, complete=False), second), None)
    found = machines(connection)
    assert [record.machine for record in found] == [second, first]
    assert [(record.runs, record.incomplete) for record in found] == [(2, 1), (1, 0)]
    assert found[0].newest - found[0].first == timedelta(hours=1)


def test_a_machine_has_the_gpu_unit_and_hardware_of_its_newest_run(connection: Connection, make_run: Maker) -> None:
    machine = Machine("k", "host", UNIT)
    store(connection, on(make_run(position=1), machine, FAST))
    store(connection, on(make_run(position=2), replace(machine, gpu=None)))
    (record,) = machines(connection)
    assert record.machine.gpu is None
    assert record.hardware == make_run().header.hardware.digest


def test_noise_is_the_median_and_the_90th_percentile_over_series(connection: Connection, make_run: Maker) -> None:
    for number, name in enumerate("abcdefghijk"):
        store(connection, make_run(benchmark=name, number=number), noisy(0.01 * number, detectable=0.1 * number))
    newest = noise_of(connection)
    assert (newest.series, newest.silent) == (5, 0)  # the five newest runs: those of 0.06 ... 0.10
    assert newest.median == pytest.approx(0.08)
    assert newest.high == pytest.approx(0.096)
    assert newest.detectable == pytest.approx(0.8)
    assert newest.detectable_high == pytest.approx(0.96)


def noise_of(connection: Connection) -> MachineNoise:
    (record,) = machines(connection)
    assert record.noise is not None
    return record.noise


def test_of_each_series_the_verdict_in_force_on_its_newest_result_speaks(
    connection: Connection, make_run: Maker
) -> None:
    store(connection, make_run(position=1), noisy(0.05, delta=0.5))
    store(connection, make_run(position=2), noisy(0.04, delta=0.4))
    store(connection, make_run(position=2), noisy(0.02, delta=-0.1))
    found = noise_of(connection)
    assert (found.series, found.median, found.shift) == (1, 0.02, -0.1)


def test_a_baseline_that_cannot_speak_tells_no_noise(connection: Connection, make_run: Maker) -> None:
    store(connection, make_run(position=1), noisy(0.0005, missing=14))
    found = noise_of(connection)
    assert (found.series, found.silent, found.median, found.high, found.shift) == (0, 1, None, None, None)


def test_accuracy_has_no_part_in_the_noise_of_a_machine(connection: Connection, make_run: Maker) -> None:
    run = make_run(position=1)
    reading = Reading(RELATIVE_ERROR, 1e-3)
    error = CaseResult("matmul", Case.of(m=2), "eager", 0, Outcome.MEASURED, run.header.started_at, readings=(reading,))
    store(connection, replace(run, results=(*run.results, error)))
    assert len(catalogue(connection)) == 2
    assert noise_of(connection).series == 1


def test_a_run_that_was_not_judged_tells_no_noise(connection: Connection, make_run: Maker) -> None:
    store(connection, make_run(position=1, complete=False), None)
    assert machines(connection)[0].noise is None
    assert hardware_spans(connection, "key")[0].noise is None
    assert noise_trend(connection, "key") == []


def test_another_power_limit_is_another_hardware_with_dates_and_noise_of_its_own(
    connection: Connection, make_run: Maker
) -> None:
    machine = Machine("k", "host", UNIT)
    for position in (1, 2):
        store(connection, on(make_run(position=position), machine, FAST), noisy(0.01))
    store(connection, on(make_run(position=3), machine, SLOW), noisy(0.03))
    newest, older = hardware_spans(connection, "k")
    assert (newest.hardware, older.hardware) == (SLOW, FAST)
    assert (newest.runs, older.runs) == (1, 2)
    assert older.last - older.first == timedelta(hours=1)
    assert newest.gpu == older.gpu == UNIT
    assert [span.noise.median for span in (newest, older) if span.noise] == [0.03, 0.01]
    assert older.hardware.changes_to(newest.hardware) == {"power_limit_w": (700, 600)}


def test_machines_with_the_same_hardware_are_counted(connection: Connection, make_run: Maker) -> None:
    for position, key in enumerate(("a", "b", "c", "c")):
        store(connection, on(make_run(position=position), Machine(key, key), FAST))
    assert hardware_spans(connection, "a")[0].others == 2


def test_software_that_comes_back_is_told_twice(connection: Connection, make_run: Maker) -> None:
    for position, torch in enumerate(("2.13", "2.13", "2.14", "2.13")):
        store(connection, make_run(position=position, torch=torch))
    spans = environment_spans(connection, "key")
    assert [(dict(span.environment.facts)["torch"], span.runs) for span in spans] == [
        ("2.13", 1),
        ("2.14", 1),
        ("2.13", 2),
    ]
    assert spans[2].last - spans[2].first == timedelta(hours=1)
    assert len(environment_spans(connection, "key", limit=2)) == 2


def test_repositories_that_take_turns_do_not_change_each_others_software(
    connection: Connection, make_run: Maker
) -> None:
    for number in range(4):
        name, torch = ("ours", "2.13") if number % 2 else ("theirs", "2.12")
        store(connection, make_run(number=number, repository=name, torch=torch))
    spans = environment_spans(connection, "key")
    assert [(span.repository, span.runs) for span in spans] == [("ours", 2), ("theirs", 2)]


def test_the_trend_has_a_point_for_each_run_oldest_first(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 3):
        store(connection, make_run(position=position), noisy(0.01 * position))
    store(connection, on(make_run(position=4), Machine("other", "other")))
    points = noise_trend(connection, "key")
    assert [point.noise.median for point in points] == [0.01, 0.02, 0.03]
    assert points[0].run_id == make_run(position=1).header.run_id


def test_of_many_runs_the_trend_takes_some_evenly_and_the_newest(
    connection: Connection, make_run: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "TREND_RUNS", 3)
    for position in range(1, 10):
        store(connection, make_run(position=position), noisy(0.01 * position))
    assert [point.noise.median for point in noise_trend(connection, "key")] == [0.03, 0.06, 0.09]


def test_a_control_tells_its_newest_result_and_its_flagged_ones(connection: Connection, make_run: Maker) -> None:
    for position in range(1, 6):
        verdict = SUSPECT if position in (3, 4) else QUIET
        torch = "2.13" if position < 3 else "2.14"
        store(connection, frozen(make_run(position=position, torch=torch)), verdict)
    (control,) = controls(connection, "key", machines(connection)[0].newest)
    assert control.series.is_control
    assert control.results == 5
    assert control.newest.run_id == make_run(position=5).header.run_id
    assert [result.run_id for result in control.moves] == [make_run(position=n).header.run_id for n in (3, 4)]
    assert control.onset is not None
    assert control.onset.is_new_software


def test_code_that_may_change_is_no_control(connection: Connection, make_run: Maker) -> None:
    store(connection, make_run(position=1), SUSPECT)
    assert controls(connection, "key", machines(connection)[0].newest) == []


def test_a_control_of_shared_hardware_is_read_machine_by_machine(connection: Connection, make_run: Maker) -> None:
    for position in range(1, 7):
        name = "ab"[position % 2]
        store(connection, frozen(on(make_run(position=position), Machine(name, name), FAST)))
    record = next(record for record in machines(connection) if record.machine.key == "a")
    (control,) = controls(connection, "a", record.newest)
    assert control.results == 3


def test_controls_are_looked_at_90_days_back(connection: Connection, make_run: Maker) -> None:
    for position, days in enumerate((0, 1, 91)):
        store(connection, frozen(make_run(position=position, hours=24 * days)), SUSPECT)
    (control,) = controls(connection, "key", machines(connection)[0].newest)
    assert (control.results, len(control.flagged)) == (2, 2)


def test_only_the_verdict_in_force_moves_a_control(connection: Connection, make_run: Maker) -> None:
    run = frozen(make_run(position=1))
    store(connection, run, SUSPECT)
    store(connection, run, QUIET)
    (control,) = controls(connection, "key", machines(connection)[0].newest)
    assert control.flagged == ()
