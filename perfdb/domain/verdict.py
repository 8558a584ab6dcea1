"""Verdict: what one measurement means against its baseline, with what could have been seen."""

from dataclasses import dataclass
from enum import StrEnum


class VerdictKind(StrEnum):
    """UNDECIDED is honest: the reason says what is missing."""

    OK = "ok"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why a verdict is what it is."""

    WITHIN_NOISE = "within_noise"
    SUSPECT = "suspect"
    SHORT_HISTORY = "short_history"
    MACHINE_TOO_NOISY = "machine_too_noisy"
    TOO_FEW_PROCESSES = "too_few_processes"
    INTERVAL_HOLDS_BOTH = "interval_holds_both"
    BELOW_FLOOR = "below_floor"
    CHANGED = "changed"
    NOT_COMPARABLE = "not_comparable"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Level and relative noise of the current segment of a series; ``count`` results form it."""

    level: float
    noise: float
    count: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one measurement.

    ``delta`` is relative, positive = worse; ``low`` and ``high`` its 95 % interval; ``smallest_detectable`` the
    smallest delta that would have been seen; ``missing`` how many more results the baseline needs to speak.
    Each is None where the data does not tell.
    """

    kind: VerdictKind
    reason: Reason
    is_suspect: bool = False
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    smallest_detectable: float | None = None
    floor: float | None = None
    baseline: Baseline | None = None
    missing: int = 0
