"""Floors: the smallest delta that counts, by protocol, metric and what the series has shown."""

import math

from perfdb.domain.metric import RELATIVE_ERROR

#: Relative. cpu: 15 fresh processes of the same code differed by 5.9 % CV and more (docs/method.md, floors).
PROTOCOL_FLOORS = {"cpu": 0.10}
OTHER_PROTOCOL_FLOOR = 0.05
#: An error against the reference may double before it counts: thread counts move the order of sums.
ERROR_FLOOR = 1.0
#: Nobody acts on less, however quiet the series.
LEAST_FLOOR = 0.005
#: A floor below this many standard deviations of an A/A delta leaves most A/A cases undecided.
AA_SIGMAS = 4.5


def starting_floor(protocol: str, metric: str, declared: float | None) -> float:
    """The floor of a series that has shown nothing yet. A declared one stands."""
    if declared is not None:
        return declared
    return ERROR_FLOOR if metric == RELATIVE_ERROR.name else PROTOCOL_FLOORS.get(protocol, OTHER_PROTOCOL_FLOOR)


def shown_floor(start: float, noise: float, *, is_fixed: bool) -> float:
    """The floor of one result against its baseline: the noise that the series shows, at least 0.5 %, at most ``start``.

    Significance is decided apart, so that the floor need not be larger than the noise.
    """
    return start if is_fixed else min(start, max(LEAST_FLOOR, noise))


def comparison_floor(start: float, noise: float | None, *, is_fixed: bool) -> float:
    """The floor between two runs: 4.5 standard deviations of the delta of two quiet runs, at most ``start``."""
    if is_fixed or noise is None:
        return start
    return min(start, max(LEAST_FLOOR, AA_SIGMAS * math.sqrt(2) * noise))


def is_fixed(metric: str, declared: float | None) -> bool:
    """Whether the floor was declared or belongs to accuracy, so that quiet history does not lower it."""
    return declared is not None or metric == RELATIVE_ERROR.name
