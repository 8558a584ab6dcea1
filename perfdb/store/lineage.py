"""Lineage: which measured commits are ancestors of which, by first parents."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from perfdb.domain.commit import Line

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


def main_line(connection: Connection, series: str) -> Line:
    """The line of a series' main branch (of every branch, where none is called so), up to its newest commit.

    That is the commit of the newest result or, where that one arrived late, the furthest measured one that follows it.
    """
    query = """
        SELECT x.commit_id AS id, co.sha, co.position, x.started_at, r.branch = ANY(:main) AS is_main
        FROM measurements x JOIN runs r ON r.id = x.run_id JOIN commits co ON co.id = x.commit_id
        WHERE x.series_id = (SELECT id FROM series WHERE digest = :series)
          AND r.state = 'complete' AND r.code_state = 'committed' AND co.position IS NOT NULL
    """
    rows = connection.execute(text(query), {"series": series, "main": list(MAIN)}).all()
    measured = [row for row in rows if row.is_main] or list(rows)
    if not measured:
        return line_to(connection, None)
    newest = max(measured, key=lambda row: row.started_at)
    for commit in _further(measured, newest):
        line = line_to(connection, commit)
        if line.holds(newest.sha, newest.position):
            return line
    return line_to(connection, newest.id)


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


def _further(measured: list[Row[Any]], newest: Row[Any]) -> list[int]:
    """Ids of commits at higher positions, the highest first."""
    beyond = {row.id: row.position for row in measured if row.position > newest.position}
    return sorted(beyond, key=lambda commit: -beyond[commit])[:CANDIDATES]
