"""Traces: the layers of a series' chart: baseline band, line, processes, marked points, software changes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from html import escape
from math import exp

import plotly.graph_objects as go
from plotly.basedatatypes import BaseTraceType

from dashboard.palette import Palette
from dashboard.sentences import direction, never_baseline, verdict_words
from dashboard.timeline import DRAWN, Axis, EnvironmentChange, LevelChange, Mark, mark, positions, thinned
from perfdb.analysis.judge import RULE
from perfdb.domain.history import Point, Series
from perfdb.domain.verdict import Baseline
from perfdb.reports.formatting import Scale, day, moment, percent, scale

#: A value this many noises from the level is suspect.
SUSPECT_NOISES = RULE.jump
Segments = Sequence[Sequence[tuple[object, Baseline]]]
SYMBOLS = {Mark.PLAIN: "circle", Mark.SUSPECT: "diamond", Mark.WORSE: "triangle-up", Mark.BETTER: "triangle-down"}
SIZES = {Mark.PLAIN: 5, Mark.SUSPECT: 10, Mark.WORSE: 11, Mark.BETTER: 11}


@dataclass(frozen=True, slots=True)
class Look:
    """How a chart is to be drawn: colours, the viewer's zone, along what, and how much of it."""

    palette: Palette
    zone: tzinfo
    axis: Axis = Axis.COMMIT
    every_point: bool = False
    processes: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """A series as it is told: points in the order of the axis, software changes that count in them, level changes."""

    series: Series
    points: tuple[Point, ...]
    software: tuple[EnvironmentChange, ...] = ()
    levels: tuple[LevelChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """The points of one chart in the order of its axis, thinned, with their places and the unit they are shown in."""

    series: Series
    points: tuple[Point, ...]
    x: tuple[object, ...]
    unit: Scale
    software: tuple[tuple[object, EnvironmentChange], ...]
    levels: tuple[tuple[int, LevelChange], ...]

    def shown(self, indices: Sequence[int]) -> tuple[list[object], list[float]]:
        """Places and values, in the shown unit, of some points."""
        return [self.x[i] for i in indices], [self.points[i].value / self.unit.factor for i in indices]


def plot(story: Story, look: Look) -> Plot:
    """What is drawn of a story; the points that something is said about are always among them."""
    points, places = story.points, _places(story.points, look)
    levels = {change.run_id: change for change in story.levels}
    told = [i for i, point in enumerate(points) if point.run_id in levels] + [change.index for change in story.software]
    drawn = range(len(points)) if look.every_point else thinned(points, told).tolist()
    return Plot(
        series=story.series,
        points=tuple(points[i] for i in drawn),
        x=tuple(places[i] for i in drawn),
        unit=fitting_unit(story.series, (point.value for point in points)),
        software=tuple((places[change.index], change) for change in story.software),
        levels=tuple((n, levels[points[i].run_id]) for n, i in enumerate(drawn) if points[i].run_id in levels),
    )


def fitting_unit(series: Series, values: Iterable[float]) -> Scale:
    """The unit in which the smallest of ``values`` is still at least 1."""
    return scale(series.metric.unit, min((abs(value) for value in values if value), default=1.0))


def bands(drawn: Plot, look: Look) -> list[BaseTraceType]:
    """Level and noise of the baseline that was in force at each judged point."""
    segments = _segments(drawn)
    if not segments:
        return []
    wide = _band(segments, SUSPECT_NOISES, look.palette.veil(0.10), f"± {SUSPECT_NOISES:g} noise")
    narrow = _band(segments, 1.0, look.palette.veil(0.18), "baseline ± noise")
    levels = [pair for based in segments for pair in (*((x, base.level) for x, base in based), (None, None))]
    level = go.Scatter(
        x=[x for x, _ in levels],
        y=[level for _, level in levels],
        mode="lines",
        line={"width": 1, "color": look.palette.muted, "dash": "dash"},
        hoverinfo="skip",
        name="level",
    )
    return [wide, narrow, level]


def line(drawn: Plot, look: Look) -> BaseTraceType:
    """The line through everything that may be a baseline; hollow points stand beside it."""
    x, y = drawn.shown([i for i, point in enumerate(drawn.points) if point.may_be_baseline])
    return _scatter(drawn)(
        x=x,
        y=y,
        mode="lines",
        line={"width": 1.2, "color": look.palette.line},
        opacity=0.7,
        hoverinfo="skip",
        showlegend=False,
        name="line",
    )


def processes(drawn: Plot, look: Look) -> BaseTraceType:
    """The value of each process behind each point."""
    pairs = [(x, value) for x, point in zip(drawn.x, drawn.points, strict=True) for value in point.process_values]
    return _scatter(drawn)(
        x=[x for x, _ in pairs],
        y=[value / drawn.unit.factor for _, value in pairs],
        mode="markers",
        marker={"symbol": "line-ew-open", "size": 8, "color": look.palette.muted},
        hoverinfo="skip",
        name="one process",
    )


def markers(drawn: Plot, look: Look) -> list[BaseTraceType]:
    """The points by what they mean: shape and colour say the same; hollow ones never form a baseline.

    A point that starts a new level is left to ``level_marks``, whose hover says all that is said here and more.
    """
    groups: dict[tuple[Mark, bool], list[int]] = {}
    told_already = {index for index, _ in drawn.levels}
    for index, point in enumerate(drawn.points):
        if index in told_already:
            continue
        groups.setdefault((mark(point), point.may_be_baseline), []).append(index)
    ranked = sorted(groups.items(), key=lambda item: (list(Mark).index(item[0][0]), not item[0][1]))
    return [_marker(drawn, look, kind, indices, is_solid=solid) for (kind, solid), indices in ranked]


def level_marks(drawn: Plot, look: Look) -> list[BaseTraceType]:
    """Where a new level begins: a triangle that points up where it is worse and down where it is better."""
    sides = ((True, "triangle-up", look.palette.worse), (False, "triangle-down", look.palette.better))
    traces: list[BaseTraceType] = []
    for is_worse, symbol, colour in sides:
        told = [(i, c) for i, c in drawn.levels if (_shift(drawn, c) > 0) is is_worse]
        x, y = drawn.shown([i for i, _ in told])
        traces.append(
            _scatter(drawn)(
                x=x,
                y=y,
                mode="markers",
                marker={
                    "symbol": symbol,
                    "size": 15,
                    "color": colour,
                    "line": {"width": 1, "color": look.palette.paper},
                },
                customdata=[_level_words(drawn, i, change, look) for i, change in told],
                hovertemplate="%{customdata}<extra></extra>",
                name=f"new level, {'worse' if is_worse else 'better'}",
            )
        )
    return [trace for trace in traces if trace.x]


def environment_marks(drawn: Plot, look: Look) -> list[BaseTraceType]:
    """Where the software changed: a mark on the upper edge whose hover says what changed."""
    if not drawn.software:
        return []
    return [software_marks([place for place, _ in drawn.software], [_wrapped(c) for _, c in drawn.software], look)]


def software_marks(places: Sequence[object], words: Sequence[str], look: Look) -> BaseTraceType:
    """A mark a place on the upper edge, on an axis of its own; its hover reads the words."""
    return go.Scatter(
        x=list(places),
        y=[1.0] * len(places),
        yaxis="y2",
        mode="markers",
        marker={"symbol": "square", "size": 9, "color": look.palette.environment},
        cliponaxis=False,
        customdata=[f"<b>software changed</b><br>{said}" for said in words],
        hovertemplate="%{customdata}<extra></extra>",
        name="software changed",
    )


def hover(point: Point, series: Series, unit: Scale, where: tzinfo) -> str:
    """What a pointer over a point reads: value, verdict, commit, time and host."""
    verdict = point.verdict
    delta = f"  ({percent(verdict.delta)})" if verdict is not None and verdict.delta is not None else ""
    words = [verdict_words(verdict, series)] if verdict is not None else []
    measured = f"measured {moment(point.started_at, where)}" + (f" on {point.hostname}" if point.hostname else "")
    lines = [*words, *_commit_lines(point, where), measured]
    return "<br>".join([f"<b>{unit.text(point.value)}</b>{delta}", *(escape(text) for text in lines)])


def _shift(drawn: Plot, change: LevelChange) -> float:
    return drawn.series.metric.slowdown(change.before, change.after)


def _level_words(drawn: Plot, index: int, change: LevelChange, look: Look) -> str:
    shift = _shift(drawn, change)
    size = f"{percent(abs(shift), signed=False)} {direction(shift, drawn.series)}"
    levels = f"{drawn.unit.text(change.before)} → {drawn.unit.text(change.after)}"
    return f"<b>new level: {size}</b><br>{levels}<br>" + hover(drawn.points[index], drawn.series, drawn.unit, look.zone)


def _commit_lines(point: Point, where: tzinfo) -> list[str]:
    if point.commit is None:
        return [f"never a baseline: {never_baseline(point)}"]
    subject = point.commit.subject
    state = "" if point.may_be_baseline else f" · never a baseline: {never_baseline(point)}"
    short = subject if len(subject) <= 64 else subject[:63] + "…"
    return [f"{point.commit.short} · {day(point.commit.committed_at, where)}{state}", short]


def _places(points: Sequence[Point], look: Look) -> list[object]:
    if look.axis is Axis.TIME:
        return [point.started_at.astimezone(look.zone).replace(tzinfo=None) for point in points]
    return list(positions(points))


def _segments(drawn: Plot) -> list[list[tuple[object, Baseline]]]:
    """Baselines in the shown unit, apart where a new segment began, no more of them than a thinned line has points."""
    factor = drawn.unit.factor
    based = [
        (x, Baseline(point.verdict.baseline.level / factor, point.verdict.baseline.noise, point.verdict.baseline.count))
        for x, point in zip(drawn.x, drawn.points, strict=True)
        if point.may_be_baseline and point.verdict and point.verdict.baseline and not point.verdict.missing
    ]
    segments: list[list[tuple[object, Baseline]]] = []
    for entry in based[:: max(1, len(based) // DRAWN)]:
        if not segments or _begins_anew(segments[-1][-1][1], entry[1]):
            segments.append([])
        segments[-1].append(entry)
    return segments


def _begins_anew(before: Baseline, after: Baseline) -> bool:
    moved = abs(after.level - before.level) / abs(before.level or 1.0)
    return after.count < before.count or moved > SUSPECT_NOISES * max(before.noise, after.noise)


def _band(segments: Segments, width: float, colour: str, name: str) -> BaseTraceType:
    corners: list[tuple[object, float | None]] = []
    for based in segments:
        corners.extend((x, base.level * exp(width * base.noise)) for x, base in based)
        corners.extend((x, base.level * exp(-width * base.noise)) for x, base in reversed(based))
        corners.append((None, None))
    return go.Scatter(
        x=[x for x, _ in corners],
        y=[y for _, y in corners],
        mode="lines",
        fill="toself",
        fillcolor=colour,
        line={"width": 0},
        hoverinfo="skip",
        name=name,
    )


def _marker(drawn: Plot, look: Look, kind: Mark, indices: Sequence[int], *, is_solid: bool) -> BaseTraceType:
    x, y = drawn.shown(indices)
    colours = {
        Mark.PLAIN: look.palette.line,
        Mark.SUSPECT: look.palette.suspect,
        Mark.WORSE: look.palette.worse,
        Mark.BETTER: look.palette.better,
    }
    edge = {"width": 1 if kind is not Mark.PLAIN else 0, "color": look.palette.paper}
    return _scatter(drawn)(
        x=x,
        y=y,
        mode="markers",
        marker={
            "symbol": SYMBOLS[kind] + ("" if is_solid else "-open"),
            "size": SIZES[kind] + (0 if is_solid else 2),
            "color": colours[kind],
            "line": edge if is_solid else {"width": 1.5},
        },
        customdata=[hover(drawn.points[i], drawn.series, drawn.unit, look.zone) for i in indices],
        hovertemplate="%{customdata}<extra></extra>",
        name=kind.value if is_solid else f"{kind.value}, never a baseline",
    )


def _scatter(drawn: Plot) -> Callable[..., BaseTraceType]:
    """SVG is sharper; above what a thinned line holds only the graphics card keeps up.

    One answer for a whole chart: what the graphics card draws would cover what SVG drew.
    """
    kinds: dict[bool, Callable[..., BaseTraceType]] = {False: go.Scatter, True: go.Scattergl}
    return kinds[len(drawn.points) > 2 * DRAWN]


def _wrapped(change: EnvironmentChange) -> str:
    return "<br>".join(
        f"{escape(n)}: {escape(old or 'none')} → {escape(new or 'none')}" for n, (old, new) in change.facts.items()
    )
