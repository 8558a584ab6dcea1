"""Machine charts: the noise of a machine over time, with the moments at which its software changed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

import plotly.graph_objects as go

from dashboard import traces
from dashboard.charts import DASHES, draw_software_lines, layout
from dashboard.traces import Look
from perfdb.domain.machine_record import EnvironmentSpan, NoisePoint
from perfdb.reports.formatting import NOTHING, counted, moment, percent
from perfdb.reports.sentences import fact_changes

#: Changed facts that a hover tells.
FACTS_TOLD = 8


@dataclass(frozen=True, slots=True)
class SoftwareMark:
    """When other software began to run, and what changed in plain words."""

    when: datetime
    words: tuple[str, ...]


def software_marks(spans: Sequence[EnvironmentSpan]) -> list[SoftwareMark]:
    """Where a machine began to measure a repository on other software than before; ``spans`` are newest first."""
    return [SoftwareMark(span.first, changed_facts(before, span)) for before, span in _successions(spans)]


def changed_facts(before: EnvironmentSpan, span: EnvironmentSpan) -> tuple[str, ...]:
    """``torch 2.11.0 → 2.13.0``, a fact each."""
    return tuple(fact_changes(before.environment.changes_to(span.environment)))


def predecessor(spans: Sequence[EnvironmentSpan], span: EnvironmentSpan) -> EnvironmentSpan | None:
    """What ran for the same repository before ``span``; ``spans`` are newest first."""
    older = spans[spans.index(span) + 1 :]
    return next((other for other in older if other.repository == span.repository), None)


def noise_figure(trend: Sequence[NoisePoint], software: Sequence[SoftwareMark], look: Look) -> go.Figure:
    """Median and 90th percentile of the noise, and the smallest detectable change; a dash each Hardware.

    Runs in which no baseline spoke are left out.
    """
    spoken = [point for point in trend if point.noise.median is not None]
    figure = go.Figure()
    for hardware, dash in dashes(trend).items():
        points = [point for point in spoken if point.hardware == hardware]
        figure.add_traces(_lines(points, dash, look, is_first=not figure.data))
    _mark_software(figure, _within(software, spoken), look)
    figure.update_layout(**layout(look, height=340), hovermode="closest")
    figure.update_yaxes(title="of the value", ticksuffix=" %", rangemode="tozero", gridcolor=look.palette.grid)
    figure.update_yaxes(zeroline=False)
    figure.update_xaxes(title=f"time measured ({look.zone})", showgrid=False, zeroline=False)
    return figure


def dashes(trend: Sequence[NoisePoint]) -> dict[str, str]:
    """How the lines of each Hardware that spoke are drawn, the one in use last first."""
    spoken = [point.hardware for point in reversed(trend) if point.noise.median is not None]
    return {hardware: DASHES[index % len(DASHES)] for index, hardware in enumerate(dict.fromkeys(spoken))}


def _successions(spans: Sequence[EnvironmentSpan]) -> list[tuple[EnvironmentSpan, EnvironmentSpan]]:
    pairs = [(predecessor(spans, span), span) for span in spans]
    return [(before, span) for before, span in pairs if before is not None]


def _lines(points: Sequence[NoisePoint], dash: str, look: Look, *, is_first: bool) -> list[go.Scatter]:
    colours = look.palette
    wanted = (
        ("median noise", "circle", colours.line, [point.noise.median for point in points]),
        ("90th percentile", "triangle-up", colours.worse, [point.noise.high for point in points]),
        ("smallest detectable, median", "diamond", colours.muted, [point.noise.detectable for point in points]),
    )
    return [
        go.Scatter(
            x=[_local(point.started_at, look) for point in points],
            y=[None if value is None else value * 100 for value in values],
            mode="lines+markers",
            line={"width": 1.4, "color": colour, "dash": dash},
            marker={"symbol": symbol, "size": 5, "color": colour},
            customdata=[_hover(point, look) for point in points],
            hovertemplate="%{customdata}<extra></extra>",
            name=title,
            legendgroup=title,
            showlegend=is_first,
        )
        for title, symbol, colour, values in wanted
    ]


def _hover(point: NoisePoint, look: Look) -> str:
    noise = point.noise
    high = f"90th percentile {percent(noise.high, signed=False)}" if noise.high is not None else NOTHING
    return "<br>".join(
        (
            f"<b>noise {percent(noise.median, signed=False)}</b>  ({high})",
            f"smallest detectable {percent(noise.detectable, signed=False)}",
            f"of {counted(noise.series, 'series', 'series')} on hardware {point.hardware[:6]}",
            f"measured {moment(point.started_at, look.zone)}",
        )
    )


def _within(software: Sequence[SoftwareMark], points: Sequence[NoisePoint]) -> list[SoftwareMark]:
    """Changes before the first drawn run would stretch the axis to where nothing is drawn."""
    first = min((point.started_at for point in points), default=None)
    return [mark for mark in software if first is not None and mark.when >= first]


def _mark_software(figure: go.Figure, software: Sequence[SoftwareMark], look: Look) -> None:
    if not software:
        return
    places = [_local(mark.when, look) for mark in software]
    words = ["<br>".join(map(escape, mark.words[:FACTS_TOLD])) for mark in software]
    figure.add_trace(traces.software_marks(places, words, look))
    draw_software_lines(figure, places, look)


def _local(when: datetime, look: Look) -> datetime:
    return when.astimezone(look.zone).replace(tzinfo=None)
