"""History: series, points and what a run measured, read set by set."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.commit import Line
from perfdb.domain.environment import Environment
from perfdb.domain.history import Absence, Point, RunMeasurement, Series, SeriesHistory
from perfdb.domain.metric import LATENCY
from perfdb.errors import SelectionError
from perfdb.store.lineage import line_of_run, main_line
from perfdb.store.rows import point_of, series_of
from perfdb.store.schema import FLAGGED

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
    JOIN runs r ON r.id = x.run_id
    JOIN environments env ON env.id = r.environment_id
    JOIN machines ma ON ma.id = r.machine_id
    LEFT JOIN commits co ON co.id = x.commit_id
    LEFT JOIN LATERAL (
        SELECT * FROM verdicts f WHERE f.run_id = x.run_id AND f.series_id = x.series_id ORDER BY f.id DESC LIMIT 1
    ) v ON true
"""
#: Measurements of one run; its time names the one partition that holds them.
OF_RUN = """
    (SELECT * FROM measurements
     WHERE run_id = :run_id AND started_at = (SELECT started_at FROM runs WHERE id = :run_id))
"""
#: Series whose histories are read at once: some ten thousand points.
BATCH = 250


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
    wanted = _present_name(connection, wanted)
    found = _timed_first([series for series in _candidates(connection, wanted) if _is_meant(series, wanted)])
    if not found:
        labels = (series.label for series in catalogue(connection))
        raise SelectionError.no_match("series", wanted, labels, "perfdb list series")
    if len(found) > 1:
        listed = "; ".join(f"{s.digest[:12]} {s.provider} {s.metric.name} on {s.hardware_label}" for s in found[:8])
        raise SelectionError(f"{wanted!r} names {len(found)} series; choose one by its hash: {listed}")
    return found[0]


def _present_name(connection: Connection, wanted: str) -> str:
    """``wanted`` with the name that its benchmark has today, where it was renamed."""
    name, bracket, axes = wanted.partition("[")
    query = """
        SELECT DISTINCT b.name FROM benchmark_names n JOIN benchmarks b ON b.id = n.benchmark_id
        WHERE n.name = :name AND NOT EXISTS (SELECT FROM benchmarks WHERE name = :name)
    """
    today = [row["name"] for row in _rows(connection, query, name=name)]
    return f"{today[0]}{bracket}{axes}" if len(today) == 1 else wanted


def former_names(connection: Connection, digest: str) -> list[str]:
    """What the benchmark of a series was called before."""
    query = """
        SELECT n.name FROM series s JOIN cases c ON c.id = s.case_id JOIN benchmarks b ON b.id = c.benchmark_id
        JOIN benchmark_names n ON n.benchmark_id = b.id AND n.name <> b.name
        WHERE s.digest = :digest ORDER BY n.id
    """
    return [row["name"] for row in _rows(connection, query, digest=digest)]


def absence(connection: Connection, digest: str) -> Absence | None:
    """How many complete runs came after the newest result of a series; None where it has no result."""
    query = """
        WITH last AS (
            SELECT r.suite_id, r.started_at, row_number() OVER (ORDER BY r.started_at DESC) AS place
            FROM measurements m JOIN runs r ON r.id = m.run_id
            WHERE m.series_id = (SELECT id FROM series WHERE digest = :digest)
            ORDER BY r.started_at DESC LIMIT 2
        )
        SELECT count(*) FILTER (WHERE r.started_at > newest.started_at) AS runs,
               count(*) FILTER (WHERE r.started_at > before.started_at AND r.started_at <= newest.started_at) AS usual
        FROM series s
        JOIN last newest ON newest.place = 1
        LEFT JOIN last before ON before.place = 2
        LEFT JOIN runs r ON r.repository_id = s.repository_id AND r.hardware_id = s.hardware_id
            AND r.suite_id = newest.suite_id AND r.state = 'complete'
            AND r.started_at > coalesce(before.started_at, newest.started_at)
        WHERE s.digest = :digest GROUP BY s.id
    """
    found = _rows(connection, query, digest=digest)
    return Absence(found[0]["runs"], found[0]["usual"]) if found else None


def _candidates(connection: Connection, wanted: str) -> list[Series]:
    """Series of the benchmark that ``wanted`` begins with, and those whose hash does."""
    query = f"""
        SELECT {SERIES} FROM {SERIES_TABLES}
        WHERE s.id IN (
            SELECT s.id FROM benchmarks b JOIN cases c ON c.benchmark_id = b.id JOIN series s ON s.case_id = c.id
            WHERE starts_with(:wanted, b.name)
            UNION SELECT id FROM series WHERE length(:wanted) >= {SHORTEST_PREFIX} AND starts_with(digest, :wanted)
        )
        ORDER BY b.name, c.axes::text, s.provider, m.name, hw.label
    """
    return [series_of(row) for row in _rows(connection, query, wanted=wanted)]


def series_history(connection: Connection, digest: str, *, limit: int | None = None) -> SeriesHistory:
    """A series with its points; with ``limit``, the last so many. Raises ``SelectionError`` for an unknown digest."""
    query = f"SELECT {SERIES} FROM {SERIES_TABLES} WHERE s.digest = :digest"
    found = [series_of(row) for row in _rows(connection, query, digest=digest)]
    if not found:
        raise SelectionError(f"no series has the hash {digest!r}. See them all with: perfdb list series")
    points = f"""
        SELECT {POINT}, x.commit_id, r.branch FROM (
            SELECT x.* FROM measurements x LEFT JOIN commits co ON co.id = x.commit_id
            WHERE x.series_id = (SELECT id FROM series WHERE digest = :digest)
            ORDER BY co.position DESC NULLS FIRST, x.started_at DESC, x.run_id DESC LIMIT :limit
        ) x {POINT_TABLES}
        ORDER BY co.position NULLS LAST, x.started_at, x.run_id
    """
    rows = _rows(connection, points, digest=digest, limit=limit)
    line = main_line(connection, rows)
    return SeriesHistory(found[0], tuple(point_of(row, line) for row in rows))


def histories_of_run(
    connection: Connection, run_id: str, *, limit: int = 2000, line: Line | None = None
) -> Iterator[SeriesHistory]:
    """Every series that a run measured, by its place in the store, some at a time.

    Each with ``limit`` points up to that of the run, and all that come after it. Points carry no verdicts;
    they say whether they are on the ``line``, by default that of the run's own commit.
    """
    mine = _rows(connection, f"SELECT series_id FROM {OF_RUN} x ORDER BY series_id", run_id=UUID(run_id))
    series = [row["series_id"] for row in mine]
    if line is None:
        line = line_of_run(connection, run_id)
    for start in range(0, len(series), BATCH):
        yield from _histories(connection, series[start : start + BATCH], UUID(run_id), limit, line)


def _histories(
    connection: Connection, ids: Sequence[int], run_id: UUID, limit: int, line: Line
) -> Iterator[SeriesHistory]:
    """What points of one run have in common is read once a run, not once a point."""
    query = f"SELECT s.id, {SERIES} FROM {SERIES_TABLES} WHERE s.id = ANY(:ids) ORDER BY s.id"
    series = {row["id"]: series_of(row) for row in _rows(connection, query, ids=list(ids))}
    measured = """
        SELECT series_id, run_id, value, process_values FROM measurements WHERE series_id = ANY(:ids) ORDER BY series_id
    """
    rows = connection.execute(text(measured), {"ids": list(ids)}).all()
    patterns = _points_of_runs(connection, {row.run_id for row in rows}, line)
    for number, group in groupby(rows, key=lambda row: row.series_id):
        points = sorted((patterns[run][0], run, value, processes) for _, run, value, processes in group)
        first = max(0, 1 - limit + next(place for place, point in enumerate(points) if point[1] == run_id))
        yield SeriesHistory(
            series[number],
            tuple(
                replace(patterns[run][1], value=value, process_values=tuple(processes))
                for _, run, value, processes in points[first:]
            ),
        )


def _points_of_runs(connection: Connection, runs: Iterable[UUID], line: Line) -> dict[UUID, tuple[int, Point]]:
    """For each run its place in order (commit position, then time; what has no place last), and a point of no value."""
    query = """
        SELECT r.id AS run_id, r.started_at, 0.0 AS value, ARRAY[]::float8[] AS process_values, r.state, r.code_state,
               env.digest AS environment, ma.hostname, co.sha, co.parents, co.position, co.committed_at, co.subject,
               NULL AS kind
        FROM runs r
        JOIN environments env ON env.id = r.environment_id
        JOIN machines ma ON ma.id = r.machine_id
        LEFT JOIN commits co ON co.id = r.commit_id
        WHERE r.id = ANY(:runs) ORDER BY co.position NULLS LAST, r.started_at, r.id
    """
    rows = _rows(connection, query, runs=list(runs))
    return {row["run_id"]: (place, point_of(row, line)) for place, row in enumerate(rows)}


def run_measurements(connection: Connection, run_id: str) -> list[RunMeasurement]:
    """What a run measured, by benchmark, case, provider and metric."""
    query = f"""
        SELECT {SERIES}, {POINT} FROM {OF_RUN} x {POINT_TABLES} JOIN ({SERIES_TABLES}) ON s.id = x.series_id
        ORDER BY b.name, c.axes::text, s.provider, m.name
    """
    return [RunMeasurement(series_of(row), point_of(row)) for row in _rows(connection, query, run_id=UUID(run_id))]


def flagged_measurements(connection: Connection, runs: Sequence[str]) -> list[RunMeasurement]:
    """Measurements of these runs whose verdict in force is a suspect or a change, newest first."""
    query = f"""
        SELECT {SERIES}, {POINT}
        FROM (SELECT DISTINCT run_id, series_id FROM verdicts WHERE run_id = ANY(:runs) AND ({FLAGGED})) f
        JOIN runs fr ON fr.id = f.run_id
        JOIN measurements x ON x.run_id = f.run_id AND x.series_id = f.series_id AND x.started_at = fr.started_at
        {POINT_TABLES} JOIN ({SERIES_TABLES}) ON s.id = x.series_id
        WHERE {FLAGGED}
        ORDER BY x.started_at DESC, s.digest
    """
    rows = _rows(connection, query, runs=[UUID(run) for run in runs])
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
