"""Sizes: how much the store holds, quickly: big tables are estimated, never counted."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

#: Reading so many pages takes some milliseconds; beyond that as many are sampled, which is right to some percent.
COUNTED_PAGES = 1500
PAGES = """
    SELECT coalesce(sum(pg_relation_size(t.relid)), 0) / current_setting('block_size')::int
    FROM pg_partition_tree(CAST(:table AS regclass)) t
"""
#: Tables that grow with every run.
BIG = ("runs", "series", "measurements", "samples")


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows of a table; about so many when they were not counted."""

    rows: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class StoreSize:
    """How much the store holds; ``newest_run`` is None while it is empty."""

    size_bytes: int
    partitions: int
    tables: dict[str, RowCount]
    newest_run: datetime | None


def store_size(connection: Connection) -> StoreSize:
    """How much the store holds, in the time of a few look-ups whatever the size."""
    facts = """
        SELECT pg_database_size(current_database()) AS bytes, (SELECT max(started_at) FROM runs) AS newest,
               (SELECT count(*) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent
                WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace) AS partitions
    """
    found = connection.execute(text(facts)).mappings().one()
    counts = {table: row_count(connection, table) for table in BIG}
    return StoreSize(found["bytes"], found["partitions"], counts, found["newest"])


def row_count(connection: Connection, table: str, counted_pages: int = COUNTED_PAGES) -> RowCount:
    """Rows of a table and its partitions: counted while it is small, else estimated from a sample of its pages.

    PostgreSQL's own estimate (``reltuples``) is no help: a server that only runs while it is used is rarely analysed.
    """
    pages = int(connection.execute(text(PAGES), {"table": table}).scalar_one())
    if pages <= counted_pages:
        return RowCount(int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()), is_exact=True)
    percent = 100 * counted_pages / pages
    sample = f"SELECT count(*) FROM {table} TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (1)"
    return RowCount(round(connection.exec_driver_sql(sample).scalar_one() * 100 / percent), is_exact=False)
