"""Sentences: verdicts and outcomes in words, the same on the command line and on pages."""

from collections.abc import Mapping

from perfdb.domain.case import Outcome
from perfdb.domain.comparison import Comparison
from perfdb.domain.history import RunSummary
from perfdb.domain.verdict import Reason, Verdict, VerdictKind
from perfdb.reports.formatting import counted, percent

REASONS = {
    Reason.WITHIN_NOISE: "within noise",
    Reason.SUSPECT: "looks changed, not decided yet",
    Reason.SHORT_HISTORY: "too little history to judge",
    Reason.MACHINE_TOO_NOISY: "the machine is too noisy to judge",
    Reason.TOO_FEW_PROCESSES: "too few processes to judge",
    Reason.INTERVAL_HOLDS_BOTH: "could be a change or none: measure more processes",
    Reason.BELOW_FLOOR: "a change below the floor",
    Reason.CHANGED: "changed",
    Reason.NOT_COMPARABLE: "not comparable",
}
#: Marks differ by shape too, so that nobody needs the colours.
MARKS = {
    VerdictKind.OK: "✓ ok",
    VerdictKind.REGRESSION: "▲ regression",
    VerdictKind.IMPROVEMENT: "▼ improvement",
    VerdictKind.UNDECIDED: "? undecided",
}
OUTCOMES = {
    Outcome.MEASURED: "measured",
    Outcome.WRONG_RESULT: "wrong result",
    Outcome.OUT_OF_MEMORY: "out of memory",
    Outcome.TIMED_OUT: "timed out",
    Outcome.UNSUPPORTED: "unsupported",
    Outcome.FAILED: "failed",
    Outcome.SKIPPED: "skipped",
}


def reason_of(verdict: Verdict) -> str:
    """Why a verdict is what it is, and what is missing."""
    if verdict.reason is Reason.SHORT_HISTORY:
        return f"needs {counted(verdict.missing, 'more result')}"
    return REASONS[verdict.reason]


def headline(comparison: Comparison) -> str:
    """The verdict of a comparison in one line."""
    if not comparison.deltas:
        return "Nothing to compare: the two runs share no series."
    slower, faster = comparison.count(VerdictKind.REGRESSION), comparison.count(VerdictKind.IMPROVEMENT)
    if comparison.controls_moved:
        moved = ", ".join(delta.series.benchmark for delta in comparison.controls_moved)
        return f"The controls moved ({moved}): suspect the machine or the stack before the code."
    if not slower and not faster:
        return f"No change found in {counted(len(comparison.deltas), 'series', 'series')}{_undecided(comparison)}."
    parts = [counted(slower, "regression")] * bool(slower) + [counted(faster, "improvement")] * bool(faster)
    return f"{' and '.join(parts).capitalize()}{_undecided(comparison)}."


def fact_changes(changes: Mapping[str, tuple[str | None, str | None]]) -> list[str]:
    """``torch 2.11.0 → 2.13.0``, a fact each."""
    return [f"{name} {before or 'none'} → {after or 'none'}" for name, (before, after) in changes.items()]


def code_of(run: RunSummary) -> str:
    """Commit and state of what a run measured."""
    if run.commit is None:
        return "unversioned"
    return run.commit.short if run.code_state == "committed" else f"{run.commit.short} + changes"


def delta_of(verdict: Verdict | None) -> str:
    """The relative change; a dash where there is none."""
    return percent(verdict.delta if verdict else None)


def _undecided(comparison: Comparison) -> str:
    many = comparison.count(VerdictKind.UNDECIDED)
    return f", {many} undecided" if many else ""
