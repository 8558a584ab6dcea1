"""History: what the store gives back, as values: series with their points, runs and outcomes in summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import geometric_mean

from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import CodeState, Commit
from perfdb.domain.metric import Metric
from perfdb.domain.run import RunState
from perfdb.domain.verdict import Verdict, VerdictKind

#: A series that some runs leave out comes back in the next one or two.
LONG_ABSENCE = 3


@dataclass(frozen=True, slots=True)
class Series:
    """A stored series: its identity in clear. ``digest`` hashes its ``SeriesKey``; ``floor`` is the declared one."""

    digest: str
    repository: str
    benchmark: str
    case: Case
    provider: str
    protocol: str
    metric: Metric
    hardware: str
    hardware_label: str
    cost: Cost | None = None
    floor: float | None = None
    is_control: bool = False

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]``."""
        return self.case.of_benchmark(self.benchmark)


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement of a series as stored. ``commit`` is None for unversioned code; ``verdict`` the one in force.

    ``is_on_line`` is False where its commit is no ancestor of the one that is looked from.
    """

    run_id: str
    started_at: datetime
    value: float
    process_values: tuple[float, ...]
    code_state: CodeState
    commit: Commit | None
    environment: str
    hostname: str = ""
    verdict: Verdict | None = None
    is_complete: bool = True
    is_on_line: bool = True

    @property
    def mean(self) -> float:
        """Geometric mean over processes, which comparisons test; the median where a value is not above 0."""
        if min(self.process_values, default=0.0) <= 0:
            return self.value
        return geometric_mean(self.process_values)

    @property
    def may_be_baseline(self) -> bool:
        """Only complete runs of committed code with a known place on the same line of commits form baselines."""
        placed = self.commit is not None and self.commit.position is not None
        return self.is_complete and placed and self.is_on_line and self.code_state is CodeState.COMMITTED


@dataclass(frozen=True, slots=True)
class SeriesHistory:
    """A series with its points, ordered by commit position, then time; points without a position by time at the end."""

    series: Series
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """Runs of its suite on its hardware since the newest result of a series, and those between its last two results."""

    runs: int
    usual: int

    @property
    def is_news(self) -> bool:
        """Whether it stays away three times as long as it did before."""
        return self.runs >= LONG_ABSENCE * max(self.usual, 1)


@dataclass(frozen=True, slots=True)
class RunMeasurement:
    """One series' point in one run."""

    series: Series
    point: Point


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """How a case ended in one process of a run."""

    run_id: str
    benchmark: str
    case: Case
    provider: str
    process: int
    outcome: Outcome
    detail: str

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]``."""
        return self.case.of_benchmark(self.benchmark)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run at a glance. ``outcomes`` counts cases (their worst outcome over processes), ``verdicts`` measurements.

    ``machine`` is the key of the machine.
    """

    run_id: str
    repository: str
    suite: str
    state: RunState
    code_state: CodeState
    commit: Commit | None
    branch: str
    started_at: datetime
    finished_at: datetime | None
    hostname: str
    hardware: str
    hardware_label: str
    environment: str
    outcomes: Mapping[Outcome, int]
    verdicts: Mapping[VerdictKind, int]
    suspects: int = 0
    machine: str = ""
