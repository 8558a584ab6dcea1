"""Choices: what the store offers to pick from, read without what runs and series say."""

from sqlalchemy import Connection, text

from perfdb.domain.choice import RunChoice, RunFacets, SeriesChoice
from perfdb.store.rows import case_of


def run_choices(connection: Connection, *, limit: int, repository: str | None = None) -> list[RunChoice]:
    """Runs, newest first."""
    query = """
        SELECT r.id::text, repo.name, su.name, r.branch, co.sha, ma.hostname, r.started_at
        FROM runs r
        JOIN repositories repo ON repo.id = r.repository_id
        JOIN suites su ON su.id = r.suite_id
        JOIN machines ma ON ma.id = r.machine_id
        LEFT JOIN commits co ON co.id = r.commit_id
        WHERE CAST(:repository AS text) IS NULL OR repo.name = :repository
        ORDER BY r.started_at DESC, r.id LIMIT :limit
    """
    rows = connection.execute(text(query), {"limit": limit, "repository": repository})
    return [RunChoice(*row) for row in rows]


def run_facets(connection: Connection) -> RunFacets:
    """Repositories, suites and hosts of which there are runs, each by name."""
    query = """
        SELECT ARRAY(SELECT name FROM repositories t
                     WHERE EXISTS (SELECT FROM runs WHERE repository_id = t.id) ORDER BY 1) AS repository,
               ARRAY(SELECT name FROM suites t
                     WHERE EXISTS (SELECT FROM runs WHERE suite_id = t.id) ORDER BY 1) AS suite,
               ARRAY(SELECT DISTINCT hostname FROM machines t
                     WHERE EXISTS (SELECT FROM runs WHERE machine_id = t.id) ORDER BY 1) AS hostname
    """
    row = connection.execute(text(query)).mappings().one()
    return RunFacets(**{name: tuple(values) for name, values in row.items()})


def branches(connection: Connection, *, repository: str | None = None) -> list[str]:
    """Branches of complete runs, the one measured last first."""
    query = """
        SELECT r.branch FROM runs r JOIN repositories repo ON repo.id = r.repository_id
        WHERE r.branch <> '' AND r.state = 'complete'
          AND (CAST(:repository AS text) IS NULL OR repo.name = :repository)
        GROUP BY r.branch ORDER BY max(r.started_at) DESC, r.branch
    """
    return list(connection.scalars(text(query), {"repository": repository}))


def series_choices(connection: Connection) -> list[SeriesChoice]:
    """Every series, by benchmark, provider, metric and hardware."""
    query = """
        SELECT s.digest, repo.name AS repository, hw.digest AS hardware, hw.label AS hardware_label, s.protocol,
               b.name AS benchmark, s.case_id, s.provider, m.name AS metric, b.is_control
        FROM series s
        JOIN repositories repo ON repo.id = s.repository_id
        JOIN cases c ON c.id = s.case_id
        JOIN benchmarks b ON b.id = c.benchmark_id
        JOIN metrics m ON m.id = s.metric_id
        JOIN hardware hw ON hw.id = s.hardware_id
        ORDER BY b.name, s.case_id, s.provider, m.name, hw.label
    """
    cases = {number: case_of(axes) for number, axes in connection.execute(text("SELECT id, axes FROM cases"))}
    return [
        SeriesChoice(
            digest=row.digest,
            repository=row.repository,
            hardware=row.hardware,
            hardware_label=row.hardware_label,
            protocol=row.protocol,
            benchmark=row.benchmark,
            case=cases[row.case_id],
            provider=row.provider,
            metric=row.metric,
            is_control=row.is_control,
        )
        for row in connection.execute(text(query))
    ]
