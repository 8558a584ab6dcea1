"""Runs: what was executed, at a glance, and how its cases ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.history import CaseOutcome, RunSummary
from perfdb.domain.run import RunState
from perfdb.domain.verdict import VerdictKind
from perfdb.errors import SelectionError
from perfdb.store.rows import case_of, commit_of

#: A case counts once, by its worst outcome over processes; only MEASURED in every process is measured.
SUMMARY = """
    SELECT r.id, repo.name AS repository, su.name AS suite, r.state, r.code_state, r.branch, r.started_at,
           r.finished_at, ma.hostname, ma.key AS machine, hw.digest AS hardware, hw.label AS hardware_label,
           env.digest AS environment, co.sha, co.parents, co.position, co.committed_at, co.subject,
           o.outcomes, v.verdicts, v.suspects
    FROM runs r
    JOIN repositories repo ON repo.id = r.repository_id
    JOIN suites su ON su.id = r.suite_id
    JOIN machines ma ON ma.id = r.machine_id
    JOIN hardware hw ON hw.id = r.hardware_id
    JOIN environments env ON env.id = r.environment_id
    LEFT JOIN commits co ON co.id = r.commit_id
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(outcome, many) AS outcomes FROM (
            SELECT outcome, count(*) AS many FROM (
                SELECT DISTINCT ON (case_id, provider) outcome FROM outcomes
                WHERE run_id = r.id ORDER BY case_id, provider, outcome = 'measured'
            ) worst GROUP BY outcome
        ) counted
    ) o ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(kind, many) AS verdicts, sum(suspects) AS suspects FROM (
            SELECT kind, count(*) AS many, count(*) FILTER (WHERE is_suspect) AS suspects FROM (
                SELECT DISTINCT ON (series_id) kind, is_suspect FROM verdicts
                WHERE run_id = r.id ORDER BY series_id, id DESC
            ) in_force GROUP BY kind
        ) counted
    ) v ON true
"""
LATEST = "latest"
#: Which runs are looked at; None leaves a part open.
Scope = Mapping[str, str | None]
EVERYTHING: Scope = {"repository": None, "suite": None, "hardware": None}
IN_SCOPE = """
    (CAST(:repository AS text) IS NULL OR repo.name = :repository)
    AND (CAST(:suite AS text) IS NULL OR su.name = :suite)
    AND (CAST(:hardware AS text) IS NULL OR hw.digest = :hardware)
"""
#: Of run ids and SHAs.
PREFIX_CHARACTERS = set("0123456789abcdef-")


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """How much the store holds; ``newest_run`` is None while it is empty."""

    runs: int
    series: int
    measurements: int
    newest_run: datetime | None


def recent_runs(connection: Connection, *, repository: str | None = None, limit: int = 50) -> list[RunSummary]:
    """Runs, newest first."""
    query = f"""
        {SUMMARY} WHERE CAST(:repository AS text) IS NULL OR repo.name = :repository
        ORDER BY r.started_at DESC, r.id LIMIT :limit
    """
    return [_summary(row) for row in _rows(connection, query, repository=repository, limit=limit)]


def find_run(
    connection: Connection, wanted: str, *, repository: str | None = None, like: RunSummary | None = None
) -> RunSummary:
    """The run that BASE or HEAD names: ``latest``, ``latest~N``, a run id's prefix, or a SHA's prefix (its newest run).

    Only complete runs count for ``latest`` and SHAs; with ``like``, those of its repository, suite and hardware come
    first, and ``latest`` means them alone. Raises ``SelectionError`` when none matches, or several ids do.
    """
    scope = {
        "repository": like.repository if like else repository,
        "suite": like.suite if like else None,
        "hardware": like.hardware if like else None,
    }
    if wanted == LATEST or wanted.startswith(f"{LATEST}~"):
        return _latest(connection, wanted, scope)
    by_id = _matching(connection, "r.id::text LIKE :prefix", wanted, EVERYTHING)
    if len(by_id) > 1:
        ids = ", ".join(run.run_id for run in by_id[:5])
        raise SelectionError(f"{wanted!r} names {len(by_id)} runs: {ids}; write more of it")
    of_commit = "co.sha LIKE :prefix AND r.state = 'complete'"
    found = by_id or _matching(connection, of_commit, wanted, scope)
    found = found or _matching(connection, of_commit, wanted, EVERYTHING)
    if not found:
        known = recent_runs(connection, repository=scope["repository"], limit=200)
        raise SelectionError.no_match("run", wanted, (run.run_id[:8] for run in known), "perfdb list runs")
    return found[0]


def run_outcomes(connection: Connection, run_id: str) -> list[CaseOutcome]:
    """How every case of a run ended, process by process."""
    query = f"{_OUTCOMES} WHERE o.run_id = :run_id ORDER BY b.name, c.axes::text, o.provider, o.process"
    return [_outcome(row) for row in _rows(connection, query, run_id=UUID(run_id))]


def failures(connection: Connection, *, repository: str | None = None, limit: int = 50) -> list[CaseOutcome]:
    """Cases that were not measured, newest runs first."""
    query = f"""
        {_OUTCOMES} WHERE o.outcome <> 'measured'
          AND (CAST(:repository AS text) IS NULL OR repo.name = :repository)
        ORDER BY r.started_at DESC, b.name, c.axes::text, o.provider, o.process LIMIT :limit
    """
    return [_outcome(row) for row in _rows(connection, query, repository=repository, limit=limit)]


def repositories(connection: Connection) -> list[str]:
    """Every repository's name."""
    return [row["name"] for row in _rows(connection, "SELECT name FROM repositories ORDER BY name")]


def complete_shas(connection: Connection, repository: str, suite: str, hardware: str | None = None) -> set[str]:
    """Commits that a complete run of ``suite`` measured (on this hardware), without uncommitted changes."""
    query = """
        SELECT DISTINCT co.sha FROM runs r JOIN commits co ON co.id = r.commit_id
        JOIN repositories repo ON repo.id = r.repository_id JOIN suites su ON su.id = r.suite_id
        JOIN hardware hw ON hw.id = r.hardware_id
        WHERE repo.name = :repository AND su.name = :suite AND r.state = 'complete' AND r.code_state = 'committed'
          AND (CAST(:hardware AS text) IS NULL OR hw.digest = :hardware)
    """
    return {row["sha"] for row in _rows(connection, query, repository=repository, suite=suite, hardware=hardware)}


def summary_counts(connection: Connection) -> StoreCounts:
    """How much the store holds."""
    query = """
        SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM series) AS series,
               (SELECT count(*) FROM measurements) AS measurements, (SELECT max(started_at) FROM runs) AS newest_run
    """
    return StoreCounts(**_rows(connection, query)[0])


_OUTCOMES = """
    SELECT o.run_id, b.name AS benchmark, c.axes, o.provider, o.process, o.outcome, o.detail
    FROM outcomes o
    JOIN runs r ON r.id = o.run_id
    JOIN repositories repo ON repo.id = r.repository_id
    JOIN cases c ON c.id = o.case_id
    JOIN benchmarks b ON b.id = c.benchmark_id
"""


def _latest(connection: Connection, wanted: str, scope: Scope) -> RunSummary:
    back = wanted.removeprefix(LATEST).removeprefix("~") or "0"
    if not back.isdecimal():
        raise SelectionError(f"{wanted!r} is no run: write latest, or latest~1 for the one before")
    query = f"""
        {SUMMARY} WHERE r.state = 'complete' AND {IN_SCOPE} ORDER BY r.started_at DESC, r.id LIMIT 1 OFFSET :back
    """
    found = _rows(connection, query, back=int(back[:9]), **scope)
    if not found:
        raise SelectionError(
            f"there is no run {wanted}: the store holds too few complete runs; measure one with: perfdb run smoke"
        )
    return _summary(found[0])


def _matching(connection: Connection, condition: str, wanted: str, scope: Scope) -> list[RunSummary]:
    if not set(wanted) <= PREFIX_CHARACTERS or not wanted:
        return []
    query = f"{SUMMARY} WHERE {condition} AND {IN_SCOPE} ORDER BY r.started_at DESC, r.id LIMIT 20"
    return [_summary(row) for row in _rows(connection, query, prefix=f"{wanted}%", **scope)]


def _summary(row: RowMapping) -> RunSummary:
    return RunSummary(
        run_id=str(row["id"]),
        repository=row["repository"],
        suite=row["suite"],
        state=RunState(row["state"]),
        code_state=CodeState(row["code_state"]),
        commit=commit_of(row),
        branch=row["branch"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        hostname=row["hostname"],
        hardware=row["hardware"],
        hardware_label=row["hardware_label"],
        environment=row["environment"],
        outcomes={Outcome(name): many for name, many in _counts(row["outcomes"]).items()},
        verdicts={VerdictKind(name): many for name, many in _counts(row["verdicts"]).items()},
        suspects=int(row["suspects"] or 0),
        machine=row["machine"],
    )


def _counts(value: Mapping[str, int] | None) -> Mapping[str, int]:
    return value or {}


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


def _rows(connection: Connection, query: str, **values: Any) -> Sequence[RowMapping]:  # noqa: ANN401 - bind values
    return connection.execute(text(query), values).mappings().all()
