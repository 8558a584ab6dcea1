"""MachineRecord: a machine as the store knows it: its hardware, software, noise and controls over time."""

from dataclasses import dataclass
from datetime import datetime

from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.history import Series
from perfdb.domain.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True)
class MachineNoise:
    """The noise of the latency series of a machine on one Hardware, by their verdicts in force.

    ``series`` have a baseline that speaks, ``silent`` do not yet. Of the former: median and 90th percentile of the
    baseline's noise and of the smallest detectable change, and the median change of their newest results, positive =
    worse. None while no baseline speaks.
    """

    series: int
    silent: int
    median: float | None = None
    high: float | None = None
    detectable: float | None = None
    detectable_high: float | None = None
    shift: float | None = None


@dataclass(frozen=True, slots=True)
class NoisePoint:
    """The noise that one run of a machine met."""

    run_id: str
    started_at: datetime
    hardware: str
    noise: MachineNoise


@dataclass(frozen=True, slots=True)
class HardwareSpan:
    """Hardware that a machine measured on, with the GPU unit, from its first to its last run.

    ``noise`` is None where no run was judged; ``others`` counts the other machines with this hardware: they share its
    series, and so their noise.
    """

    hardware: Hardware
    digest: str
    label: str
    gpu: GpuUnit | None
    first: datetime
    last: datetime
    runs: int
    noise: MachineNoise | None = None
    others: int = 0


@dataclass(frozen=True, slots=True)
class EnvironmentSpan:
    """Software that a machine ran for one repository, without another in between, from first to last run."""

    repository: str
    digest: str
    environment: Environment
    first: datetime
    last: datetime
    runs: int


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """A machine with its newest GPU unit, Hardware and noise, and how often it measured."""

    machine: Machine
    hardware: str
    hardware_label: str
    first: datetime
    newest: datetime
    runs: int
    incomplete: int = 0
    noise: MachineNoise | None = None


@dataclass(frozen=True, slots=True)
class ControlResult:
    """A judged result of a control.

    ``before`` is the Environment of the result before it on the machine, None for the first; ``follows`` and
    ``is_followed`` say that the result before and the one after it are flagged too.
    """

    run_id: str
    started_at: datetime
    verdict: Verdict
    environment: str
    before: str | None = None
    follows: bool = False
    is_followed: bool = False

    @property
    def is_flagged(self) -> bool:
        """Whether it looks or is changed."""
        changed = (VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT)
        return self.verdict.is_suspect or self.verdict.kind in changed

    @property
    def is_move(self) -> bool:
        """A change that was decided, or a suspect that is not alone: single ones come by chance (docs/method.md)."""
        return self.is_flagged and (not self.verdict.is_suspect or self.follows or self.is_followed)

    @property
    def is_new_software(self) -> bool:
        """Whether the result before it ran on other software."""
        return self.before is not None and self.before != self.environment


@dataclass(frozen=True, slots=True)
class Control:
    """A series of frozen code on one machine: how many results were looked at, the newest, and the flagged ones."""

    series: Series
    results: int
    newest: ControlResult
    flagged: tuple[ControlResult, ...] = ()

    @property
    def moves(self) -> tuple[ControlResult, ...]:
        """The flagged results that are moves, oldest first."""
        return tuple(result for result in self.flagged if result.is_move)

    @property
    def largest(self) -> ControlResult | None:
        """The largest of its moves; where it has none, of its suspects."""
        return max(self.moves or self.flagged, key=lambda result: abs(result.verdict.delta or 0.0), default=None)

    @property
    def onset(self) -> ControlResult | None:
        """Where the largest began: the first of the flagged results in a row that it is one of."""
        if self.largest is None:
            return None
        upto = self.flagged[: self.flagged.index(self.largest) + 1]
        return next(result for result in reversed(upto) if not result.follows)
