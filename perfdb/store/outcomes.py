"""Outcomes: how the cases of runs ended."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.case import Outcome
from perfdb.domain.history import CaseOutcome
from perfdb.store.rows import case_of

OUTCOMES = """
    SELECT o.run_id, b.name AS benchmark, c.axes, o.provider, o.process, o.outcome, o.detail
    FROM outcomes o
    JOIN runs r ON r.id = o.run_id
    JOIN cases c ON c.id = o.case_id
    JOIN benchmarks b ON b.id = c.benchmark_id
"""


def run_outcomes(connection: Connection, run_id: str) -> list[CaseOutcome]:
    """How every case of a run ended, process by process."""
    query = f"{OUTCOMES} WHERE o.run_id = :run_id ORDER BY b.name, c.axes::text, o.provider, o.process"
    return _outcomes(connection, query, run_id=UUID(run_id))


def failures(connection: Connection, runs: Sequence[str]) -> list[CaseOutcome]:
    """Cases of these runs that were not measured, newest runs first."""
    query = f"""
        {OUTCOMES} WHERE o.outcome <> 'measured' AND o.run_id = ANY(:runs)
        ORDER BY r.started_at DESC, b.name, c.axes::text, o.provider, o.process
    """
    return _outcomes(connection, query, runs=[UUID(run) for run in runs])


def _outcomes(connection: Connection, query: str, **values: Any) -> list[CaseOutcome]:  # noqa: ANN401 - bind values
    return [_outcome(row) for row in connection.execute(text(query), values).mappings()]


def _outcome(row: RowMapping) -> CaseOutcome:
    return CaseOutcome(
        run_id=str(row["run_id"]),
        benchmark=row["benchmark"],
        case=case_of(row["axes"]),
        provider=row["provider"],
        process=row["process"],
        outcome=Outcome(row["outcome"]),
        detail=row["detail"],
    )
