"""History: series, points and what a run measured, read set by set."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.environment import Environment
from perfdb.domain.history import RunMeasurement, Series, SeriesHistory
from perfdb.domain.metric import LATENCY
from perfdb.errors import SelectionError
from perfdb.store.rows import point_of, series_of

SHORTEST_PREFIX = 8

SERIES = """
    s.digest AS series_digest, repo.name AS repository, b.name AS benchmark, c.axes, s.provider, s.protocol,
    m.name AS metric, m.unit, m.better, hw.digest AS hardware, hw.label AS hardware_label, c.flops, c.bytes_moved,
    s.floor AS series_floor, b.is_control
"""
SERIES_TABLES = """
    series s
    JOIN repositories repo ON repo.id = s.repository_id
    JOIN cases c ON c.id = s.case_id
    JOIN benchmarks b ON b.id = c.benchmark_id
    JOIN metrics m ON m.id = s.metric_id
    JOIN hardware hw ON hw.id = s.hardware_id
"""
POINT = """
    x.run_id, x.started_at, x.value, x.process_values, r.state, r.code_state, env.digest AS environment, ma.hostname,
    co.sha, co.parents, co.position, co.committed_at, co.subject,
    v.kind, v.reason, v.is_suspect, v.delta, v.low, v.high, v.smallest_detectable, v.floor,
    v.baseline_level, v.baseline_noise, v.baseline_count, v.missing
"""
POINT_TABLES = """
    measurements x
    JOIN runs r ON r.id = x.run_id
    JOIN environments env ON env.id = r.environment_id
    JOIN machines ma ON ma.id = r.machine_id
    LEFT JOIN commits co ON co.id = x.commit_id
    LEFT JOIN LATERAL (
        SELECT * FROM verdicts f WHERE f.run_id = x.run_id AND f.series_id = x.series_id ORDER BY f.id DESC LIMIT 1
    ) v ON true
"""
#: Commit position, then time; what has no place on the branch comes last.
IN_ORDER = "co.position NULLS LAST, x.started_at, x.run_id"


def catalogue(connection: Connection, *, repository: str | None = None) -> list[Series]:
    """Every series, by benchmark, case, provider and metric."""
    query = f"""
        SELECT {SERIES} FROM {SERIES_TABLES}
        WHERE CAST(:repository AS text) IS NULL OR repo.name = :repository
        ORDER BY b.name, c.axes::text, s.provider, m.name, hw.label
    """
    return [series_of(row) for row in _rows(connection, query, repository=repository)]


def find_series(connection: Connection, wanted: str) -> Series:
    """The series that SERIES names: a hash prefix of at least 8 digits, or ``benchmark[axis=value,...]``.

    Where a case has a latency and other metrics, its latency is meant. Raises ``SelectionError`` when none matches, or
    several do.
    """
    every = catalogue(connection)
    found = [series for series in every if _is_meant(series, wanted)]
    found = _timed_first(found)
    if not found:
        raise SelectionError.no_match("series", wanted, (series.label for series in every), "perfdb list series")
    if len(found) > 1:
        listed = "; ".join(f"{s.digest[:12]} {s.provider} {s.metric.name} on {s.hardware_label}" for s in found[:8])
        raise SelectionError(f"{wanted!r} names {len(found)} series; choose one by its hash: {listed}")
    return found[0]


def series_history(connection: Connection, digest: str, *, limit: int | None = None) -> SeriesHistory:
    """A series with its points; with ``limit``, the last so many. Raises ``SelectionError`` for an unknown digest."""
    query = f"SELECT {SERIES} FROM {SERIES_TABLES} WHERE s.digest = :digest"
    found = [series_of(row) for row in _rows(connection, query, digest=digest)]
    if not found:
        raise SelectionError(f"no series has the hash {digest!r}. See them all with: perfdb list series")
    points = f"""
        SELECT {POINT} FROM {POINT_TABLES}
        WHERE x.series_id = (SELECT id FROM series WHERE digest = :digest)
        ORDER BY {IN_ORDER}
    """
    rows = _rows(connection, points, digest=digest)
    return SeriesHistory(found[0], tuple(point_of(row) for row in (rows[-limit:] if limit else rows)))


def histories_of_run(connection: Connection, run_id: str, *, limit: int = 2000) -> list[SeriesHistory]:
    """Every series that a run measured, each with its last ``limit`` points, in one query."""
    query = f"""
        WITH mine AS (SELECT series_id FROM measurements WHERE run_id = :run_id),
        points AS (
            SELECT x.series_id, {POINT}, row_number() OVER (PARTITION BY x.series_id ORDER BY {IN_ORDER}) AS place,
                   count(*) OVER (PARTITION BY x.series_id) AS many
            FROM {POINT_TABLES} WHERE x.series_id IN (SELECT series_id FROM mine)
        )
        SELECT {SERIES}, p.* FROM points p JOIN ({SERIES_TABLES}) ON s.id = p.series_id
        WHERE p.place > p.many - :limit ORDER BY s.digest, p.place
    """
    rows = _rows(connection, query, run_id=UUID(run_id), limit=limit)
    return [
        SeriesHistory(series_of(points[0]), tuple(point_of(row) for row in points))
        for points in (list(group) for _, group in groupby(rows, key=lambda row: row["series_digest"]))
    ]


def run_measurements(connection: Connection, run_id: str) -> list[RunMeasurement]:
    """What a run measured, by benchmark, case, provider and metric."""
    query = f"""
        SELECT {SERIES}, {POINT} FROM {POINT_TABLES} JOIN ({SERIES_TABLES}) ON s.id = x.series_id
        WHERE x.run_id = :run_id ORDER BY b.name, c.axes::text, s.provider, m.name
    """
    return [RunMeasurement(series_of(row), point_of(row)) for row in _rows(connection, query, run_id=UUID(run_id))]


def suspects(connection: Connection, *, repository: str | None = None, limit: int = 50) -> list[RunMeasurement]:
    """Measurements whose verdict in force is a suspect or a change, newest first."""
    query = f"""
        SELECT {SERIES}, {POINT} FROM {POINT_TABLES} JOIN ({SERIES_TABLES}) ON s.id = x.series_id
        WHERE (v.is_suspect OR v.kind IN ('regression', 'improvement'))
          AND (CAST(:repository AS text) IS NULL OR repo.name = :repository)
        ORDER BY x.started_at DESC, s.digest LIMIT :limit
    """
    rows = _rows(connection, query, repository=repository, limit=limit)
    return [RunMeasurement(series_of(row), point_of(row)) for row in rows]


def series_samples(connection: Connection, digest: str, run_id: str) -> list[tuple[float, ...]]:
    """The samples of one measurement, a tuple a process, in the metric's unit."""
    query = """
        SELECT values FROM samples
        WHERE run_id = :run_id AND series_id = (SELECT id FROM series WHERE digest = :digest) ORDER BY process
    """
    return [tuple(row["values"]) for row in _rows(connection, query, run_id=UUID(run_id), digest=digest)]


def environments(connection: Connection, digests: Iterable[str]) -> dict[str, Environment]:
    """Environments by digest."""
    query = "SELECT digest, facts FROM environments WHERE digest = ANY(:digests)"
    rows = _rows(connection, query, digests=sorted(set(digests)))
    return {row["digest"]: Environment.of(**row["facts"]) for row in rows}


def _is_meant(series: Series, wanted: str) -> bool:
    if len(wanted) >= SHORTEST_PREFIX and series.digest.startswith(wanted):
        return True
    return wanted in (series.label, series.benchmark) or _sorted_label(wanted) == series.label


def _timed_first(found: list[Series]) -> list[Series]:
    """The one latency among the metrics of a case, else all of them."""
    timed = [series for series in found if series.metric.name == LATENCY.name]
    return timed if len(timed) == 1 else found


def _sorted_label(wanted: str) -> str:
    """``b[n=1,m=2]`` as ``b[m=2,n=1]``: the order in which axes are written does not matter."""
    name, bracket, axes = wanted.partition("[")
    return f"{name}[{','.join(sorted(axes.rstrip(']').split(',')))}]" if bracket else wanted


def _rows(connection: Connection, query: str, **values: Any) -> Sequence[RowMapping]:  # noqa: ANN401 - bind values
    return connection.execute(text(query), values).mappings().all()
