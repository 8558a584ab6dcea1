"""Identities: what runs refer to (repositories, commits, machines, cases, series, ...) found or added, never doubled.

Rows of one table are written in sorted order, and tables in one order, so no two writers wait for each other in a ring.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from perfdb.domain.commit import Commit
from perfdb.domain.run import CaseResult, Measurement, Run, RunHeader
from perfdb.domain.series import SERIES_KEY_VERSION, SeriesKey
from perfdb.store import schema

Row = Mapping[str, Any]
CaseKey = tuple[int, str]
#: PostgreSQL takes 65,535 parameters a statement.
ROWS_A_STATEMENT = 2000


def repository_id(connection: Connection, name: str) -> int:
    """The repository, added when it is new."""
    return _one(connection, schema.repositories, {"name": name}, ("name",))


def header_ids(connection: Connection, head: RunHeader, repository: int) -> dict[str, int | None]:
    """The columns of ``runs`` that point elsewhere, commits aside."""
    machine = {"key": head.machine.key, "hostname": head.machine.hostname}
    hardware = {
        "digest": head.hardware.digest,
        "label": head.hardware.label,
        "facts": dict(head.hardware.facts),
    }
    environment = {"digest": head.environment.digest, "facts": dict(head.environment.facts)}
    return {
        "repository_id": repository,
        "suite_id": _one(connection, schema.suites, {"name": head.suite}, ("name",)),
        "machine_id": _one(connection, schema.machines, machine, ("key",), renew=("hostname",)),
        "gpu_unit_id": _gpu_id(connection, head),
        "hardware_id": _one(connection, schema.hardware, hardware, ("digest",)),
        "environment_id": _one(connection, schema.environments, environment, ("digest",)),
    }


def commit_ids(connection: Connection, head: RunHeader, repository: int) -> dict[str, int]:
    """Every commit that the run names, by SHA; a place on the branch that was unknown so far is filled in."""
    known = {commit.sha: commit for commit in head.commits}
    if head.code.commit:
        known[head.code.commit.sha] = head.code.commit
    if not known:
        return {}
    rows = [_commit_row(commit, repository) for commit in known.values()]
    table = schema.commits
    for part in _parts(_sorted(rows, ("repository_id", "sha"))):
        adding = insert(table).values(part)
        better = func.coalesce(table.c.position, adding.excluded.position)
        connection.execute(
            adding.on_conflict_do_update(
                index_elements=("repository_id", "sha"),
                set_={"position": better, "parents": adding.excluded.parents},
                where=table.c.position.is_(None) & adding.excluded.position.is_not(None),
            )
        )
    return {sha: number for (_, sha), number in _read(connection, table, rows, ("repository_id", "sha")).items()}


def case_ids(connection: Connection, results: Iterable[CaseResult], repository: int) -> dict[tuple[str, str], int]:
    """Benchmarks and cases of ``results``, by benchmark name and case digest."""
    results = tuple(results)
    named = {
        r.benchmark: {"repository_id": repository, "name": r.benchmark, "module": r.module, "is_control": r.is_control}
        for r in results
    }
    benchmarks = _many(
        connection, schema.benchmarks, named.values(), ("repository_id", "name"), renew=("module", "is_control")
    )
    rows: dict[CaseKey, Row] = {}
    for r in results:
        owner = benchmarks[repository, r.benchmark]
        rows[owner, r.case.digest] = {
            "benchmark_id": owner,
            "digest": r.case.digest,
            "axes": dict(r.case.axes),
            "flops": r.cost.flops if r.cost else None,
            "bytes_moved": r.cost.bytes_moved if r.cost else None,
        }
    cases = _many(connection, schema.cases, rows.values(), ("benchmark_id", "digest"), renew=("flops", "bytes_moved"))
    return {(r.benchmark, r.case.digest): cases[benchmarks[repository, r.benchmark], r.case.digest] for r in results}


def series_ids(
    connection: Connection,
    run: Run,
    measured: Sequence[Measurement],
    cases: Mapping[tuple[str, str], int],
    pointers: Mapping[str, int | None],
) -> dict[SeriesKey, int]:
    """The series of ``measured``, by key."""
    metrics = _many(
        connection,
        schema.metrics,
        [{"name": m.metric.name, "unit": m.metric.unit, "better": m.metric.better.value} for m in measured],
        ("name", "unit", "better"),
    )
    floors = {(r.benchmark, r.provider, r.case): r.floor for r in run.results}
    rows = {}
    for m in measured:
        key = m.series
        rows[key] = {
            "digest": key.digest,
            "key_version": SERIES_KEY_VERSION,
            "key": key.named_fields(),
            "repository_id": pointers["repository_id"],
            "case_id": cases[key.benchmark, key.case.digest],
            "provider": key.provider,
            "protocol": key.protocol,
            "protocol_version": key.protocol_version,
            "metric_id": metrics[m.metric.name, m.metric.unit, m.metric.better.value],
            "hardware_id": pointers["hardware_id"],
            "floor": floors[key.benchmark, key.provider, key.case],
        }
    found = _many(connection, schema.series, rows.values(), ("digest",), renew=("floor",))
    return {key: found[(row["digest"],)] for key, row in rows.items()}


def _gpu_id(connection: Connection, head: RunHeader) -> int | None:
    gpu = head.machine.gpu
    if gpu is None:
        return None
    row = {"uuid_digest": gpu.uuid_digest, "name": gpu.name, "vbios": gpu.vbios}
    return _one(connection, schema.gpu_units, row, ("uuid_digest",), renew=("vbios",))


def _commit_row(commit: Commit, repository: int) -> Row:
    return {
        "repository_id": repository,
        "sha": commit.sha,
        "position": commit.position,
        "parents": list(commit.parents),
        "committed_at": commit.committed_at,
        "subject": commit.subject,
    }


def _one(connection: Connection, table: Table, row: Row, key: Sequence[str], renew: Sequence[str] = ()) -> int:
    return _many(connection, table, [row], key, renew)[tuple(row[name] for name in key)]


def _many(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], renew: Sequence[str] = ()
) -> dict[tuple[Any, ...], int]:
    """Ids by key; missing rows are added, and columns named in ``renew`` take a new value that is known."""
    unique = {tuple(row[name] for name in key): row for row in rows}
    for part in _parts(_sorted(unique.values(), key)):
        adding = insert(table).values(part)
        if renew:
            statement = adding.on_conflict_do_update(
                index_elements=key,
                set_={name: func.coalesce(adding.excluded[name], table.c[name]) for name in renew},
                where=or_(*(_is_news(adding.excluded[name], table.c[name]) for name in renew)),
            )
        else:
            statement = adding.on_conflict_do_nothing(index_elements=key)
        connection.execute(statement)
    return _read(connection, table, unique.values(), key)


def _is_news(new: ColumnElement[Any], old: ColumnElement[Any]) -> ColumnElement[bool]:
    return new.is_not(None) & new.is_distinct_from(old)


def _read(connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str]) -> dict[tuple[Any, ...], int]:
    columns = [table.c[name] for name in key]
    ids: dict[tuple[Any, ...], int] = {}
    for part in _parts(list(rows)):
        wanted = tuple_(*columns).in_([tuple(row[name] for name in key) for row in part])
        for found in connection.execute(select(table.c.id, *columns).where(wanted)):
            ids[tuple(found[1:])] = found[0]
    return ids


def _sorted(rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple(str(row[name]) for name in key))


def _parts(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
    return (rows[start : start + ROWS_A_STATEMENT] for start in range(0, len(rows), ROWS_A_STATEMENT))
