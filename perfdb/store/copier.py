"""Copier: packed rows sent while their owner makes the next ones, so that client and server work at the same time."""

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from psycopg import Connection, Copy, sql

from perfdb.store.packing import SIGNATURE, TRAILER

#: About what a socket takes without waiting for the server.
SLICE_BYTES = 128 * 1024


class Copier:
    """One COPY is open at a time; no other statement may run on the connection until ``drain``.

    An exception inside its context fails the open COPY, and with it the transaction.
    """

    def __init__(self, connection: Connection[Any], tables: Mapping[str, tuple[str, ...]]) -> None:
        self._connection, self._tables = connection, tables
        self._waiting: deque[tuple[str, memoryview]] = deque()
        self._table: str | None = None
        self._copy: Copy | None = None
        self._stack = ExitStack()

    def offer(self, table: str, rows: bytes) -> None:
        """Have ``rows`` sent to ``table`` in time."""
        for start in range(0, len(rows), SLICE_BYTES):
            self._waiting.append((table, memoryview(rows)[start : start + SLICE_BYTES]))

    def step(self) -> None:
        """Send one slice, if one waits."""
        if self._waiting:
            table, rows = self._waiting.popleft()
            self._open(table).write(rows)

    def drain(self) -> None:
        """Send all that waits, and leave the connection free for other statements."""
        while self._waiting:
            self.step()
        self._close()

    def _open(self, table: str) -> Copy:
        if self._copy is None or self._table != table:
            self._close()
            names = sql.SQL(", ").join(map(sql.Identifier, self._tables[table]))
            statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table), names)
            cursor = self._stack.enter_context(self._connection.cursor())
            self._copy, self._table = self._stack.enter_context(cursor.copy(statement)), table
            self._copy.write(SIGNATURE)
        return self._copy

    def _close(self) -> None:
        if self._copy is not None:
            self._copy.write(TRAILER)
            self._copy = None
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.drain()
        else:
            self._stack.__exit__(kind, error, trace)
