"""Retention: months of samples, and of measurements where asked, dropped as whole partitions."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from sqlalchemy import Connection, Engine, text

from perfdb.store.locks import PATIENCE_S, impatient
from perfdb.store.partitions import month_bounds, month_name

PARTITIONS = """
    SELECT c.relname AS name, p.relname AS owner, pg_total_relation_size(c.oid) AS bytes
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.relname IN ('samples', 'measurements') AND p.relnamespace = current_schema()::regnamespace
    ORDER BY c.relname
"""
_MONTH = re.compile(r"_y(\d{4})m(\d{2})$")


@dataclass(frozen=True, slots=True)
class Partition:
    """One month of ``samples`` or ``measurements``."""

    name: str
    owner: str
    month: datetime
    size_bytes: int
    rows: int

    @property
    def label(self) -> str:
        """``2026-05``."""
        return f"{self.month:%Y-%m}"


def cutoff_before(day: date, now: datetime) -> datetime:
    """What ends at or before this moment may go: the day's beginning, yet never anything of the current month."""
    return min(datetime.combine(day, time(), UTC), month_bounds(now)[0])


def cutoff_keeping(months: int, now: datetime) -> datetime:
    """The moment that leaves the current month and so many before it."""
    first = month_bounds(now)[0]
    place = first.year * 12 + first.month - 1 - months
    return first.replace(year=max(place // 12, 1), month=place % 12 + 1 if place >= 12 else 1)


def partitions_before(connection: Connection, cutoff: datetime, *, measurements: bool = False) -> list[Partition]:
    """The months that end at or before ``cutoff``, oldest first; those of measurements only when asked for.

    Their rows are counted.
    """
    owners = ("samples", "measurements") if measurements else ("samples",)
    found = []
    for row in connection.execute(text(PARTITIONS)).mappings():
        month = month_of(row["name"])
        if month and row["owner"] in owners and month_bounds(month)[1] <= cutoff:
            found.append((row["name"], row["owner"], month, row["bytes"]))
    rows = _rows(connection, [name for name, *_ in found])
    return sorted(
        (Partition(*facts, rows[facts[0]]) for facts in found),
        key=lambda each: (each.month, each.owner == "measurements"),
    )


def prune(
    engine: Engine, cutoff: datetime, *, measurements: bool = False, patience_s: float = PATIENCE_S
) -> list[Partition]:
    """Drop those months in one transaction, and give what was dropped.

    Runs, verdicts and outcomes stay. Raises ``StoreError`` naming who holds a table for longer than that.
    """
    with engine.begin() as connection, impatient(engine, connection, "pruning", patience_s):
        gone = partitions_before(connection, cutoff, measurements=measurements)
        if gone:
            connection.exec_driver_sql(f"DROP TABLE {', '.join(each.name for each in gone)}")
    return gone


def is_pruned(connection: Connection, moment: datetime) -> bool:
    """Whether the month of samples that holds ``moment`` is gone; asked about a moment at which a run was measured."""
    return bool(connection.scalar(text("SELECT to_regclass(:name) IS NULL"), {"name": f"samples_{month_name(moment)}"}))


def month_of(name: str) -> datetime | None:
    """The month that a partition's name says."""
    found = _MONTH.search(name)
    return datetime(int(found.group(1)), int(found.group(2)), 1, tzinfo=UTC) if found else None


def _rows(connection: Connection, names: list[str]) -> dict[str, int]:
    if not names:
        return {}
    counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
    return {row[0]: row[1] for row in connection.exec_driver_sql(counts)}
