"""Charts: Plotly figures from domain values; pure, so that a figure is a value that can be tested."""

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from dashboard.timeline import Axis
from dashboard.traces import (
    Look,
    Plot,
    Story,
    bands,
    environment_marks,
    fitting_unit,
    level_marks,
    line,
    markers,
    plot,
    processes,
)
from perfdb.domain.history import Series
from perfdb.reports.formatting import Scale

#: Processes beyond these repeat colour and dash together.
DASHES = ("solid", "dash", "dot", "dashdot")
#: What the chart's tool bar offers; the rest is noise.
CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
    "scrollZoom": False,
}
#: So few commits have a tick each.
FEW_COMMITS = 12


def history_figure(story: Story, look: Look) -> go.Figure:
    """A series: baseline band, line, marked points, new levels, software changes."""
    drawn = plot(story, look)
    figure = go.Figure([*bands(drawn, look), line(drawn, look)])
    if look.processes:
        figure.add_trace(processes(drawn, look))
    figure.add_traces([*markers(drawn, look), *level_marks(drawn, look), *environment_marks(drawn, look)])
    return _dressed(figure, drawn, look)


def samples_figure(series: Series, samples: Sequence[Sequence[float]], look: Look) -> go.Figure:
    """The samples of one run in the order they were taken, a line a process."""
    unit = fitting_unit(series, (value for taken in samples for value in taken))
    figure = go.Figure([_line_of_process(i, taken, unit, look) for i, taken in enumerate(samples)])
    figure.update_layout(**layout(look, height=280))
    figure.update_xaxes(title="sample, in the order taken", showgrid=False, zeroline=False)
    figure.update_yaxes(title=value_title(series, unit), gridcolor=look.palette.grid, zeroline=False)
    return figure


def _line_of_process(index: int, taken: Sequence[float], unit: Scale, look: Look) -> go.Scatter:
    colours = (look.palette.line, look.palette.worse, look.palette.better, look.palette.environment)
    return go.Scatter(
        x=list(range(1, len(taken) + 1)),
        y=[value / unit.factor for value in taken],
        mode="lines",
        line={"width": 1.2, "color": colours[index % 4], "dash": DASHES[index % 4]},
        name=f"process {index + 1}",
        hovertemplate=f"sample %{{x}}: %{{y:.4g}} {unit.unit}<extra>process {index + 1}</extra>",
    )


def _dressed(figure: go.Figure, drawn: Plot, look: Look) -> go.Figure:
    figure.update_layout(**layout(look, height=460), hovermode="closest")
    figure.update_yaxes(title=value_title(drawn.series, drawn.unit), gridcolor=look.palette.grid, zeroline=False)
    figure.update_xaxes(showgrid=False, zeroline=False, **_x_axis(drawn, look))
    if drawn.software:
        draw_software_lines(figure, [place for place, _ in drawn.software], look)
    return figure


def draw_software_lines(figure: go.Figure, places: Iterable[object], look: Look) -> None:
    """A line down from each mark of ``software_marks``, and the axis that these stand on."""
    figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
    for place in places:
        figure.add_vline(x=place, line={"color": look.palette.environment, "width": 1, "dash": "dot"})


def _x_axis(drawn: Plot, look: Look) -> dict[str, object]:
    if look.axis is Axis.TIME:
        return {"title": f"time measured ({look.zone})"}
    places = [place for place in drawn.x if isinstance(place, int | float)]
    is_short = bool(places) and max(places) - min(places) <= FEW_COMMITS
    return {
        "title": "commit, by its position on the branch",
        "tickprefix": "#",
        "tickformat": ",d",
        # left alone, plotly writes the same commit on several ticks
        "dtick": 1 if is_short else None,
    }


def value_title(series: Series, unit: Scale) -> str:
    """What stands along the values: ``latency (µs)``."""
    name = series.metric.name.replace("_", " ")
    return f"{name} ({unit.unit})" if unit.unit else name


def layout(look: Look, height: int) -> dict[str, object]:
    """What every chart has in common, ``height`` in pixels."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 36, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": look.palette.text, "size": 13},
        "hoverlabel": {"bgcolor": look.palette.paper, "font": {"color": look.palette.text}, "align": "left"},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": look.palette.muted, "activecolor": look.palette.line},
        "dragmode": "zoom",
    }
