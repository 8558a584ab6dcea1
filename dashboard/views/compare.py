"""Compare: HEAD against BASE, any two runs, commits or branches: what changed, what one side lacks, and the samples."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard import cached, charts, frame, sentences
from dashboard.distribution_chart import Samples, distribution_figure
from dashboard.markup import Column, Html, block, definitions, empty, heading, joined, link, span, table, tiles, title
from dashboard.pieces import commit_cell, verdict_pill
from dashboard.run_picker import OFFERED, offered
from dashboard.traces import Look
from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.history import Point, RunSummary, Series
from perfdb.domain.verdict import VerdictKind
from perfdb.reports.csv_export import comparison_csv
from perfdb.reports.formatting import NOTHING, counted, exact, interval, moment, percent, quantity
from perfdb.reports.markdown import comparison_markdown
from perfdb.reports.sentences import headline, reason_of

#: Rows drawn before all are asked for: a browser lays out some hundred at once.
ROWS = 100
SIDES = {"base": "latest~1", "head": "latest"}
HELP = "A run, a branch (its newest run), or type a commit, a run id, latest or latest~N."
DELTAS = (
    Column("Series"),
    Column("Provider", is_extra=True),
    Column("Metric", is_extra=True),
    Column("Base", is_number=True, is_extra=True),
    Column("Head", is_number=True, is_extra=True),
    Column("Change", is_number=True),
    Column("95 % interval", is_number=True, is_extra=True),
    Column("Floor", is_number=True, is_extra=True),
    Column("Smallest detectable", is_number=True, is_extra=True),
    Column("Verdict"),
    Column("Samples"),
)
MISSING = (Column("Series"), Column("Provider"), Column("Metric"), Column("Only in"), Column("Why"))


@frame.page
def show() -> None:
    """Draw the page."""
    url = cached.database_url()
    recent = cached.run_choices(url, OFFERED)
    if not recent:
        action = "Measure this machine with the smoke suite, twice; then there is something to compare."
        frame.write(empty("No run has been stored yet", action, "perfdb run smoke"))
        return
    if len(recent) == 1:
        frame.write(empty("There is only one run", "Measure a second one to compare it with.", "perfdb run smoke"))
        return
    wanted = {side: frame.asked(side) or fallback for side, fallback in SIDES.items()}
    look = frame.look()
    labels = offered(recent, cached.branches(url), look.zone)
    with st.container(horizontal=True, gap="small"):
        for side, name in wanted.items():
            _pick(side, name, labels)
    _draw(url, cached.comparison(url, wanted["base"], wanted["head"]), look)


def _pick(side: str, wanted: str, labels: dict[str, str]) -> None:
    """One side; the address alone says which run, so the control shows what it says."""
    key = f"pick {side}"
    st.session_state[key] = wanted
    st.selectbox(
        side.capitalize(),
        list(dict.fromkeys([wanted, *labels])),
        format_func=lambda name: labels.get(name, name),
        key=key,
        on_change=_move,
        args=(side,),
        accept_new_options=True,
        width=460,
        help=HELP,
    )


def _move(side: str) -> None:
    st.query_params[side] = st.session_state[f"pick {side}"] or SIDES[side]
    st.query_params.pop("row", None)


def _draw(url: str, comparison: Comparison, look: Look) -> None:
    frame.write(title(headline(comparison)), _runs(comparison, look), _tiles(comparison))
    if not comparison.same_hardware:
        frame.write(
            block(
                f"The hardware differs: {comparison.base.hardware_label} and {comparison.head.hardware_label} are not "
                "comparable, so no series is shared.",
                "banner",
            )
        )
    _samples(url, comparison, look)
    _table(comparison)
    frame.write(_missing(comparison), _software(comparison))


def _runs(comparison: Comparison, look: Look) -> Html:
    sides = (("base", comparison.base), ("head", comparison.head))
    return block(joined(_card(name, run, look) for name, run in sides), "cards pair")


def _card(name: str, run: RunSummary, look: Look) -> Html:
    when = span(moment(run.started_at, look.zone), "nowrap", exact(run.started_at))
    first = joined([span(name, "name"), link(f"run {run.run_id[:8]}", "run", run=run.run_id)])
    branch = f"{run.branch} · " if run.branch else ""
    place = joined([when, f"{branch}{run.suite} of {run.repository}"], " · ")
    return block(
        joined([block(first, "top"), commit_cell(run), block(place, "muted"), block(run.hostname, "muted")]), "card"
    )


def _tiles(comparison: Comparison) -> Html:
    count = comparison.count
    only = len(comparison.only_base) + len(comparison.only_head)
    return tiles(
        [
            ("Compared", f"{len(comparison.deltas):,}", "series of both runs"),
            ("Worse", _tally(count(VerdictKind.REGRESSION), "worse"), "regressions"),
            ("Better", _tally(count(VerdictKind.IMPROVEMENT), "better"), "improvements"),
            ("Undecided", str(count(VerdictKind.UNDECIDED)), "need more evidence"),
            ("In one run alone", f"{only:,}", "listed below" if only else "nothing is missing"),
        ]
    )


def _tally(number: int, style: str) -> Html:
    return span(f"{number:,}", style if number else "")


def _table(comparison: Comparison) -> None:
    name, as_csv, as_markdown = st.columns([4, 1, 1], vertical_alignment="bottom")
    with name:
        frame.write(heading("Series of both runs", "by evidence: what changed first, then what is undecided"))
    file_name = f"compare-{comparison.base.run_id[:8]}-{comparison.head.run_id[:8]}"
    files = (
        (as_csv, "Download CSV", partial(comparison_csv, comparison), "csv", "text/csv"),
        (as_markdown, "Download Markdown", partial(comparison_markdown, comparison), "md", "text/markdown"),
    )
    for column, label, content, suffix, mime in files:
        with column:
            frame.offer_file(label, content, f"{file_name}.{suffix}", mime)
    if not comparison.deltas:
        frame.write(empty("The two runs share no series", "What each of them measured stands below."))
        return
    every = len(comparison.deltas) > ROWS and st.toggle("Every row", key="every", bind="query-params")
    shown = comparison.deltas if every else comparison.deltas[:ROWS]
    rows = [_row(comparison, delta) for delta in shown]
    frame.write(table(DELTAS, rows, "Series of both runs"))
    if len(shown) < len(comparison.deltas):
        rest = len(comparison.deltas) - len(shown)
        frame.write(block(f"{rest:,} more rows; the files hold all of them.", "muted lead"))


def _row(comparison: Comparison, delta: Delta) -> list[str]:
    series, verdict, unit = delta.series, delta.verdict, delta.series.metric.unit
    said = sentences.verdict_words(verdict, series)
    why = span(reason_of(verdict), "subject") if verdict.kind is VerdictKind.UNDECIDED else ""
    control = span("control", "pill", "frozen code that no commit should move") if series.is_control else ""
    runs = {"base": comparison.base.run_id, "head": comparison.head.run_id}
    return [
        joined([link(series.label, "series", series=series.digest), control], " "),
        span(series.provider, "nowrap"),
        span(series.metric.name.replace("_", " "), "nowrap"),
        quantity(delta.base.mean, unit),
        quantity(delta.head.mean, unit),
        percent(verdict.delta),
        interval(verdict.low, verdict.high),
        percent(verdict.floor, signed=False),
        percent(verdict.smallest_detectable, signed=False),
        joined([span(verdict_pill(verdict), "", said), why]),
        link("show", "compare", **runs, row=series.digest),
    ]


def _samples(url: str, comparison: Comparison, look: Look) -> None:
    """The samples of the row that the address names."""
    wanted = frame.asked("row")
    chosen = next((delta for delta in comparison.deltas if delta.series.digest == wanted), None)
    if chosen is None:
        return
    sides = (chosen.base, chosen.head)
    base, head = (_taken(url, chosen.series, point) for point in sides)
    note = f"{chosen.series.provider} · {sentences.verdict_words(chosen.verdict, chosen.series)}"
    frame.write(heading(chosen.series.label, note))
    if not base or not head:
        frame.write(block("Not both runs kept samples of it, so the values of their processes are drawn.", "muted"))
        base, head = ([[value] for value in point.process_values] for point in sides)
    figure = distribution_figure(chosen, base, head, look)
    st.plotly_chart(figure, config=charts.CONFIG, key="distribution", alt=f"samples of {chosen.series.label}")


def _taken(url: str, series: Series, point: Point) -> Samples:
    """The samples of one run by process, or nothing where it kept none."""
    taken = cached.samples(url, series.digest, point.run_id)
    return taken if any(taken) else []


def _missing(comparison: Comparison) -> Html:
    sides = (("base", comparison.only_base), ("head", comparison.only_head))
    rows = [_missing_row(comparison, side, series) for side, unmatched in sides for series in unmatched]
    if not rows:
        return joined([heading("In one run alone"), empty("Nothing is missing", "Both runs measured the same series.")])
    return joined([heading("In one run alone", counted(len(rows), "series", "series")), _capped(rows)])


def _capped(rows: Sequence[Sequence[str]]) -> Html:
    drawn = table(MISSING, rows[:ROWS], "Series that only one run measured")
    rest = len(rows) - ROWS
    return joined([drawn, block(f"{rest:,} more are in the files.", "muted lead")]) if rest > 0 else drawn


def _missing_row(comparison: Comparison, side: str, series: Series) -> list[str]:
    name = link(series.label, "series", series=series.digest)
    return [name, series.provider, series.metric.name, side, comparison.why_unmatched(series)]


def _software(comparison: Comparison) -> Html:
    changes = comparison.environment_changes or {}
    facts = {name: f"{old or 'none'} → {new or 'none'}" for name, (old, new) in changes.items()}
    said = definitions(facts) if facts else block("Both runs used the same software.", "muted")
    return joined([heading("Software", "" if facts else NOTHING), said])
