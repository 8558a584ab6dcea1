"""Pieces: how a commit, an outcome and verdicts look wherever they stand on a page."""

from collections.abc import Mapping

from dashboard.markup import Html, joined, span
from dashboard.summary import FAILURES
from dashboard.timeline import Mark, verdict_mark
from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.history import Point, RunSummary
from perfdb.domain.verdict import Verdict, VerdictKind
from perfdb.reports.sentences import OUTCOMES

GLYPHS = {Mark.SUSPECT: "◆", Mark.WORSE: "▲", Mark.BETTER: "▼", Mark.PLAIN: ""}
STATES = {
    CodeState.COMMITTED: "committed",
    CodeState.DIRTY: "uncommitted changes: judged, never a baseline",
    CodeState.UNVERSIONED: "no repository: judged, never a baseline",
}


def commit_cell(measured: Point | RunSummary) -> Html:
    """Marker, short SHA and subject; the marker is hollow for code that never forms a baseline."""
    commit, state = measured.commit, measured.code_state
    may_be_baseline = state is CodeState.COMMITTED and commit is not None and commit.position is not None
    why = STATES[state] if may_be_baseline or state is not CodeState.COMMITTED else "shallow clone: never a baseline"
    marker = span("●" if may_be_baseline else "○", "marker", why)
    if commit is None:
        return joined([marker, span("unversioned", "muted")], " ")
    dirty = span("dirty", "pill", why) if state is CodeState.DIRTY else ""
    first = joined([marker, span(commit.short, "sha", commit.sha), dirty], " ")
    return joined([span(first, "nowrap"), span(commit.subject, "subject", commit.subject)])


def outcome_pill(outcome: Outcome) -> Html:
    """How a case ended."""
    return span(OUTCOMES[outcome], "pill worse" if outcome in FAILURES else "pill")


def verdict_cell(verdicts: Mapping[VerdictKind, int]) -> Html:
    """Counts of verdicts, what changed first."""
    styles = {
        VerdictKind.REGRESSION: "worse",
        VerdictKind.IMPROVEMENT: "better",
        VerdictKind.OK: "",
        VerdictKind.UNDECIDED: "muted",
    }
    parts = [
        span(f"{verdicts[kind]} {kind.value}", f"nowrap {style}")
        for kind, style in styles.items()
        if verdicts.get(kind)
    ]
    return joined(parts, " · ") if parts else span("not judged", "muted")


def verdict_pill(verdict: Verdict | None) -> Html:
    """A verdict in a word."""
    if verdict is None:
        return span("not judged", "muted")
    kind = verdict_mark(verdict)
    word = "suspect" if kind is Mark.SUSPECT else verdict.kind.value
    return span(f"{GLYPHS[kind]} {word}".strip(), f"pill {kind.value}")
