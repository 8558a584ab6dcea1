"""Visit: one stay at a case: set-up, first call, correctness, then time, then correctness once more."""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter_ns

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.metric import LATENCY, RELATIVE_ERROR
from perfdb.domain.run import CaseResult, Reading
from runners.measure.correctness import Yardstick, named_arrays
from runners.measure.guarded import Ending, guarded
from runners.measure.protocol import Clock, block_means_us, median_us
from runners.measure.visit_parts import CHECKING, FIRST_CALL, TIMING
from suites.registry import Benchmark, Launch

#: Told when a part of a visit begins.
Listener = Callable[[str], None]


@dataclass(slots=True)
class Stay:
    """What a visit has found so far; a failing case keeps what it got to."""

    readings: tuple[Reading, ...] = ()
    cost: Cost | None = None
    first_call_s: float | None = None


@dataclass(frozen=True, slots=True)
class Visitor:
    """Visits cases in one process. ``tree`` is where the code under test lies."""

    process: int
    tree: Path
    clock: Clock = perf_counter_ns

    def visit(self, benchmark: Benchmark, case: Case, listener: Listener) -> CaseResult:
        """The result of one case, however it ends."""
        stay = Stay()
        ending = guarded(partial(self._measure, stay, benchmark, case, listener), self.tree) or Ending(
            Outcome.MEASURED, ""
        )
        return CaseResult(
            benchmark=benchmark.name,
            case=case,
            provider=benchmark.provider,
            process=self.process,
            outcome=ending.outcome,
            ended_at=datetime.now(UTC),
            detail=ending.detail,
            readings=stay.readings,
            cost=stay.cost,
            module=benchmark.module,
            floor=benchmark.floor,
            is_control=benchmark.is_control,
            first_call_s=stay.first_call_s,
            formerly=benchmark.formerly,
        )

    def _measure(self, stay: Stay, benchmark: Benchmark, case: Case, listener: Listener) -> None:
        forget_previous(case.seed)
        stay.cost = benchmark.cost(case)
        launch = launch_of(benchmark, case)
        listener(FIRST_CALL)
        started = self.clock()
        result = launch.call()
        stay.first_call_s = (self.clock() - started) / 1e9
        listener(CHECKING)
        yardstick = yardstick_of(benchmark, case)
        error = yardstick.error_of(outputs_of(launch, result))
        del result
        listener(TIMING)
        means = block_means_us(launch.call, self.clock)
        yardstick.error_of(outputs_of(launch, launch.call()), when="after timing")
        stay.readings = readings_of(means, error)


def launch_of(benchmark: Benchmark, case: Case) -> Launch:
    """Set the case up: what is called, and what is held against the reference. Raises ``TypeError`` without one."""
    declared = benchmark.function(case)
    if isinstance(declared, Launch):
        return declared
    if not callable(declared):
        raise TypeError(
            f"{benchmark.name} returned a {type(declared).__name__} and not what is to be timed: return a function, "
            "lambda: ..., that computes it"
        )
    return Launch(declared)


def outputs_of(launch: Launch, result: object) -> object:
    """What the case computed: its outputs where they are declared, else what the call returned."""
    return result if launch.outputs is None else launch.outputs()


def yardstick_of(benchmark: Benchmark, case: Case) -> Yardstick:
    """What the case is held against."""
    expected = benchmark.reference(case) if benchmark.reference is not None else None
    return Yardstick(None if expected is None else named_arrays(expected), benchmark.tolerance)


def readings_of(means_us: tuple[float, ...], error: float | None) -> tuple[Reading, ...]:
    """The metrics of a measured case; no error without a reference."""
    latency = Reading(LATENCY, median_us(means_us), means_us)
    return (latency,) if error is None else (latency, Reading(RELATIVE_ERROR, error))


def forget_previous(seed: int) -> None:
    """Leave nothing of the case before: its compiled graphs would make this one compile for any shape."""
    random.seed(seed)
    torch, dynamo = sys.modules.get("torch"), sys.modules.get("torch._dynamo")
    if torch is not None:
        torch.manual_seed(seed)
    if dynamo is not None:
        dynamo.reset()
