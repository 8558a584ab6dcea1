"""Lineage: which measured commits are ancestors of which, by first parents."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from perfdb.domain.commit import CodeState, Line
from perfdb.domain.run import RunState

#: Segmentation looks no further back, in results; a commit may have several.
LONGEST_LINE = 2000
#: Branches that stand for the repository, where it has one of them.
MAIN = ("main", "master", "trunk")
#: Measured commits beyond the newest result's that may turn out to follow it.
CANDIDATES = 20


def line_to(connection: Connection, commit: int | None) -> Line:
    """The commit with this id of the store and its known ancestors; for None, a line that holds everything."""
    if commit is None:
        return Line(frozenset(), None)
    query = """
        WITH RECURSIVE line AS (
            SELECT repository_id, sha, parents[1] AS parent, position, 1 AS length FROM commits WHERE id = :commit
            UNION ALL
            SELECT c.repository_id, c.sha, c.parents[1], c.position, length + 1
            FROM line l JOIN commits c ON c.repository_id = l.repository_id AND c.sha = l.parent
            WHERE length < :longest
        )
        SELECT sha, position FROM line
    """
    rows = connection.execute(text(query), {"commit": commit, "longest": LONGEST_LINE}).all()
    positions = [row.position for row in rows if row.position is not None]
    return Line(frozenset(row.sha for row in rows), min(positions, default=None))


def line_of_run(connection: Connection, run_id: str) -> Line:
    """The line of the commit that a run measured."""
    query = text("SELECT commit_id FROM runs WHERE id = :run_id")
    return line_to(connection, connection.scalar(query, {"run_id": UUID(run_id)}))


def main_line(connection: Connection, results: Sequence[RowMapping]) -> Line:
    """The line of the main branch (of every branch, where none is called so) of a series' results, up to its newest.

    That is the commit of the newest result or, where that one arrived late, the furthest measured one that follows it.
    """
    placed = [
        row
        for row in results
        if row["position"] is not None
        and row["state"] == RunState.COMPLETE
        and row["code_state"] == CodeState.COMMITTED
    ]
    measured = [row for row in placed if row["branch"] in MAIN] or placed
    if not measured:
        return line_to(connection, None)
    newest = max(measured, key=lambda row: row["started_at"])
    for commit in _further(measured, newest):
        line = line_to(connection, commit)
        if line.holds(newest["sha"], newest["position"]):
            return line
    return line_to(connection, newest["commit_id"])


def line_through(connection: Connection, run_id: str, later: Sequence[str]) -> Line | None:
    """The line of the last of the ``later`` runs that follows the commit of a run; None where none does."""
    query = """
        SELECT r.id::text, r.commit_id, co.sha, co.position FROM runs r JOIN commits co ON co.id = r.commit_id
        WHERE r.id = ANY(:runs)
    """
    rows = connection.execute(text(query), {"runs": [UUID(run) for run in (run_id, *later)]})
    commits = {row.id: row for row in rows}
    late = commits.get(run_id)
    for run in list(dict.fromkeys(reversed(later)))[:CANDIDATES] if late else ():
        line = line_to(connection, commits[run].commit_id) if run in commits else None
        if line and late and line.holds(late.sha, late.position):
            return line
    return None


def _further(measured: Sequence[RowMapping], newest: RowMapping) -> list[int]:
    """Ids of commits at higher positions, the highest first."""
    beyond = {row["commit_id"]: row["position"] for row in measured if row["position"] > newest["position"]}
    return sorted(beyond, key=lambda commit: -beyond[commit])[:CANDIDATES]
