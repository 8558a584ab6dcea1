"""Protocol ``cpu``: how the time of one call is taken by the wall clock, in blocks of calls."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from statistics import median
from time import perf_counter_ns

from perfdb.domain.run import Protocol

#: Raise the version whenever a constant or a step below changes what a number means: that starts new series.
CPU = Protocol("cpu", 1)

Call = Callable[[], object]
Clock = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long each part of a visit takes, in nanoseconds. Source of the values: docs/method.md, protocol ``cpu``."""

    #: Long enough for caches, allocator and clock to settle after the previous case.
    warm_up_ns: int = 50_000_000
    #: Reading the clock costs about 50 ns, and a scheduler tick is 1 to 4 ms: both vanish in 10 ms.
    block_ns: int = 10_000_000
    #: About 20 blocks a process; the spread between processes is larger than what more blocks would average out.
    budget_ns: int = 300_000_000
    #: A median needs three; a case of several seconds a call gets no more than that.
    fewest_blocks: int = 3


CPU_PACE = Pace()


def block_means_us(call: Call, clock: Clock = perf_counter_ns, pace: Pace = CPU_PACE) -> tuple[float, ...]:
    """Warm up, then time blocks of calls: the mean microseconds of one call in each block."""
    with _no_collections():
        warm_up(call, clock, pace.warm_up_ns)
        calls, block_ns = size_block(call, clock, pace.block_ns)
        blocks = max(pace.fewest_blocks, round(pace.budget_ns / block_ns))
        return tuple(time_calls(call, calls, clock) / calls / 1000 for _ in range(blocks))


def median_us(means: tuple[float, ...]) -> float:
    """The value of one process: the median of its block means, so that a stalled block does not count."""
    return median(means)


def warm_up(call: Call, clock: Clock, length_ns: int) -> None:
    """Call until ``length_ns`` have passed, at least once."""
    started = clock()
    while True:
        call()
        if clock() - started >= length_ns:
            return


def size_block(call: Call, clock: Clock, least_ns: int) -> tuple[int, int]:
    """The smallest power of two of calls that lasts ``least_ns``, and how long it lasted (never 0)."""
    calls = 1
    while (elapsed := time_calls(call, calls, clock)) < least_ns:
        calls *= 2
    return calls, max(elapsed, 1)


def time_calls(call: Call, calls: int, clock: Clock) -> int:
    """Nanoseconds that ``calls`` calls take."""
    rounds = repeat(None, calls)
    started = clock()
    for _ in rounds:
        call()
    return clock() - started


@contextmanager
def _no_collections() -> Iterator[None]:
    """A garbage collection belongs to whatever ran before, so it happens before and not inside."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
