"""Partitions: the months of the two big tables, made when the first run of a month arrives."""

from datetime import UTC, datetime

from sqlalchemy import Connection, text

PARTITIONED = ("measurements", "samples")
#: Any constant serves: two processes that make the same month wait for each other on it.
PARTITION_LOCK = 0x70657266_6D6F


def ensure_month(connection: Connection, moment: datetime) -> None:
    """Make the partitions that hold ``moment``, in UTC months, unless they exist."""
    name = month_name(moment)
    found = (
        "SELECT count(*) FROM pg_class WHERE relname = ANY(:names) AND relnamespace = current_schema()::regnamespace"
    )
    names = [f"{table}_{name}" for table in PARTITIONED]
    if connection.scalar(text(found), {"names": names}) == len(PARTITIONED):
        return
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": PARTITION_LOCK})
    first, after = month_bounds(moment)
    for table in PARTITIONED:
        connection.execute(
            text(
                f"CREATE TABLE IF NOT EXISTS {table}_{name} PARTITION OF {table} "
                f"FOR VALUES FROM ('{first.isoformat()}') TO ('{after.isoformat()}')"
            )
        )


def month_name(moment: datetime) -> str:
    """``y2026m05``."""
    utc = moment.astimezone(UTC)
    return f"y{utc.year:04}m{utc.month:02}"


def month_bounds(moment: datetime) -> tuple[datetime, datetime]:
    """The first moment of the month that holds ``moment`` and of the next one, in UTC."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return first, after
