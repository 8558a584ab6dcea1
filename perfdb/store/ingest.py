"""Ingest: one run into the store in the caller's transaction; the same run twice changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, delete, select, text, update
from sqlalchemy.dialects.postgresql import insert

from perfdb.domain.run import RunHeader, RunSource, RunState, state_of
from perfdb.store import identities, schema
from perfdb.store.intake import Intake, RunIds
from perfdb.store.partitions import ensure_month
from perfdb.store.refusals import refused


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one run brought; ``is_changed`` is False when the store had it already.

    ``repeated`` results said again what was said before of the same case, provider and process, and were left out.
    """

    run_id: str
    state: RunState
    is_changed: bool
    measurements: int = 0
    outcomes: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What the store has of a run."""

    state: RunState
    results: int


def ingest_run(connection: Connection, run: RunSource) -> IngestReport:
    """Store a run, or complete one that was INCOMPLETE; a copy with less than the store has changes nothing.

    The lock on the repository comes first: two ingests of one repository go one after the other, so they see each
    other's runs when they judge, and cannot collide. Raises ``SpoolError`` when a file cannot be read to its end, and
    ``RefusedRunError`` when the store cannot hold what it says.
    """
    with refused(run.header.run_id):
        return _ingest(connection, run)


def _ingest(connection: Connection, run: RunSource) -> IngestReport:
    head = run.header
    lock_repository(connection, head.code.repository)
    stored = _stored(connection, head.run_id)
    if stored is not None and not _brings_more(run, stored):
        return IngestReport(head.run_id, stored.state, is_changed=False)
    repository = identities.repository_id(connection, head.code.repository)
    pointers = identities.header_ids(connection, head, repository)
    commits = identities.commit_ids(connection, head, repository)
    commit = commits[head.code.commit.sha] if head.code.commit else None
    _open_run(connection, head, {**pointers, "commit_id": commit})
    ensure_month(connection, head.started_at)
    if stored is not None:
        _clear(connection, head)
    hardware = pointers["hardware_id"]
    assert hardware is not None
    intake = Intake(connection, head, RunIds(repository, hardware, commit))
    measurements = intake.take(run.results)
    _close_run(connection, run, intake.results)
    return IngestReport(head.run_id, state_of(run), True, measurements, intake.results, intake.repeated)


def lock_repository(connection: Connection, name: str) -> None:
    """Wait until no other transaction ingests or judges this repository; held until the transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 7))"), {"name": name})


def _stored(connection: Connection, run_id: str) -> StoredRun | None:
    runs = schema.runs
    row = connection.execute(select(runs.c.state, runs.c.results).where(runs.c.id == UUID(run_id))).one_or_none()
    return None if row is None else StoredRun(RunState(row.state), row.results)


def _brings_more(run: RunSource, stored: StoredRun) -> bool:
    if stored.state is RunState.COMPLETE:
        return False
    results = sum(1 for _ in run.results)
    return results > stored.results or (state_of(run) is RunState.COMPLETE and results >= stored.results)


def _open_run(connection: Connection, head: RunHeader, pointers: Mapping[str, int | None]) -> None:
    row = {
        "id": UUID(head.run_id),
        **pointers,
        "state": RunState.INCOMPLETE.value,
        "code_state": head.code.state.value,
        "difference": head.code.difference,
        "branch": head.code.branch,
        "started_at": head.started_at,
        "finished_at": None,
        "processes": head.processes,
        "seed": head.seed,
        "results": 0,
        "perfdb_version": head.perfdb_version,
    }
    connection.execute(insert(schema.runs).values(row).on_conflict_do_nothing(index_elements=("id",)))


def _close_run(connection: Connection, run: RunSource, results: int) -> None:
    """Say how the run ended; of a file that is known only now."""
    said = {"state": state_of(run).value, "finished_at": run.finished_at, "results": results}
    runs = schema.runs
    connection.execute(update(runs).where(runs.c.id == UUID(run.header.run_id)).values(said))


def _clear(connection: Connection, head: RunHeader) -> None:
    """Remove what an INCOMPLETE copy of the run brought; the new copy holds it all."""
    run_id = UUID(head.run_id)
    for table in (schema.measurements, schema.samples):
        connection.execute(delete(table).where((table.c.run_id == run_id) & (table.c.started_at == head.started_at)))
    connection.execute(delete(schema.outcomes).where(schema.outcomes.c.run_id == run_id))
