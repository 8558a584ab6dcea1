"""Judge: the alert tier, the verdict of one new result against its baseline."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfdb.analysis.baseline import Segment, current_segment
from perfdb.analysis.floors import is_fixed, shown_floor, starting_floor
from perfdb.analysis.noise import logs
from perfdb.domain.history import Point, Series, SeriesHistory
from perfdb.domain.metric import LATENCY
from perfdb.domain.verdict import Reason, Verdict, VerdictKind


@dataclass(frozen=True, slots=True)
class AlertRule:
    """The numbers of the alert tier (docs/method.md, constants), in units of the baseline's noise."""

    jump: float = 3.0
    clip: float = 3.0
    reference: float = 0.75
    drift: float = 4.0


RULE = AlertRule()
#: A spread between the processes of one run above this is the machine's doing (docs/method.md, protocol cpu).
MOST_SPREAD = 0.20
#: 97.5 % and 95 % points of the normal distribution: a two-sided 95 % interval, and a power of 95 %.
TWO_SIDED, POWER = 1.960, 1.645


def judge_point(history: SeriesHistory, run_id: str) -> Verdict:
    """The verdict of the point of ``run_id`` against what comes before it. Raises ``KeyError`` without such a point."""
    points = {point.run_id: point for point in history.points}
    point = points[run_id]
    return judge_value(history.series, earlier(history.points, point), point)


def earlier(points: Sequence[Point], point: Point) -> list[Point]:
    """The points that come before ``point``: by commit position, then time; by time alone where it has no position."""
    if _position(point) is None:
        return [p for p in points if p.started_at < point.started_at]
    return [p for p in points if _position(p) is not None and _place(p) < _place(point)]


def judge_value(series: Series, before: Sequence[Point], point: Point) -> Verdict:
    """The verdict of ``point`` against ``before``, oldest first."""
    segment = current_segment(before)
    fixed = is_fixed(series.metric.name, series.floor)
    floor = starting_floor(series.protocol, series.metric.name, series.floor)
    if not segment.count:
        return _undecided(Reason.SHORT_HISTORY, segment, floor)
    value = float(logs([point.value])[0])
    evidence = _Evidence(segment, value, series)
    if is_too_noisy(series, point):
        return evidence.verdict(VerdictKind.UNDECIDED, Reason.MACHINE_TOO_NOISY, floor)
    if segment.missing:
        return evidence.verdict(VerdictKind.UNDECIDED, Reason.SHORT_HISTORY, floor)
    return judge_segment(segment, value, series, shown_floor(floor, segment.noise, is_fixed=fixed))


def judge_segment(segment: Segment, value: float, series: Series, floor: float) -> Verdict:
    """The verdict of one value, a logarithm, against a segment that is long enough to speak."""
    return _decided(_Evidence(segment, value, series), floor)


def is_too_noisy(series: Series, point: Point) -> bool:
    """Whether the processes of one run differ so much that its time says nothing."""
    if series.metric.name != LATENCY.name or len(point.process_values) < 2:
        return False
    return max(point.process_values) - min(point.process_values) > MOST_SPREAD * abs(point.value)


def _decided(evidence: "_Evidence", floor: float) -> Verdict:
    if not evidence.looks_changed():
        return evidence.verdict(VerdictKind.OK, Reason.WITHIN_NOISE, floor)
    if evidence.largest_change() < floor:
        return evidence.verdict(VerdictKind.OK, Reason.BELOW_FLOOR, floor)
    return evidence.verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, floor, is_suspect=True)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A new value, on the logarithmic scale, against its segment."""

    segment: Segment
    value: float
    series: Series

    @property
    def shift(self) -> float:
        return self.value - self.segment.level

    def looks_changed(self) -> bool:
        return abs(self.shift) > RULE.jump * self.segment.noise or abs(self._drift()[0]) > RULE.drift

    def largest_change(self) -> float:
        """The relative size of the jump, or of the level since the drift began, whichever is larger."""
        _, drifted = self._drift()
        return math.expm1(max(abs(self.shift), abs(drifted)))

    def verdict(self, kind: VerdictKind, reason: Reason, floor: float, *, is_suspect: bool = False) -> Verdict:
        sigma = self.segment.noise * math.sqrt(1 + 1.5 / self.segment.count)  # 1.5: the variance of a median, rounded
        low, delta, high = sorted(self._delta(self.shift + side * TWO_SIDED * sigma) for side in (-1, 0, 1))
        return Verdict(
            kind=kind,
            reason=reason,
            is_suspect=is_suspect,
            delta=delta,
            low=low,
            high=high,
            smallest_detectable=max(floor, math.expm1((RULE.jump + POWER) * sigma)),
            floor=floor,
            baseline=self.segment.baseline,
            missing=self.segment.missing,
        )

    def _delta(self, shift: float) -> float:
        return self.series.metric.slowdown(1.0, math.exp(min(shift, 700.0)))

    def _drift(self) -> tuple[float, float]:
        """The clipped CUSUM at the new value, signed, and the mean shift since it last was 0."""
        scaled = np.append(self.segment.log_values, self.value) - self.segment.level
        up, since_up = _cusum(np.clip(scaled / self.segment.noise, -RULE.clip, RULE.clip))
        down, since_down = _cusum(np.clip(-scaled / self.segment.noise, -RULE.clip, RULE.clip))
        if up >= down:
            return up, float(np.mean(scaled[since_up:])) if up else 0.0
        return -down, float(np.mean(scaled[since_down:]))


def _cusum(steps: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, int]:
    """The one-sided sum of steps over the reference, and the index at which its last climb began."""
    total, since = 0.0, 0
    for index, step in enumerate(steps):
        if total <= 0:
            since = index
        total = max(0.0, total + float(step) - RULE.reference)
    return total, since


def _undecided(reason: Reason, segment: Segment, floor: float) -> Verdict:
    return Verdict(VerdictKind.UNDECIDED, reason, floor=floor, missing=segment.missing)


def _position(point: Point) -> int | None:
    return point.commit.position if point.commit else None


def _place(point: Point) -> tuple[int, float, str]:
    return (_position(point) or 0, point.started_at.timestamp(), point.run_id)
