"""A machine's name, its chart and its controls, from values that can be checked by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.control_sentences import SAME_SOFTWARE, controls_sentence, moved, software_words
from dashboard.machine_charts import noise_figure, software_marks
from dashboard.machine_picker import find_machine, name
from dashboard.machine_tables import DRAWN, control_table, hardware_table, plain, software_table
from dashboard.traces import Look
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.history import Series
from perfdb.domain.machine_record import (
    Control,
    ControlResult,
    EnvironmentSpan,
    HardwareSpan,
    MachineNoise,
    MachineRecord,
    NoisePoint,
)
from perfdb.domain.verdict import Verdict
from perfdb.errors import SelectionError

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNIT = GpuUnit("a1b2c3d4", "GPU", "96.00")


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def record(key: str, hostname: str = "host", gpu: GpuUnit | None = None) -> MachineRecord:
    return MachineRecord(Machine(key, hostname, gpu), "h" * 16, "GPU", day(0), day(9), 10)


def software(number: int, torch: str, repository: str = "ours") -> EnvironmentSpan:
    environment = Environment.of(torch=torch)
    return EnvironmentSpan(repository, environment.digest, environment, day(number), day(number + 1), 2)


def noise(number: int, median: float | None, hardware: str = "one") -> NoisePoint:
    return NoisePoint(str(number), day(number), hardware, MachineNoise(7, 0, median, median, median, median, 0.0))


def flagged(verdict: Verdict, *, software: str = "old", row: bool = True) -> ControlResult:
    return ControlResult("run-8", day(8), verdict, software, "old", is_followed=row)


def test_a_hostname_names_its_machine_alone() -> None:
    one, two = record("k1", "a"), record("k2", "b")
    assert [name(each, [one, two]) for each in (one, two)] == ["a", "b"]


def test_a_shared_hostname_comes_with_the_gpu_unit_or_else_the_key() -> None:
    shared = [record("k1" * 8, gpu=UNIT), record("k2" * 8), record("k3" * 8, gpu=replace(UNIT, uuid_digest="ffff" * 2))]
    assert [name(each, shared) for each in shared] == ["host · GPU a1b2c3", "host · key k2k2k2", "host · GPU ffffff"]


def test_one_gpu_unit_under_two_keys_is_told_by_the_key() -> None:
    moved_house = [record("k1" * 8, gpu=UNIT), record("k2" * 8, gpu=UNIT)]
    assert name(moved_house[0], moved_house) == "host · key k1k1k1"


def test_a_machine_is_found_by_key_beginning_or_hostname() -> None:
    records = [record("0123456789", "a"), record("0123450000", "b"), record("ffff000000", "a")]
    assert find_machine(records, "ffff000000") is records[2]
    assert find_machine(records, "012345678") is records[0]
    assert find_machine(records, "a") is records[0]  # the one that measured last
    with pytest.raises(SelectionError, match="'012345' names 2 machines: 0123456789, 0123450000"):
        find_machine(records, "012345")
    with pytest.raises(SelectionError, match="no machine matches 'c'; those that measured last: a"):
        find_machine(records, "c")


def test_software_is_marked_where_it_changed_in_its_own_repository() -> None:
    spans = [software(5, "2.14"), software(4, "2.12", "theirs"), software(1, "2.13")]
    (mark,) = software_marks(spans)
    assert (mark.when, mark.words) == (day(5), ("torch 2.13 → 2.14",))


def test_the_noise_of_each_hardware_is_drawn_in_percent_with_one_legend(look: Look) -> None:
    trend = [noise(1, None), noise(2, 0.01), noise(3, 0.02, "two"), noise(4, 0.03, "two")]
    figure = noise_figure(trend, [], look)
    assert [trace.name for trace in figure.data if trace.showlegend] == [
        "median noise",
        "90th percentile",
        "smallest detectable, median",
    ]
    assert [list(trace.y) for trace in figure.data[::3]] == [[2.0, 3.0], [1.0]]
    assert [trace.line.dash for trace in figure.data[::3]] == ["solid", "dash"]


def test_software_before_the_first_drawn_run_does_not_stretch_the_chart(look: Look) -> None:
    marks = software_marks([software(5, "2.15"), software(1, "2.14"), software(0, "2.13")])
    drawn = noise_figure([noise(3, 0.01), noise(6, 0.01)], marks, look).data[-1]
    assert drawn.name == "software changed"
    assert list(drawn.x) == [day(5).replace(tzinfo=None)]


def test_a_machine_without_a_baseline_that_speaks_draws_nothing(look: Look) -> None:
    marks = software_marks([software(5, "2.14"), software(1, "2.13")])
    assert not noise_figure([noise(1, None)], marks, look).data


def test_controls_that_stay_are_said_to_stay(series: Series, ok: Verdict, suspect: Verdict) -> None:
    newest = ControlResult("run-9", day(9), ok, "old", "old")
    quiet = Control(series, 12, newest)
    alone = replace(quiet, flagged=(flagged(suspect, row=False),))
    assert controls_sentence([quiet], UTC) == "No control moved in 12 judged results."
    assert controls_sentence([quiet, alone], UTC).endswith("1 suspect stood alone, which chance brings too.")


def test_a_control_that_moved_comes_first_with_its_suspects(
    series: Series, ok: Verdict, suspect: Verdict, look: Look
) -> None:
    newest = ControlResult("run-9", day(9), ok, "old", "old")
    quiet, moving = Control(series, 12, newest), Control(series, 12, newest, (flagged(suspect),))
    assert moved([quiet, moving]) == [moving]
    assert controls_sentence([quiet, moving], UTC).startswith(
        "1 of 2 controls moved, the last time from 9 Mar 2026 on."
    )
    drawn = control_table([quiet, moving], {}, look)
    assert drawn.index("20.0 % slower") < drawn.index("none")
    assert SAME_SOFTWARE in drawn


def test_where_a_move_began_the_software_is_told_as_far_as_it_is_known(suspect: Verdict) -> None:
    onset = flagged(suspect, software="new")
    known = {"old": Environment.of(torch="2.13"), "new": Environment.of(torch="2.14", triton="3.7")}
    assert software_words(onset, known) == "with torch 2.13 → 2.14, triton none → 3.7"
    assert software_words(onset, {}) == "on other software than the result before it"
    assert software_words(replace(onset, before=None), known) == "the first result that was looked at"


def test_controls_beyond_what_a_table_holds_are_counted(series: Series, ok: Verdict, look: Look) -> None:
    many = [Control(series, 1, ControlResult("run", day(1), ok, "old"))] * (DRAWN + 2)
    assert "2 more controls are not drawn." in control_table(many, {}, look)


def test_a_change_of_hardware_is_told_in_words(look: Look) -> None:
    new = Hardware.of(gpu_name="GPU", power_limit_w=600, ecc=False, clock_lock_mhz=None)
    old = Hardware.of(gpu_name="GPU", power_limit_w=700, ecc=True, clock_lock_mhz=None)
    other = replace(UNIT, uuid_digest="ffff" * 2)
    spans = [
        HardwareSpan(new, new.digest, "GPU", UNIT, day(5), day(6), 2),
        HardwareSpan(old, old.digest, "GPU", other, day(1), day(2), 2),
    ]
    drawn = hardware_table(spans, look)
    assert "power limit (W) 700 → 600" in drawn
    assert "ECC yes → no" in drawn
    assert "GPU unit GPU, ffffff, VBIOS 96.00 → GPU, a1b2c3, VBIOS 96.00" in drawn
    assert "<dt>clock lock (MHz)</dt><dd>not told</dd>" in drawn


def test_old_facts_that_are_missing_are_said_to_be(look: Look) -> None:
    bare = HardwareSpan(Hardware(()), "0" * 16, "CPU", None, day(1), day(1), 1)
    assert "Nothing is recorded." in hardware_table([bare], look)
    assert "Nothing is recorded." in software_table([replace(software(1, "2.13"), environment=Environment(()))], look)


def test_many_changed_facts_are_cut_with_a_count(look: Look) -> None:
    facts = {f"FACT_{number}": "1" for number in range(9)}
    old, new = replace(software(1, ""), environment=Environment.of()), software(3, "")
    drawn = software_table([replace(new, environment=Environment.of(**facts)), old], look)
    assert "FACT_5 none → 1" in drawn
    assert "and 3 more" in drawn


@pytest.mark.parametrize(
    ("fact", "shown"),
    [("gpu_name", "GPU name"), ("memory_gib", "memory (GiB)"), ("threads", "threads"), ("w", "w"), ("mig", "MIG")],
)
def test_facts_are_named_as_people_write_them(fact: str, shown: str) -> None:
    assert plain(fact) == shown
