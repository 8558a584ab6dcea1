"""Decoder: what ``record`` encoded, from lines or objects, as domain values; every field is checked.

It runs where runs are collected and stored, never in a measuring process, so it may use a fast library. Whatever is not
what an encoder wrote raises ``ValueError``, or ``NewerVersionError`` where a newer perfdb wrote it.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from perfdb.domain.case import AxisValue, Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.metric import Better, Metric
from perfdb.domain.run import CaseResult, Protocol, Reading, RunHeader
from perfdb.record import RECORD_VERSION, Record

#: Two of them fit an index entry of PostgreSQL, 2,704 bytes, in any script.
LONGEST_NAME = 200
#: What a runner writes has 300 characters and a place. A block of results holds 2,000 of them.
LONGEST_TEXT = 10_000
#: A block's cases are one JSON value, of which PostgreSQL takes 256 MB.
MOST_AXES = 64
MOST_METRICS = 1000
MOST_SAMPLES = 100_000
MOST_FORMER_NAMES = 100
#: The store keeps a process in 16 bits.
LARGEST_COUNT = 2**15 - 1
#: The store keeps a sample in 32 bits, and sums and squares of such numbers stay finite in 64. Bounds refuse infinity
#: and NaN too, which objects, unlike lines, may hold.
LARGEST_NUMBER = 3.4e38
FIRST_YEAR, LAST_YEAR = 1970, 9000

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Words = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Sha = Annotated[str, Meta(pattern=r"\A([0-9a-f]{40}|[0-9a-f]{64})\Z")]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Version = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Axis = bool | Whole | Number | Name
Axes = Annotated[dict[Name, Axis], Meta(max_length=MOST_AXES)]
Fact = bool | Whole | Number | Words | None


class NewerVersionError(Exception):
    """The record's format version is above ours."""


class _Commit(Struct):
    sha: Sha
    parents: tuple[Sha, ...]
    position: Whole | None
    committed_at: str
    subject: str

    def value(self) -> Commit:
        return Commit(self.sha, self.parents, self.position, decode_time(self.committed_at), _text(self.subject))


class _Code(Struct):
    repository: Name
    state: CodeState
    commit: _Commit | None
    branch: str
    difference: str

    def value(self) -> Code:
        commit = self.commit.value() if self.commit else None
        return Code(_text(self.repository), self.state, commit, _text(self.branch), _text(self.difference))


class _Gpu(Struct):
    uuid_digest: Name
    name: str
    vbios: str | None

    def value(self) -> GpuUnit:
        return GpuUnit(_text(self.uuid_digest), _text(self.name), None if self.vbios is None else _text(self.vbios))


class _Machine(Struct):
    key: Name
    hostname: str
    gpu: _Gpu | None

    def value(self) -> Machine:
        return Machine(_text(self.key), _text(self.hostname), self.gpu.value() if self.gpu else None)


class _Protocol(Struct):
    name: Name
    version: Count


class _Header(Struct, tag_field="kind", tag="run"):
    run_id: str
    suite: Name
    started_at: str
    code: _Code
    machine: _Machine
    hardware: dict[Name, Fact]
    environment: dict[Name, Words | None]
    protocol: _Protocol
    processes: Count
    seed: Whole
    perfdb: str
    commits: tuple[_Commit, ...]
    v: Version = RECORD_VERSION

    def value(self) -> RunHeader:
        return RunHeader(
            run_id=_run_id(self.run_id),
            suite=_text(self.suite),
            started_at=decode_time(self.started_at),
            code=self.code.value(),
            machine=self.machine.value(),
            # not by ``of``: a fact may be called like a parameter
            hardware=Hardware(tuple(sorted((_text(k), _fact(v)) for k, v in self.hardware.items()))),
            environment=Environment(
                tuple(sorted((_text(k), None if v is None else _text(v)) for k, v in self.environment.items()))
            ),
            protocol=Protocol(_text(self.protocol.name), self.protocol.version),
            processes=self.processes,
            seed=self.seed,
            perfdb_version=_text(self.perfdb),
            commits=tuple(commit.value() for commit in self.commits),
        )


class _Cost(Struct):
    flops: Number
    bytes: Number


class _Metric(Struct):
    name: Name
    unit: Name
    better: Better


class _Reading(Struct):
    metric: _Metric
    value: Number
    samples: Annotated[tuple[Number, ...], Meta(max_length=MOST_SAMPLES)]


class _Result(Struct, tag_field="kind", tag="result"):
    benchmark: Name
    case: Axes
    provider: Name
    process: Count
    outcome: Outcome
    ended_at: str
    detail: Words
    readings: Annotated[tuple[_Reading, ...], Meta(max_length=MOST_METRICS)]
    cost: _Cost | None
    module: Words
    floor: Number | None
    is_control: bool
    first_call_s: Number | None
    # files of before benchmarks could be renamed lack it
    formerly: Annotated[tuple[Name, ...], Meta(max_length=MOST_FORMER_NAMES)] = ()
    v: Version = RECORD_VERSION

    def value(self) -> CaseResult:
        if (self.outcome is Outcome.MEASURED) != bool(self.readings):
            raise ValueError(f"says outcome {self.outcome} with {len(self.readings)} readings")
        if len(self.readings) > 1:
            _refuse_twins(self.readings)
        return CaseResult(
            _text(self.benchmark),
            Case.of({_text(k): _axis(v) for k, v in self.case.items()}),
            _text(self.provider),
            self.process,
            self.outcome,
            decode_time(self.ended_at),
            _text(self.detail),
            tuple(Reading(_metric(r.metric), r.value, r.samples) for r in self.readings),
            None if self.cost is None else Cost(self.cost.flops, self.cost.bytes),
            _text(self.module),
            self.floor,
            self.is_control,
            self.first_call_s,
            tuple(_text(name) for name in self.formerly) if self.formerly else (),
        )


class _End(Struct, tag_field="kind", tag="end"):
    finished_at: str
    v: Version = RECORD_VERSION

    def value(self) -> datetime:
        return decode_time(self.finished_at)


class _Version(Struct):
    v: Version


_LINE = msgspec.json.Decoder(_Header | _Result | _End)
_VERSION = msgspec.json.Decoder(_Version)


def decode_line(line: bytes) -> RunHeader | CaseResult | datetime:
    """One line of a spool file: its run, a result, or the time it ended."""
    record: _Header | _Result | _End
    try:
        record = _LINE.decode(line)
    except (ValueError, RecursionError):
        _refuse_newer(_version_of(line))
        raise
    _refuse_newer(record.v)
    return record.value()


def decode_header(record: Record) -> RunHeader:
    """A header from its run record."""
    return msgspec.convert(record, _Header).value()


def decode_result(record: Record) -> CaseResult:
    """A result from its record; measured without readings, or the reverse, is refused."""
    return msgspec.convert(record, _Result).value()


def decode_time(text: str) -> datetime:
    """A time, in UTC, from ISO 8601 text; one without a zone is refused."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"says a time that cannot be read: {text!r:.60}") from error
    if moment.tzinfo is not UTC:
        if moment.tzinfo is None:
            raise ValueError(f"says a time without its zone: {text!r:.60}")
        moment = _in_utc(moment)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"says a time that is not of our age: {text!r:.60}")
    return moment


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"says a time that is not of our age: {moment}") from error


def _version_of(line: bytes) -> int:
    try:
        return _VERSION.decode(line).v
    except (ValueError, RecursionError):
        return RECORD_VERSION


def _refuse_newer(version: int) -> None:
    if version > RECORD_VERSION:
        raise NewerVersionError(version)


def _run_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError as error:
        raise ValueError(f"says a run id that is no UUID: {text!r:.60}") from error


def _refuse_twins(readings: tuple[_Reading, ...]) -> None:
    """One metric has one value in one process."""
    names = {reading.metric.name for reading in readings}
    if len(names) < len(readings):
        raise ValueError(f"says {len(readings)} readings of {len(names)} metrics")


def _metric(metric: _Metric) -> Metric:
    return _metric_of(metric.name, metric.unit, metric.better)


@lru_cache(maxsize=256)  # a run has a handful
def _metric_of(name: str, unit: str, better: Better) -> Metric:
    return Metric(_text(name), _text(unit), better)


def _text(value: str) -> str:
    # PostgreSQL stores neither NUL nor lone surrogates
    if "\0" in value:
        raise ValueError(f"holds the character NUL in {value!r:.60}")
    if not value.isascii():
        value.encode()
    return value


def _axis(value: AxisValue) -> AxisValue:
    return _text(value) if isinstance(value, str) else value


def _fact(value: Any) -> AxisValue | None:  # noqa: ANN401 - an axis or nothing, as decoded
    return None if value is None else _axis(value)
