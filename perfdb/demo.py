"""Demo: a labelled history made by a seeded generator, so that every page shows what it is for.

Nothing in it was measured: the suite, the machine, the hardware and every commit say that they are generated.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from sqlalchemy import Engine

from perfdb.analysis.noise import Floats
from perfdb.detect import receive
from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.metric import LATENCY, RELATIVE_ERROR
from perfdb.domain.run import CaseResult, Protocol, Reading, Run, RunHeader

REPOSITORY = "generated/kernels"
SUITE = "generated"
COMMITS = 120
PROCESSES, SAMPLES = 3, 8
FIRST_NIGHT = datetime(2026, 3, 2, 2, 30, tzinfo=UTC)
#: Where the stack changes: torch and triton are upgraded on this commit.
UPGRADE = 84
MACHINE = Machine("generated", "generated-host")
HARDWARE = Hardware.of(gpu_name="generated GPU", memory_gib=80, power_limit_w=700)
Level = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Plot:
    """One series' story: its level at each commit relative to the first, its noise, and how its cases end."""

    benchmark: str
    case: Case
    provider: str
    start_us: float
    label: str
    level: Level
    noise: float = 0.004
    first: int = 1
    is_control: bool = False
    ends: Mapping[int, Outcome] = field(default_factory=dict)


def _quiet(_: int) -> float:
    return 1.0


def _step(at: int, change: float) -> Level:
    return lambda n: 1 + change * (n >= at)


GEMM = Case.of(m=4096, n=8192, k=8192, dtype="bfloat16")
PLOTS = (
    Plot("copy", Case.of(bytes=536870912), "eager", 245.0, "control, quiet", _quiet, 0.002, is_control=True),
    Plot("matmul", GEMM, "cublas", 690.0, "control, quiet", _quiet, 0.002, is_control=True),
    Plot("ternary_gemm", GEMM, "triton", 412.0, "regression of 6 % at commit 70", _step(70, 0.06)),
    Plot(
        "ternary_gemv",
        Case.of(m=1, n=8192, k=28672),
        "triton",
        31.0,
        "improvement of 12 % at commit 52",
        _step(52, -0.12),
    ),
    Plot(
        "fake_quant",
        Case.of(m=8192, k=28672),
        "triton",
        148.0,
        "quiet until the last commit, then 4 % slower",
        _step(120, 0.04),
        0.003,
    ),
    Plot(
        "fake_quant",
        Case.of(m=8192, k=28672),
        "compiled",
        156.0,
        "moves with the stack at commit 84",
        _step(UPGRADE, 0.05),
    ),
    Plot(
        "attention",
        Case.of(batch=4, heads=32, tokens=4096, dtype="bfloat16"),
        "eager",
        880.0,
        "slow drift",
        lambda n: 1 + 0.0006 * n,
        0.005,
    ),
    Plot("rms_norm", Case.of(m=8192, n=8192), "triton", 61.0, "noisy", _quiet, 0.04),
    Plot("nonary_gemm", GEMM, "triton", 505.0, "new: too short a history", _quiet, first=112),
    Plot(
        "qat_step",
        Case.of(scale="1B", tokens=4096),
        "compiled",
        96_400.0,
        "fails on some nights",
        _quiet,
        0.003,
        ends={41: Outcome.OUT_OF_MEMORY, 97: Outcome.WRONG_RESULT, 119: Outcome.TIMED_OUT, 120: Outcome.TIMED_OUT},
    ),
)
REASONS = {
    Outcome.OUT_OF_MEMORY: "generated: 81.2 GiB asked for, 80 GiB there",
    Outcome.WRONG_RESULT: "generated: relative error 3.1e-1 exceeds the tolerance 2e-2",
    Outcome.TIMED_OUT: "generated: no result within 120 s",
}


def demo_runs(seed: int = 1) -> Iterator[Run]:
    """One run a commit, oldest first, then an uncommitted one and an interrupted one; the same for the same seed."""
    random = np.random.default_rng(seed)
    for number in range(1, COMMITS + 1):
        yield _run(number, number, CodeState.COMMITTED, random)
    yield _run(COMMITS + 1, COMMITS, CodeState.DIRTY, random)
    interrupted = _run(COMMITS + 2, COMMITS, CodeState.COMMITTED, random)
    yield Run(interrupted.header, interrupted.results[:7])


def load_demo(engine: Engine, seed: int = 1) -> int:
    """Store and judge the generated history in one transaction; gives how many runs are new."""
    with engine.begin() as connection:
        return sum(receive(connection, run).is_changed for run in demo_runs(seed))


def _run(number: int, position: int, state: CodeState, random: np.random.Generator) -> Run:
    started = FIRST_NIGHT + timedelta(days=number)
    commits = tuple(_commit(n) for n in range(position, max(0, position - 5), -1))
    header = RunHeader(
        run_id=str(UUID(bytes=hashlib.sha256(f"generated run {number}".encode()).digest()[:16])),
        suite=SUITE,
        started_at=started,
        code=Code(REPOSITORY, state, commits[0], "main", "" if state is CodeState.COMMITTED else "generated"),
        machine=MACHINE,
        hardware=HARDWARE,
        environment=_environment(position),
        protocol=Protocol("generated", 1),
        processes=PROCESSES,
        seed=number,
        perfdb_version="generated",
        commits=commits,
    )
    results = [
        _result(plot, process, position, started, random)
        for process in range(PROCESSES)
        for plot in PLOTS
        if plot.first <= position and (process == 0 or position not in plot.ends)
    ]
    return Run(header, tuple(results), started + timedelta(minutes=20))


def _result(plot: Plot, process: int, position: int, started: datetime, random: np.random.Generator) -> CaseResult:
    outcome = plot.ends.get(position, Outcome.MEASURED)
    level = plot.start_us * plot.level(position)
    samples = level * np.exp(random.normal(0, plot.noise)) * np.exp(random.normal(0, 0.002, SAMPLES))
    measured = outcome is Outcome.MEASURED
    return CaseResult(
        benchmark=plot.benchmark,
        case=plot.case,
        provider=plot.provider,
        process=process,
        outcome=outcome,
        ended_at=started + timedelta(minutes=5 * (process + 1)),
        detail="" if measured else REASONS[outcome],
        readings=_readings(samples) if measured else (),
        cost=Cost(flops=plot.start_us * 4e8, bytes_moved=plot.start_us * 2e6),
        module="generated",
        is_control=plot.is_control,
    )


def _readings(samples: Floats) -> tuple[Reading, ...]:
    taken = tuple(float(sample) for sample in samples)
    return Reading(LATENCY, float(np.median(samples)), taken), Reading(RELATIVE_ERROR, 2e-3)


def _commit(number: int) -> Commit:
    labels = [plot.label for plot in PLOTS if plot.label.endswith(f"at commit {number}")]
    subject = f"Generated commit {number}" + (f": {labels[0]}" if labels else "")
    parents = (_sha(number - 1),) if number > 1 else ()
    return Commit(_sha(number), parents, number, FIRST_NIGHT + timedelta(days=number, hours=-9), subject)


def _sha(number: int) -> str:
    return hashlib.sha1(f"generated commit {number}".encode(), usedforsecurity=False).hexdigest()


def _environment(position: int) -> Environment:
    is_new = position >= UPGRADE
    return Environment.of(
        source="generated",
        torch="2.13.0" if is_new else "2.11.0",
        triton="3.7.1" if is_new else "3.6.0",
        driver="580.82",
    )
