"""Contents: what a database holds, table by table, so that a copy can be compared with what it was made from."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from perfdb.errors import StoreError
from perfdb.store.engine import address, explained, open_engine
from perfdb.store.migrations import revision

REVISION_TABLE = "alembic_version"
#: Ordinary tables, so a partitioned one counts by its partitions.
TABLES = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence = 'p'
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    ORDER BY name
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """A database's revision and the exact rows of each of its tables."""

    revision: str | None
    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        """Rows of all tables, the revision's own aside."""
        return sum(many for name, many in self.rows.items() if not name.endswith(f".{REVISION_TABLE}"))

    def difference(self, copy: "Contents") -> str:
        """The first thing in which a copy differs, in words; "" when nothing does."""
        if copy.revision != self.revision:
            return f"its revision is {copy.revision or 'none'} instead of {self.revision or 'none'}"
        for name in sorted({*self.rows, *copy.rows}):
            if self.rows.get(name) != copy.rows.get(name):
                return f"{name} holds {_rows(copy.rows.get(name))} instead of {_rows(self.rows.get(name))}"
        return ""


def contents(connection: Connection) -> Contents:
    """Count every row of every table."""
    names = list(connection.scalars(text(TABLES)))
    if not names:
        return Contents(revision(connection), {})
    counts = " UNION ALL ".join(f"SELECT {place} AS place, count(*) FROM {name}" for place, name in enumerate(names))
    found = connection.exec_driver_sql(counts)
    return Contents(revision(connection), {names[place]: many for place, many in found})


def contents_at(url: str) -> Contents:
    """The contents of the database at an address."""
    engine = open_engine(url)
    try:
        with explained(address(url)), engine.connect() as connection:
            return contents(connection)
    finally:
        engine.dispose()


def refuse_difference(original: Contents, copy: Contents, what: str) -> None:
    """Raise ``StoreError`` unless the copy holds what the original holds."""
    difference = original.difference(copy)
    if difference:
        raise StoreError(f"{what} does not hold what it was made from: {difference}; repeat the command")


def _rows(many: int | None) -> str:
    return "no table" if many is None else f"{many} rows"
