"""Ledger: what a store must hold whatever was killed, and all that is missing in it, doubled or wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import Connection, text

from perfdb.domain.case import Outcome
from perfdb.domain.run import CaseResult, Run, RunState
from perfdb.spool import SUFFIX, read_spool

Rows = Mapping[str, "Counter[tuple[Any, ...]]"]
_OF_SERIES = """
    FROM {table} t JOIN series s ON s.id = t.series_id JOIN metrics m ON m.id = s.metric_id
         JOIN cases c ON c.id = s.case_id JOIN benchmarks b ON b.id = c.benchmark_id
    WHERE t.run_id = :run
"""
#: Every row of a run with the words that its spool file uses, none left out and none made one.
QUERIES = {
    "outcomes": """
        SELECT b.name, c.digest, o.provider, o.process, o.outcome, o.detail
        FROM outcomes o JOIN cases c ON c.id = o.case_id JOIN benchmarks b ON b.id = c.benchmark_id
        WHERE o.run_id = :run
    """,
    "samples": "SELECT b.name, c.digest, s.provider, m.name, t.process, t.values" + _OF_SERIES.format(table="samples"),
    "measurements": "SELECT b.name, c.digest, s.provider, m.name, t.value, t.process_values"
    + _OF_SERIES.format(table="measurements"),
}
STRAYS = "SELECT count(*) FROM {table} t WHERE NOT EXISTS (SELECT FROM runs r WHERE r.id = t.run_id)"


@dataclass(slots=True)
class Ledger:
    """The runs that were acknowledged: ``closed`` in the spool, ``stored`` by an ingest that returned."""

    spool: Path
    ingested: Path
    closed: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)

    def note_closed_files(self) -> None:
        """Take every run whose file has its end on disk as acknowledged."""
        for path in (*self.spool.glob(f"*{SUFFIX}"), *self.ingested.glob(f"*{SUFFIX}")):
            if path.stem not in self.closed and path.read_bytes()[-200:].rstrip().rpartition(b"\n")[2].startswith(_END):
                self.closed.add(path.stem)

    def losses(self, connection: Connection) -> Iterator[str]:
        """What was acknowledged and is gone; true at any moment, whatever still waits."""
        complete = set(connection.execute(text("SELECT id::text FROM runs WHERE state = 'complete'")).scalars())
        for run in sorted(self.stored - complete):
            yield f"run {run} was stored and is no longer in the database"
        for run in sorted(self.closed):
            places = [str(folder) for folder in (self.spool, self.ingested) if self._in(folder, run).exists()]
            if len(places) != 1:
                yield f"the file of run {run} is in {len(places)} places: {', '.join(places) or 'lost'}"

    def violations(self, connection: Connection, runs: set[str] | None = None) -> Iterator[str]:
        """All that is wrong once nothing waits; ``runs`` are compared row by row, by default all."""
        yield from self.losses(connection)
        yield from self._wrong_runs(connection)
        for table in QUERIES:
            strays = connection.scalar(text(STRAYS.format(table=table)))
            if strays:
                yield f"{strays} {table} belong to no run"
        for run in sorted(self.closed if runs is None else runs & self.closed):
            path = next((p for p in (self._in(self.ingested, run), self._in(self.spool, run)) if p.exists()), None)
            if path:
                yield from differences(run, rows_said(read_spool(path).run), rows_stored(connection, run))

    def _wrong_runs(self, connection: Connection) -> Iterator[str]:
        query = text("SELECT id::text, state, judged_at IS NOT NULL FROM runs")
        found = {run: (state, is_judged) for run, state, is_judged in connection.execute(query)}
        for run in sorted(self.closed):
            if found.get(run) != (RunState.COMPLETE.value, True):
                yield f"run {run} is closed in its file, and in the database it is {found.get(run, 'missing')}"
        for run in sorted(set(found) - self.closed):
            if found[run][0] == RunState.COMPLETE.value or not self._in(self.spool, run).exists():
                yield f"run {run} is in the database and no file says so"

    @staticmethod
    def _in(folder: Path, run: str) -> Path:
        return folder / f"{run}{SUFFIX}"


_END = b'{"v":1,"kind":"end"'


def differences(run: str, said: Rows, stored: Rows) -> Iterator[str]:
    """What the store has otherwise than the file, table by table."""
    for table, rows in said.items():
        missing, more = rows - stored[table], stored[table] - rows
        if missing:
            yield f"run {run}: {missing.total()} {table} are missing or differ, such as {_first(missing)}"
        if more:
            yield f"run {run}: {more.total()} {table} are too many or differ, such as {_first(more)}"


def rows_said(run: Run) -> Rows:
    """The rows that a run must have, by the rule that a case of which a process failed has no number."""
    results = run.results
    failed = {_unit(r) for r in results if r.outcome is not Outcome.MEASURED}
    told = [(*_unit(r), r.process, r.outcome.value, r.detail) for r in results]
    readings = sorted(
        ((*_unit(r), g.metric.name), r.process, g.value, tuple(np.array(g.samples, np.float32).tolist()))
        for r in results
        if _unit(r) not in failed
        for g in r.readings
    )
    samples = [(*series, process, taken) for series, process, _, taken in readings if taken]
    measurements = []
    for series, group in groupby(readings, key=lambda reading: reading[0]):
        values = tuple(value for _, _, value, _ in group)
        measurements.append((*series, median(values), values))
    return {"outcomes": Counter(told), "samples": Counter(samples), "measurements": Counter(measurements)}


def rows_stored(connection: Connection, run: str) -> Rows:
    """The rows that the database has of a run."""
    return {table: Counter(_rows(connection, query, run)) for table, query in QUERIES.items()}


def _rows(connection: Connection, query: str, run: str) -> Iterator[tuple[Any, ...]]:
    for row in connection.execute(text(query), {"run": UUID(run)}):
        yield tuple(tuple(np.array(v, np.float32).tolist()) if _is_sampled(query, v) else _flat(v) for v in row)


def _is_sampled(query: str, value: object) -> bool:
    return isinstance(value, list) and "FROM samples" in query


def _flat(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _unit(result: CaseResult) -> tuple[str, str, str]:
    return result.benchmark, result.case.digest, result.provider


def _first(rows: "Counter[tuple[Any, ...]]") -> str:
    return f"{next(iter(rows))}"[:160]
