"""Comparison: all deltas between two runs, and what only one of them has."""

from collections.abc import Mapping
from dataclasses import dataclass

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

    @property
    def controls_moved(self) -> tuple[Delta, ...]:
        """Frozen code that changed: then it is the machine or the stack, not the commit."""
        changed = (VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT)
        return tuple(delta for delta in self.deltas if delta.series.is_control and delta.verdict.kind in changed)
