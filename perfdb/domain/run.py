"""Run: one execution of a suite at one commit on one machine, and what its cases gave."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import Protocol as Interface

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.metric import Metric
from perfdb.domain.series import SeriesKey


class RunState(StrEnum):
    """COMPLETE once the closing record is there; an INCOMPLETE run is stored and not judged."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Protocol:
    """How time is taken; part of a series' identity."""

    name: str
    version: int


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What is known when a run starts. ``commits``: the measured commit and its first-parent ancestors, newest first.

    ``run_id`` is a UUID in text. ``processes`` is how many fresh worker processes the run plans.
    """

    run_id: str
    suite: str
    started_at: datetime
    code: Code
    machine: Machine
    hardware: Hardware
    environment: Environment
    protocol: Protocol
    processes: int
    seed: int
    perfdb_version: str
    commits: tuple[Commit, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric of one case in one process: its value, and the samples behind it in the metric's unit."""

    metric: Metric
    value: float
    samples: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended in one process. ``readings`` is empty unless the outcome is MEASURED.

    ``module`` is where the benchmark is declared; ``floor`` the smallest delta that counts, None = the protocol's own;
    ``is_control`` marks frozen code that no commit should move. ``detail`` is one sentence for people. ``formerly`` are
    names that the benchmark had before; its history goes on under the new one.
    """

    benchmark: str
    case: Case
    provider: str
    process: int
    outcome: Outcome
    ended_at: datetime
    detail: str = ""
    readings: tuple[Reading, ...] = ()
    cost: Cost | None = None
    module: str = ""
    floor: float | None = None
    is_control: bool = False
    first_call_s: float | None = None
    formerly: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]``."""
        return self.case.of_benchmark(self.benchmark)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The value of one series in one run: the median of its processes' values, with each process kept."""

    series: SeriesKey
    metric: Metric
    process_values: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...] = ()

    @property
    def value(self) -> float:
        """Median over processes."""
        return median(self.process_values)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median over processes; 0 for one process."""
        low, high = min(self.process_values), max(self.process_values)
        return (high - low) / abs(self.value) if self.value else 0.0


class RunSource(Interface):
    """A run in memory or in a file, whose results may be looked at more than once."""

    @property
    def header(self) -> RunHeader:
        """What is known from the start."""

    @property
    def results(self) -> Iterable[CaseResult]:
        """In the order they were taken."""

    @property
    def finished_at(self) -> datetime | None:
        """When the run was closed, None if it was not; of a file it is known once the results were read."""


def state_of(run: RunSource) -> RunState:
    """COMPLETE once closed."""
    return RunState.COMPLETE if run.finished_at else RunState.INCOMPLETE


@dataclass(frozen=True, slots=True)
class Run:
    """A run as read from its spool file: header, results in the order they were taken, and whether it was closed."""

    header: RunHeader
    results: tuple[CaseResult, ...] = ()
    finished_at: datetime | None = None

    @property
    def state(self) -> RunState:
        """COMPLETE once closed."""
        return state_of(self)

    def series_of(self, result: CaseResult, metric: Metric) -> SeriesKey:
        """The identity of one metric of one result of this run."""
        head = self.header
        return SeriesKey(
            repository=head.code.repository,
            benchmark=result.benchmark,
            case=result.case,
            provider=result.provider,
            protocol=head.protocol.name,
            protocol_version=head.protocol.version,
            metric=metric.name,
            hardware=head.hardware.digest,
        )

    def measurements(self) -> tuple[Measurement, ...]:
        """Fold the processes of every measured case. A case that failed in any process is no number, so it is left out.

        Order: by first result of each series.
        """
        failed = {(r.benchmark, r.provider, r.case) for r in self.results if r.outcome is not Outcome.MEASURED}
        readings: dict[tuple[SeriesKey, Metric], list[Reading]] = {}
        for result in self.results:
            if (result.benchmark, result.provider, result.case) in failed:
                continue
            for reading in result.readings:
                readings.setdefault((self.series_of(result, reading.metric), reading.metric), []).append(reading)
        return tuple(
            Measurement(key, metric, tuple(r.value for r in taken), tuple(r.samples for r in taken))
            for (key, metric), taken in readings.items()
        )
