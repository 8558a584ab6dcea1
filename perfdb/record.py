"""Record: domain values as JSON objects. Spool files and workers speak in these; ``decoder`` reads them.

Workers encode inside the environment under test, so this module needs the standard library alone.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from perfdb.domain.commit import Code, Commit
from perfdb.domain.hardware import GpuUnit
from perfdb.domain.run import CaseResult, Reading, RunHeader

Record = Mapping[str, Any]
#: The format that is written; raise it when an older reader would misread a record.
RECORD_VERSION = 1


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


def _encode_code(code: Code) -> Record:
    return {
        "repository": code.repository,
        "state": code.state.value,
        "commit": _encode_commit(code.commit) if code.commit else None,
        "branch": code.branch,
        "difference": code.difference,
    }


def _encode_commit(commit: Commit) -> Record:
    return {
        "sha": commit.sha,
        "parents": list(commit.parents),
        "position": commit.position,
        "committed_at": encode_time(commit.committed_at),
        "subject": commit.subject,
    }


def _encode_gpu(gpu: GpuUnit | None) -> Record | None:
    return None if gpu is None else {"uuid_digest": gpu.uuid_digest, "name": gpu.name, "vbios": gpu.vbios}


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
        "formerly": list(result.formerly),
    }


def _encode_reading(reading: Reading) -> Record:
    metric = reading.metric
    return {
        "metric": {"name": metric.name, "unit": metric.unit, "better": metric.better.value},
        "value": reading.value,
        "samples": list(reading.samples),
    }


def encode_time(moment: datetime) -> str:
    """ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()
