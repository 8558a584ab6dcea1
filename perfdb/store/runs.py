"""Runs: what was executed, at a glance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.history import RunSummary
from perfdb.domain.run import RunState
from perfdb.domain.verdict import VerdictKind
from perfdb.errors import SelectionError
from perfdb.store.choices import branches, run_choices
from perfdb.store.rows import commit_of
from perfdb.store.sizes import row_count

#: Runs are chosen first and then looked into. A case counts once, by its worst outcome over processes; only MEASURED in
#: every process is measured.
SUMMARY = """
    SELECT r.*, o.outcomes, v.verdicts, v.suspects
    FROM (
        SELECT r.id, repo.name AS repository, su.name AS suite, r.state, r.code_state, r.branch, r.started_at,
               r.finished_at, ma.key AS machine, ma.hostname, hw.digest AS hardware, hw.label AS hardware_label,
               env.digest AS environment,
               co.sha, co.parents, co.position, co.committed_at, co.subject
        FROM runs r
        JOIN repositories repo ON repo.id = r.repository_id
        JOIN suites su ON su.id = r.suite_id
        JOIN machines ma ON ma.id = r.machine_id
        JOIN hardware hw ON hw.id = r.hardware_id
        JOIN environments env ON env.id = r.environment_id
        LEFT JOIN commits co ON co.id = r.commit_id
        WHERE {condition}
        ORDER BY r.started_at DESC, r.id LIMIT {limit} OFFSET {offset}
    ) r
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
    ORDER BY r.started_at DESC, r.id
"""
LATEST = "latest"
COMPLETE = "r.state = 'complete'"
#: Which runs are looked at; None leaves a part open.
Scope = Mapping[str, str | None]
EVERYTHING: Scope = {"repository": None, "suite": None, "hardware": None, "hostname": None}
IN_SCOPE = """
    (CAST(:repository AS text) IS NULL OR repo.name = :repository)
    AND (CAST(:suite AS text) IS NULL OR su.name = :suite)
    AND (CAST(:hardware AS text) IS NULL OR hw.digest = :hardware)
    AND (CAST(:hostname AS text) IS NULL OR ma.hostname = :hostname)
"""
#: Of run ids and SHAs.
PREFIX_CHARACTERS = set("0123456789abcdef-")


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """How much the store holds; ``measurements`` are about so many where there are very many."""

    runs: int
    series: int
    measurements: int


def recent_runs(
    connection: Connection,
    *,
    repository: str | None = None,
    suite: str | None = None,
    hostname: str | None = None,
    limit: int = 50,
) -> list[RunSummary]:
    """Runs, newest first; None takes any."""
    scope = {**EVERYTHING, "repository": repository, "suite": suite, "hostname": hostname}
    return _summaries(connection, "true", scope, limit=limit)


def find_run(
    connection: Connection, wanted: str, *, repository: str | None = None, like: RunSummary | None = None
) -> RunSummary:
    """The run that BASE or HEAD names.

    That is ``latest``, ``latest~N``, the prefix of a run's id, that of a SHA or the name of a branch; the latter two
    mean their newest run. Only complete runs count, but for ids; with ``like``, those of its repository, suite and
    hardware come first, and ``latest`` means them alone. Raises ``SelectionError`` when none matches, or several ids or
    SHAs do.
    """
    scope = {
        **EVERYTHING,
        "repository": like.repository if like else repository,
        "suite": like.suite if like else None,
        "hardware": like.hardware if like else None,
    }
    if wanted == LATEST or wanted.startswith(f"{LATEST}~"):
        return _latest(connection, wanted, scope)
    elsewhere = {**EVERYTHING, "repository": repository}
    found = (
        _by_prefix(connection, "r.id::text", wanted, EVERYTHING)
        or _by_prefix(connection, "co.sha", wanted, scope)
        or _by_prefix(connection, "co.sha", wanted, elsewhere)
        or _of_branch(connection, wanted, scope)
        or _of_branch(connection, wanted, elsewhere)
    )
    if not found:
        known = [run.run_id[:8] for run in run_choices(connection, repository=scope["repository"], limit=200)]
        names = [*known, *branches(connection, repository=scope["repository"])]
        raise SelectionError.no_match("run", wanted, names, "perfdb list runs")
    return found


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
    """How much the store holds, in the time of a few look-ups whatever the size."""
    return StoreCounts(*(row_count(connection, table).rows for table in ("runs", "series", "measurements")))


def _latest(connection: Connection, wanted: str, scope: Scope) -> RunSummary:
    back = wanted.removeprefix(LATEST).removeprefix("~") or "0"
    if not back.isdecimal():
        raise SelectionError(f"{wanted!r} is no run: write latest, or latest~1 for the one before")
    found = _summaries(connection, COMPLETE, scope, limit=1, offset=int(back[:9]))
    if not found:
        raise SelectionError(
            f"there is no run {wanted}: the store holds too few complete runs; measure one with: perfdb run smoke"
        )
    return found[0]


def _by_prefix(connection: Connection, column: str, wanted: str, scope: Scope) -> RunSummary | None:
    """The newest run whose ``column``, its id or SHA, begins so; several ids or SHAs are one too many."""
    if not set(wanted) <= PREFIX_CHARACTERS or not wanted:
        return None
    is_id = column != "co.sha"
    condition = f"{column} LIKE :prefix AND ({is_id} OR {COMPLETE})"
    found = _summaries(connection, condition, scope, limit=20, prefix=f"{wanted}%")
    names = list(dict.fromkeys(run.run_id if is_id or not run.commit else run.commit.sha for run in found))
    if len(names) > 1:
        many = f"{len(names)} {'runs' if is_id else 'commits'}"
        raise SelectionError(f"{wanted!r} names {many}: {', '.join(names[:5])}; write more of it")
    return found[0] if found else None


def _of_branch(connection: Connection, wanted: str, scope: Scope) -> RunSummary | None:
    found = _summaries(connection, f"r.branch = :branch AND {COMPLETE}", scope, limit=1, branch=wanted)
    return found[0] if wanted and found else None


def _summaries(
    connection: Connection,
    condition: str,
    scope: Scope,
    *,
    limit: int,
    offset: int = 0,
    **values: str,
) -> list[RunSummary]:
    """Runs for which ``condition`` holds, newest first."""
    query = SUMMARY.format(condition=f"{condition} AND {IN_SCOPE}", limit=int(limit), offset=int(offset))
    return [_summary(row) for row in _rows(connection, query, **scope, **values)]


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


def _rows(connection: Connection, query: str, **values: Any) -> Sequence[RowMapping]:  # noqa: ANN401 - bind values
    return connection.execute(text(query), values).mappings().all()
