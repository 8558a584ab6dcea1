"""Sentences: what a verdict, a run or the whole page says in plain words."""

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo

from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.history import Absence, Point, Series
from perfdb.domain.metric import Better
from perfdb.domain.verdict import Verdict, VerdictKind
from perfdb.reports.formatting import counted, day, interval, percent
from perfdb.reports.sentences import OUTCOMES, REASONS


def direction(delta: float, series: Series) -> str:
    """``slower`` or ``faster`` for a latency, ``worse`` or ``better`` for anything else."""
    timed = series.metric.unit in ("ns", "us", "ms", "s") and series.metric.better is Better.LOWER
    if delta > 0:
        return "slower" if timed else "worse"
    return "faster" if timed else "better"


def verdict_words(verdict: Verdict, series: Series) -> str:
    """One verdict: ``suspect: 12 % slower, could be +8.1 … +16 %``."""
    size = (
        ""
        if verdict.delta is None
        else f"{percent(abs(verdict.delta), signed=False)} {direction(verdict.delta, series)}"
    )
    if verdict.is_suspect:
        return f"suspect: {size or REASONS[verdict.reason]}"
    if verdict.kind in (VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT):
        return f"{verdict.kind.value}: {size or 'size unknown'}"
    return f"{verdict.kind.value}: {REASONS[verdict.reason]}"


def never_baseline(point: Point) -> str:
    """Why a point forms no baseline; nothing where it may."""
    if point.may_be_baseline:
        return ""
    if point.commit is None:
        return "code without a repository"
    if point.code_state is not CodeState.COMMITTED:
        return "uncommitted changes"
    if not point.is_complete:
        return "an incomplete run"
    if point.commit.position is None:
        return "no place on its branch: a shallow clone"
    return "another line of commits: a branch, or this one before it was rewritten"


def unmeasured_note(since: Absence | None, newest: datetime, where: tzinfo) -> str:
    """That a series is no longer measured; nothing while it is."""
    if since is None or not since.is_news:
        return ""
    runs = f"{counted(since.runs, 'run')} of its suite came after"
    return f"Not measured since {day(newest, where)}: {runs}. Its benchmark or case may be gone, renamed or failing."


def detectable(verdict: Verdict | None) -> str:
    """What the newest verdict could have seen, or what it is missing."""
    if verdict is None:
        return "Not judged yet: only complete runs are judged, when they arrive."
    if verdict.missing > 0:
        return f"Needs {counted(verdict.missing, 'more result')} before it can speak."
    if verdict.smallest_detectable is None:
        return f"Undecided: {REASONS[verdict.reason]}."
    floor = f"; changes below the floor of {percent(verdict.floor, signed=False)} do not count" if verdict.floor else ""
    return f"A change of {percent(verdict.smallest_detectable, signed=False)} or more would have been seen{floor}."


def headline(runs: int, changed: int, suspect: int, failed: int) -> str:
    """What the latest runs say: what changed, what is suspect, what failed, with counts."""
    where = "in the latest run" if runs == 1 else f"in the latest {runs} runs"
    parts = [
        f"{changed} series changed" if changed else "",
        f"{suspect} {'is' if suspect == 1 else 'are'} suspect" if changed and suspect else "",
        f"{suspect} series {'is' if suspect == 1 else 'are'} suspect" if suspect and not changed else "",
        f"{counted(failed, 'case')} failed" if failed else "",
    ]
    said = [part for part in parts if part]
    if not said:
        return f"Nothing changed and nothing failed {where}."
    return f"{listed(said)} {where}."


def undecided_note(undecided: int, judged: int) -> str:
    """How many measurements of the newest run cannot speak yet; nothing when all can."""
    if not undecided:
        return ""
    return f"{undecided} of {counted(judged, 'measurement')} of the newest run cannot be decided yet."


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def outcome_words(outcomes: Mapping[Outcome, int]) -> str:
    """``15 measured, 1 failed``."""
    return ", ".join(f"{count} {OUTCOMES[outcome]}" for outcome, count in outcomes.items() if count)


def interval_words(verdict: Verdict) -> str:
    """A verdict's interval: ``+1.2 … +6.0 %``."""
    return interval(verdict.low, verdict.high)


def lasted(started: datetime, finished: datetime | None) -> float | None:
    """Seconds from start to end; None for a run that was not closed."""
    return (finished - started).total_seconds() if finished else None
