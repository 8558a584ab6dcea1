"""Judge: the alert tier, the verdict of one new result against its baseline."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from perfdb.analysis.baseline import MOST_RESULTS, Segment, current_segment
from perfdb.analysis.floors import is_fixed, shown_floor, starting_floor
from perfdb.analysis.noise import Floats, logs, relative_delta, relative_size
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
#: A two-sided 95 % interval; and the 95 % point of the normal distribution: a power of 95 %.
CONFIDENCE, POWER = 0.975, 1.645


def judge_point(history: SeriesHistory, run_id: str) -> Verdict:
    """The verdict of the point of ``run_id`` against what comes before it. Raises ``KeyError`` without such a point."""
    points = {point.run_id: point for point in history.points}
    point = points[run_id]
    return judge_value(history.series, earlier(history.points, point), point)


def judge_later(history: SeriesHistory, run_id: str, judged: Collection[str]) -> dict[str, Verdict]:
    """Verdicts, by run, of points of ``judged`` runs that have ``run_id`` among the last 100 results before them.

    Further on it is out of every baseline. Raises ``KeyError`` without such a point.
    """
    late = {point.run_id: index for index, point in enumerate(history.points)}[run_id]
    verdicts, between = {}, 0
    for point in history.points[late + 1 :]:
        may_reach = between < MOST_RESULTS or _position(point) is None
        before = earlier(history.points, point) if point.run_id in judged and point.is_on_line and may_reach else []
        if run_id in [p.run_id for p in before if p.may_be_baseline][-MOST_RESULTS:]:
            verdicts[point.run_id] = judge_value(history.series, before, point)
        between += point.may_be_baseline
    return verdicts


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
    if not math.isfinite(point.value):
        return _undecided(Reason.NOT_COMPARABLE, segment, floor)
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
    values = [value for value in point.process_values if math.isfinite(value)]
    if series.metric.name != LATENCY.name or len(values) < 2:
        return False
    return max(values) - min(values) > MOST_SPREAD * abs(point.value)


def _decided(evidence: "_Evidence", floor: float) -> Verdict:
    if not evidence.looks_changed():
        return evidence.verdict(VerdictKind.OK, Reason.WITHIN_NOISE, floor)
    if abs(evidence.delta) < floor:
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
        return abs(self.shift) > RULE.jump * self.segment.noise or self._drift() > RULE.drift

    @property
    def delta(self) -> float:
        return relative_delta(self.series.metric, self.shift)

    def verdict(self, kind: VerdictKind, reason: Reason, floor: float, *, is_suspect: bool = False) -> Verdict:
        low, high, detectable = self._uncertainty()
        return Verdict(
            kind=kind,
            reason=reason,
            is_suspect=is_suspect,
            delta=self.delta,
            low=low,
            high=high,
            smallest_detectable=None if detectable is None else max(floor, detectable),
            floor=floor,
            baseline=self.segment.baseline,
            missing=self.segment.missing,
        )

    def _uncertainty(self) -> tuple[float | None, float | None, float | None]:
        """Ends of the 95 % interval, and what is found with a power of 95 %; None while one result tells no noise."""
        count = self.segment.count
        if count < 2:
            return None, None, None
        sigma = self.segment.noise * math.sqrt(1 + 1.5 / count)  # 1.5: the variance of a median, rounded
        reach = float(special.stdtrit(count - 1, CONFIDENCE)) * sigma
        low, high = sorted(relative_delta(self.series.metric, self.shift + side) for side in (-reach, reach))
        return low, high, relative_size((RULE.jump + POWER) * sigma)

    def _drift(self) -> float:
        """The larger of the upward and the downward clipped CUSUM, at the new value."""
        scaled = (np.append(self.segment.log_values, self.value) - self.segment.level) / self.segment.noise
        steps = np.clip(scaled, -RULE.clip, RULE.clip)
        return max(_cusum(steps), _cusum(-steps))


def _cusum(steps: Floats) -> float:
    """The one-sided sum of steps over the reference, which starts again whenever it would fall below 0."""
    sums = np.concatenate(([0.0], np.cumsum(steps - RULE.reference)))
    return float(sums[-1] - np.min(sums))


def _undecided(reason: Reason, segment: Segment, floor: float) -> Verdict:
    return Verdict(VerdictKind.UNDECIDED, reason, floor=floor, baseline=segment.baseline, missing=segment.missing)


def _position(point: Point) -> int | None:
    return point.commit.position if point.commit else None


def _place(point: Point) -> tuple[int, float, str]:
    return (_position(point) or 0, point.started_at.timestamp(), point.run_id)
