"""Metric: a quantity with its unit and which way is better."""

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which direction of a metric is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity with its unit, e.g. ``latency`` in ``us``, lower is better."""

    name: str
    unit: str
    better: Better = Better.LOWER

    def slowdown(self, before: float, after: float) -> float:
        """Relative change towards worse: 0.10 is ten percent worse. ``before`` must not be 0."""
        change = (after - before) / before
        return change if self.better is Better.LOWER else -change


LATENCY = Metric("latency", "us")
#: Relative L2 distance to the float64 reference on the same operands.
RELATIVE_ERROR = Metric("relative_error", "1")
