"""Spool files: what was written is read, and what is broken loses only itself."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import CaseResult, Protocol, Reading, Run, RunHeader, RunState
from perfdb.errors import SpoolError
from perfdb.spool import MAX_LINE_BYTES, SpoolFile, SpoolWriter, read_spool

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
COMMIT = Commit("a" * 40, ("b" * 40,), 7, NOON, "make it ☃ faster")
HEADER = RunHeader(
    run_id=str(UUID(int=1)),
    suite="smoke",
    started_at=NOON,
    code=Code("perfdb", CodeState.DIRTY, COMMIT, "main", "d1"),
    machine=Machine("key", "host", GpuUnit("u", "H200")),
    hardware=Hardware.of(cpu_model="x", threads=2, ecc=None),
    environment=Environment.of(torch="2.13.0", triton=None),
    protocol=Protocol("cpu", 1),
    processes=3,
    seed=7,
    perfdb_version="0.1.0",
    commits=(COMMIT,),
)
MEASURED = CaseResult(
    benchmark="matmul",
    case=Case.of(m=1, alpha=0.5, dtype="float32", causal=True),
    provider="eager",
    process=0,
    outcome=Outcome.MEASURED,
    ended_at=NOON,
    readings=(Reading(LATENCY, 1.5, (1.0, 1.5, 2.0)),),
    cost=Cost(2.0, 3.0),
    module="suites.kernels.matmul",
    floor=0.02,
    is_control=True,
    first_call_s=0.25,
)
FAILED = CaseResult("copy", Case.of(), "eager", 0, Outcome.FAILED, NOON, detail="ValueError: no")


def write(folder: Path, *, close: bool = True) -> Path:
    with SpoolWriter(folder, HEADER) as spool:
        spool.add(MEASURED)
        spool.add(FAILED)
        if close:
            spool.close_run(NOON)
        return spool.path


def test_what_was_written_is_read_back_equal(tmp_path: Path) -> None:
    spool_file = read_spool(write(tmp_path))
    assert spool_file.run == Run(HEADER, (MEASURED, FAILED), NOON)
    assert spool_file.rejections == ()


def test_a_run_without_its_closing_record_is_incomplete(tmp_path: Path) -> None:
    run = read_spool(write(tmp_path, close=False)).run
    assert run.state is RunState.INCOMPLETE
    assert len(run.results) == 2


def test_a_torn_last_line_loses_only_itself(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    spool_file = read_spool(path)
    assert spool_file.run == Run(HEADER, (MEASURED, FAILED))
    assert [(r.line, r.reason) for r in spool_file.rejections] == [(4, "is torn: it has no end")]


def test_a_rejected_line_is_reported_with_its_number_and_reason(tmp_path: Path) -> None:
    path = write(tmp_path)
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace("1.5", "NaN")
    path.write_text("\n".join(lines) + "\n")
    spool_file = read_spool(path)
    assert spool_file.run.results == (FAILED,)
    assert [(r.line, r.reason) for r in spool_file.rejections] == [(2, "is not JSON: invalid character (byte 284)")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outcome": "great"}, "does not fit at outcome: invalid enum value 'great'"),
        ({"readings": []}, "says outcome measured with 0 readings"),
        ({"benchmark": None}, "does not fit at benchmark: expected str, got null"),
        ({"benchmark": "a\0b"}, "holds the character NUL in 'a\\x00b'"),
        ({"ended_at": "2026-05-01T12:00:00"}, "says a time without its zone: '2026-05-01T12:00:00'"),
        ({"process": 2**70}, "does not fit at process: expected int <= 32767"),
        ({"kind": "poem"}, "does not fit at kind: invalid value 'poem'"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    path = write(tmp_path)
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    path.write_text("\n".join(lines) + "\n")
    assert [(r.line, r.reason) for r in read_spool(path).rejections] == [(2, reason)]


def test_a_file_of_a_newer_perfdb_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text() + '{"v":2,"kind":"aura"}\n')
    with pytest.raises(SpoolError, match=r"line 5 has spool version 2, this perfdb reads up to 1; upgrade perfdb"):
        read_spool(path)


@pytest.mark.parametrize("text", ["", "\n", "{}\n", "[]\n", "\x00\xff\n", '{"v":1,"kind":"end"}\n'])
def test_a_file_without_a_run_line_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(text)
    with pytest.raises(SpoolError, match=r"broken\.jsonl has no readable run line"):
        read_spool(path)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match=r"cannot read .*none\.jsonl: No such file"):
        read_spool(tmp_path / "none.jsonl")


def test_an_endless_line_is_rejected_and_the_next_one_taken(tmp_path: Path) -> None:
    path = write(tmp_path, close=False)
    path.write_bytes(path.read_bytes() + b"x" * (2 * MAX_LINE_BYTES + 5) + b"\n")
    with path.open("a") as file:
        file.write('{"v":1,"kind":"end","finished_at":"2026-05-01T12:00:00+00:00"}\n')
    spool_file = read_spool(path)
    assert spool_file.run.state is RunState.COMPLETE
    assert [r.line for r in spool_file.rejections] == [4]


def test_deep_nesting_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text() + "[" * 200_000 + "\n")
    assert [r.line for r in read_spool(path).rejections] == [5]


def test_an_existing_run_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path)
    before = path.read_bytes()
    with pytest.raises(SpoolError, match="File exists"):
        SpoolWriter(tmp_path, HEADER)
    assert path.read_bytes() == before


@contextmanager
def room(room_bytes: int) -> Iterator[None]:
    """Files may grow to so many bytes, as on a disk that fills up: the write that reaches it is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_that_did_not_fit_is_said_and_leaves_no_half_of_it(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, HEADER) as spool:
        spool.add(MEASURED)
        whole = spool.path.read_bytes()
        with room(len(whole) + 20), pytest.raises(SpoolError, match=r"cannot write .*; free space or fix the rights"):
            spool.add(FAILED)
        assert spool.path.read_bytes() == whole
        spool.add(FAILED)
        spool.close_run(NOON)
    assert read_spool(spool.path) == SpoolFile(spool.path, Run(HEADER, (MEASURED, FAILED), NOON))


def test_a_run_line_that_did_not_fit_leaves_no_file(tmp_path: Path) -> None:
    with room(20), pytest.raises(SpoolError, match=r"cannot write .*; free space"):
        SpoolWriter(tmp_path, HEADER)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file is in the way")
    with pytest.raises(SpoolError, match=r"cannot write .*spool.*; free space or fix the rights"):
        SpoolWriter(tmp_path / "spool", HEADER)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    field=st.sampled_from(["benchmark", "case", "readings", "cost", "ended_at", "floor", "v", "kind"]),
    value=json_values,
)
def test_no_value_of_any_field_crashes_the_reader(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "fuzzed.jsonl"
    whole = write(tmp_path / "whole") if not (tmp_path / "whole").exists() else next((tmp_path / "whole").iterdir())
    lines = whole.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), field: value})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogatepass")
    try:
        spool_file = read_spool(path)
    except SpoolError as error:
        assert "newer" in str(error) or "spool version" in str(error)  # noqa: PT017 - either way is right
    else:
        assert len(spool_file.run.results) + len(spool_file.rejections) == 2
