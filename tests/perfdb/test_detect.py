"""What happens when a run arrives: stored and judged at once, and judged again when an older one comes late."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text

from perfdb.detect import compare_runs, ingest_folder, judge_run, receive
from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.hardware import Hardware
from perfdb.domain.run import Run
from perfdb.domain.verdict import Reason, Verdict, VerdictKind
from perfdb.errors import SelectionError, SpoolError
from perfdb.spool import SpoolWriter
from perfdb.store.history import flagged_measurements, run_measurements
from perfdb.store.runs import find_run, recent_runs

Maker = Callable[..., Run]


def verdict(connection: Connection, run: Run) -> Verdict:
    (found,) = run_measurements(connection, run.header.run_id)
    assert found.point.verdict is not None
    return found.point.verdict


def history(connection: Connection, make_run: Maker, count: int) -> None:
    for position in range(1, count + 1):
        receive(connection, make_run(100.0 + position % 3, position=position))


def spooled(folder: Path, run: Run) -> Path:
    with SpoolWriter(folder, run.header) as spool:
        for result in run.results:
            spool.add(result)
        if run.finished_at:
            spool.close_run(run.finished_at)
        return spool.path


def test_the_sixteenth_result_is_the_first_that_is_judged(connection: Connection, make_run: Maker) -> None:
    history(connection, make_run, 14)
    fifteenth, sixteenth = make_run(101.0, position=15), make_run(101.0, position=16)
    receive(connection, fifteenth)
    receive(connection, sixteenth)
    assert (verdict(connection, fifteenth).reason, verdict(connection, fifteenth).missing) == (Reason.SHORT_HISTORY, 1)
    assert verdict(connection, sixteenth).kind is VerdictKind.OK


def test_a_slow_result_is_a_suspect(connection: Connection, make_run: Maker) -> None:
    history(connection, make_run, 20)
    slow = make_run(130.0, position=21)
    receive(connection, slow)
    assert verdict(connection, slow).is_suspect
    assert [found.point.run_id for found in flagged_measurements(connection, [slow.header.run_id])] == [
        slow.header.run_id
    ]
    assert find_run(connection, "latest").suspects == 1


def test_an_incomplete_run_is_stored_and_not_judged(connection: Connection, make_run: Maker) -> None:
    run = make_run(complete=False)
    receive(connection, run)
    assert [found.point.verdict for found in run_measurements(connection, run.header.run_id)] == [None]


def test_an_uncommitted_run_is_judged_and_never_a_baseline(connection: Connection, make_run: Maker) -> None:
    history(connection, make_run, 20)
    dirty = make_run(130.0, position=20, number=50, state=CodeState.DIRTY)
    receive(connection, dirty)
    assert verdict(connection, dirty).is_suspect
    after = make_run(101.0, position=21)
    receive(connection, after)
    baseline = verdict(connection, after).baseline
    assert baseline is not None
    assert baseline.count == 20


def test_an_older_commit_measured_later_has_the_later_ones_judged_again(
    connection: Connection, make_run: Maker
) -> None:
    for position in range(2, 17):
        receive(connection, make_run(100.0 + position % 3, position=position))
    last = make_run(101.0, position=17)
    receive(connection, last)
    before = verdict(connection, last)
    receive(connection, make_run(100.0, position=1, number=90, hours=500))
    after = verdict(connection, last)
    assert before.baseline is not None
    assert after.baseline is not None
    assert (before.baseline.count, after.baseline.count) == (15, 16)
    rows = "SELECT count(*) FROM verdicts v JOIN runs r ON r.id = v.run_id WHERE r.id = :run"
    assert connection.scalar(text(rows), {"run": last.header.run_id}) == 2


def test_judging_again_adds_nothing_when_nothing_is_new(connection: Connection, make_run: Maker) -> None:
    history(connection, make_run, 16)
    before = connection.scalar(text("SELECT count(*) FROM verdicts"))
    receive(connection, make_run(101.0, position=16))
    assert connection.scalar(text("SELECT count(*) FROM verdicts")) == before


def test_a_complete_file_moves_and_an_incomplete_one_waits(engine: Engine, make_run: Maker, tmp_path: Path) -> None:
    done = spooled(tmp_path, make_run(position=1))
    part = spooled(tmp_path, make_run(position=2, complete=False))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no run\n")
    reports = ingest_folder(engine, tmp_path, tmp_path / "ingested")
    assert {r.path.name: bool(r.refusal) for r in reports} == {done.name: False, part.name: False, broken.name: True}
    assert (tmp_path / "ingested" / done.name).exists()
    assert part.exists()
    with engine.connect() as connection:
        assert len(recent_runs(connection)) == 2


def test_two_runs_are_compared_by_their_processes(connection: Connection, make_run: Maker) -> None:
    receive(connection, make_run([100, 101, 99], position=1, outcomes={"broken": Outcome.FAILED}))
    receive(connection, make_run([130, 131, 129], position=2, torch="2.14.0"))
    comparison = compare_runs(connection, "latest~1", "latest")
    (delta,) = comparison.deltas
    assert delta.verdict.kind is VerdictKind.REGRESSION
    assert delta.verdict.delta == pytest.approx(0.30, abs=0.01)
    assert comparison.environment_changes == {"torch": ("2.13.0", "2.14.0")}


def test_what_only_one_run_has_is_listed(connection: Connection, make_run: Maker) -> None:
    receive(connection, make_run(position=1, benchmark="old"))
    receive(connection, make_run(position=2, benchmark="new"))
    comparison = compare_runs(connection, "latest~1", "latest")
    assert comparison.deltas == ()
    assert [series.benchmark for series in comparison.only_base] == ["old"]
    assert [series.benchmark for series in comparison.only_head] == ["new"]


def test_a_run_is_named_by_its_id_its_commit_or_its_age(connection: Connection, make_run: Maker) -> None:
    first, second = make_run(position=1), make_run(position=2)
    receive(connection, first)
    receive(connection, second)
    commit = first.header.code.commit
    assert commit is not None
    assert find_run(connection, commit.sha).run_id == first.header.run_id
    assert find_run(connection, first.header.run_id).run_id == first.header.run_id
    assert find_run(connection, "latest").run_id == second.header.run_id
    assert find_run(connection, "latest~1").run_id == first.header.run_id


@pytest.mark.parametrize("wanted", ["latest~7", "feed", "latest~x", "%", ""])
def test_a_run_that_is_not_there_is_said_with_the_next_command(
    connection: Connection, make_run: Maker, wanted: str
) -> None:
    receive(connection, make_run())
    with pytest.raises(SelectionError, match=r"perfdb (list runs|run smoke)|latest~1"):
        find_run(connection, wanted)


def test_a_run_is_not_compared_with_itself(connection: Connection, make_run: Maker) -> None:
    receive(connection, make_run())
    with pytest.raises(SelectionError, match="latest and latest are the same run"):
        compare_runs(connection, "latest", "latest")


def test_a_run_further_back_than_the_window_is_judged_by_what_lies_before_it(
    connection: Connection, make_run: Maker
) -> None:
    history(connection, make_run, 24)
    old = make_run(130.0, position=17, number=90, hours=500)
    receive(connection, old)
    assert judge_run(connection, old.header.run_id, window=18) == 0
    assert verdict(connection, old).is_suspect


def test_a_late_uncommitted_run_has_nothing_judged_again(connection: Connection, make_run: Maker) -> None:
    history(connection, make_run, 20)
    before = connection.scalar(text("SELECT count(*) FROM verdicts"))
    receive(connection, make_run(130.0, position=3, number=90, hours=500, state=CodeState.DIRTY))
    assert connection.scalar(text("SELECT count(*) FROM verdicts")) == before + 1


def test_a_file_that_another_process_moved_is_no_error(engine: Engine, make_run: Maker, tmp_path: Path) -> None:
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    spooled(tmp_path, make_run(position=1))
    (report,) = ingest_folder(engine, tmp_path, tmp_path / "ingested")
    assert report.refusal == ""


def test_two_processes_that_ingest_one_folder_do_not_trip_over_each_other(
    engine: Engine, make_run: Maker, tmp_path: Path
) -> None:
    for position in range(1, 9):
        spooled(tmp_path, make_run(100.0 + position % 3, position=position))
    with ThreadPoolExecutor(2) as both:
        futures = [both.submit(ingest_folder, engine, tmp_path, tmp_path / "ingested") for _ in range(2)]
        reports = [report for future in futures for report in future.result()]
    assert [report.refusal for report in reports if report.refusal] == []
    assert sum(bool(report.report and report.report.is_changed) for report in reports) == 8
    assert len(list((tmp_path / "ingested").iterdir())) == 8


def test_a_stored_file_that_cannot_be_moved_is_said_and_its_run_is_kept(
    engine: Engine, make_run: Maker, tmp_path: Path
) -> None:
    path = spooled(tmp_path, make_run(position=1))
    (tmp_path / "ingested").write_text("no folder")
    with pytest.raises(SpoolError, match="is stored but cannot be moved"):
        ingest_folder(engine, tmp_path, tmp_path / "ingested")
    assert path.exists()
    with engine.connect() as connection:
        assert len(recent_runs(connection)) == 1


def test_runs_of_other_hardware_or_protocol_are_not_matched_and_say_why(
    connection: Connection, make_run: Maker
) -> None:
    first, second, third = (make_run(position=n) for n in (1, 2, 3))
    second = replace(second, header=replace(second.header, hardware=Hardware.of(cpu_model="other", threads=8)))
    third = replace(third, header=replace(third.header, protocol=replace(third.header.protocol, version=2)))
    for run in (first, second, third):
        receive(connection, run)
    elsewhere = compare_runs(connection, first.header.run_id, second.header.run_id)
    otherwise = compare_runs(connection, first.header.run_id, third.header.run_id)
    assert elsewhere.deltas == otherwise.deltas == ()
    assert "other hardware, other, 8 threads" in elsewhere.why_unmatched(elsewhere.only_base[0])
    assert "another version of the protocol cpu" in otherwise.why_unmatched(otherwise.only_head[0])


def test_what_the_other_run_did_not_measure_is_said(connection: Connection, make_run: Maker) -> None:
    receive(connection, make_run(position=1, benchmark="old"))
    receive(connection, make_run(position=2, benchmark="new"))
    comparison = compare_runs(connection, "latest~1", "latest")
    assert comparison.why_unmatched(comparison.only_base[0]) == "the other run did not measure it"
