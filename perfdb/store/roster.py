"""Roster: the series and cases that the results of one run belong to, by dense places, so that columns can hold facts.

A *unit* is a case with its provider: it is measured or fails as a whole. Places count from 0 within one run.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, sql

from perfdb.errors import RefusedRunError

#: The first so many digests are looked up by name; of more, all that the repository has on this hardware are read.
LOOKED_UP = 2000
FACTS = ("floor", "flops", "bytes_moved")
#: One value for all rows: taken row by row, a result of 200,000 would cost 4 s in the client alone.
_ROW = np.dtype(
    [("digest", "V16"), *((name, ">i8") for name in ("id", "case_id", "provider")), *((name, ">f8") for name in FACTS)]
)
_SERIES = np.dtype([("id", "i8"), ("unit", "i8"), ("floor", "f8"), ("is_sent", "?")])
_UNITS = np.dtype(
    [("case_id", "i8"), ("provider", "i8"), ("flops", "f8"), ("bytes_moved", "f8"), ("has_failed", "?")]
)  # fmt: skip
#: A unit's key is ``case_id * _PROVIDERS + provider``.
_PROVIDERS = 2**16


class Roster:
    """Grows as results arrive. ``series`` and ``units`` are tables by place; ``provider`` codes index ``providers``."""

    def __init__(self, connection: Connection[Any], repository: int, hardware: int) -> None:
        self._connection, self._repository, self._hardware = connection, repository, hardware
        self._is_whole = False
        self._unit_keys, self._unit_places = np.zeros(0, np.int64), np.zeros(0, np.int64)
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
        return self._unit_rows[: len(self._unit_keys)]

    def load(self, identities: Iterable[bytes]) -> None:
        """Learn of those series that the store knows already."""
        unknown = [identity for identity in identities if identity not in self.places]
        if not unknown or self._is_whole:
            return
        self._is_whole = bool(self.places) or len(unknown) > LOOKED_UP
        if self._is_whole:
            self._read(sql.SQL("s.repository_id = {} AND s.hardware_id = {}").format(self._repository, self._hardware))
        else:
            self._read(sql.SQL("s.digest = ANY({})").format([identity.hex() for identity in unknown]))

    def renew(self, identities: Sequence[bytes]) -> None:
        """Read series again that were added or changed."""
        for start in range(0, len(identities), LOOKED_UP):
            part = [identity.hex() for identity in identities[start : start + LOOKED_UP]]
            self._read(sql.SQL("s.digest = ANY({})").format(part))

    def units_of(self, case_ids: Sequence[int], providers: Sequence[str]) -> NDArray[Any]:
        """The places of units, added where they are new."""
        codes = np.fromiter(map(self._code, providers), np.int64, len(providers))
        return self._units_of(np.array(case_ids, np.int64) * _PROVIDERS + codes)

    def _code(self, provider: str) -> int:
        code = self._codes.setdefault(provider, len(self.providers))
        if code >= _PROVIDERS:
            raise RefusedRunError(
                f"its repository has more than {_PROVIDERS:,} providers on this hardware; correct what names them, and "
                "move this file aside"
            )
        if code == len(self.providers):
            self.providers.append(provider)
        return code

    def _units_of(self, wanted: NDArray[Any]) -> NDArray[Any]:
        """Places by key, in two sorted columns: of a million units a dictionary takes 170 MB more."""
        keys, owners = np.unique(wanted, return_inverse=True)
        at = np.searchsorted(self._unit_keys, keys)
        is_new = np.append(self._unit_keys, -1)[at] != keys
        first = len(self._unit_keys)
        added = keys[is_new]
        self._unit_keys = np.insert(self._unit_keys, at[is_new], added)
        self._unit_places = np.insert(self._unit_places, at[is_new], np.arange(first, first + len(added)))
        while len(self._unit_rows) < len(self._unit_keys):
            self._unit_rows = _grown(self._unit_rows)
        fresh = self._unit_rows[first : first + len(added)]
        fresh["case_id"], fresh["provider"] = added // _PROVIDERS, added % _PROVIDERS
        fresh["flops"] = fresh["bytes_moved"] = np.nan
        places: NDArray[Any] = self._unit_places[np.searchsorted(self._unit_keys, keys)][owners]
        return places

    def _read(self, condition: sql.Composable) -> None:
        self._learn_providers(condition)
        query = sql.SQL(
            """
            SELECT coalesce(string_agg(
                decode(s.digest, 'hex') || int8send(s.id) || int8send(s.case_id)
                || int8send(array_position({}::text[], s.provider) - 1) || float8send(coalesce(s.floor, 'NaN'))
                || float8send(coalesce(c.flops, 'NaN')) || float8send(coalesce(c.bytes_moved, 'NaN')), ''), '')
            FROM series s JOIN cases c ON c.id = s.case_id WHERE {}
            """
        ).format(self.providers, condition)
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(query)
            (said,) = cursor.fetchone() or (b"",)
        self._place(np.frombuffer(said, _ROW))

    def _learn_providers(self, condition: sql.Composable) -> None:
        query = sql.SQL("SELECT DISTINCT s.provider FROM series s WHERE {} ORDER BY 1").format(condition)
        for (provider,) in self._connection.execute(query).fetchall():
            self._code(provider)

    def _place(self, rows: NDArray[Any]) -> None:
        """Put what was read into the tables, old and new places alike."""
        digests: list[bytes] = rows["digest"].tolist()
        places = np.fromiter((self.places.setdefault(d, len(self.places)) for d in digests), np.int64, len(rows))
        while len(self._series_rows) < len(self.places):
            self._series_rows = _grown(self._series_rows)
        units = self._units_of(rows["case_id"].astype(np.int64) * _PROVIDERS + rows["provider"].astype(np.int64))
        self._series_rows["id"][places] = rows["id"]
        self._series_rows["unit"][places] = units
        self._series_rows["floor"][places] = rows["floor"]
        self._unit_rows["flops"][units] = rows["flops"]
        self._unit_rows["bytes_moved"][units] = rows["bytes_moved"]


def _grown(rows: NDArray[Any]) -> NDArray[Any]:
    larger = np.zeros(max(1024, len(rows) * 5 // 4), rows.dtype)
    larger[: len(rows)] = rows
    return larger
