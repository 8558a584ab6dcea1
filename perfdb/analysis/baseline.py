"""Baseline: level and noise of the current segment of a series."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfdb.analysis.change_points import change_points
from perfdb.analysis.noise import Floats, logs, relative_noise
from perfdb.domain.history import Point
from perfdb.domain.verdict import Baseline

#: A baseline speaks from this many results on, and forgets all but the last so many (docs/method.md, alert tier).
FEWEST_RESULTS = 15
MOST_RESULTS = 100
#: Segmentation looks no further back.
LONGEST_HISTORY = 2000


@dataclass(frozen=True, slots=True)
class Segment:
    """Logarithms of the results since the last change, oldest first, with their level and noise on that scale."""

    log_values: Floats
    level: float
    noise: float

    @property
    def count(self) -> int:
        """How many results form it."""
        return int(self.log_values.size)

    @property
    def missing(self) -> int:
        """How many more it needs to speak."""
        return max(0, FEWEST_RESULTS - self.count)

    @property
    def baseline(self) -> Baseline | None:
        """The value that is stored with a verdict; None while there is nothing."""
        return Baseline(float(np.exp(self.level)), self.noise, self.count) if self.count else None


def current_segment(points: Sequence[Point]) -> Segment:
    """The segment after the last change of ``points`` (in order), without those that may not be baseline."""
    values = logs(point.value for point in points[-LONGEST_HISTORY:] if point.may_be_baseline)
    changes = change_points(values)
    recent = values[changes[-1] if changes else 0 :][-MOST_RESULTS:]
    level = float(np.median(recent)) if recent.size else float("nan")
    return Segment(recent, level, relative_noise(recent))
