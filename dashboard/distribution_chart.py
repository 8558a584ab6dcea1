"""Distribution chart: the samples of one series in two runs, process by process; pure."""

from collections.abc import Sequence
from itertools import chain

import plotly.graph_objects as go

from dashboard.charts import layout, value_title
from dashboard.traces import Look, fitting_unit
from perfdb.domain.comparison import Delta

#: Samples of one process that are drawn as points; a box tells the rest.
POINTS = 400
Samples = Sequence[Sequence[float]]


def distribution_figure(delta: Delta, base: Samples, head: Samples, look: Look) -> go.Figure:
    """A box a process with its samples beside it, base left and head right; the lines are the means compared."""
    unit = fitting_unit(delta.series, chain(*base, *head))
    sides = (("base", base, delta.base.mean, look.palette.muted), ("head", head, delta.head.mean, look.palette.line))
    figure = go.Figure()
    for side, processes, mean, colour in sides:
        names = [f"{side} {number}" for number in range(1, len(processes) + 1)]
        for name, taken in zip(names, processes, strict=True):
            figure.add_trace(_box(name, [value / unit.factor for value in taken], colour))
        figure.add_trace(
            go.Scatter(
                x=names,
                y=[mean / unit.factor] * len(names),
                mode="lines",
                line={"color": colour, "width": 2, "dash": "dash"},
                name=f"{side}: {unit.text(mean)}",
                hoverinfo="skip",
            )
        )
    figure.update_layout(**layout(look, height=340))
    figure.update_xaxes(title="process", showgrid=False, zeroline=False)
    figure.update_yaxes(title=value_title(delta.series, unit), gridcolor=look.palette.grid, zeroline=False)
    return figure


def _box(name: str, values: Sequence[float], colour: str) -> go.Box:
    step = max(1, len(values) // POINTS)
    return go.Box(
        x=[name] * len(values[::step]),
        y=list(values[::step]),
        boxpoints="all",
        jitter=0.5,
        pointpos=0,
        marker={"color": colour, "size": 4, "opacity": 0.6},
        line={"color": colour, "width": 1.2},
        fillcolor="rgba(0,0,0,0)",
        name=name,
        showlegend=False,
    )
