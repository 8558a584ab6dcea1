"""Rows: what a query gave, as values of the domain."""

from typing import Any

from sqlalchemy import RowMapping

from perfdb.domain.case import Case, Cost
from perfdb.domain.commit import CodeState, Commit, Line
from perfdb.domain.history import Point, Series
from perfdb.domain.metric import Better, Metric
from perfdb.domain.run import RunState
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind

#: Where no line is looked from.
EVERYTHING = Line(frozenset(), None)


def case_of(axes: dict[str, Any]) -> Case:
    """A case from its JSON."""
    return Case.of(axes)


def series_of(row: RowMapping) -> Series:
    """A series from the columns of ``history.SERIES``."""
    flops, moved = row["flops"], row["bytes_moved"]
    return Series(
        digest=row["series_digest"],
        repository=row["repository"],
        benchmark=row["benchmark"],
        case=case_of(row["axes"]),
        provider=row["provider"],
        protocol=row["protocol"],
        metric=Metric(row["metric"], row["unit"], Better(row["better"])),
        hardware=row["hardware"],
        hardware_label=row["hardware_label"],
        cost=None if flops is None or moved is None else Cost(flops, moved),
        floor=row["series_floor"],
        is_control=row["is_control"],
    )


def point_of(row: RowMapping, line: Line = EVERYTHING) -> Point:
    """A point from the columns of ``history.POINT``, as looked at from a line of commits."""
    commit = commit_of(row)
    return Point(
        run_id=str(row["run_id"]),
        started_at=row["started_at"],
        value=row["value"],
        process_values=tuple(row["process_values"]),
        code_state=CodeState(row["code_state"]),
        commit=commit,
        environment=row["environment"],
        hostname=row["hostname"],
        verdict=verdict_of(row),
        is_complete=row["state"] == RunState.COMPLETE,
        is_on_line=commit is None or line.holds(commit.sha, commit.position),
    )


def commit_of(row: RowMapping) -> Commit | None:
    """A commit from columns ``sha parents position committed_at subject``; None where the run has none."""
    if row["sha"] is None:
        return None
    return Commit(row["sha"], tuple(row["parents"]), row["position"], row["committed_at"], row["subject"])


def verdict_of(row: RowMapping) -> Verdict | None:
    """The verdict in force from the columns of ``verdicts``; None where the measurement was not judged."""
    return None if row["kind"] is None else judged_verdict_of(row)


def judged_verdict_of(row: RowMapping) -> Verdict:
    """The verdict in force where the query takes judged measurements only."""
    baseline = None
    if row["baseline_count"] is not None:
        baseline = Baseline(row["baseline_level"], row["baseline_noise"], row["baseline_count"])
    return Verdict(
        kind=VerdictKind(row["kind"]),
        reason=Reason(row["reason"]),
        is_suspect=row["is_suspect"],
        delta=row["delta"],
        low=row["low"],
        high=row["high"],
        smallest_detectable=row["smallest_detectable"],
        floor=row["floor"],
        baseline=baseline,
        missing=row["missing"],
    )
