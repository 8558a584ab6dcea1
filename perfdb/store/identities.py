"""Identities: what runs refer to (repositories, commits, machines, cases, series, ...) found or added, never doubled.

Rows of one table are written in sorted order, and tables in one order, so no two writers wait for each other in a ring.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, Text, and_, cast, column, func, literal, or_, select
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert
from sqlalchemy.sql.selectable import TableValuedAlias

from perfdb.domain.commit import Commit
from perfdb.domain.metric import Metric
from perfdb.domain.run import CaseResult, RunHeader
from perfdb.domain.series import SERIES_KEY_VERSION, SeriesKey
from perfdb.store import schema

Row = Mapping[str, Any]
CaseKey = tuple[int, str]
#: Half a megabyte of JSON; 200 MB, of the 256 that PostgreSQL takes, where every name is as long as may be.
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
        adding = _inserted(table, part)
        connection.execute(
            adding.on_conflict_do_update(
                index_elements=("repository_id", "sha"),
                set_={"position": adding.excluded.position, "parents": adding.excluded.parents},
                where=table.c.position.is_(None) & adding.excluded.position.is_not(None),
            )
        )
    return {sha: number for (_, sha), number in _read(connection, table, rows, ("repository_id", "sha")).items()}


def case_ids(
    connection: Connection, results: Iterable[CaseResult], benchmarks: Mapping[str, int]
) -> dict[tuple[int, str], int]:
    """The cases of ``results``, by the benchmark's id, which ``benchmarks`` gives by name, and the case's digest."""
    rows: dict[CaseKey, Row] = {}
    for r in results:
        owner = benchmarks[r.benchmark]
        rows[owner, r.case.digest] = {
            "benchmark_id": owner,
            "digest": r.case.digest,
            "axes": dict(r.case.axes),
            "flops": r.cost.flops if r.cost else None,
            "bytes_moved": r.cost.bytes_moved if r.cost else None,
        }
    found = many(connection, schema.cases, rows.values(), ("benchmark_id", "digest"), renew=("flops", "bytes_moved"))
    return {(owner, digest): number for (owner, digest), number in found.items()}


@dataclass(frozen=True, slots=True)
class NewSeries:
    """A series that is new, or whose ``floor`` is (None leaves the known one). ``case`` is an id of the store."""

    key: SeriesKey
    case: int
    metric: Metric
    floor: float | None


def add_series(
    connection: Connection,
    wanted: Iterable[NewSeries],
    repository: int,
    hardware: int,
) -> None:
    """Add the series that are not there, and take their floors."""
    wanted = list(wanted)
    rows = [{"name": w.metric.name, "unit": w.metric.unit, "better": w.metric.better.value} for w in wanted]
    metrics = many(connection, schema.metrics, rows, ("name", "unit", "better"))
    series = [
        {
            "digest": w.key.digest,
            "key_version": SERIES_KEY_VERSION,
            "key": w.key.named_fields(),
            "repository_id": repository,
            "case_id": w.case,
            "provider": w.key.provider,
            "protocol": w.key.protocol,
            "protocol_version": w.key.protocol_version,
            "metric_id": metrics[w.metric.name, w.metric.unit, w.metric.better.value],
            "hardware_id": hardware,
            "floor": w.floor,
        }
        for w in wanted
    ]
    _add(connection, schema.series, series, ("digest",), renew=("floor",))


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
    return many(connection, table, [row], key, renew)[tuple(row[name] for name in key)]


def many(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], renew: Sequence[str] = ()
) -> dict[tuple[Any, ...], int]:
    """Ids by key; missing rows are added, and columns named in ``renew`` take a new value that is known."""
    rows = list(rows)
    _add(connection, table, rows, key, renew)
    return _read(connection, table, rows, key)


def _add(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], renew: Sequence[str] = ()
) -> None:
    unique = {tuple(row[name] for name in key): row for row in rows}
    for part in _parts(_sorted(unique.values(), key)):
        adding = _inserted(table, part)
        if renew:
            statement = adding.on_conflict_do_update(
                index_elements=key,
                set_={name: func.coalesce(adding.excluded[name], table.c[name]) for name in renew},
                where=or_(*(_is_news(adding.excluded[name], table.c[name]) for name in renew)),
            )
        else:
            statement = adding.on_conflict_do_nothing(index_elements=key)
        connection.execute(statement)


def _inserted(table: Table, rows: Sequence[Row]) -> Insert:
    names = list(rows[0])
    return insert(table).from_select(names, select(_recordset(table, names, rows)))


def _is_news(new: ColumnElement[Any], old: ColumnElement[Any]) -> ColumnElement[bool]:
    return new.is_not(None) & new.is_distinct_from(old)


def _read(connection: Connection, table: Table, rows: Sequence[Row], key: Sequence[str]) -> dict[tuple[Any, ...], int]:
    ids: dict[tuple[Any, ...], int] = {}
    for part in _parts(rows):
        wanted = _recordset(table, key, [{name: row[name] for name in key} for row in part])
        same = and_(*(table.c[name] == wanted.c[name] for name in key))
        query = select(table.c.id, *(table.c[name] for name in key)).join(wanted, same)
        ids.update({tuple(found[1:]): found[0] for found in connection.execute(query)})
    return ids


def _recordset(table: Table, names: Sequence[str], rows: Sequence[Row]) -> TableValuedAlias:
    """Rows as one JSON value that PostgreSQL takes apart: one parameter however many there are."""
    columns = [column(name, table.c[name].type) for name in names]
    whole = cast(literal(msgspec.json.encode(rows).decode(), Text), JSONB)
    return func.jsonb_to_recordset(whole).table_valued(*columns).render_derived(name="given", with_types=True)


def _sorted(rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple(str(row[name]) for name in key))


def _parts(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
    return (rows[start : start + ROWS_A_STATEMENT] for start in range(0, len(rows), ROWS_A_STATEMENT))
