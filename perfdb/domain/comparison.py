"""Comparison: all deltas between two runs, and what only one of them has."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfdb.domain.case import Case
from perfdb.domain.history import Point, RunSummary, Series
from perfdb.domain.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True)
class Delta:
    """One series measured by both runs. ``verdict.delta`` is relative, positive = worse."""

    series: Series
    base: Point
    head: Point
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """HEAD against BASE. ``only_base`` and ``only_head`` are series of one run alone, never silently dropped."""

    base: RunSummary
    head: RunSummary
    deltas: tuple[Delta, ...]
    only_base: tuple[Series, ...] = ()
    only_head: tuple[Series, ...] = ()
    environment_changes: Mapping[str, tuple[str | None, str | None]] | None = None

    def count(self, kind: VerdictKind) -> int:
        """How many deltas have this verdict."""
        return sum(delta.verdict.kind is kind for delta in self.deltas)

    @property
    def same_hardware(self) -> bool:
        """Whether any number of one may be held against the other."""
        return self.base.hardware == self.head.hardware

    def why_unmatched(self, series: Series) -> str:
        """Why only one run has ``series``: the other measured it elsewhere or otherwise, or not at all."""
        for other in (*self.only_base, *self.only_head):
            if other.digest != series.digest and _what(other) == _what(series):
                return _difference(series, other)
        return "the other run did not measure it"

    @property
    def controls_moved(self) -> tuple[Delta, ...]:
        """Frozen code that changed: then it is the machine or the stack, not the commit."""
        changed = (VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT)
        return tuple(delta for delta in self.deltas if delta.series.is_control and delta.verdict.kind in changed)


def _what(series: Series) -> tuple[str, Case, str, str]:
    return series.benchmark, series.case, series.provider, series.metric.name


def _difference(series: Series, other: Series) -> str:
    if other.hardware != series.hardware:
        return f"the other run measured it on other hardware, {other.hardware_label}"
    if other.protocol != series.protocol:
        return f"the other run measured it by another protocol, {other.protocol}"
    if other.repository != series.repository:
        return f"the other run measured that of another repository, {other.repository}"
    return f"the other run measured it by another version of the protocol {other.protocol}"
