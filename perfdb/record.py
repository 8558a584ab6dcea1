"""Record: domain values as JSON objects and back, every field checked. Spool files and workers speak in these.

Decoders raise ``ValueError``, ``KeyError`` or ``TypeError`` on anything that is not what an encoder wrote.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.metric import Better, Metric
from perfdb.domain.run import CaseResult, Protocol, Reading, RunHeader

Record = Mapping[str, Any]
#: Two of them fit an index entry of PostgreSQL, 2,704 bytes, in any script.
LONGEST_NAME = 200
#: The store keeps a process in 16 bits and a sample in 32.
LARGEST_COUNT = 2**15 - 1
LARGEST_SAMPLE = 3.4e38
FIRST_YEAR, LAST_YEAR = 1970, 9000


def encode_header(head: RunHeader) -> Record:
    """The run line of a spool file."""
    return {
        "kind": "run",
        "run_id": head.run_id,
        "suite": head.suite,
        "started_at": encode_time(head.started_at),
        "code": _encode_code(head.code),
        "machine": {
            "key": head.machine.key,
            "hostname": head.machine.hostname,
            "gpu": _encode_gpu(head.machine.gpu),
        },
        "hardware": dict(head.hardware.facts),
        "environment": dict(head.environment.facts),
        "protocol": {"name": head.protocol.name, "version": head.protocol.version},
        "processes": head.processes,
        "seed": head.seed,
        "perfdb": head.perfdb_version,
        "commits": [_encode_commit(commit) for commit in head.commits],
    }


def decode_header(record: Record) -> RunHeader:
    """A header from its run line."""
    machine = record["machine"]
    return RunHeader(
        run_id=str(UUID(record["run_id"])),
        suite=_name(record["suite"]),
        started_at=decode_time(record["started_at"]),
        code=_decode_code(record["code"]),
        machine=Machine(_name(machine["key"]), _text(machine["hostname"]), _decode_gpu(machine["gpu"])),
        hardware=Hardware.of(**{_text(k): _fact(v) for k, v in record["hardware"].items()}),
        environment=Environment.of(**{_text(k): _optional_text(v) for k, v in record["environment"].items()}),
        protocol=Protocol(_name(record["protocol"]["name"]), _count(record["protocol"]["version"])),
        processes=_count(record["processes"]),
        seed=_whole(record["seed"]),
        perfdb_version=_text(record["perfdb"]),
        commits=tuple(_decode_commit(commit) for commit in record["commits"]),
    )


def _encode_code(code: Code) -> Record:
    return {
        "repository": code.repository,
        "state": code.state.value,
        "commit": _encode_commit(code.commit) if code.commit else None,
        "branch": code.branch,
        "difference": code.difference,
    }


def _decode_code(record: Record) -> Code:
    commit = record["commit"]
    return Code(
        repository=_name(record["repository"]),
        state=CodeState(record["state"]),
        commit=_decode_commit(commit) if commit is not None else None,
        branch=_text(record["branch"]),
        difference=_text(record["difference"]),
    )


def _encode_commit(commit: Commit) -> Record:
    return {
        "sha": commit.sha,
        "parents": list(commit.parents),
        "position": commit.position,
        "committed_at": encode_time(commit.committed_at),
        "subject": commit.subject,
    }


def _decode_commit(record: Record) -> Commit:
    position = record["position"]
    return Commit(
        sha=_sha(record["sha"]),
        parents=tuple(_sha(parent) for parent in record["parents"]),
        position=None if position is None else _whole(position),
        committed_at=decode_time(record["committed_at"]),
        subject=_text(record["subject"]),
    )


def _encode_gpu(gpu: GpuUnit | None) -> Record | None:
    return None if gpu is None else {"uuid_digest": gpu.uuid_digest, "name": gpu.name, "vbios": gpu.vbios}


def _decode_gpu(record: Record | None) -> GpuUnit | None:
    if record is None:
        return None
    return GpuUnit(_name(record["uuid_digest"]), _text(record["name"]), _optional_text(record["vbios"]))


def encode_result(result: CaseResult) -> Record:
    """The result line of one case in one process."""
    return {
        "kind": "result",
        "benchmark": result.benchmark,
        "case": dict(result.case.axes),
        "provider": result.provider,
        "process": result.process,
        "outcome": result.outcome.value,
        "ended_at": encode_time(result.ended_at),
        "detail": result.detail,
        "readings": [_encode_reading(reading) for reading in result.readings],
        "cost": None if result.cost is None else {"flops": result.cost.flops, "bytes": result.cost.bytes_moved},
        "module": result.module,
        "floor": result.floor,
        "is_control": result.is_control,
        "first_call_s": result.first_call_s,
    }


def decode_result(record: Record) -> CaseResult:
    """A result from its line; measured without readings, or the reverse, is refused."""
    cost, floor, first = record["cost"], record["floor"], record["first_call_s"]
    outcome = Outcome(record["outcome"])
    readings = tuple(_decode_reading(reading) for reading in record["readings"])
    if (outcome is Outcome.MEASURED) != bool(readings):
        raise ValueError(f"outcome {outcome} with {len(readings)} readings")
    return CaseResult(
        benchmark=_name(record["benchmark"]),
        case=Case.of({_text(k): _axis(v) for k, v in record["case"].items()}),
        provider=_name(record["provider"]),
        process=_count(record["process"]),
        outcome=outcome,
        ended_at=decode_time(record["ended_at"]),
        detail=_text(record["detail"]),
        readings=readings,
        cost=None if cost is None else Cost(_number(cost["flops"]), _number(cost["bytes"])),
        module=_text(record["module"]),
        floor=None if floor is None else _number(floor),
        is_control=bool(record["is_control"]),
        first_call_s=None if first is None else _number(first),
    )


def _encode_reading(reading: Reading) -> Record:
    metric = reading.metric
    return {
        "metric": {"name": metric.name, "unit": metric.unit, "better": metric.better.value},
        "value": reading.value,
        "samples": list(reading.samples),
    }


def _decode_reading(record: Record) -> Reading:
    metric = record["metric"]
    return Reading(
        Metric(_name(metric["name"]), _name(metric["unit"]), Better(metric["better"])),
        _number(record["value"]),
        tuple(_sample(sample) for sample in record["samples"]),
    )


def encode_time(moment: datetime) -> str:
    """ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


def decode_time(text: object) -> datetime:
    """A time from ISO 8601 text; one without a zone is refused."""
    moment = datetime.fromisoformat(_text(text))
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r:.60} has no zone")
    moment = moment.astimezone(UTC)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"time {text!r:.60} is not of our age")
    return moment


def _text(value: object) -> str:
    # PostgreSQL stores neither NUL nor lone surrogates
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{value!r:.60} is not text")
    value.encode()
    return value


def _name(value: object) -> str:
    """A text that identifies something, so it is indexed, and an index entry has its limit."""
    text = _text(value)
    if len(text) > LONGEST_NAME:
        raise ValueError(f"{text!r:.60} is longer than {LONGEST_NAME} characters")
    return text


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _sha(value: object) -> str:
    text = _text(value)
    if len(text) not in (40, 64) or not set(text) <= set("0123456789abcdef"):
        raise ValueError(f"{value!r:.80} is not a commit's SHA")
    return text


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.60} is not a finite number")
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError(f"{value!r:.60} is not a whole number")
    return value


def _count(value: object) -> int:
    whole = _whole(value)
    if not 0 <= whole <= LARGEST_COUNT:
        raise ValueError(f"{whole} is not between 0 and {LARGEST_COUNT}")
    return whole


def _sample(value: object) -> float:
    sample = _number(value)
    if abs(sample) > LARGEST_SAMPLE:
        raise ValueError(f"{sample} is too large for a sample")
    return sample


def _axis(value: object) -> str | int | float | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _whole(value)
    return _number(value) if isinstance(value, float) else _text(value)


def _fact(value: object) -> str | int | float | bool | None:
    return None if value is None else _axis(value)
