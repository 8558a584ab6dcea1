"""Overview: what changed, what is suspect and what failed in the latest runs, and the runs themselves."""

from collections.abc import Sequence

import streamlit as st

from dashboard import cached, frame, sentences
from dashboard.markup import Column, Html, block, empty, heading, joined, link, span, sparkline, table, title
from dashboard.pieces import GLYPHS, commit_cell, outcome_pill, verdict_cell
from dashboard.summary import Failing, Flagged, counted_marks, failing, flagged
from dashboard.timeline import mark
from dashboard.traces import Look
from perfdb.domain.choice import RunFacets
from perfdb.domain.history import RunSummary
from perfdb.domain.verdict import VerdictKind
from perfdb.reports.formatting import NOTHING, counted, exact, interval, moment, percent

RUNS = (10, 25, 50, 200)
#: Series drawn as cards; the others are counted.
CARDS = 12
#: Results in a card's line.
SPARK = 60
RUN_COLUMNS = (
    Column("Run"),
    Column("Commit"),
    Column("Suite", is_extra=True),
    Column("Machine", is_extra=True),
    Column("Cases"),
    Column("Verdicts", is_extra=True),
    Column("Suspects", is_number=True),
)
FAILURE_COLUMNS = (
    Column("Case"),
    Column("Provider", is_extra=True),
    Column("Outcome"),
    Column("What happened"),
    Column("Runs", is_number=True),
)


@frame.page
def show() -> None:
    """Draw the page."""
    url = cached.database_url()
    facets = cached.run_facets(url)
    if not facets.repository:
        frame.write(_nothing_yet())
        return
    top = st.container()
    runs = _chosen_runs(url, facets)
    ids = tuple(run.run_id for run in runs)
    changed = flagged(cached.flagged(url, ids))
    failed = failing(cached.failures(url, ids))
    with top:
        frame.write(_headline(runs, changed, failed), _lead(url, runs))
    _draw(url, runs, changed, failed)


def _draw(url: str, runs: Sequence[RunSummary], changed: Sequence[Flagged], failed: Sequence[Failing]) -> None:
    look = frame.look()
    if not runs:
        frame.write(empty("No run matches these filters", "Choose others above, or open the page without any."))
        return
    frame.write(heading("Changed and suspect series", _card_note(changed)), _cards(url, changed, len(runs), look))
    frame.write(heading("What failed", _failure_note(failed)), _failure_table(failed, runs))
    frame.write(heading("Latest runs", counted(len(runs), "run")), _run_table(runs, look))


def _nothing_yet() -> Html:
    title = "No run has been stored yet"
    return empty(
        title, "Measure this machine with the smoke suite; the result appears here by itself.", "perfdb run smoke"
    )


def _chosen_runs(url: str, facets: RunFacets) -> list[RunSummary]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        shown = st.segmented_control("Latest runs", RUNS, default=25, required=True, key="runs", bind="query-params")
        repository = _choice("Repository", "repository", facets.repository)
        suite = _choice("Suite", "suite", facets.suite)
        hostname = _choice("Machine", "hostname", facets.hostname)
    return cached.recent_runs(url, shown or 25, repository, suite, hostname)


def _choice(label: str, name: str, values: Sequence[str]) -> str | None:
    """A filter kept in the address; not drawn where there is nothing to choose."""
    if len(values) < 2:
        return None
    return st.selectbox(label, values, index=None, placeholder="all", key=name, bind="query-params", width=220)


def _headline(runs: Sequence[RunSummary], changed: Sequence[Flagged], failed: Sequence[Failing]) -> Html:
    decided, suspect = counted_marks(changed)
    text = sentences.headline(len(runs), decided, suspect, sum(case.is_failure for case in failed))
    return title(text)


def _lead(url: str, runs: Sequence[RunSummary]) -> Html:
    counts = cached.counts(url)
    parts = [
        counted(counts.runs, "run"),
        counted(counts.series, "series", "series"),
        counted(counts.measurements, "measurement"),
    ]
    newest = runs[0] if runs else None
    if newest is not None:
        parts.append(f"newest {moment(newest.started_at, frame.look().zone)}")
        judged = sum(newest.verdicts.values())
        parts.append(sentences.undecided_note(newest.verdicts.get(VerdictKind.UNDECIDED, 0), judged))
    return block(" · ".join(part for part in parts if part), "muted lead")


def _card_note(changed: Sequence[Flagged]) -> str:
    hidden = len(changed) - CARDS
    return f"the newest {CARDS}; {hidden} more are in the runs below" if hidden > 0 else ""


def _cards(url: str, changed: Sequence[Flagged], runs: int, look: Look) -> Html:
    if not changed:
        return empty(
            "No series looks changed", "Each stayed within the noise of its baseline, or is still gathering one."
        )
    return block(joined(_card(url, entry, runs, look) for entry in changed[:CARDS]), "cards")


def _card(url: str, entry: Flagged, runs: int, look: Look) -> Html:
    series, point = entry.measurement.series, entry.measurement.point
    points = cached.series_history(url, series.digest, SPARK).points
    drawn = sparkline([p.value for p in points], [mark(p) for p in points], look.palette) if points else ""
    name = link(series.benchmark, "series", series=series.digest)
    top = block(joined([span(name, "name"), _delta(entry)]), "top")
    what = block(
        f"{series.case.label or 'one case'} · {series.provider} · {series.metric.name.replace('_', ' ')}", "muted"
    )
    seen = span(f"flagged in {entry.runs} of {counted(runs, 'run')}", "muted")
    foot = block(joined([commit_cell(point), seen]), "foot")
    return block(joined([top, what, drawn, _evidence(entry), foot]), "card")


def _delta(entry: Flagged) -> Html:
    verdict = entry.measurement.point.verdict
    if verdict is None or verdict.delta is None:
        return span(f"{GLYPHS[entry.mark]} {entry.mark.value}", f"delta {entry.mark.value}")
    side = sentences.direction(verdict.delta, entry.measurement.series)
    words = sentences.verdict_words(verdict, entry.measurement.series)
    size = percent(abs(verdict.delta), signed=False)
    return span(f"{GLYPHS[entry.mark]} {size} {side}", f"delta {entry.mark.value}", words)


def _evidence(entry: Flagged) -> Html:
    verdict = entry.measurement.point.verdict
    if verdict is None:
        return Html("")
    facts = {
        "95 % interval": interval(verdict.low, verdict.high),
        "floor": percent(verdict.floor, signed=False),
        "smallest detectable": percent(verdict.smallest_detectable, signed=False),
    }
    told = [span(f"{name} {value}", "nowrap") for name, value in facts.items() if value != NOTHING]
    return block(joined(told, " · "), "muted")


def _failure_note(failed: Sequence[Failing]) -> str:
    absent = sum(not case.is_failure for case in failed)
    return f"{counted(absent, 'case')} could not be measured" if absent else ""


def _failure_table(failed: Sequence[Failing], runs: Sequence[RunSummary]) -> Html:
    if not failed:
        return empty("Nothing failed", f"Every case of {counted(len(runs), 'run')} gave a number.")
    return table(FAILURE_COLUMNS, [_failure_row(case) for case in failed], "Cases that gave no number")


def _failure_row(case: Failing) -> list[str]:
    outcome = case.outcome
    newest = link(counted(case.runs, "run"), "run", run=outcome.run_id)
    return [outcome.label, outcome.provider, outcome_pill(outcome.outcome), outcome.detail or NOTHING, newest]


def _run_table(runs: Sequence[RunSummary], look: Look) -> Html:
    return table(RUN_COLUMNS, [_run_row(run, look) for run in runs], "Latest runs")


def _run_row(run: RunSummary, look: Look) -> list[str]:
    when = span(moment(run.started_at, look.zone), "nowrap", exact(run.started_at))
    state = "" if run.finished_at else span("incomplete", "pill", "It was not closed: stored, not judged")
    return [
        joined([link(when, "run", run=run.run_id), state], " "),
        commit_cell(run),
        span(run.suite, "nowrap"),
        span(run.hostname, "nowrap", run.hardware_label),
        sentences.outcome_words(run.outcomes) or NOTHING,
        verdict_cell(run.verdicts),
        span(f"◆ {run.suspects}", "suspect") if run.suspects else NOTHING,
    ]
