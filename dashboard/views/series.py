"""Series: one series over its commits, with its baseline, suspects, software changes, and the points behind it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC

import streamlit as st

from dashboard import cached, charts, frame, picker, sentences
from dashboard.markup import Html, block, empty, heading, joined, tiles, title
from dashboard.pieces import verdict_pill
from dashboard.points import csv_text, points_table
from dashboard.timeline import DRAWN, Axis, environment_changes, level_changes, ordered
from dashboard.traces import Look, Story
from perfdb.domain.choice import SeriesChoice
from perfdb.domain.history import Point, Series, SeriesHistory
from perfdb.domain.verdict import Verdict
from perfdb.reports.formatting import NOTHING, counted, moment, percent, quantity
from perfdb.reports.sentences import REASONS

WINDOWS = ("100", "500", "all")


@frame.page
def show() -> None:
    """Draw the page."""
    url = cached.database_url()
    catalogue = cached.catalogue(url)
    if not catalogue:
        action = "Measure this machine with the smoke suite, then come back."
        frame.write(empty("No series has been measured yet", action, "perfdb run smoke"))
        return
    current = _current(url, catalogue)
    _pick(catalogue, picker.choice_of(current))
    history = cached.series_history(url, current.digest, None)
    frame.write(_title(current, cached.former_names(url, current.digest)))
    if not history.points:
        frame.write(empty("This series has no result yet", "Run its suite again.", "perfdb run smoke"))
        return
    _draw(url, history)


def _current(url: str, catalogue: Sequence[SeriesChoice]) -> Series:
    """The series that the address names; without one, a first one, which the address names from then on."""
    wanted = frame.asked("series")
    if wanted is None:
        wanted = st.query_params["series"] = picker.opening(catalogue).digest
    return cached.series(url, wanted)


def _pick(catalogue: Sequence[SeriesChoice], current: SeriesChoice) -> None:
    """One control a field; the address alone says where the page stands, so each shows what it says."""
    with st.container(horizontal=True, gap="small"):
        for field in picker.shown_fields(catalogue):
            key = f"pick {field}"
            st.session_state[key] = picker.FIELDS[field](current)
            choices = picker.options(catalogue, current, field)
            width = 380 if field == "Case" else 210
            st.selectbox(field, choices, key=key, on_change=_move, args=(catalogue, current, field), width=width)


def _move(catalogue: Sequence[SeriesChoice], current: SeriesChoice, field: str) -> None:
    chosen = picker.pick(catalogue, current, field, st.session_state[f"pick {field}"])
    st.query_params["series"] = chosen.digest
    st.query_params.pop("samples", None)


def _title(series: Series, former: Sequence[str]) -> Html:
    place = f"{series.provider} · {series.protocol} · {series.hardware_label} · {series.repository}"
    control = " · a control: frozen code that no commit should move" if series.is_control else ""
    renamed = f" · formerly {sentences.listed(former)}" if former else ""
    return joined([title(series.label), block(place + renamed + control, "muted lead")])


def _draw(url: str, history: SeriesHistory) -> None:
    look, points = _controls(history.points)
    speaks = sentences.detectable(_newest(history.points).verdict)
    last = max(point.started_at for point in history.points)
    gone = sentences.unmeasured_note(cached.absence(url, history.series.digest), last, look.zone)
    notes = joined([block(gone, "banner lead") if gone else "", block(speaks, "muted lead")])
    frame.write(_tiles(history.series, history.points), notes)
    digests = tuple(sorted({point.environment for point in points}))
    software = environment_changes(points, cached.environments(url, digests))
    story = Story(history.series, points, software, level_changes(history.points))
    figure = charts.history_figure(story, look)
    st.plotly_chart(figure, config=charts.CONFIG, key="history", alt=f"{history.series.label} over its commits")
    frame.write(block(_drawn_note(points, len(history.points), look), "muted"))
    _samples(url, history, look)
    _table(history.series, points, look)


def _controls(points: Sequence[Point]) -> tuple[Look, tuple[Point, ...]]:
    """How the chart is drawn and which results it shows; all of it in the address."""
    look = frame.look()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        along = st.segmented_control(
            "Along", list(Axis), default=Axis.COMMIT, required=True, key="along", bind="query-params"
        )
        last = st.segmented_control(
            "Latest results", WINDOWS, default="all", required=True, key="last", bind="query-params"
        )
        axis = Axis(along or Axis.COMMIT)
        shown = _window(ordered(points, axis), last or "all")
        every = len(shown) > DRAWN and st.toggle("Every point", key="every", bind="query-params")
        processes = st.toggle("Processes", key="processes", bind="query-params", help="The value of each process")
    return replace(look, axis=axis, every_point=every, processes=processes), shown


def _window(points: tuple[Point, ...], last: str) -> tuple[Point, ...]:
    return points if last == "all" else points[-int(last) :]


def _newest(points: Sequence[Point]) -> Point:
    """The newest judged result of the branch; without one, the newest judged, or else the newest of all."""
    judged = [point for point in reversed(points) if point.verdict is not None]
    of_branch = [point for point in judged if point.may_be_baseline]
    return [*of_branch, *judged, points[-1]][0]


def _tiles(series: Series, points: Sequence[Point]) -> Html:
    newest = _newest(points)
    verdict, unit = newest.verdict, series.metric.unit
    base = verdict.baseline if verdict else None
    hollow = sum(not point.may_be_baseline for point in points)
    level = quantity(base.level, unit) if base else NOTHING
    facts = (
        ("Newest result", quantity(newest.value, unit), newest.commit.short if newest.commit else "unversioned"),
        ("Verdict", verdict_pill(verdict), REASONS[verdict.reason] if verdict else ""),
        ("Change", percent(verdict.delta if verdict else None), sentences.interval_words(verdict) if verdict else ""),
        ("Baseline", level, f"from {counted(base.count, 'result')}" if base else "none yet"),
        ("Noise", percent(base.noise if base else None, signed=False), "of the baseline"),
        (
            "Smallest detectable",
            percent(verdict.smallest_detectable if verdict else None, signed=False),
            _floor(verdict),
        ),
        ("Results", f"{len(points):,}", f"{hollow:,} never a baseline" if hollow else "all on the branch"),
    )
    return tiles(facts)


def _floor(verdict: Verdict | None) -> str:
    return f"floor {percent(verdict.floor, signed=False)}" if verdict and verdict.floor is not None else ""


def _drawn_note(shown: Sequence[Point], total: int, look: Look) -> str:
    if len(shown) > DRAWN and not look.every_point:
        return (
            f"About {DRAWN:,} of {len(shown):,} points are drawn, with every extreme, suspect and change kept; "
            "choose fewer results or every point to see all."
        )
    return f"{counted(len(shown), 'point')} of {total:,} drawn."


def _samples(url: str, history: SeriesHistory, look: Look) -> None:
    """The samples of one run, read only when asked for."""
    if not st.toggle("Samples of a run", key="with_samples", bind="query-params"):
        return
    newest_first = sorted(history.points, key=lambda point: point.started_at, reverse=True)
    labels = {point.run_id: _run_label(point, look) for point in newest_first}
    chosen = st.selectbox(
        "Run", list(labels), format_func=lambda run_id: labels[run_id], key="samples", bind="query-params"
    )
    taken = cached.samples(url, history.series.digest, chosen)
    if not any(taken):
        frame.write(_no_samples(url, next(point for point in newest_first if point.run_id == chosen)))
        return
    st.plotly_chart(charts.samples_figure(history.series, taken, look), config=charts.CONFIG, key="sample_chart")
    frame.write(
        block(f"{counted(sum(map(len, taken)), 'sample')} in {counted(len(taken), 'process', 'processes')}", "muted")
    )


def _no_samples(url: str, point: Point) -> Html:
    if cached.is_pruned(url, point.started_at):
        month = f"{point.started_at.astimezone(UTC):%B %Y}"
        return empty(f"The samples of {month} were pruned", "Its measurements are kept. Choose a later run.")
    return empty("This run kept no samples of this series", "Choose another run.")


def _run_label(point: Point, look: Look) -> str:
    commit = point.commit.short if point.commit else "unversioned"
    return f"{moment(point.started_at, look.zone)} · {commit} · {point.run_id[:8]}"


def _table(series: Series, points: Sequence[Point], look: Look) -> None:
    name, download = st.columns([4, 1], vertical_alignment="bottom")
    with name:
        frame.write(heading("Points", counted(len(points), "result")))
    with download:
        file_name = f"{series.benchmark}-{series.digest[:8]}.csv"
        frame.offer_file("Download CSV", lambda: csv_text(series, points), file_name, "text/csv")
    rows, columns = points_table(series, points, look)
    st.dataframe(
        rows,
        column_config=columns,
        hide_index=True,
        height=380,
        placeholder=NOTHING,
        alt=f"the points of {series.label}",
    )
