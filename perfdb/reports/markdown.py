"""Markdown: a comparison as people paste it into an issue or a pull request."""

import re
from collections.abc import Iterator, Sequence

from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.history import RunSummary, Series
from perfdb.domain.verdict import VerdictKind
from perfdb.reports.formatting import counted, exact, interval, percent, quantity
from perfdb.reports.sentences import MARKS, code_of, delta_of, headline, reason_of

#: What would read as markup; a name that holds some stays text.
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")
#: Rows of a table: a comment holds some, the CSV holds all.
MOST_ROWS = 50


def comparison_markdown(comparison: Comparison) -> str:
    """The headline, both runs, what changed or is undecided, what one run lacks, and what the stacks differ in."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"**{headline(comparison)}**"
    yield ""
    yield f"- base: {_run(comparison.base)}"
    yield f"- head: {_run(comparison.head)}"
    if not comparison.same_hardware:
        yield "- the hardware differs: no number of one may be held against the other"
    for name, (before, after) in (comparison.environment_changes or {}).items():
        yield f"- environment: {_text(name)} {_text(before or 'none')} → {_text(after or 'none')}"
    told = [delta for delta in comparison.deltas if delta.verdict.kind is not VerdictKind.OK]
    if told:
        yield ""
        yield from _table(told[:MOST_ROWS])
    yield from _rest(comparison, len(told))
    yield from _missing("base", comparison, comparison.only_base)
    yield from _missing("head", comparison, comparison.only_head)


def _table(deltas: Sequence[Delta]) -> Iterator[str]:
    yield "| series | provider | metric | base | head | change | 95 % interval | floor | verdict |"
    yield "|---|---|---|--:|--:|--:|--:|--:|---|"
    for delta in deltas:
        series, verdict = delta.series, delta.verdict
        why = f": {reason_of(verdict)}" if verdict.kind is VerdictKind.UNDECIDED else ""
        cells = (
            *map(_text, (series.label, series.provider, series.metric.name)),
            *(quantity(point.mean, series.metric.unit) for point in (delta.base, delta.head)),
            *(delta_of(verdict), interval(verdict.low, verdict.high), percent(verdict.floor, signed=False)),
            f"{MARKS[verdict.kind]}{why}",
        )
        yield f"| {' | '.join(cells)} |"


def _rest(comparison: Comparison, told: int) -> Iterator[str]:
    same = len(comparison.deltas) - told
    parts = [f"{counted(told - MOST_ROWS, 'more row')} not shown"] * (told > MOST_ROWS)
    parts += [f"{counted(same, 'series', 'series')} without a change"] * bool(same)
    if parts:
        yield ""
        yield f"{'; '.join(parts)}."


def _missing(side: str, comparison: Comparison, unmatched: Sequence[Series]) -> Iterator[str]:
    if not unmatched:
        return
    yield ""
    yield f"{counted(len(unmatched), 'series', 'series')} only in {side}:"
    yield ""
    for series in unmatched[:MOST_ROWS]:
        name = _text(f"{series.label} {series.provider} {series.metric.name}")
        yield f"- {name}; {_text(comparison.why_unmatched(series))}"
    if len(unmatched) > MOST_ROWS:
        yield f"- and {len(unmatched) - MOST_ROWS} more"


def _run(run: RunSummary) -> str:
    branch = f" on {_text(run.branch)}" if run.branch else ""
    return (
        f"run {run.run_id[:8]}, {_text(run.suite)} of {_text(run.repository)} at {code_of(run)}{branch}, "
        f"{_text(run.hostname)} ({_text(run.hardware_label)}), {exact(run.started_at)}"
    )


def _text(text: str) -> str:
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
