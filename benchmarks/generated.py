"""Generated: runs of any size, as values and as spool files."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import CaseResult, Protocol, Reading, Run, RunHeader
from perfdb.record import RECORD_VERSION, encode_header, encode_result, encode_time

START = datetime(2025, 1, 1, tzinfo=UTC)
#: Cases of one benchmark.
CASES = 400


def header(repository: str, *, processes: int = 1) -> RunHeader:
    """A committed run of one machine; always the same one of a repository."""
    commit = Commit("1".rjust(40, "0"), (), 1, START, "Generated 1")
    return RunHeader(
        run_id=str(uuid5(NAMESPACE_URL, repository)),
        suite="generated",
        started_at=START,
        code=Code(repository, CodeState.COMMITTED, commit, "main"),
        machine=Machine("generated", "generated"),
        hardware=Hardware.of(cpu_model="generated", threads=1),
        environment=Environment.of(python="generated"),
        protocol=Protocol("cpu", 1),
        processes=processes,
        seed=0,
        perfdb_version="0",
        commits=(commit,),
    )


def first_run(repository: str) -> Run:
    """A run of one case."""
    reading = Reading(LATENCY, 800.0, (800.0,))
    result = CaseResult("generated", Case.of(n=1), "eager", 0, Outcome.MEASURED, START, readings=(reading,))
    return Run(header(repository), (result,), START + timedelta(minutes=1))


def results(series: int, processes: int, samples: int) -> Iterator[CaseResult]:
    """Every case in every process, process by process, with 1 % noise."""
    noise = random.Random(1)
    for process in range(processes):
        for number in range(series):
            case = Case.of(
                {"m": 256 + number % CASES, "k": 1024, "dtype": "bfloat16", "scale": "8b", "pass": "forward"}
            )
            value = 100 * noise.lognormvariate(0, 0.01)
            taken = tuple(round(value * (1 + 0.01 * noise.random()), 4) for _ in range(samples))
            yield CaseResult(
                f"benchmark_{number // CASES}",
                case,
                "triton",
                process,
                Outcome.MEASURED,
                START + timedelta(microseconds=number),
                readings=(Reading(LATENCY, value, taken),),
                cost=Cost(2.0 * number, 3.0 * number),
                module="suites.generated",
                floor=0.01,
            )


def spool_file(folder: Path, series: int, *, processes: int = 1, samples: int = 20) -> Path:
    """A complete run with an id of its own, written without the waits for the disk that ``SpoolWriter`` makes."""
    head = replace(header("generated", processes=processes), run_id=str(uuid4()))
    path = folder / f"{head.run_id}.jsonl"
    with path.open("wb") as file:
        for record in chain([encode_header(head)], _encoded(series, processes, samples)):
            file.write(msgspec.json.encode({"v": RECORD_VERSION, **record}) + b"\n")
        end = {"v": RECORD_VERSION, "kind": "end", "finished_at": encode_time(START + timedelta(hours=1))}
        file.write(msgspec.json.encode(end) + b"\n")
    return path


def _encoded(series: int, processes: int, samples: int) -> Iterator[dict[str, object]]:
    for result in results(series, processes, samples):
        yield dict(encode_result(result))
