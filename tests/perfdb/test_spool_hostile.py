"""Hostile spool files: whatever a file holds, reading it ends, stays small, and names every line that it leaves out."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import CaseResult, Protocol, Reading, RunHeader
from perfdb.errors import SpoolError
from perfdb.record import encode_header, encode_result
from perfdb.spool import MAX_LINE_BYTES, MAX_REJECTIONS, SpoolFile, read_spool

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
COMMIT = Commit("a" * 40, ("b" * 40,), 7, NOON, "make it ☃ faster")
HEADER = RunHeader(
    run_id=str(UUID(int=1)),
    suite="smoke",
    started_at=NOON,
    code=Code("perfdb", CodeState.DIRTY, COMMIT, "main", "d1"),
    machine=Machine("key", "host", GpuUnit("u", "H200", "96.00")),
    hardware=Hardware.of(cpu_model="x", threads=2, ecc=None),
    environment=Environment.of(torch="2.13.0", triton=None),
    protocol=Protocol("cpu", 1),
    processes=3,
    seed=7,
    perfdb_version="0.1.0",
    commits=(COMMIT,),
)
RESULT = CaseResult(
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
    first_call_s=0.25,
    formerly=("mm",),
)
HEAD: Mapping[str, Any] = {"v": 1, **encode_header(HEADER)}
MEASURED: Mapping[str, Any] = {"v": 1, **encode_result(RESULT)}
END = b'{"v":1,"kind":"end","finished_at":"2026-05-01T13:00:00+00:00"}\n'
LONGEST_REASON = 200
quickly = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=250,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def line(record: Mapping[str, Any], **change: Any) -> bytes:
    """One line; NaN, infinities and lone surrogates are written as a careless program would."""
    return json.dumps({**record, **change}).encode() + b"\n"


def read(folder: Path, *lines: bytes) -> SpoolFile:
    path = folder / "hostile.jsonl"
    path.write_bytes(b"".join(lines))
    return read_spool(path)


def check_reasons(spool_file: SpoolFile) -> None:
    for rejection in spool_file.rejections:
        assert rejection.reason.isprintable(), rejection
        assert 0 < len(rejection.reason) <= LONGEST_REASON, rejection


def rejected(folder: Path, bad: bytes) -> str:
    """The reason why ``bad`` was left out from between two good lines, which were taken."""
    spool_file = read(folder, line(HEAD), line(MEASURED), bad, line(MEASURED, process=1), END)
    check_reasons(spool_file)
    assert ([r.process for r in spool_file.run.results], spool_file.run.finished_at is not None) == ([0, 1], True)
    assert [r.line for r in spool_file.rejections] == [3]
    return spool_file.rejections[0].reason


def places(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside a record."""
    members = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for key, value in members:
        yield (*path, key)
        yield from places(value, (*path, key))


def with_value(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the record with another value at one place."""
    copy = json.loads(json.dumps(record))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


hostile_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, [], {}, "", 0, -1, -0.0, 1.5, 2**15, 2**31, 2**63, -(2**63) - 1, 10**4000, 1e308, 5e-324),
        *(float("nan"), float("inf"), "\0", "\ud800", "\x1b[2J\x1b]0;pwned\x07", "\u202eabc", "a\nb\r\tc", "\ufeff"),
        *("x" * 1_000_000, "🚀" * 201, "'; DROP TABLE runs; --", "$.`x` - at `$`", [[]] * 200, {"cls": 1, "self": 2}),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2016-12-31T23:59:60+00:00", "2026-05-01"),
        *({str(n): n for n in range(2000)}, {"\0": "\0"}, {"\ud800": 1}, {"m": {"m": 1}}, "measured", "failed"),
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@quickly
@given(place=st.sampled_from(list(places(MEASURED))), value=hostile_values | json_values)
def test_any_value_at_any_place_of_a_result_loses_at_most_its_line(
    tmp_path: Path, place: tuple[Any, ...], value: object
) -> None:
    bad = line(with_value(MEASURED, place, value))
    try:
        spool_file = read(tmp_path, line(HEAD), line(MEASURED), bad, line(MEASURED, process=1), END)
    except SpoolError as error:
        assert place == ("v",)
        assert "hostile.jsonl line 3 has spool version" in str(error)  # noqa: PT017
        assert len(str(error)) < len(str(tmp_path)) + 300  # noqa: PT017
        return
    check_reasons(spool_file)
    others = [r for r in spool_file.run.results if r == RESULT or r.process == 1]
    assert len(others) >= 2
    assert [r.line for r in spool_file.rejections] in ([], [3])
    assert len(spool_file.run.results) + len(spool_file.rejections) == 3


@quickly
@given(place=st.sampled_from(list(places(HEAD))), value=hostile_values | json_values)
def test_any_value_at_any_place_of_the_run_line_is_taken_or_refused_by_its_number(
    tmp_path: Path, place: tuple[Any, ...], value: object
) -> None:
    try:
        spool_file = read(tmp_path, line(with_value(HEAD, place, value)), line(MEASURED), END)
    except SpoolError as error:
        said = str(error)
        assert re.search(r"hostile\.jsonl (has no readable run line \(line 1 |line 1 has spool version)", said)
        assert said.isprintable()
        assert len(said) < len(str(tmp_path)) + 400
    else:
        assert (spool_file.run.results, spool_file.rejections) == ((RESULT,), ())


@quickly
@given(data=st.binary(max_size=300), cut=st.integers(0, 600), kept=st.integers(0, 600))
def test_a_line_with_any_bytes_inside_is_taken_or_rejected(tmp_path: Path, data: bytes, cut: int, kept: int) -> None:
    good = line(MEASURED)[:-1]
    bad = good[:cut] + data.replace(b"\n", b"") + good[len(good) - kept :] if kept else good[:cut] + data
    bad = bad.replace(b"\n", b"") + b"\n"
    with suppress(SpoolError):  # of a newer version, should the bytes say so
        spool_file = read(tmp_path, line(HEAD), line(MEASURED), bad, line(MEASURED, process=1), END)
        check_reasons(spool_file)
        assert len(spool_file.run.results) + len(spool_file.rejections) in (2, 3)
        assert {r.line for r in spool_file.rejections} <= {3}


@quickly
@given(data=st.binary(max_size=2000) | st.text(alphabet='{}[]",:\n\\0eE-v', max_size=500).map(str.encode))
def test_any_bytes_after_the_run_line_are_rejected_line_by_line(tmp_path: Path, data: bytes) -> None:
    spool_file = read(tmp_path, line(HEAD), data)
    check_reasons(spool_file)
    many = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert [r.line for r in spool_file.rejections] == [2 + n for n in range(many)]


@quickly
@given(data=st.binary(max_size=2000))
def test_any_bytes_alone_are_one_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SpoolError, match=r"hostile\.jsonl has no readable run line( \(line 1 .{1,200}\))?; move") as no:
        read(tmp_path, data)
    assert str(no.value).isprintable()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"[" * 100_000 + b"\n", "does not fit at its start: expected object, got array"),
        (b'{"a":' * 100_000 + b"\n", "is nested too deeply"),
        (line(MEASURED)[:-2] + b',"more":' + b"[" * 100_000 + b"\n", "is nested too deeply"),
        (b"x" * (MAX_LINE_BYTES + 1) + b"\n", "is empty or too long"),
        (b" \t \n", "is empty or too long"),
        (line(MEASURED, case={f"a{n}": n for n in range(100_000)}), "does not fit at case: expected object of length"),
        (line(MEASURED, case={"a" * 10**6: 1}), "does not fit at key in $.case: expected str of length <= 200"),
        (line(MEASURED, case={"a": "b" * 10**6}), "does not fit at case[...]: expected str of length <= 200"),
        (line(MEASURED, benchmark="b" * 10**6), "does not fit at benchmark: expected str of length <= 200"),
        (line(MEASURED, detail="d" * 10**6), "does not fit at detail: expected str of length <= 10000"),
        (line(MEASURED, formerly=["b"] * 101), "does not fit at formerly: expected array of length <= 100"),
        (line(MEASURED, case={"a": list(range(300_000))}), "holds more than 262,144 values"),
        (line(MEASURED, readings=MEASURED["readings"] * 2), "says 2 readings of 1 metrics"),
        (line(MEASURED, readings=MEASURED["readings"] * 1001), "does not fit at readings: expected array of length"),
        (line(MEASURED, v=0), "does not fit at v: expected int >= 1"),
        (line(MEASURED, v=10**4000), "does not fit at v: expected int <= 32767"),
        (line(MEASURED, v="1"), "does not fit at v: expected int, got str"),
        (line(MEASURED, process=2**15), "does not fit at process: expected int <= 32767"),
        (line(MEASURED, process=-1), "does not fit at process: expected int >= 0"),
        (line(MEASURED, first_call_s=3.5e38), "does not fit at first_call_s: expected float <= 3.4e+38"),
        (line(MEASURED, floor=float("inf")), "is not JSON: invalid character"),
        (line(MEASURED).replace(b"1.5", b"1e309"), "number out of range"),
        (line(MEASURED).replace(b"1.5", b"9" * 5000), "number out of range"),
        (line(MEASURED, benchmark="\0"), "holds the character NUL in '\\x00'"),
        (line(MEASURED, case={"\0": 1}), "holds the character NUL in '\\x00'"),
        (line(MEASURED, benchmark="\ud800"), "is not JSON: unexpected"),
        (line(MEASURED).replace(b"matmul", b"\xed\xa0\x80"), "is not JSON: invalid utf-8"),
        (line(MEASURED).replace(b"matmul", b"caf\xe9"), "is not JSON: invalid utf-8"),
        (b"\xef\xbb\xbf" + line(MEASURED), "is not JSON"),
        (line({}, kind="\x1b[2J\u202e"), "does not fit at kind: invalid value '?[2J?'"),
        (line(MEASURED, ended_at="\x1b[2J" * 1000), "says a time that cannot be read: '\\x1b[2J"),
        (line(HEAD), "is a second run line"),
        (line({"v": 1}), "does not fit at its start: object missing required field kind"),
    ],
    ids=map(str, count(1)),
)
def test_a_hostile_line_is_rejected_with_a_reason_and_its_neighbours_are_taken(
    tmp_path: Path, bad: bytes, reason: str
) -> None:
    assert reason in rejected(tmp_path, bad)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("0001-01-01T00:00:00+14:00", "not of our age"),
        ("9999-12-31T23:59:59-12:00", "not of our age"),
        ("9000-12-31T23:59:59-12:00", "not of our age"),
        ("1970-01-01T00:00:00+14:00", "not of our age"),
        ("1969-12-31T23:59:59Z", "not of our age"),
        ("10000-01-01T00:00:00Z", "cannot be read"),
        ("2016-12-31T23:59:60Z", "cannot be read"),
        ("2026-05-01T12:00:00+24:00", "cannot be read"),
        ("2026-05-01T12:00:00", "without its zone"),
        ("2026-05-01", "without its zone"),
        ("٢٠٢٦-05-01T12:00:00Z", "cannot be read"),
        ("Z" * 10**6, "cannot be read"),
    ],
)
def test_a_time_that_cannot_be_placed_is_rejected(tmp_path: Path, said: str, reason: str) -> None:
    assert reason in rejected(tmp_path, line(MEASURED, ended_at=said))
    assert reason in rejected(tmp_path, line({"v": 1, "kind": "end", "finished_at": said}))


def test_odd_zones_name_the_same_moment(tmp_path: Path) -> None:
    zones = ("2026-05-02T02:00:00+14:00", "2026-05-01T00:00:00-12:00", "2026-05-01T12:00:30+00:00:30", "20260501T12Z")
    spool_file = read(tmp_path, line(HEAD), *(line(MEASURED, ended_at=said) for said in zones))
    assert [r.ended_at for r in spool_file.run.results] == [NOON] * 4


def test_of_a_key_said_twice_the_last_counts_and_unknown_ones_are_passed_over(tmp_path: Path) -> None:
    doubled = line(MEASURED)[:-2] + b',"process":5,"process":9,"nobody":{"knows":[1e400]}}\n'
    assert [r.process for r in read(tmp_path, line(HEAD), doubled).run.results] in ([9], [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037"])
def test_a_file_in_another_encoding_is_refused_by_its_first_line(tmp_path: Path, encoding: str) -> None:
    whole = (line(HEAD) + line(MEASURED) + END).decode().encode(encoding)
    with pytest.raises(SpoolError, match=r"hostile\.jsonl has no readable run line \(line 1 is "):
        read(tmp_path, whole)


def test_lines_out_of_place_are_named_and_the_last_end_counts(tmp_path: Path) -> None:
    late = END.replace(b"T13", b"T15")
    lines = (END, line(MEASURED), line(HEAD), END, line(HEAD), line(MEASURED, process=1), late, line(MEASURED)[:-20])
    spool_file = read(tmp_path, *lines)
    assert [(r.line, r.reason) for r in spool_file.rejections] == [
        (1, "comes before the run line"),
        (2, "comes before the run line"),
        (5, "is a second run line"),
        (8, "is torn: it has no end"),
    ]
    assert [r.process for r in spool_file.run.results] == [1]
    assert spool_file.run.finished_at == datetime(2026, 5, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize("bad", ['{"v":2}', '{"v":2,"kind":"result"}', '{"kind":"aura","v":32767,"x":[1,{}]}'])
def test_a_newer_version_anywhere_refuses_the_file_by_line(tmp_path: Path, bad: str) -> None:
    with pytest.raises(SpoolError, match=r"hostile\.jsonl line 3 has spool version \d+, .*upgrade perfdb"):
        read(tmp_path, line(HEAD), line(MEASURED), bad.encode() + b"\n")


def test_a_metric_in_two_units_is_rejected_where_it_changes(tmp_path: Path) -> None:
    seconds = line(with_value(MEASURED, ("readings", 0, "metric", "unit"), "s"), process=1)
    higher = line(with_value(MEASURED, ("readings", 0, "metric", "better"), "higher"), process=2)
    other = line(with_value(MEASURED, ("readings", 0, "metric", "unit"), "s"), benchmark="other")
    spool_file = read(tmp_path, line(HEAD), line(MEASURED), seconds, higher, other)
    assert [r.benchmark for r in spool_file.run.results] == ["matmul", "other"]
    assert [(r.line, r.reason) for r in spool_file.rejections] == [
        (3, "says 'latency' in 's' (lower is better), a line before it in 'us' (lower is better)"),
        (4, "says 'latency' in 'us' (higher is better), a line before it in 'us' (lower is better)"),
    ]


def test_facts_may_be_called_like_parameters(tmp_path: Path) -> None:
    names = {"cls": "1", "self": "2", "facts": None}
    header = read(tmp_path, line(HEAD, hardware=names, environment=names)).run.header
    assert dict(header.hardware.facts) == dict(header.environment.facts) == names


def test_fifty_thousand_lines_of_garbage_take_seconds_and_ten_thousand_rejections(tmp_path: Path) -> None:
    started = time.process_time()
    spool_file = read(tmp_path, line(HEAD), b'{"v":1,"kind":"result","benchmark":["\x1b"]}\n' * 50_000, line(MEASURED))
    assert time.process_time() - started < 10
    check_reasons(spool_file)
    assert (len(spool_file.run.results), len(spool_file.rejections)) == (1, MAX_REJECTIONS)
    assert [spool_file.rejections[n].line for n in (0, 9_998, 9_999)] == [2, 10_000, 50_001]


#: The peak comes from /proc: ru_maxrss starts at the peak of the process that forked.
READ_AND_WEIGH = """
import re, sys
from pathlib import Path
from perfdb.spool import SpoolReader

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak()
reader = SpoolReader(Path(sys.argv[1]))
print(sum(1 for _ in reader.results), len(reader.rejections), peak() - before)
"""


def test_two_hundred_megabytes_of_long_lines_grow_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    samples = line(MEASURED).replace(b"[1.0, 1.5, 2.0]", b"[" + b"0," * (7 * 2**20) + b"0]")
    facts = line(HEAD).replace(b'"cpu_model"', b'"x":{},' * (2 * 2**20) + b'"cpu_model"')
    texts = line(MEASURED, detail="\x01" * 2_600_000)
    with path.open("wb") as file:
        file.write(line(HEAD))
        for bad in (samples, facts, texts, b"y" * (40 * 2**20), samples, b"[" * 15_000_000, samples, b"{" * 2**25):
            file.write(bad.rstrip() + b"\n")
        file.write(b"0" * 40_000_000)
    assert path.stat().st_size > 200_000_000
    said = subprocess.run(
        [sys.executable, "-c", READ_AND_WEIGH, path], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert said[:2] == ["0", "9"]
    assert int(said[2]) * 1024 < 100e6
