"""Sizes: how much the store holds, quickly: big tables are estimated, never counted."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

#: Counting so many rows takes a few milliseconds; beyond that an estimate serves people as well.
COUNTED_UP_TO = 100_000
#: Tables that grow with every run; a partitioned one is estimated from its partitions.
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


def row_count(connection: Connection, table: str) -> RowCount:
    """Rows of a table and its partitions: counted while few, else the planner's estimate."""
    plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) SELECT FROM {table}").scalar_one()
    estimate = int(plan[0]["Plan"]["Plan Rows"])
    if estimate > COUNTED_UP_TO:
        return RowCount(estimate, is_exact=False)
    return RowCount(int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()), is_exact=True)
