"""Verdicts: rows that are only ever added; the newest of a run and series is the one in force."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, text, update

from perfdb.domain.verdict import Verdict
from perfdb.store import schema
from perfdb.store.rows import verdict_of


def save_verdicts(connection: Connection, run_id: str, verdicts: Mapping[str, Verdict]) -> int:
    """Add a row for every series digest whose verdict differs from the one in force; gives how many."""
    ids = _series_ids(connection, verdicts)
    in_force = _in_force(connection, run_id, ids.values())
    rows = [
        {"run_id": UUID(run_id), "series_id": ids[digest], **_columns(verdict)}
        for digest, verdict in sorted(verdicts.items())
        if in_force.get(ids[digest]) != verdict
    ]
    if rows:
        connection.execute(insert(schema.verdicts), rows)
    return len(rows)


def mark_judged(connection: Connection, run_id: str) -> None:
    """The run counts as judged from now on."""
    runs = schema.runs
    connection.execute(update(runs).where(runs.c.id == UUID(run_id)).values(judged_at=func.now()))


def later_runs(connection: Connection, run_id: str) -> list[str]:
    """Judged runs of the same series that come after this one in order: a late arrival may change their verdicts."""
    query = """
        WITH this AS (
            SELECT r.id, r.started_at, co.position FROM runs r LEFT JOIN commits co ON co.id = r.commit_id
            WHERE r.id = :run_id
        )
        SELECT DISTINCT r.id, co.position, r.started_at
        FROM this, measurements mine
        JOIN measurements theirs ON theirs.series_id = mine.series_id
        JOIN runs r ON r.id = theirs.run_id
        LEFT JOIN commits co ON co.id = r.commit_id
        WHERE mine.run_id = this.id AND mine.started_at = this.started_at
          AND r.id <> this.id AND r.judged_at IS NOT NULL
          AND (coalesce(co.position, 9e18), r.started_at) > (coalesce(this.position, 9e18), this.started_at)
        ORDER BY co.position NULLS LAST, r.started_at, r.id
    """
    return [str(row.id) for row in connection.execute(text(query), {"run_id": UUID(run_id)})]


def _series_ids(connection: Connection, verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    series = schema.series
    found = connection.execute(select(series.c.digest, series.c.id).where(series.c.digest.in_(sorted(verdicts))))
    return {row.digest: row.id for row in found}


def _in_force(connection: Connection, run_id: str, series: Iterable[int]) -> dict[int, Verdict | None]:
    query = """
        SELECT DISTINCT ON (v.series_id) v.*
        FROM verdicts v WHERE v.run_id = :run_id AND v.series_id = ANY(:series) ORDER BY v.series_id, v.id DESC
    """
    rows = connection.execute(text(query), {"run_id": UUID(run_id), "series": list(series)}).mappings()
    return {row["series_id"]: verdict_of(row) for row in rows}


def _columns(verdict: Verdict) -> dict[str, Any]:
    baseline = verdict.baseline
    return {
        "kind": verdict.kind.value,
        "reason": verdict.reason.value,
        "is_suspect": verdict.is_suspect,
        "delta": verdict.delta,
        "low": verdict.low,
        "high": verdict.high,
        "smallest_detectable": verdict.smallest_detectable,
        "floor": verdict.floor,
        "baseline_level": baseline.level if baseline else None,
        "baseline_noise": baseline.noise if baseline else None,
        "baseline_count": baseline.count if baseline else None,
        "missing": verdict.missing,
    }
