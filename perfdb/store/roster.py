"""Roster: the series and cases that the results of one run belong to, by dense places, so that columns can hold facts.

A *unit* is a case with its provider: it is measured or fails as a whole. Places count from 0 within one run.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, sql

#: Up to this many digests are looked up by name; of more, all that the repository has on this hardware are read.
LOOKED_UP = 2000
_ROW = np.dtype(
    [
        ("columns", ">i2"),
        *(pair for name, kind in (("digest", "V16"), *((n, ">i8") for n in ("id", "case_id", "provider")))
          for pair in ((f"{name}_length", ">i4"), (name, kind))),
        *(pair for name in ("floor", "flops", "bytes_moved") for pair in ((f"{name}_length", ">i4"), (name, ">f8"))),
    ]
)  # fmt: skip
_SERIES = np.dtype([("id", "i8"), ("unit", "i8"), ("floor", "f8"), ("is_sent", "?")])
_UNITS = np.dtype(
    [("case_id", "i8"), ("provider", "i8"), ("flops", "f8"), ("bytes_moved", "f8"), ("has_failed", "?")]
)  # fmt: skip
_PROVIDERS = 2**16


class Roster:
    """Grows as results arrive. ``series`` and ``units`` are tables by place; ``provider`` codes index ``providers``."""

    def __init__(self, connection: Connection[Any], repository: int, hardware: int) -> None:
        self._connection, self._repository, self._hardware = connection, repository, hardware
        self._is_whole = False
        self._units: dict[int, int] = {}
        self._series_rows, self._unit_rows = np.zeros(0, _SERIES), np.zeros(0, _UNITS)
        self.places: dict[bytes, int] = {}
        self.providers: list[str] = []
        self._codes: dict[str, int] = {}

    @property
    def series(self) -> NDArray[Any]:
        """``id unit floor is_sent`` by place."""
        return self._series_rows[: len(self.places)]

    @property
    def units(self) -> NDArray[Any]:
        """``case_id provider flops bytes_moved has_failed`` by place."""
        return self._unit_rows[: len(self._units)]

    def load(self, identities: Iterable[bytes]) -> None:
        """Learn of those series that the store knows already."""
        unknown = [identity for identity in identities if identity not in self.places]
        if len(unknown) > LOOKED_UP and not self._is_whole:
            self._is_whole = True
            self._read(sql.SQL("s.repository_id = {} AND s.hardware_id = {}").format(self._repository, self._hardware))
        elif unknown and not self._is_whole:
            self._read(sql.SQL("s.digest = ANY({})").format([identity.hex() for identity in unknown]))

    def renew(self, identities: Sequence[bytes]) -> None:
        """Read series again that were added or changed."""
        for start in range(0, len(identities), LOOKED_UP):
            part = [identity.hex() for identity in identities[start : start + LOOKED_UP]]
            self._read(sql.SQL("s.digest = ANY({})").format(part))

    def unit(self, case_id: int, provider: str) -> int:
        """The place of a unit, added when it is new."""
        return self._unit(case_id, self._code(provider))

    def _code(self, provider: str) -> int:
        code = self._codes.setdefault(provider, len(self.providers))
        if code == len(self.providers):
            self.providers.append(provider)
        return code

    def _unit(self, case_id: int, provider: int) -> int:
        place = self._units.setdefault(case_id * _PROVIDERS + provider, len(self._units))
        if place == len(self._unit_rows):
            self._unit_rows = _grown(self._unit_rows)
        if not self._unit_rows[place]["case_id"]:
            self._unit_rows[place] = (case_id, provider, np.nan, np.nan, False)
        return place

    def _read(self, condition: sql.Composable) -> None:
        self._learn_providers()
        query = sql.SQL(
            """
            COPY (
                SELECT decode(s.digest, 'hex'), s.id, s.case_id, array_position({}::text[], s.provider)::int8 - 1,
                       coalesce(s.floor, 'NaN'), coalesce(c.flops, 'NaN'), coalesce(c.bytes_moved, 'NaN')
                FROM series s JOIN cases c ON c.id = s.case_id WHERE {}
            ) TO STDOUT (FORMAT BINARY)
            """
        ).format(self.providers, condition)
        with self._connection.cursor() as cursor, cursor.copy(query) as copy:
            said = b"".join(bytes(part) for part in copy)
        rows = np.frombuffer(said, _ROW, count=(len(said) - 21) // _ROW.itemsize, offset=19)
        self._place(rows)

    def _learn_providers(self) -> None:
        query = "SELECT DISTINCT provider FROM series WHERE repository_id = %s ORDER BY 1"
        for (provider,) in self._connection.execute(query, (self._repository,)).fetchall():
            self._code(provider)

    def _place(self, rows: NDArray[Any]) -> None:
        """Put what was read into the tables, old and new places alike."""
        digests: list[bytes] = rows["digest"].tolist()
        places = np.fromiter((self.places.setdefault(d, len(self.places)) for d in digests), np.int64, len(rows))
        while len(self._series_rows) < len(self.places):
            self._series_rows = _grown(self._series_rows)
        owners = zip(rows["case_id"].tolist(), rows["provider"].tolist(), strict=True)
        units = np.fromiter((self._unit(case, provider) for case, provider in owners), np.int64, len(rows))
        self._series_rows["id"][places] = rows["id"]
        self._series_rows["unit"][places] = units
        self._series_rows["floor"][places] = rows["floor"]
        self._unit_rows["flops"][units] = rows["flops"]
        self._unit_rows["bytes_moved"][units] = rows["bytes_moved"]


def _grown(rows: NDArray[Any]) -> NDArray[Any]:
    larger = np.zeros(max(1024, 2 * len(rows)), rows.dtype)
    larger[: len(rows)] = rows
    return larger
