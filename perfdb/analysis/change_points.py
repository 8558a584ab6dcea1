"""ChangePoints: the history tier, lasting shifts of one series (docs/method.md, history tier).

1. On logarithms, first differences give the noise; values are pulled to 2 noise around a running median of 11.
2. An exact penalised partition at 24 noise squared a change, at least 3 results a segment.
3. Residuals give the noise and how long it lasts (lags 1 to 3); 1 and 2 are repeated with both.
4. A short segment after which the level returns went away by itself: it is no change.
5. Changes are removed, least convincing first, until each is large, separated and significant on local medians; then
   each is moved by up to 4 results to where absolute deviations are least.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfdb.analysis.noise import LEAST_NOISE, Floats, mad_sigma
from perfdb.analysis.partition import split


@dataclass(frozen=True, slots=True)
class HistoryRule:
    """The numbers of the history tier; each was tuned on development series only (docs/method.md, constants)."""

    influence: float = 2.0
    price: float = 24.0
    shortest: int = 3
    short_lived: int = 12
    returned: float = 0.35
    least_change: float = 0.005
    least_separation: float = 0.8
    least_auc: float = 0.70
    local: int = 80
    price_kept: float = 0.85
    refine: int = 4
    median_radius: int = 5


RULE = HistoryRule()
FEWEST_RESULTS = 8
LONGEST_MEMORY = 5.0


def change_points(log_values: Floats, rule: HistoryRule = RULE) -> list[int]:
    """Indices at which a new level starts, ascending. ``log_values`` are finite, in order; fewer than 8 give none."""
    if log_values.size < FEWEST_RESULTS:
        return []
    differences = np.diff(log_values)
    if not np.any(differences):
        return []
    noise = max(mad_sigma(differences) / math.sqrt(2), LEAST_NOISE)
    rough = split(_clipped(log_values, noise, rule) / noise, rule.price, rule.shortest)
    spread, memory = _scale(_residuals(log_values, rough), rule.influence)
    noise = max(noise, spread)
    changes = split(_clipped(log_values, noise, rule) / noise, rule.price * memory, rule.shortest)
    changes = _without_short_lived(log_values, changes, noise, rule)
    changes = _convincing(log_values, changes, _Evidence(noise, memory, rule))
    return [_refined(log_values, changes, index, rule) for index in range(len(changes))]


def _clipped(values: Floats, noise: float, rule: HistoryRule) -> Floats:
    """Isolated outliers pulled to within ``influence`` noise of the running median."""
    radius = rule.median_radius
    padded = np.pad(values, radius, constant_values=np.nan)
    running = np.nanmedian(sliding_window_view(padded, 2 * radius + 1), axis=1)
    reach = rule.influence * noise
    return np.clip(values, running - reach, running + reach)


def _residuals(values: Floats, changes: list[int]) -> Floats:
    return np.concatenate([part - np.median(part) for part in np.split(values, changes)])


def _scale(residuals: Floats, influence: float) -> tuple[float, float]:
    """Winsorised standard deviation, and the factor by which slow noise inflates the variance of a mean (1 to 5)."""
    scale = mad_sigma(residuals) or float(np.std(residuals))
    if scale <= 0:
        return 0.0, 1.0
    bounded = np.clip(residuals, -influence * scale, influence * scale)
    variance = float(np.mean(bounded**2))
    memory = 1.0
    for lag in (1, 2, 3):
        correlation = float(bounded[lag:] @ bounded[:-lag]) / bounded.size / variance
        if correlation <= 0:
            break
        memory += 2 * correlation * (1 - lag / 4)  # Bartlett's weights
    return max(scale, math.sqrt(variance)), min(memory, LONGEST_MEMORY)


def _without_short_lived(values: Floats, changes: list[int], noise: float, rule: HistoryRule) -> list[int]:
    """Drop both ends of a short segment after which the level returns."""
    kept, index = list(changes), 0
    while index + 1 < len(kept):
        first, last = kept[index], kept[index + 1]
        if last - first < rule.short_lived and _level_returns(values, kept, index, noise, rule):
            del kept[index : index + 2]
        else:
            index += 1
    return kept


def _level_returns(values: Floats, changes: list[int], index: int, noise: float, rule: HistoryRule) -> bool:
    edges = [0, *changes, values.size]
    start, first, last, end = edges[index : index + 4]
    half = rule.local // 2
    before = float(np.median(values[max(start, first - half) : first]))
    during = float(np.median(values[first:last]))
    after = float(np.median(values[last : min(end, last + half)]))
    return abs(after - before) < max(noise, rule.returned * abs(during - before))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How convincing one change is: at least 1 on every count, or it is none."""

    noise: float
    memory: float
    rule: HistoryRule

    def of(self, left: Floats, right: Floats) -> float:
        rule = self.rule
        change = abs(float(np.median(right) - np.median(left)))
        noise = self._local_noise(left, right)
        shorter, both = min(left.size, right.size), left.size + right.size
        statistic = (change / noise) ** 2 * left.size * right.size / both / self.memory
        statistic = min(statistic, rule.influence**2 * shorter)
        counts = [
            statistic / (rule.price_kept * rule.price),
            change / rule.least_change,
            change / (rule.least_separation * noise),
        ]
        if shorter >= 4:
            counts.append((separation(left, right) - 0.5) / (rule.least_auc - 0.5))
        return min(counts)

    def _local_noise(self, left: Floats, right: Floats) -> float:
        """The noise of both sides, never below half of the whole series'."""
        both = left.size + right.size
        if both < self.rule.short_lived:
            return self.noise
        residuals = np.concatenate((left - np.median(left), right - np.median(right)))
        bound = self.rule.influence * max(mad_sigma(residuals), self.noise / 2)
        return max(self.noise / 2, math.sqrt(float(np.sum(np.clip(residuals, -bound, bound) ** 2)) / (both - 2)))


def separation(left: Floats, right: Floats) -> float:
    """Share of pairs in which one side lies above the other (ties half), at least 0.5: the AUC of a change."""
    ordered = np.sort(left)
    below = np.searchsorted(ordered, right, side="left")
    upto = np.searchsorted(ordered, right, side="right")
    share = float(np.sum(below + upto)) / (2 * left.size * right.size)
    return max(share, 1 - share)


def _convincing(values: Floats, changes: list[int], evidence: _Evidence) -> list[int]:
    """Remove the least convincing change until all convince; a removal changes the evidence of its neighbours only."""
    kept = list(changes)
    weights = [_weight(values, kept, index, evidence) for index in range(len(kept))]
    while kept and min(weights) < 1:
        weakest = weights.index(min(weights))
        del kept[weakest], weights[weakest]
        for index in range(max(0, weakest - 1), min(len(kept), weakest + 1)):
            weights[index] = _weight(values, kept, index, evidence)
    return kept


def _weight(values: Floats, changes: list[int], index: int, evidence: _Evidence) -> float:
    start, at, end = [0, *changes, values.size][index : index + 3]
    local = evidence.rule.local
    return evidence.of(values[max(start, at - local) : at], values[at : min(end, at + local)])


def _refined(values: Floats, changes: list[int], index: int, rule: HistoryRule) -> int:
    """Where within 4 results the absolute deviation from the two local medians is least."""
    edges = [0, *changes, values.size]
    start, at, end = edges[index : index + 3]
    half = rule.local // 2
    first, last = max(start, at - half), min(end, at + half)
    left, right = float(np.median(values[first:at])), float(np.median(values[at:last]))
    low, high = max(first + 1, at - rule.refine), min(last - 1, at + rule.refine)
    window = np.arange(max(first, at - rule.refine - 1), min(last, at + rule.refine + 1))
    as_left, as_right = np.abs(values[window] - left), np.abs(values[window] - right)
    costs = {place: float(np.sum(np.where(window < place, as_left, as_right))) for place in range(low, high + 1)}
    return min(costs, key=lambda place: (costs[place], place)) if costs else at
