"""Comparison: two runs judged by their processes with a moderated t test and a floor.

The process is the unit of evidence. Its variance within the two runs is pooled with the variance that the series showed
in its history (Smyth, Linear models and empirical Bayes methods, 2004), whose weight is estimated from how much that
variance itself varies, at most 8 degrees of freedom. Without history it is Student's test.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import optimize, special

from perfdb.analysis.floors import comparison_floor, is_fixed, starting_floor
from perfdb.analysis.judge import is_too_noisy
from perfdb.analysis.noise import LEAST_NOISE, Floats, logs, relative_delta, relative_size
from perfdb.domain.history import Point, Series
from perfdb.domain.verdict import Reason, Verdict, VerdictKind

#: A fixed 8 where the variance varies 7-fold gives 8 % false changes, so 8 is the most (docs/method.md, comparison).
MOST_PRIOR_DF = 8.0
FEWEST_RUNS_FOR_PRIOR = 5
SIGNIFICANCE = 0.01
CONFIDENCE, POWER = 0.975, 0.95


@dataclass(frozen=True, slots=True)
class Prior:
    """What history says about the variance of one process (of logarithms), and how many degrees that is worth."""

    variance: float
    df: float


def prior_of(runs: Iterable[Sequence[float]]) -> Prior | None:
    """The prior from the values by process of past runs; None with fewer than 5 runs of at least 2 processes."""
    df, variances = _log_variances(runs)
    if df.size < FEWEST_RUNS_FOR_PRIOR:
        return None
    scaled = np.log(variances) - special.digamma(df / 2) + np.log(df / 2)
    excess = float(np.var(scaled, ddof=1) - np.mean(special.polygamma(1, df / 2)))
    prior_df = _degrees_behind(excess)
    centre = float(np.mean(scaled)) + float(special.digamma(prior_df / 2)) - math.log(prior_df / 2)
    return Prior(math.exp(centre), prior_df)


def compare_points(
    series: Series, base: Point, head: Point, prior: Prior | None = None, noise: float | None = None
) -> Verdict:
    """The verdict of ``head`` against ``base``. ``noise`` is the series' own, where it has shown one."""
    start = starting_floor(series.protocol, series.metric.name, series.floor)
    floor = comparison_floor(start, noise, is_fixed=is_fixed(series.metric.name, series.floor))
    left, right = logs(base.process_values), logs(head.process_values)
    if not left.size or not right.size or (left.size + right.size == 2 and not prior):
        return _untested(left, right, series, floor)
    test = _Test.of(left, right, prior)
    if min(left.size, right.size) < 2:
        return test.verdict(VerdictKind.UNDECIDED, Reason.TOO_FEW_PROCESSES, series, floor)
    if is_too_noisy(series, base) or is_too_noisy(series, head):
        return test.verdict(VerdictKind.UNDECIDED, Reason.MACHINE_TOO_NOISY, series, floor)
    return test.verdict(*_decide(test, series, floor), series, floor)


def _decide(test: "_Test", series: Series, floor: float) -> tuple[VerdictKind, Reason]:
    low, delta, high = test.deltas(series)
    if test.p < SIGNIFICANCE:
        if abs(delta) < floor:
            return VerdictKind.OK, Reason.BELOW_FLOOR
        return (VerdictKind.REGRESSION if delta > 0 else VerdictKind.IMPROVEMENT), Reason.CHANGED
    if high >= floor or low <= -floor:
        return VerdictKind.UNDECIDED, Reason.INTERVAL_HOLDS_BOTH
    return VerdictKind.OK, Reason.WITHIN_NOISE


def _untested(left: Floats, right: Floats, series: Series, floor: float) -> Verdict:
    """One process a side and no history, or none at all: nothing tells the noise."""
    is_seen = left.size and right.size
    delta = relative_delta(series.metric, float(right.mean() - left.mean())) if is_seen else None
    return Verdict(VerdictKind.UNDECIDED, Reason.TOO_FEW_PROCESSES, delta=delta, floor=floor)


@dataclass(frozen=True, slots=True)
class _Test:
    """The difference of two means of logarithms, its standard error, and the degrees of freedom behind it."""

    shift: float
    error: float
    df: float

    @classmethod
    def of(cls, left: Floats, right: Floats, prior: Prior | None) -> "_Test":
        df = float(left.size + right.size - 2)
        squares = float(np.sum((left - left.mean()) ** 2) + np.sum((right - right.mean()) ** 2))
        prior_squares, prior_df = (prior.variance * prior.df, prior.df) if prior else (0.0, 0.0)
        variance = max((squares + prior_squares) / (df + prior_df), 1e-18)  # equal values: no division by 0
        error = math.sqrt(variance * (1 / left.size + 1 / right.size))
        return cls(float(right.mean() - left.mean()), error, df + prior_df)

    @property
    def p(self) -> float:
        """Two-sided."""
        return float(2 * special.stdtr(self.df, -abs(self.shift) / self.error))

    def deltas(self, series: Series) -> tuple[float, float, float]:
        """Low end of the 95 % interval, delta, high end."""
        reach = float(special.stdtrit(self.df, CONFIDENCE)) * self.error
        shifts = (self.shift - reach, self.shift, self.shift + reach)
        low, delta, high = sorted(relative_delta(series.metric, shift) for shift in shifts)
        return low, delta, high

    def smallest_detectable(self) -> float:
        """The change that is found with a probability of 95 %."""
        quantiles = special.stdtrit(self.df, 1 - SIGNIFICANCE / 2) + special.stdtrit(self.df, POWER)
        return relative_size(float(quantiles) * self.error)

    def verdict(self, kind: VerdictKind, reason: Reason, series: Series, floor: float) -> Verdict:
        low, delta, high = self.deltas(series)
        detectable = max(floor, self.smallest_detectable())
        return Verdict(kind, reason, delta=delta, low=low, high=high, smallest_detectable=detectable, floor=floor)


def _log_variances(runs: Iterable[Sequence[float]]) -> tuple[Floats, Floats]:
    """Degrees of freedom and variance of the logarithms of each run of at least two processes."""
    by_size: dict[int, list[list[float]]] = {}
    for run in runs:
        finite = [value for value in run if math.isfinite(value)]
        if len(finite) > 1:
            by_size.setdefault(len(finite), []).append(finite)
    df = [np.full(len(same), size - 1.0) for size, same in by_size.items()]
    variances = [np.var(logs(chain(*same)).reshape(-1, size), axis=1, ddof=1) for size, same in by_size.items()]
    nothing = np.zeros(0)
    return np.concatenate([nothing, *df]), np.maximum(np.concatenate([nothing, *variances]), LEAST_NOISE**2)


def _degrees_behind(excess: float) -> float:
    """D with trigamma(d / 2) = excess, at most 8: the less a variance varies, the more its history is worth."""
    if excess <= special.polygamma(1, MOST_PRIOR_DF / 2):
        return MOST_PRIOR_DF
    return 2 * float(optimize.brentq(lambda half: float(special.polygamma(1, half)) - excess, 1e-8, MOST_PRIOR_DF / 2))
