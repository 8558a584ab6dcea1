"""Visits: survey what is declared, and measure cases in workers until every case of a process has its result."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from perfdb.decoder import decode_result
from perfdb.domain.case import Outcome
from perfdb.domain.run import CaseResult
from perfdb.errors import MeasureError
from runners.isolate import Ended, Launcher, Message, Worker
from runners.links import WorkerPaths
from runners.measure.messages import CaseKey, Plan, decode_key

#: Told which case a worker is at, and which part of the visit began.
Listener = Callable[[CaseKey, str], None]

#: Providers whose first call compiles.
COMPILING = frozenset({"compiled", "triton"})
#: How long OpenMP's threads spin for each other before they sleep. By default a thread whose core runs another program
#: keeps the others spinning through whole time slices: on 2 cores at load 4 single cases then read up to 400 times too
#: much, with this 4 times; on a quiet machine the medians agree within 5 %.
SPIN_COUNT = "1000"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a worker may stay silent, in seconds: until it is ready, for one case, and more where it compiles."""

    start_s: float = 180.0
    case_s: float = 60.0
    compile_s: float = 600.0

    def budget_s(self, key: CaseKey) -> float:
        """The time of one case, from its announcement to its result."""
        return self.case_s + (self.compile_s if key.provider in COMPILING else 0.0)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One case as declared: what a result needs that the worker cannot say once it is dead."""

    key: CaseKey
    suites: tuple[str, ...]
    module: str
    file: str
    floor: float | None
    tolerance: float | None
    is_control: bool
    formerly: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What the environment under test declares, in declaration order, and its software facts."""

    facts: Mapping[str, str | None]
    declarations: tuple[Declaration, ...]


def launcher_of(paths: WorkerPaths, threads: int) -> Launcher:
    """Workers with fixed threads and caches that outlive them, and without our settings or secrets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PERFDB_")}
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": str(paths.caches / "inductor"),
        "TRITON_CACHE_DIR": str(paths.caches / "triton"),
        "GOMP_SPINCOUNT": SPIN_COUNT,
        **kept,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        # a byte-code file in the tree would make it dirty
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(paths.temporary),
    }
    return Launcher(paths.python, paths.packages, environment, paths.scratch)


def survey(launcher: Launcher, plan: Plan, limits: Limits) -> Survey:
    """Ask a worker what is declared. Raises ``MeasureError`` when the benchmarks cannot be loaded."""
    facts: Mapping[str, str | None] = {}
    declarations: list[Declaration] = []
    with Worker(launcher, replace(plan, visits=None)) as worker:
        worker.allow(limits.start_s)
        for message in worker.messages():
            match message["kind"]:
                case "facts":
                    facts = message["facts"]
                case "declared":
                    declarations.append(_declaration(message))
                case "end":
                    return Survey(facts, tuple(declarations))
                case "refused":
                    raise MeasureError(message["reason"])
    raise MeasureError(_not_started(worker.ended(), limits))


def visit_cases(
    launcher: Launcher, plan: Plan, declared: Mapping[CaseKey, Declaration], limits: Limits, listener: Listener
) -> Iterator[CaseResult]:
    """One result for each visit of the plan, in its order; a worker that dies is followed by another for the rest."""
    remaining = plan.visits or ()
    while remaining:
        shift = Shift(launcher, replace(plan, visits=remaining), declared, limits)
        yield from shift.results(listener)
        if not shift.finished:
            raise MeasureError(
                "a worker ended without visiting a case; run it again and report it if that helps nothing"
            )
        remaining = remaining[shift.finished :]


@dataclass(slots=True)
class Shift:
    """The cases that one worker gets through, the last of which may be its end."""

    launcher: Launcher
    plan: Plan
    declared: Mapping[CaseKey, Declaration]
    limits: Limits
    finished: int = 0
    current: CaseKey | None = None

    def results(self, listener: Listener) -> Iterator[CaseResult]:
        """Results until the worker ends; raises ``MeasureError`` when it ends before its first case."""
        with Worker(self.launcher, self.plan) as worker:
            worker.allow(self.limits.start_s)
            for message in worker.messages():
                if message["kind"] == "end":
                    return
                result = self._take(message, worker, listener)
                if result is not None:
                    yield result
        ended = worker.ended()
        if self.current is not None:
            yield self._blamed(self.current, *ended.blame())
        elif self.finished == 0:
            raise MeasureError(_not_started(ended, self.limits))

    def _take(self, message: Message, worker: Worker, listener: Listener) -> CaseResult | None:
        match message["kind"]:
            case "refused":
                raise MeasureError(message["reason"])
            case "visit":
                self.current = (self.plan.visits or ())[self.finished]
                worker.allow(self.limits.budget_s(self.current))
            case "part" if self.current is not None:
                listener(self.current, message["part"])
            case "result" if self.current is not None:
                return self._taken(message["result"], self.current)
        return None

    def _taken(self, record: Mapping[str, Any], key: CaseKey) -> CaseResult:
        try:
            result = decode_result(record)
        except (ValueError, KeyError, TypeError) as error:
            return self._blamed(key, Outcome.FAILED, f"gave a result that cannot be stored: {error}")
        if CaseKey(result.benchmark, result.provider, result.case) != key:
            return self._blamed(key, Outcome.FAILED, f"gave the result of another case: {result.label}")
        self._finish()
        return result

    def _blamed(self, key: CaseKey, outcome: Outcome, detail: str) -> CaseResult:
        self._finish()
        declaration = self.declared[key]
        return CaseResult(
            benchmark=key.benchmark,
            case=key.case,
            provider=key.provider,
            process=self.plan.process,
            outcome=outcome,
            ended_at=datetime.now(UTC),
            detail=detail,
            module=declaration.module,
            floor=declaration.floor,
            is_control=declaration.is_control,
            formerly=declaration.formerly,
        )

    def _finish(self) -> None:
        self.finished += 1
        self.current = None


def _declaration(message: Message) -> Declaration:
    return Declaration(
        key=decode_key(message["key"]),
        suites=tuple(message["suites"]),
        module=message["module"],
        file=message["file"],
        floor=message["floor"],
        tolerance=message["tolerance"],
        is_control=message["is_control"],
        formerly=tuple(message["formerly"]),
    )


def _not_started(ended: Ended, limits: Limits) -> str:
    how = f"was not ready after {limits.start_s:g} s" if ended.is_timed_out else f"ended with code {ended.code}"
    return f"the worker {how} before its first case{ended.last_line}; run perfdb doctor to see what is missing"
