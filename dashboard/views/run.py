"""Run: one execution of a suite: its code, machine and software, how each case ended, and what it measured."""

from collections.abc import Iterable, Sequence

import streamlit as st

from dashboard import cached, frame, sentences
from dashboard.markup import Column, Html, block, definitions, empty, heading, joined, link, span, table, tiles, title
from dashboard.pieces import commit_cell, outcome_pill, verdict_cell, verdict_pill
from dashboard.run_picker import OFFERED, choice_of, run_label
from dashboard.timeline import Mark, mark
from dashboard.traces import Look
from perfdb.domain.case import Outcome
from perfdb.domain.choice import RunChoice
from perfdb.domain.history import CaseOutcome, RunMeasurement, RunSummary
from perfdb.reports.formatting import NOTHING, counted, duration, exact, interval, moment, percent, quantity

MEASUREMENTS = (
    Column("Series"),
    Column("Provider", is_extra=True),
    Column("Metric", is_extra=True),
    Column("Value", is_number=True),
    Column("Change", is_number=True),
    Column("95 % interval", is_number=True, is_extra=True),
    Column("Smallest detectable", is_number=True, is_extra=True),
    Column("Verdict"),
)
ENDINGS = (
    Column("Case"),
    Column("Provider", is_extra=True),
    Column("Process", is_number=True),
    Column("Outcome"),
    Column("What happened"),
)


@frame.page
def show() -> None:
    """Draw the page."""
    url = cached.database_url()
    recent = cached.run_choices(url, OFFERED)
    if not recent:
        action = "Measure this machine with the smoke suite; its run appears here."
        frame.write(empty("No run has been stored yet", action, "perfdb run smoke"))
        return
    current = _current(url, recent)
    look = frame.look()
    _pick(recent, current, look)
    frame.write(_title(current), _tiles(current, look))
    _draw(url, current, look)


def _current(url: str, recent: Sequence[RunChoice]) -> RunSummary:
    """The run that the address names; without one, the newest, which the address names from then on."""
    wanted = frame.asked("run")
    if wanted is not None:
        return cached.run(url, wanted)
    st.query_params["run"] = recent[0].run_id
    return cached.run(url, recent[0].run_id)


def _pick(recent: Sequence[RunChoice], current: RunSummary, look: Look) -> None:
    """The run to show; the address alone says which, so the control shows what it says."""
    labels = {run.run_id: run_label(run, look.zone) for run in [*recent, choice_of(current)]}
    st.session_state["pick run"] = current.run_id
    st.selectbox("Run", list(labels), format_func=lambda i: labels[i], key="pick run", on_change=_move, width=480)


def _move() -> None:
    st.query_params["run"] = st.session_state["pick run"]


def _title(run: RunSummary) -> Html:
    state = "" if run.finished_at else span("incomplete: stored, not judged", "pill")
    place = f"{run.repository}{f' · {run.branch}' if run.branch else ''} · run {run.run_id}"
    return joined(
        [
            title(f"{run.suite} on {run.hostname}"),
            block(joined([commit_cell(run), state], " "), "lead"),
            block(place, "muted lead"),
        ]
    )


def _tiles(run: RunSummary, look: Look) -> Html:
    seconds = sentences.lasted(run.started_at, run.finished_at)
    measured = run.outcomes.get(Outcome.MEASURED, 0)
    return tiles(
        [
            ("Started", span(moment(run.started_at, look.zone), "", exact(run.started_at)), str(look.zone)),
            (
                "Took",
                duration(seconds) if seconds is not None else NOTHING,
                "start to end" if run.finished_at else "never closed",
            ),
            ("Cases", f"{measured} of {sum(run.outcomes.values())}", "gave a number"),
            ("Suspects", str(run.suspects), "measurements that look changed"),
            ("Verdicts", span(verdict_cell(run.verdicts), "small"), "of measurements"),
        ]
    )


def _draw(url: str, run: RunSummary, look: Look) -> None:
    measurements = cached.run_measurements(url, run.run_id)
    outcomes = [o for o in cached.run_outcomes(url, run.run_id) if o.outcome is not Outcome.MEASURED]
    frame.write(
        heading("Measurements", counted(len(measurements), "series", "series")), _measurement_table(measurements)
    )
    frame.write(
        heading("Cases without a number", counted(len(outcomes), "ending") if outcomes else ""), _ending_table(outcomes)
    )
    environment = cached.environments(url, (run.environment,)).get(run.environment)
    facts = {name: value or "none" for name, value in environment.facts} if environment else {}
    machine = link(run.hostname, "machines", machine=run.machine)
    hardware = {"machine": machine, "name": run.hardware_label, "identity": run.hardware}
    frame.write(heading("Hardware"), definitions(hardware))
    frame.write(
        heading("Software", run.environment), definitions(facts) if facts else block("Nothing is recorded.", "muted")
    )


def _measurement_table(measurements: Sequence[RunMeasurement]) -> Html:
    if not measurements:
        return empty("This run measured nothing", "What happened to each case stands below.")
    return table(MEASUREMENTS, [_measurement_row(m) for m in _flagged_first(measurements)], "Measurements of this run")


def _flagged_first(measurements: Iterable[RunMeasurement]) -> list[RunMeasurement]:
    return sorted(
        measurements,
        key=lambda m: (mark(m.point) is Mark.PLAIN, m.series.benchmark, m.series.label, m.series.metric.name),
    )


def _measurement_row(measurement: RunMeasurement) -> list[str]:
    series, point = measurement.series, measurement.point
    verdict = point.verdict
    said = sentences.verdict_words(verdict, series) if verdict else ""
    missing = sentences.detectable(verdict) if verdict and verdict.missing else ""
    return [
        link(series.label, "series", series=series.digest),
        series.provider,
        series.metric.name.replace("_", " "),
        quantity(point.value, series.metric.unit),
        percent(verdict.delta if verdict else None),
        interval(verdict.low, verdict.high) if verdict else NOTHING,
        percent(verdict.smallest_detectable if verdict else None, signed=False),
        joined([span(verdict_pill(verdict), "", said), span(missing, "subject") if missing else ""]),
    ]


def _ending_table(outcomes: Sequence[CaseOutcome]) -> Html:
    if not outcomes:
        return empty("Every case gave a number", "Nothing failed and nothing was left out.")
    rows = [[o.label, o.provider, str(o.process), outcome_pill(o.outcome), o.detail or NOTHING] for o in outcomes]
    return table(ENDINGS, rows, "Cases without a number")
