"""Ingest: one run into the store in the caller's transaction; the same run twice changes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Connection as PsycopgConnection
from psycopg import sql
from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects.postgresql import insert

from perfdb.domain.run import CaseResult, Measurement, Run, RunState
from perfdb.domain.series import SeriesKey
from perfdb.store import identities, schema
from perfdb.store.partitions import ensure_month

MEASUREMENT_COLUMNS = {
    "series_id": "int8",
    "started_at": "timestamptz",
    "run_id": "uuid",
    "commit_id": "int8",
    "value": "float8",
    "process_values": "float8[]",
}
SAMPLE_COLUMNS = {
    "series_id": "int8",
    "started_at": "timestamptz",
    "run_id": "uuid",
    "process": "int2",
    "values": "float4[]",
}
OUTCOME_COLUMNS = {
    "run_id": "uuid",
    "case_id": "int8",
    "provider": "text",
    "process": "int2",
    "outcome": "text",
    "ended_at": "timestamptz",
    "detail": "text",
    "first_call_s": "float8",
}


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one run brought; ``is_changed`` is False when the store had it already."""

    run_id: str
    state: RunState
    is_changed: bool
    measurements: int = 0
    outcomes: int = 0


def ingest_run(connection: Connection, run: Run) -> IngestReport:
    """Store a run, or complete one that was INCOMPLETE; a copy with less than the store has changes nothing.

    The lock on the repository comes first: two ingests of one repository go one after the other, so they see each
    other's runs when they judge, and cannot collide.
    """
    lock_repository(connection, run.header.code.repository)
    if not _brings_more(connection, run):
        return IngestReport(run.header.run_id, run.state, is_changed=False)
    repository = identities.repository_id(connection, run.header.code.repository)
    pointers = identities.header_ids(connection, run.header, repository)
    commits = identities.commit_ids(connection, run.header, repository)
    cases = identities.case_ids(connection, run.results, repository)
    measured = run.measurements()
    series = identities.series_ids(connection, run, measured, cases, pointers)
    commit = commits[run.header.code.commit.sha] if run.header.code.commit else None
    _write_run(connection, run, {**pointers, "commit_id": commit})
    _clear(connection, run)
    _copy_all(connection, run, measured, series, cases, commit)
    return IngestReport(run.header.run_id, run.state, True, len(measured), len(run.results))


def lock_repository(connection: Connection, name: str) -> None:
    """Wait until no other transaction ingests or judges this repository; held until the transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 7))"), {"name": name})


def _brings_more(connection: Connection, run: Run) -> bool:
    runs = schema.runs
    wanted = select(runs.c.state, runs.c.results).where(runs.c.id == UUID(run.header.run_id))
    stored = connection.execute(wanted).one_or_none()
    if stored is None:
        return True
    if stored.state == RunState.COMPLETE:
        return False
    return len(run.results) > stored.results or (run.state is RunState.COMPLETE and len(run.results) >= stored.results)


def _write_run(connection: Connection, run: Run, pointers: Mapping[str, int | None]) -> None:
    head = run.header
    row = {
        "id": UUID(head.run_id),
        **pointers,
        "state": run.state.value,
        "code_state": head.code.state.value,
        "difference": head.code.difference,
        "branch": head.code.branch,
        "started_at": head.started_at,
        "finished_at": run.finished_at,
        "processes": head.processes,
        "seed": head.seed,
        "results": len(run.results),
        "perfdb_version": head.perfdb_version,
    }
    renewed = {name: row[name] for name in ("state", "finished_at", "results")}
    adding = insert(schema.runs).values(row)
    connection.execute(adding.on_conflict_do_update(index_elements=("id",), set_=renewed))


def _clear(connection: Connection, run: Run) -> None:
    """Remove what an INCOMPLETE copy of the run brought; the new copy holds it all."""
    run_id = UUID(run.header.run_id)
    for table in (schema.measurements, schema.samples):
        same = (table.c.run_id == run_id) & (table.c.started_at == run.header.started_at)
        ensure_month(connection, run.header.started_at)
        connection.execute(delete(table).where(same))
    connection.execute(delete(schema.outcomes).where(schema.outcomes.c.run_id == run_id))


def _copy_all(
    connection: Connection,
    run: Run,
    measured: Sequence[Measurement],
    series: Mapping[SeriesKey, int],
    cases: Mapping[tuple[str, str], int],
    commit: int | None,
) -> None:
    raw = connection.connection.driver_connection
    assert isinstance(raw, PsycopgConnection)
    run_id, started = UUID(run.header.run_id), run.header.started_at
    values = ((series[m.series], started, run_id, commit, m.value, list(m.process_values)) for m in measured)
    taken = (
        (series[m.series], started, run_id, process, list(samples))
        for m in measured
        for process, samples in enumerate(m.samples)
        if samples
    )
    ended = (_outcome_row(run_id, cases, result) for result in _last_of_each(run.results))
    _copy(raw, "measurements", MEASUREMENT_COLUMNS, values)
    _copy(raw, "samples", SAMPLE_COLUMNS, taken)
    _copy(raw, "outcomes", OUTCOME_COLUMNS, ended)


def _outcome_row(run_id: UUID, cases: Mapping[tuple[str, str], int], r: CaseResult) -> tuple[Any, ...]:
    case = cases[r.benchmark, r.case.digest]
    return (run_id, case, r.provider, r.process, r.outcome.value, r.ended_at, r.detail, r.first_call_s)


def _last_of_each(results: Iterable[CaseResult]) -> Iterable[CaseResult]:
    """One result a case, provider and process: the last one written."""
    return {(r.benchmark, r.case, r.provider, r.process): r for r in results}.values()


def _copy(raw: PsycopgConnection[Any], table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with raw.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
