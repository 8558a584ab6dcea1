from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from dashboard.charts import history_figure, samples_figure
from dashboard.timeline import Axis, EnvironmentChange, level_changes
from dashboard.traces import Look, Story
from perfdb.domain.commit import CodeState
from perfdb.domain.history import Point, Series
from perfdb.domain.verdict import Baseline, Verdict

Make = Callable[..., Point]


def trace(figure: Any, name: str) -> Any:
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def names(figure: Any) -> list[str]:
    return [trace.name for trace in figure.data]


def quiet(make_point: Make, verdict: Verdict, count: int = 20) -> list[Point]:
    return [make_point(100.0 + i % 3, position=i, verdict=verdict) for i in range(1, count + 1)]


def drawn(series: Series, points: Sequence[Point], look: Look, changes: Sequence[EnvironmentChange] = ()) -> Any:
    return history_figure(Story(series, tuple(points), tuple(changes), level_changes(points)), look)


def test_the_band_is_the_level_and_noise_of_the_verdict_in_force(
    series: Series, look: Look, make_point: Make, ok: Verdict
) -> None:
    band = trace(drawn(series, quiet(make_point, ok), look), "baseline ± noise")
    heights = [y for y in band.y if y is not None]
    assert (round(max(heights), 1), round(min(heights), 1)) == (101.0, 99.0)
    assert band.fill == "toself"


def test_the_band_is_apart_where_a_new_segment_began(series: Series, look: Look, make_point: Make, ok: Verdict) -> None:
    moved = replace(ok, baseline=Baseline(120.0, 0.01, 4))
    points = [*quiet(make_point, ok), *(make_point(120.0, position=i, verdict=moved) for i in range(21, 25))]
    level = trace(drawn(series, points, look), "level")
    assert [y for y in level.y if y is not None] == [100.0] * 20 + [120.0] * 4
    assert level.y[20] is None


def test_a_baseline_that_cannot_speak_yet_has_no_band(
    series: Series, look: Look, make_point: Make, ok: Verdict
) -> None:
    early = replace(ok, missing=5)
    assert "baseline ± noise" not in names(drawn(series, quiet(make_point, early), look))


def test_a_series_without_a_verdict_has_no_band(series: Series, look: Look, make_point: Make) -> None:
    assert names(drawn(series, [make_point(position=1)], look)) == ["line", "result"]


def test_a_suspect_differs_in_shape_and_colour(
    series: Series, look: Look, make_point: Make, ok: Verdict, suspect: Verdict
) -> None:
    figure = drawn(series, [*quiet(make_point, ok), make_point(120.0, position=21, verdict=suspect)], look)
    plain, marked = trace(figure, "result"), trace(figure, "suspect")
    assert (list(marked.x), list(marked.y)) == ([21], [120.0])
    assert marked.marker.symbol != plain.marker.symbol
    assert marked.marker.color != plain.marker.color


def test_a_new_level_is_a_triangle_at_its_first_result(series: Series, look: Look, make_point: Make) -> None:
    levels = [(100.0, 1), (120.0, 21), (90.0, 41)]
    points = [make_point(level + i % 3, position=first + i) for level, first in levels for i in range(20)]
    figure = drawn(series, points, look)
    worse, better = trace(figure, "new level, worse"), trace(figure, "new level, better")
    assert (list(worse.x), worse.marker.symbol) == ([21], "triangle-up")
    assert (list(better.x), better.marker.symbol) == ([41], "triangle-down")
    assert worse.customdata[0].startswith("<b>new level: 19.8 % slower</b><br>101 µs → 121 µs<br>")


def test_a_quiet_series_has_no_new_level(series: Series, look: Look, make_point: Make, ok: Verdict) -> None:
    assert not [name for name in names(drawn(series, quiet(make_point, ok, 60), look)) if name.startswith("new level")]


def test_what_never_forms_a_baseline_is_hollow_and_off_the_line(series: Series, look: Look, make_point: Make) -> None:
    points = [make_point(position=1), make_point(300.0, position=1, state=CodeState.DIRTY), make_point(position=None)]
    figure = drawn(series, points, look)
    hollow = trace(figure, "result, never a baseline")
    assert hollow.marker.symbol == "circle-open"
    assert list(hollow.x) == [1, 2]
    assert list(trace(figure, "line").y) == [100.0]


def test_the_hover_names_commit_subject_date_and_verdict(
    series: Series, look: Look, make_point: Make, suspect: Verdict
) -> None:
    point = make_point(120.0, position=5, verdict=suspect, subject="Use <b>wide</b> loads")
    (text,) = trace(drawn(series, [point], look), "suspect").customdata
    assert text.split("<br>") == [
        "<b>120 µs</b>  (+20.0 %)",
        "suspect: 20.0 % slower",
        "0000000000 · 6 Mar 2026",
        "Use &lt;b&gt;wide&lt;/b&gt; loads",
        "measured 6 Mar 2026, 12:00 on host-a",
    ]


def test_a_software_change_is_a_line_with_what_changed_in_its_hover(
    series: Series, look: Look, make_point: Make
) -> None:
    change = EnvironmentChange(1, {"torch": ("2.11", None)})
    figure = drawn(series, [make_point(position=1), make_point(position=4)], look, [change])
    mark = trace(figure, "software changed")
    assert list(mark.x) == [4]
    assert mark.customdata[0] == "<b>software changed</b><br>torch: 2.11 → none"
    assert [shape.x0 for shape in figure.layout.shapes] == [4]


def test_a_long_series_is_thinned_unless_every_point_is_asked_for(
    series: Series, look: Look, make_point: Make, ok: Verdict, suspect: Verdict
) -> None:
    points = quiet(make_point, ok, 4000)
    assert len(trace(drawn(series, points, look), "result").x) <= 1501
    points[7] = replace(points[7], verdict=suspect)
    whole = drawn(series, points, replace(look, every_point=True))
    assert (len(trace(whole, "result").x), trace(whole, "result").type) == (3999, "scattergl")
    assert trace(whole, "suspect").type == "scattergl"


def test_time_runs_in_the_viewers_zone(series: Series, look: Look, make_point: Make) -> None:
    tokyo = replace(look, axis=Axis.TIME, zone=ZoneInfo("Asia/Tokyo"))
    figure = drawn(series, [make_point(position=1)], tokyo)
    assert list(trace(figure, "result").x) == [datetime(2026, 3, 2, 21, 0)]  # noqa: DTZ001 (Plotly draws local times)


def test_processes_are_drawn_only_when_asked_for(series: Series, look: Look, make_point: Make) -> None:
    points = [make_point(position=1)]
    assert "one process" not in names(drawn(series, points, look))
    assert list(trace(drawn(series, points, replace(look, processes=True)), "one process").y) == [100.0, 101.0]


def test_samples_are_a_line_a_process_in_the_unit_that_fits(series: Series, look: Look) -> None:
    figure = samples_figure(series, [(1500.0, 1600.0), (1700.0,)], look)
    assert [list(line.y) for line in figure.data] == [[1.5, 1.6], [1.7]]
    assert figure.layout.yaxis.title.text == "latency (ms)"


def test_few_commits_have_one_tick_each_and_many_have_round_ones(
    series: Series, look: Look, make_point: Make, ok: Verdict
) -> None:
    assert drawn(series, quiet(make_point, ok, count=3), look).layout.xaxis.dtick == 1
    assert drawn(series, quiet(make_point, ok, count=20), look).layout.xaxis.dtick is None
