"""Copier: packed rows sent while their owner makes the next ones, so that client and server work at the same time."""

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from psycopg import Connection, Copy, sql

from perfdb.store.packing import SIGNATURE, TRAILER

#: Small against what a socket holds, so that the server is never idle and never far behind.
SLICE_BYTES = 32 * 1024
#: Slices: a COPY is opened for 2 MB and more, since every end of one waits for the server.
WORTH_OPENING = 64


class Copier:
    """One COPY is open at a time; no other statement may run on the connection until ``drain``.

    An exception inside its context fails the open COPY, and with it the transaction.
    """

    def __init__(self, connection: Connection[Any], tables: Mapping[str, tuple[str, ...]]) -> None:
        self._connection, self._tables = connection, tables
        self._waiting: dict[str, deque[memoryview]] = {table: deque() for table in tables}
        self._table = next(iter(tables))
        self._copy: Copy | None = None
        self._stack = ExitStack()

    def offer(self, table: str, rows: bytes) -> None:
        """Have ``rows`` sent to ``table`` in time."""
        for start in range(0, len(rows), SLICE_BYTES):
            self._waiting[table].append(memoryview(rows)[start : start + SLICE_BYTES])

    def step(self, steps_left: int) -> None:
        """Send what is due when so many steps, this one included, are left for all that waits."""
        if not self._waiting[self._table]:
            fullest = max(self._waiting, key=lambda table: len(self._waiting[table]))
            if len(self._waiting[fullest]) < WORTH_OPENING:
                return
            self._open(fullest)
        self._open(self._table)
        due = -(-sum(map(len, self._waiting.values())) // steps_left)
        self._send(min(due, len(self._waiting[self._table])))

    def drain(self) -> None:
        """Send all that waits, and leave the connection free for other statements."""
        for table in sorted(self._waiting, key=lambda table: table != self._table):
            if self._waiting[table]:
                self._open(table)
                self._send(len(self._waiting[table]))
        self._close()

    def _send(self, slices: int) -> None:
        for _ in range(slices):
            assert self._copy is not None
            self._copy.write(self._waiting[self._table].popleft())

    def _open(self, table: str) -> None:
        if self._copy is not None and self._table == table:
            return
        self._close()
        names = sql.SQL(", ").join(map(sql.Identifier, self._tables[table]))
        statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table), names)
        cursor = self._stack.enter_context(self._connection.cursor())
        self._copy, self._table = self._stack.enter_context(cursor.copy(statement)), table
        self._copy.write(SIGNATURE)

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
