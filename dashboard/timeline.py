"""Timeline: where the points of a series lie along its commits, what each means, and where the software changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np
import tsdownsample
from numpy.typing import NDArray

from perfdb.analysis.baseline import LONGEST_HISTORY
from perfdb.analysis.change_points import change_points
from perfdb.analysis.noise import logs
from perfdb.domain.environment import Environment
from perfdb.domain.history import Point
from perfdb.domain.verdict import Verdict, VerdictKind
from perfdb.reports.sentences import fact_changes

#: Points drawn before the server thins a line: more cost a browser more than they show.
DRAWN = 1500
#: Keeps the largest and smallest value of every stretch, then the shape between them.
DOWNSAMPLER: Callable[[], Any] = tsdownsample.MinMaxLTTBDownsampler


class Mark(StrEnum):
    """What a point is drawn as."""

    PLAIN = "result"
    SUSPECT = "suspect"
    WORSE = "worse"
    BETTER = "better"


class Axis(StrEnum):
    """What runs along the chart."""

    COMMIT = "commit"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class EnvironmentChange:
    """The first point measured on other software than the one before it on its host, and the facts that differ."""

    index: int
    facts: Mapping[str, tuple[str | None, str | None]]

    @property
    def label(self) -> str:
        """``torch 2.11 → 2.13, python 3.11 → 3.12``."""
        return ", ".join(fact_changes(self.facts))


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A lasting shift of a series: the run that starts the new level, and both levels in the metric's unit."""

    run_id: str
    before: float
    after: float


def mark(point: Point) -> Mark:
    """What a point is drawn as, by the verdict in force on it."""
    return verdict_mark(point.verdict)


def verdict_mark(verdict: Verdict | None) -> Mark:
    """A suspect is one until it is decided; a decided change says which way."""
    if verdict is None:
        return Mark.PLAIN
    if verdict.kind is VerdictKind.REGRESSION:
        return Mark.WORSE
    if verdict.kind is VerdictKind.IMPROVEMENT:
        return Mark.BETTER
    return Mark.SUSPECT if verdict.is_suspect else Mark.PLAIN


def positions(points: Sequence[Point]) -> list[int]:
    """Where each point lies by commit; those without a place on the branch follow the last one, a step each."""
    known = [p.commit.position for p in points if p.commit is not None and p.commit.position is not None]
    end = max(known, default=0)
    placed: list[int] = []
    for point in points:
        place = point.commit.position if point.commit is not None else None
        if place is None:
            end += 1
        placed.append(end if place is None else place)
    return placed


def ordered(points: Sequence[Point], axis: Axis) -> tuple[Point, ...]:
    """Points in the order of the axis; a history comes in the order of its commits."""
    return tuple(points) if axis is Axis.COMMIT else tuple(sorted(points, key=lambda point: point.started_at))


def environment_changes(
    points: Sequence[Point], environments: Mapping[str, Environment]
) -> tuple[EnvironmentChange, ...]:
    """Where a host measured on other software than at its point before."""
    last: dict[str, str] = {}
    changes: list[EnvironmentChange] = []
    for index, point in enumerate(points):
        before = last.get(point.hostname, point.environment)
        last[point.hostname] = point.environment
        if before != point.environment and before in environments and point.environment in environments:
            facts = environments[before].changes_to(environments[point.environment])
            changes.append(EnvironmentChange(index, facts))
    return tuple(changes)


def level_changes(points: Sequence[Point]) -> tuple[LevelChange, ...]:
    """Lasting shifts among the points that may be baseline, in the order of their commits (docs/method.md)."""
    based = [point for point in points if point.may_be_baseline][-LONGEST_HISTORY:]
    values = logs(point.value for point in based)
    if len(values) < len(based):  # a value without a logarithm would put every later change at a wrong run
        return ()
    starts = change_points(values)
    edges = [0, *starts, len(based)]
    levels = [float(np.exp(np.median(values[a:b]))) for a, b in pairwise(edges) if b > a]
    return tuple(LevelChange(based[at].run_id, *levels[i : i + 2]) for i, at in enumerate(starts))


def thinned(points: Sequence[Point], keep: Sequence[int], limit: int = DRAWN) -> NDArray[np.int64]:
    """Indices of about ``limit`` points that keep the extremes, every marked point and those in ``keep``."""
    count = len(points)
    if count <= limit:
        return np.arange(count)
    values = np.array([point.value for point in points], dtype=np.float64)
    drawn = DOWNSAMPLER().downsample(values, n_out=limit).astype(np.int64)
    marked = [index for index, point in enumerate(points) if mark(point) is not Mark.PLAIN]
    return np.union1d(drawn, np.array([*marked, *keep, count - 1], dtype=np.int64))
