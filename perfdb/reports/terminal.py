"""Terminal: tables for people. Pure functions from domain values to rich tables."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.finding import Finding
from perfdb.domain.history import Point, RunSummary, Series, SeriesHistory
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import RunState
from perfdb.domain.verdict import Reason, Verdict, VerdictKind
from perfdb.reports.formatting import interval, percent, quantity
from perfdb.reports.sentences import MARKS, OUTCOMES, code_of, delta_of, reason_of

COLOURS = {
    VerdictKind.OK: "green",
    VerdictKind.REGRESSION: "bold red",
    VerdictKind.IMPROVEMENT: "bold cyan",
    VerdictKind.UNDECIDED: "yellow",
}
BARS = "▁▂▃▄▅▆▇█"


def runs_table(runs: Iterable[RunSummary]) -> Table:
    """Runs with their code, machine, outcomes and verdicts."""
    table = _table("run", "when (UTC)", "suite", "repository", "code", "machine", "cases", "verdicts")
    for run in runs:
        when = f"{run.started_at:%Y-%m-%d %H:%M}"
        state = "" if run.state is RunState.COMPLETE else " (incomplete)"
        cases = ", ".join(f"{many} {OUTCOMES[outcome]}" for outcome, many in run.outcomes.items())
        table.add_row(
            run.run_id[:8], when, run.suite, run.repository, code_of(run) + state, run.hostname, cases, _verdicts(run)
        )
    return table


def series_table(every: Iterable[Series]) -> Table:
    """Series with the hash that names them."""
    table = _table("series", "benchmark and case", "provider", "metric", "protocol", "hardware")
    for series in every:
        name = f"{series.label} (control)" if series.is_control else series.label
        unit = "" if series.metric.unit == "1" else f" ({series.metric.unit})"
        table.add_row(
            series.digest[:12], name, series.provider, series.metric.name + unit, series.protocol, series.hardware_label
        )
    return table


def comparison_table(deltas: Sequence[Delta]) -> Table:
    """Deltas sorted by evidence."""
    table = _table(
        "series", "provider", "metric", "base", "head", "change", "95 % interval", "floor", "seen from", "verdict"
    )
    for delta in deltas:
        unit, verdict = delta.series.metric.unit, delta.verdict
        table.add_row(
            delta.series.label,
            delta.series.provider,
            delta.series.metric.name,
            quantity(delta.base.mean, unit),
            quantity(delta.head.mean, unit),
            delta_of(verdict),
            interval(verdict.low, verdict.high),
            percent(verdict.floor, signed=False),
            percent(verdict.smallest_detectable, signed=False),
            mark_of(verdict),
        )
    return table


def is_news(delta: Delta) -> bool:
    """Whether a comparison must list it: any time, and accuracy that is not simply as it was."""
    return delta.series.metric.name == LATENCY.name or delta.verdict.reason is not Reason.WITHIN_NOISE


def missing_lines(comparison: Comparison) -> list[str]:
    """What only one run has, what differs in the stack, and what cannot be held against each other."""
    lines = [
        f"only in {side}: {series.label} {series.provider} {series.metric.name}; {comparison.why_unmatched(series)}"
        for side, unmatched in (("base", comparison.only_base), ("head", comparison.only_head))
        for series in unmatched
    ]
    for name, (before, after) in (comparison.environment_changes or {}).items():
        lines.append(f"environment: {name} {before or 'none'} -> {after or 'none'}")
    if not comparison.same_hardware:
        lines.append(
            f"hardware: {comparison.base.hardware_label} and {comparison.head.hardware_label} are not comparable"
        )
    return lines


def history_table(points: Sequence[Point], unit: str) -> Table:
    """Points of a series, in the order of their commits."""
    table = _table("run", "code", "position", "when (UTC)", "value", "change", "baseline", "verdict", "why")
    for point in points:
        commit, verdict = point.commit, point.verdict
        baseline = quantity(verdict.baseline.level, unit) if verdict and verdict.baseline else ""
        table.add_row(
            point.run_id[:8],
            (commit.short if commit else "unversioned") + ("" if point.may_be_baseline else " ○"),
            "" if commit is None or commit.position is None else str(commit.position),
            f"{point.started_at:%Y-%m-%d %H:%M}",
            quantity(point.value, unit),
            delta_of(verdict),
            baseline,
            mark_of(verdict),
            reason_of(verdict) if verdict else "not judged",
        )
    return table


def sparkline(history: SeriesHistory, width: int = 60) -> str:
    """The last ``width`` values as bars from the smallest to the largest."""
    values = [point.value for point in history.points][-width:]
    if not values:
        return ""
    low, high = min(values), max(values)
    step = (high - low) / (len(BARS) - 1) or 1.0
    return "".join(BARS[round((value - low) / step)] for value in values)


def findings_table(findings: Iterable[Finding]) -> Table:
    """What doctor saw, and what to do about it."""
    table = _table("", "what", "seen", "what to do")
    for finding in findings:
        bad = Text("!", "yellow") if finding.is_advice else Text("✗", "bold red")
        table.add_row(Text("✓", "green") if finding.is_ok else bad, finding.name, finding.text, finding.action)
    return table


def mark_of(verdict: Verdict | None) -> Text:
    """A verdict by shape, word and colour."""
    if verdict is None:
        return Text("-")
    if verdict.is_suspect:
        return Text("◆ suspect", "bold magenta")
    return Text(MARKS[verdict.kind], COLOURS[verdict.kind])


def _verdicts(run: RunSummary) -> str:
    parts = [f"{many} {kind.value}" for kind, many in run.verdicts.items()]
    return ", ".join(parts + ([f"{run.suspects} suspect"] if run.suspects else []))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
