"""Machines: who measures, on which hardware and software, how noisily, and what the controls say.

The big table of measurements is never read through: noise comes from the verdicts of a few runs of each machine, and
controls, which are few, from the index of their own histories.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.machine_record import (
    Control,
    ControlResult,
    EnvironmentSpan,
    HardwareSpan,
    MachineNoise,
    MachineRecord,
    NoisePoint,
)
from perfdb.domain.metric import LATENCY
from perfdb.store.history import SERIES, SERIES_TABLES
from perfdb.store.rows import judged_verdict_of, series_of
from perfdb.store.schema import FLAGGED

#: Judged runs of a machine on one hardware whose verdicts tell its noise now: a night may be several runs.
NEWEST_RUNS = 5
#: Runs drawn over time for each hardware.
TREND_RUNS = 60
#: Verdicts read at most, shared among the runs that are looked at: some 150 ms.
NEWEST_VERDICTS, TREND_VERDICTS = 100_000, 30_000
#: Series of a run that are read however many runs share.
FEWEST_SERIES = 100
#: How far back controls are looked at, from the machine's newest run; how many results of each, and of all of them.
CONTROL_WINDOW = timedelta(days=90)
FEWEST_RESULTS, MOST_RESULTS, CONTROL_RESULTS = 20, 100, 10_000

#: From the verdicts in force ``v`` of ``chosen`` runs. Accuracy has no part in a machine's noise.
NOISE = """
    count(*) FILTER (WHERE v.missing = 0) AS series, count(*) FILTER (WHERE v.missing > 0) AS silent,
    percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY v.baseline_noise) FILTER (WHERE v.missing = 0) AS noises,
    percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY v.smallest_detectable)
        FILTER (WHERE v.missing = 0) AS detectables,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY v.delta) FILTER (WHERE v.missing = 0) AS shift
"""
OF_LATENCIES = f"""
    JOIN series s ON s.id = v.series_id
    JOIN metrics me ON me.id = s.metric_id AND me.name = '{LATENCY.name}'
"""
IN_FORCE = f"""
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (f.series_id) f.series_id, f.baseline_noise, f.smallest_detectable, f.delta, f.missing
        FROM verdicts f WHERE f.run_id = c.id ORDER BY f.series_id, f.id DESC
        LIMIT greatest({FEWEST_SERIES}, :verdicts / greatest(1, (SELECT count(*) FROM chosen)))
    ) v
"""


def machines(connection: Connection) -> list[MachineRecord]:
    """Every machine that has a run, the one that measured last first."""
    query = """
        SELECT t.*, ma.key, ma.hostname, hw.digest AS hardware, hw.label AS hardware_label,
               gpu.uuid_digest, gpu.name AS gpu_name, gpu.vbios
        FROM (SELECT machine_id, count(*) AS runs, count(*) FILTER (WHERE state <> 'complete') AS incomplete,
                     min(started_at) AS first, max(started_at) AS newest FROM runs GROUP BY machine_id) t
        JOIN (SELECT DISTINCT ON (machine_id) machine_id, hardware_id, gpu_unit_id
              FROM runs ORDER BY machine_id, started_at DESC, id) now ON now.machine_id = t.machine_id
        JOIN machines ma ON ma.id = t.machine_id
        JOIN hardware hw ON hw.id = now.hardware_id
        LEFT JOIN gpu_units gpu ON gpu.id = now.gpu_unit_id
        ORDER BY t.newest DESC, ma.key
    """
    noises = _noises(connection)
    return [_record(row, noises.get((row["key"], row["hardware"]))) for row in _rows(connection, query)]


def hardware_spans(connection: Connection, key: str) -> list[HardwareSpan]:
    """Every Hardware and GPU unit that a machine measured on, the one in use last first."""
    query = """
        SELECT t.*, hw.digest, hw.label, hw.facts, gpu.uuid_digest, gpu.name AS gpu_name, gpu.vbios,
               (SELECT count(DISTINCT r.machine_id) - 1 FROM runs r WHERE r.hardware_id = t.hardware_id) AS others
        FROM (SELECT hardware_id, gpu_unit_id, count(*) AS runs, min(started_at) AS first, max(started_at) AS last
              FROM runs WHERE machine_id = (SELECT id FROM machines WHERE key = :key)
              GROUP BY hardware_id, gpu_unit_id) t
        JOIN hardware hw ON hw.id = t.hardware_id
        LEFT JOIN gpu_units gpu ON gpu.id = t.gpu_unit_id
        ORDER BY t.last DESC, hw.digest
    """
    noises = _noises(connection, key)
    return [_hardware_span(row, noises.get((key, row["digest"]))) for row in _rows(connection, query, key=key)]


def environment_spans(connection: Connection, key: str, *, limit: int = 200) -> list[EnvironmentSpan]:
    """The software that a machine ran, repository by repository as each brings its own, the last used first."""
    query = """
        SELECT t.*, repo.name AS repository, env.digest, env.facts
        FROM (
            SELECT repository_id, environment_id, min(started_at) AS first, max(started_at) AS last, count(*) AS runs
            FROM (
                SELECT repository_id, environment_id, started_at,
                       row_number() OVER (PARTITION BY repository_id ORDER BY started_at, id)
                       - row_number() OVER (PARTITION BY repository_id, environment_id ORDER BY started_at, id) AS stay
                FROM runs WHERE machine_id = (SELECT id FROM machines WHERE key = :key)
            ) stays
            GROUP BY repository_id, environment_id, stay ORDER BY max(started_at) DESC LIMIT :limit
        ) t
        JOIN repositories repo ON repo.id = t.repository_id
        JOIN environments env ON env.id = t.environment_id
        ORDER BY t.last DESC, repo.name
    """
    return [_environment_span(row) for row in _rows(connection, query, key=key, limit=limit)]


def noise_trend(connection: Connection, key: str) -> list[NoisePoint]:
    """The noise that some runs met, evenly spread over the machine's runs on each hardware, oldest first.

    Of each run the same first series, by their place in the store, so that a step is the machine's and not of other
    series.
    """
    query = f"""
        WITH spread AS (
            SELECT id, hardware_id, started_at,
                   ntile({TREND_RUNS}) OVER (PARTITION BY hardware_id ORDER BY started_at, id) AS part
            FROM runs WHERE machine_id = (SELECT id FROM machines WHERE key = :key) AND judged_at IS NOT NULL
        ), chosen AS MATERIALIZED (
            SELECT DISTINCT ON (hardware_id, part) * FROM spread ORDER BY hardware_id, part, started_at DESC
        )
        SELECT c.id AS run_id, c.started_at, hw.digest AS hardware, {NOISE}
        FROM chosen c {IN_FORCE} {OF_LATENCIES} JOIN hardware hw ON hw.id = c.hardware_id
        GROUP BY c.id, c.started_at, hw.digest ORDER BY c.started_at, c.id
    """
    rows = _rows(connection, query, key=key, verdicts=TREND_VERDICTS)
    return [NoisePoint(str(row["run_id"]), row["started_at"], row["hardware"], _noise(row)) for row in rows]


def controls(connection: Connection, key: str, newest: datetime) -> list[Control]:
    """Frozen code that a machine measured in the 90 days before ``newest``, its newest run, by benchmark and case."""
    results = _control_results(connection, {"key": key, "newest": newest, "since": newest - CONTROL_WINDOW})
    query = f"""
        SELECT s.id, {SERIES} FROM {SERIES_TABLES} WHERE s.id = ANY(:ids)
        ORDER BY b.name, c.axes::text, s.provider, m.name, s.digest
    """
    rows = _rows(connection, query, ids=list(results))
    return [_control(row, results[row["id"]]) for row in rows]


def _control_results(connection: Connection, bounds: Mapping[str, Any]) -> dict[int, list[RowMapping]]:
    """For each control its newest judged result and its flagged ones, oldest first."""
    query = f"""
        WITH mine AS MATERIALIZED (
            SELECT r.id, env.digest AS environment FROM runs r JOIN environments env ON env.id = r.environment_id
            WHERE r.machine_id = (SELECT id FROM machines WHERE key = :key) AND r.started_at >= :since
        ), frozen AS MATERIALIZED (
            SELECT s.id FROM benchmarks b JOIN cases c ON c.benchmark_id = b.id JOIN series s ON s.case_id = c.id
            WHERE b.is_control AND s.hardware_id IN (
                SELECT hardware_id FROM runs WHERE machine_id = (SELECT id FROM machines WHERE key = :key))
        ), judged AS (
            SELECT frozen.id AS series_id, x.run_id, x.started_at, x.environment, v.kind, v.reason, v.is_suspect,
                   v.delta, v.low, v.high, v.smallest_detectable, v.floor, v.baseline_level, v.baseline_noise,
                   v.baseline_count, v.missing, {FLAGGED} AS is_flagged
            FROM frozen CROSS JOIN LATERAL (
                SELECT m.run_id, m.started_at, mine.environment FROM measurements m JOIN mine ON mine.id = m.run_id
                WHERE m.series_id = frozen.id AND m.started_at BETWEEN :since AND :newest
                ORDER BY m.started_at DESC
                LIMIT greatest({FEWEST_RESULTS},
                               least({MOST_RESULTS}, {CONTROL_RESULTS} / (SELECT count(*) FROM frozen)))
            ) x CROSS JOIN LATERAL (
                SELECT * FROM verdicts f WHERE f.run_id = x.run_id AND f.series_id = frozen.id
                ORDER BY f.id DESC LIMIT 1
            ) v
        ), told AS (
            SELECT *, lag(environment) OVER line AS before, count(*) OVER (PARTITION BY series_id) AS results,
                   coalesce(lag(is_flagged) OVER line, false) AS follows,
                   coalesce(lead(is_flagged) OVER line, false) AS is_followed,
                   lead(run_id) OVER line IS NULL AS is_newest
            FROM judged WINDOW line AS (PARTITION BY series_id ORDER BY started_at, run_id)
        )
        SELECT * FROM told WHERE is_flagged OR is_newest ORDER BY series_id, started_at, run_id
    """
    rows = _rows(connection, query, **bounds)
    return {number: list(group) for number, group in groupby(rows, key=lambda row: row["series_id"])}


def _noises(connection: Connection, key: str | None = None) -> dict[tuple[str, str], MachineNoise]:
    """By machine and hardware: of each series the verdict in force of the newest of the last few runs."""
    query = f"""
        WITH aged AS (
            SELECT r.id, r.machine_id, r.hardware_id,
                   row_number() OVER (PARTITION BY r.machine_id, r.hardware_id ORDER BY r.started_at DESC, r.id) AS age
            FROM runs r WHERE r.judged_at IS NOT NULL
              AND (CAST(:key AS text) IS NULL OR r.machine_id = (SELECT id FROM machines WHERE key = :key))
        ), chosen AS MATERIALIZED (
            SELECT * FROM aged WHERE age <= {NEWEST_RUNS}
        ), newest AS (
            SELECT DISTINCT ON (c.machine_id, c.hardware_id, v.series_id) c.machine_id, c.hardware_id AS own, v.*
            FROM chosen c {IN_FORCE} ORDER BY c.machine_id, c.hardware_id, v.series_id, c.age
        )
        SELECT ma.key, hw.digest AS hardware, {NOISE}
        FROM newest v {OF_LATENCIES}
        JOIN machines ma ON ma.id = v.machine_id JOIN hardware hw ON hw.id = v.own
        GROUP BY ma.key, hw.digest
    """
    rows = _rows(connection, query, key=key, verdicts=NEWEST_VERDICTS)
    return {(row["key"], row["hardware"]): _noise(row) for row in rows}


def _noise(row: RowMapping) -> MachineNoise:
    median, high = row["noises"] or (None, None)
    detectable, detectable_high = row["detectables"] or (None, None)
    return MachineNoise(row["series"], row["silent"], median, high, detectable, detectable_high, row["shift"])


def _record(row: RowMapping, noise: MachineNoise | None) -> MachineRecord:
    return MachineRecord(
        machine=Machine(row["key"], row["hostname"], _gpu(row)),
        hardware=row["hardware"],
        hardware_label=row["hardware_label"],
        first=row["first"],
        newest=row["newest"],
        runs=row["runs"],
        incomplete=row["incomplete"],
        noise=noise,
    )


def _hardware_span(row: RowMapping, noise: MachineNoise | None) -> HardwareSpan:
    return HardwareSpan(
        hardware=Hardware.of(**row["facts"]),
        digest=row["digest"],
        label=row["label"],
        gpu=_gpu(row),
        first=row["first"],
        last=row["last"],
        runs=row["runs"],
        noise=noise,
        others=row["others"],
    )


def _gpu(row: RowMapping) -> GpuUnit | None:
    return GpuUnit(row["uuid_digest"], row["gpu_name"], row["vbios"]) if row["uuid_digest"] else None


def _environment_span(row: RowMapping) -> EnvironmentSpan:
    environment = Environment.of(**row["facts"])
    return EnvironmentSpan(row["repository"], row["digest"], environment, row["first"], row["last"], row["runs"])


def _control(series: RowMapping, rows: Sequence[RowMapping]) -> Control:
    results = [_control_result(row) for row in rows]
    flagged = tuple(result for result in results if result.is_flagged)
    return Control(series_of(series), rows[-1]["results"], results[-1], flagged)


def _control_result(row: RowMapping) -> ControlResult:
    return ControlResult(
        run_id=str(row["run_id"]),
        started_at=row["started_at"],
        verdict=judged_verdict_of(row),
        environment=row["environment"],
        before=row["before"],
        follows=row["follows"],
        is_followed=row["is_followed"],
    )


def _rows(connection: Connection, query: str, **values: Any) -> Sequence[RowMapping]:  # noqa: ANN401 - bind values
    return connection.execute(text(query), values).mappings().all()
