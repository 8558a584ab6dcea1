"""Processes: what the processes of earlier runs measured, which tells how far processes differ."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from perfdb.store.history import OF_RUN
from perfdb.store.lineage import line_of_run

#: Runs of each suite that are looked back at: more would not make the prior's at most 8 degrees of freedom surer.
RUNS = 30
#: Runs that measured a series of this one, and may be part of its baseline.
EARLIER = """
    WITH this AS (
        SELECT r.started_at, co.position FROM runs r LEFT JOIN commits co ON co.id = r.commit_id WHERE r.id = :run_id
    ), shared AS (
        SELECT DISTINCT m.run_id FROM measurements m WHERE m.series_id = ANY(:series)
    )
    SELECT r.id, r.suite_id, r.started_at, co.sha, co.position
    FROM this, shared JOIN runs r ON r.id = shared.run_id JOIN commits co ON co.id = r.commit_id
    WHERE r.state = 'complete' AND r.code_state = 'committed' AND co.position IS NOT NULL
      AND CASE WHEN this.position IS NULL THEN r.started_at < this.started_at
          ELSE (co.position, r.started_at) < (this.position, this.started_at) END
    ORDER BY co.position DESC, r.started_at DESC
"""
PROCESSES = """
    SELECT s.digest, m.process_values FROM measurements m JOIN series s ON s.id = m.series_id
    WHERE m.run_id = ANY(:runs) AND m.series_id = ANY(:series) AND m.started_at BETWEEN :first AND :last
"""


def earlier_processes(
    connection: Connection, run_id: str, *, without: Collection[str] = ()
) -> dict[str, list[tuple[float, ...]]]:
    """For each series of a run, by digest, its values by process in up to 30 runs of each suite that come before it.

    Only runs that may be part of its baseline count, and none of ``without``.
    """
    run = {"run_id": UUID(run_id)}
    series = list(connection.scalars(text(f"SELECT series_id FROM {OF_RUN} x"), run))
    candidates = connection.execute(text(EARLIER), {**run, "series": series}).all()
    line = line_of_run(connection, run_id)
    unwanted = {UUID(each) for each in without}
    chosen = _newest([row for row in candidates if row.id not in unwanted and line.holds(row.sha, row.position)])
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    if chosen:
        times = [row.started_at for row in chosen]
        wanted = {"runs": [row.id for row in chosen], "series": series, "first": min(times), "last": max(times)}
        for digest, values in connection.execute(text(PROCESSES), wanted):
            found[digest].append(tuple(values))
    return found


def _newest(runs: list[Row[Any]]) -> list[Row[Any]]:
    """The first so many of each suite."""
    by_suite: dict[int, list[Row[Any]]] = defaultdict(list)
    for run in runs:
        by_suite[run.suite_id].append(run)
    return [run for of_suite in by_suite.values() for run in of_suite[:RUNS]]
