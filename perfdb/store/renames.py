"""Renames: which benchmark a result belongs to, whatever it was called when it was measured.

A benchmark keeps the identity that its series are hashed with: the first name it had. A new name that says what it was
called before is added to the old benchmark. Where both were measured before anybody said so, the histories are joined.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, text

from perfdb.domain.case import Case
from perfdb.domain.run import CaseResult
from perfdb.domain.series import SERIES_KEY_VERSION, SeriesKey
from perfdb.store import identities, schema


@dataclass(frozen=True, slots=True)
class StoredBenchmark:
    """A benchmark's id of the store, and the name that its series are hashed with."""

    id: int
    identity: str


def benchmarks_of(connection: Connection, results: Iterable[CaseResult], repository: int) -> dict[str, StoredBenchmark]:
    """The benchmarks of ``results`` by the names they use; new ones are added, renamed ones found or joined."""
    declared = {result.benchmark: result for result in results}
    known = known_benchmarks(connection, repository)
    renamed = [r for r in declared.values() if _is_renamed(r, known)]
    for result in renamed:
        known |= _rename(connection, repository, result, known)
    _add(connection, repository, [r for r in declared.values() if r.benchmark not in known])
    _declare_anew(connection, repository, declared.values())
    known = known_benchmarks(connection, repository)
    return {name: known[name] for name in declared}


def known_benchmarks(connection: Connection, repository: int) -> dict[str, StoredBenchmark]:
    """The benchmarks of a repository, by every name that they have or had."""
    query = """
        SELECT n.name, b.id, b.identity FROM benchmark_names n JOIN benchmarks b ON b.id = n.benchmark_id
        WHERE n.repository_id = :repository
    """
    rows = connection.execute(text(query), {"repository": repository})
    return {row.name: StoredBenchmark(row.id, row.identity) for row in rows}


def _is_renamed(result: CaseResult, known: Mapping[str, StoredBenchmark]) -> bool:
    """Whether the store knows a former name, and not that it belongs to this benchmark."""
    own = known.get(result.benchmark)
    return any(name in known and known[name] != own for name in result.formerly)


def _rename(
    connection: Connection, repository: int, result: CaseResult, known: Mapping[str, StoredBenchmark]
) -> dict[str, StoredBenchmark]:
    """Give the oldest of the benchmarks that ``result`` names its name, and the histories of the others.

    Gives the names that are now the oldest's.
    """
    names = dict.fromkeys((result.benchmark, *result.formerly))
    found = sorted({known[name] for name in names if name in known}, key=lambda benchmark: benchmark.id)
    oldest = found[0]
    for other in found[1:]:
        _join(connection, oldest, other)
    own = {"repository": repository, "name": result.benchmark, "benchmark": oldest.id}
    connection.execute(
        text(
            """
            INSERT INTO benchmark_names (repository_id, name, benchmark_id) VALUES (:repository, :name, :benchmark)
            ON CONFLICT (repository_id, name) DO UPDATE SET benchmark_id = excluded.benchmark_id
            """
        ),
        own,
    )
    connection.execute(text("UPDATE benchmarks SET name = :name WHERE id = :benchmark"), own)
    return {result.benchmark: oldest} | {name: oldest for name, benchmark in known.items() if benchmark in found}


def _add(connection: Connection, repository: int, new: Iterable[CaseResult]) -> None:
    rows = [
        {
            "repository_id": repository,
            "name": r.benchmark,
            "module": r.module,
            "is_control": r.is_control,
            "identity": r.benchmark,
        }
        for r in new
    ]
    ids = identities.many(connection, schema.benchmarks, rows, ("repository_id", "name"))
    names = [{"repository_id": repository, "name": name, "benchmark_id": number} for (_, name), number in ids.items()]
    identities.many(connection, schema.benchmark_names, names, ("repository_id", "name"))


def _declare_anew(connection: Connection, repository: int, declared: Iterable[CaseResult]) -> None:
    """Take the module and the mark of a control from results that use a benchmark's present name."""
    rows = [{"name": r.benchmark, "module": r.module, "is_control": r.is_control} for r in declared]
    query = """
        UPDATE benchmarks b SET module = d.module, is_control = d.is_control
        FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS d (name text, module text, is_control boolean)
        WHERE b.repository_id = :repository AND b.name = d.name AND (b.module, b.is_control) <> (d.module, d.is_control)
    """
    connection.execute(text(query), {"repository": repository, "rows": msgspec.json.encode(rows).decode()})


#: Cases and series of ``other`` that ``oldest`` has too, each with its twin.
TWIN_CASES = """
    CREATE TEMPORARY TABLE twin_cases ON COMMIT DROP AS
    SELECT mine.id AS other, twin.id AS oldest FROM cases mine
    JOIN cases twin ON twin.digest = mine.digest AND twin.benchmark_id = :oldest WHERE mine.benchmark_id = :other
"""
TWIN_SERIES = """
    CREATE TEMPORARY TABLE twin_series ON COMMIT DROP AS
    SELECT mine.id AS other, twin.id AS oldest FROM series mine JOIN twin_cases c ON c.other = mine.case_id
    JOIN series twin ON twin.case_id = c.oldest
     AND (twin.provider, twin.protocol, twin.protocol_version, twin.metric_id, twin.hardware_id)
       = (mine.provider, mine.protocol, mine.protocol_version, mine.metric_id, mine.hardware_id)
     AND (twin.key - 'benchmark') = (mine.key - 'benchmark')
"""
MOVE = (
    # a run that measured both has one value of the one series: that of the older name
    """DELETE FROM samples x USING twin_series t, measurements m WHERE x.series_id = t.other
       AND m.series_id = t.oldest AND m.run_id = x.run_id AND m.started_at = x.started_at""",
    """DELETE FROM measurements x USING twin_series t, measurements m WHERE x.series_id = t.other
       AND m.series_id = t.oldest AND m.run_id = x.run_id AND m.started_at = x.started_at""",
    """DELETE FROM outcomes x USING twin_cases t, outcomes o WHERE x.case_id = t.other AND o.case_id = t.oldest
       AND (o.run_id, o.provider, o.process) = (x.run_id, x.provider, x.process)""",
    "UPDATE measurements x SET series_id = t.oldest FROM twin_series t WHERE x.series_id = t.other",
    """UPDATE samples x SET series_id = t.oldest FROM twin_series t JOIN measurements m ON m.series_id = t.oldest
       WHERE x.series_id = t.other AND x.run_id = m.run_id AND x.started_at = m.started_at""",
    "UPDATE verdicts x SET series_id = t.oldest FROM twin_series t WHERE x.series_id = t.other",
    "DELETE FROM series s USING twin_series t WHERE s.id = t.other",
    "UPDATE outcomes x SET case_id = t.oldest FROM twin_cases t WHERE x.case_id = t.other",
    "UPDATE series s SET case_id = t.oldest FROM twin_cases t WHERE s.case_id = t.other",
    "DELETE FROM cases c USING twin_cases t WHERE c.id = t.other",
    "UPDATE cases SET benchmark_id = :oldest WHERE benchmark_id = :other",
    "UPDATE benchmark_names SET benchmark_id = :oldest WHERE benchmark_id = :other",
    "DELETE FROM benchmarks WHERE id = :other",
    "DROP TABLE twin_cases, twin_series",
)


def _join(connection: Connection, oldest: StoredBenchmark, other: StoredBenchmark) -> None:
    """Make the history of ``other`` that of ``oldest``; nothing that was measured is lost."""
    pair = {"oldest": oldest.id, "other": other.id}
    for statement in (TWIN_CASES, TWIN_SERIES, *MOVE):
        connection.execute(text(statement), pair)
    _hash_anew(connection, oldest)


def _hash_anew(connection: Connection, benchmark: StoredBenchmark) -> None:
    """Series that only the other benchmark had are hashed with the identity they now have."""
    query = """
        SELECT s.id, s.key FROM series s JOIN cases c ON c.id = s.case_id
        WHERE c.benchmark_id = :benchmark AND s.key->>'benchmark' <> :identity
    """
    rows = connection.execute(text(query), {"benchmark": benchmark.id, "identity": benchmark.identity}).all()
    for row in rows:
        key = {**row.key, "benchmark": benchmark.identity}
        connection.execute(
            text("UPDATE series SET digest = :digest, key = CAST(:key AS jsonb) WHERE id = :id"),
            {"id": row.id, "digest": _digest(key), "key": msgspec.json.encode(key).decode()},
        )


def _digest(key: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in key.items() if name not in ("version", "case")}
    assert key["version"] == SERIES_KEY_VERSION, "a key of another version has its own fields"
    return SeriesKey(case=Case.of(key["case"]), **fields).digest
