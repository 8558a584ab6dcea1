"""Intake: the results of one run, block by block, into measurements, samples and outcomes.

Blocks are turned into packed rows as a whole, and these are sent while the next block is decoded. A measurement is sent
once all planned processes gave their value, and taken back where another process of its case failed: then the case has
no number. The first result of a case, provider and process counts; what repeats it is counted.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection as PsycopgConnection
from sqlalchemy import Connection

from perfdb.domain.case import Case, Outcome
from perfdb.domain.run import CaseResult, RunHeader
from perfdb.domain.series import SeriesKey, identities_in
from perfdb.errors import RefusedRunError
from perfdb.store import identities, packing, renames
from perfdb.store.copier import Copier
from perfdb.store.renames import StoredBenchmark
from perfdb.store.roster import Roster

TABLES = {
    "measurements": ("series_id", "started_at", "run_id", "commit_id", "value", "process_values"),
    "samples": ("series_id", "started_at", "run_id", "process", "values"),
    "outcomes": ("run_id", "case_id", "provider", "process", "outcome", "ended_at", "detail", "first_call_s"),
}
#: Large enough that packing costs nothing a row, small enough for a processor's cache: a result takes about 1.5 kB, and
#: decoding into 20,000 took half as long again.
BLOCK = 2_000
#: A block ends sooner when it holds so many numbers, 64 MB of them; a reading weighs as much as so many samples.
MOST_NUMBERS = 2_000_000
READING = 100
#: Results decoded between two slices that are sent.
STRIDE = 64
#: Objects; more than a block makes.
COLLECT_EVERY = 100_000
#: Series times processes of one run: 64 million values take 0.5 GB.
MOST_CELLS = 64_000_000


@dataclass(frozen=True, slots=True)
class RunIds:
    """What the rows of a run have in common: ids of the store."""

    repository: int
    hardware: int
    commit: int | None


@dataclass(slots=True)
class _Block:
    """Results with the places of what they belong to; ``readings`` lie flat, ``owners`` index the results."""

    results: list[CaseResult]
    units: NDArray[Any]
    series: NDArray[Any]
    owners: NDArray[Any]


@dataclass(slots=True)
class Intake:
    """Takes the results of the run with this ``header`` in the transaction of ``connection``."""

    connection: Connection
    header: RunHeader
    ids: RunIds
    results: int = 0
    repeated: int = 0
    _values: NDArray[Any] = field(default_factory=lambda: np.full((0, 0), np.nan))
    _said: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0), bool))
    _declared: set[tuple[str, str, bool, tuple[str, ...]]] = field(default_factory=set)
    _benchmarks: dict[str, StoredBenchmark] = field(default_factory=dict)
    _copier: Copier = field(init=False)
    _roster: Roster = field(init=False)
    _pattern: SeriesKey = field(init=False)
    _identity: Callable[[str, Case, str, str], bytes] = field(init=False)

    def __post_init__(self) -> None:
        raw = self.connection.connection.driver_connection
        assert isinstance(raw, PsycopgConnection)
        self._copier = Copier(raw, TABLES)
        self._roster = Roster(raw, self.ids.repository, self.ids.hardware)
        head = self.header
        protocol = head.protocol
        self._pattern = SeriesKey(
            head.code.repository, "", Case(()), "", protocol.name, protocol.version, "", head.hardware.digest
        )
        self._identity = identities_in(self._pattern)

    def take(self, results: Iterable[CaseResult]) -> int:
        """Store all of them; gives how many measurements they made."""
        block: list[CaseResult] = []
        numbers = 0
        with _rarely_collecting_cycles(), self._copier:
            for result in results:
                block.append(result)
                for reading in result.readings:
                    numbers += READING + len(reading.samples)
                if len(block) % STRIDE == 0:
                    self._copier.step(1 + (BLOCK - len(block)) // STRIDE)
                if len(block) == BLOCK:
                    self._store(block)
                    block, numbers = [], 0
                elif numbers > MOST_NUMBERS:
                    self._store(block)
                    self._copier.drain()  # few results leave few steps to send it in
                    block, numbers = [], 0
            self._store(block)
            self._send_measurements(np.flatnonzero(~self._roster.series["is_sent"] & self._has_values()))
            self._copier.drain()
            self._take_back(self._series_of_failed())
        return int(self._roster.series["is_sent"].sum())

    def _store(self, results: list[CaseResult]) -> None:
        if not results:
            return
        self.results += len(results)
        block, processes = self._first_said(self._placed(results))
        self._said[block.units, processes] = True
        failed = np.fromiter((r.outcome is not Outcome.MEASURED for r in block.results), bool, len(block.results))
        self._roster.units["has_failed"][block.units[failed]] = True
        self._send_outcomes(block, processes)
        if len(block.owners):
            self._send_samples(block, processes)
            values = np.fromiter((g.value for r in block.results for g in r.readings), np.float64, len(block.owners))
            self._values[block.series, processes[block.owners]] = values
            touched = np.unique(block.series)
            given = np.count_nonzero(~np.isnan(self._values[touched]), axis=1)
            self._send_measurements(touched[given >= self.header.processes])

    def _first_said(self, block: _Block) -> tuple[_Block, NDArray[Any]]:
        """The block without what was said before of the same case, provider and process; and the processes."""
        processes = np.fromiter((r.process for r in block.results), np.int64, len(block.results))
        self._reserve(int(processes.max()) + 1)
        _, firsts = np.unique(block.units * self._said.shape[1] + processes, return_index=True)
        is_first = np.zeros(len(processes), bool)
        is_first[firsts] = True
        is_first &= ~self._said[block.units, processes]
        if is_first.all():
            return block, processes
        self.repeated += len(processes) - int(is_first.sum())
        kept = np.flatnonzero(is_first)
        numbers = np.cumsum(is_first) - 1
        mine = is_first[block.owners]
        results = [block.results[place] for place in kept.tolist()]
        return _Block(results, block.units[kept], block.series[mine], numbers[block.owners[mine]]), processes[kept]

    def _placed(self, results: list[CaseResult]) -> _Block:
        """Find out what the results belong to; what is new or declared otherwise than before is written first."""
        self._learn_names(results)
        identity, named = self._identity, self._benchmarks
        keys = [
            identity(named[r.benchmark].identity, r.case, r.provider, g.metric.name)
            for r in results
            for g in r.readings
        ]
        many = np.fromiter((len(r.readings) for r in results), np.int64, len(results))
        owners = np.repeat(np.arange(len(results)), many)
        news = self._news(results, keys, owners)
        cases = self._write_identities(results, keys, owners, news)
        series = np.fromiter(map(self._roster.places.__getitem__, keys), np.int64, len(keys))
        units = np.zeros(len(results), np.int64)
        units[owners] = self._roster.series["unit"][series]
        mute = [r for r in results if not r.readings]
        ids = [cases[named[r.benchmark].id, r.case.digest] for r in mute]
        units[many == 0] = self._roster.units_of(ids, [r.provider for r in mute])
        block = _Block(results, units, series, owners)
        self._write_identities(results, keys, owners, self._redeclared(block))
        return block

    def _learn_names(self, results: Sequence[CaseResult]) -> None:
        """Find the benchmarks of names that come up for the first time, or are declared otherwise than before."""
        declared = {(r.benchmark, r.module, r.is_control, r.formerly): r for r in results}
        if not declared.keys() <= self._declared:
            self._copier.drain()
            found = renames.benchmarks_of(self.connection, declared.values(), self.ids.repository)
            self._refuse_late_renames()
            self._benchmarks |= found
            self._declared |= declared.keys()

    def _refuse_late_renames(self) -> None:
        """What this run stored as a benchmark of its own cannot become part of another while it is stored."""
        known = renames.known_benchmarks(self.connection, self.ids.repository) if self._benchmarks else {}
        for name, benchmark in self._benchmarks.items():
            if known[name] != benchmark:
                raise RefusedRunError(
                    f"run {self.header.run_id} measured {name!r:.100}, and says later that it is the same benchmark as "
                    "another; declare that from the start and measure again, and move this file aside"
                )

    def _news(self, results: Sequence[CaseResult], keys: Sequence[bytes], owners: NDArray[Any]) -> NDArray[Any]:
        """Places of results whose series or case the store may not know."""
        places = self._roster.places
        if None in map(places.get, keys):
            self._copier.drain()
            self._roster.load(keys)
        is_new = np.fromiter((not r.readings for r in results), bool, len(results))
        is_new[owners[np.fromiter((key not in places for key in keys), bool, len(keys))]] = True
        return np.flatnonzero(is_new)

    def _redeclared(self, block: _Block) -> NDArray[Any]:
        """Places of results whose floor or cost is not what the store has; None is no news."""
        costs = [r.cost for r in block.results]
        units = self._roster.units[block.units]
        stored = np.full(len(block.results), np.nan)
        stored[block.owners] = self._roster.series["floor"][block.series]
        changed = _is_other([r.floor for r in block.results], stored)
        changed |= _is_other([cost.flops if cost else None for cost in costs], units["flops"])
        changed |= _is_other([cost.bytes_moved if cost else None for cost in costs], units["bytes_moved"])
        has_readings = np.zeros(len(block.results), bool)
        has_readings[block.owners] = True
        return np.flatnonzero(changed & has_readings)

    def _write_identities(
        self, results: Sequence[CaseResult], keys: Sequence[bytes], owners: NDArray[Any], news: NDArray[Any]
    ) -> dict[tuple[int, str], int]:
        """Write the results at the places ``news``; gives the ids of their cases."""
        if not len(news):
            return {}
        self._copier.drain()
        written = [results[place] for place in news.tolist()]
        owners_of = {name: benchmark.id for name, benchmark in self._benchmarks.items()}
        cases = identities.case_ids(self.connection, written, owners_of)
        is_mine = np.isin(owners, news)
        mine = [keys[place] for place in np.flatnonzero(is_mine).tolist()]
        wanted = {
            key: identities.NewSeries(
                self._key(result, reading.metric.name),
                cases[owners_of[result.benchmark], result.case.digest],
                reading.metric,
                result.floor,
            )
            for key, (result, reading) in zip(mine, ((r, g) for r in written for g in r.readings), strict=True)
        }
        identities.add_series(self.connection, wanted.values(), self.ids.repository, self.ids.hardware)
        self._roster.renew(list(wanted))
        gc.collect(1)  # statements are cycles and hold their rows: a million series left 300 MB of them
        return cases

    def _key(self, result: CaseResult, metric: str) -> SeriesKey:
        return replace(
            self._pattern,
            benchmark=self._benchmarks[result.benchmark].identity,
            case=result.case,
            provider=result.provider,
            metric=metric,
        )

    def _reserve(self, processes: int) -> None:
        """Make room for every place and process seen so far."""
        columns = max(processes, self._values.shape[1])
        series, units = len(self._roster.series), len(self._roster.units)
        if max(series, units) * columns > MOST_CELLS:
            raise RefusedRunError(
                f"run {self.header.run_id} says {series} series in {columns} processes, which is more than one run may "
                "hold; split it, or move its file aside"
            )
        self._values = _enlarged(self._values, series, columns, np.nan)
        self._said = _enlarged(self._said, units, columns, False)

    def _series_of_failed(self) -> NDArray[Any]:
        """Places of series that were sent before a process of their case failed."""
        series = self._roster.series
        return np.flatnonzero(self._roster.units["has_failed"][series["unit"]] & self._has_values())

    def _take_back(self, places: NDArray[Any]) -> None:
        if len(places):
            mine = self._roster.series["id"][places].tolist()
            raw = self.connection.connection.driver_connection
            assert isinstance(raw, PsycopgConnection)
            for table in ("samples", "measurements"):
                raw.execute(
                    f"DELETE FROM {table} WHERE run_id = %s AND started_at = %s AND series_id = ANY(%s)",
                    (UUID(self.header.run_id), self.header.started_at, mine),
                )
            self._roster.series["is_sent"][places] = False

    def _has_values(self) -> NDArray[Any]:
        given: NDArray[Any] = ~np.isnan(self._values[: len(self._roster.series)]).all(axis=1)
        return given

    def _run_columns(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """``started_at`` and ``run_id``."""
        started = packing.times(packing.microseconds_of(self.header.started_at))
        return started, packing.octets(UUID(self.header.run_id).bytes)

    def _send_measurements(self, places: NDArray[Any]) -> None:
        """Send those whose case did not fail, and that were not sent before, in the order of the index."""
        series = self._roster.series
        places = places[~series["is_sent"][places] & ~self._roster.units["has_failed"][series["unit"][places]]]
        places = places[np.argsort(series["id"][places])]
        given = ~np.isnan(self._values[places])
        many = given.sum(axis=1)
        commit = None if self.ids.commit is None else packing.integers(self.ids.commit)
        for count in np.unique(many).tolist():
            mine = places[many == count]
            values = self._values[mine][given[many == count]].reshape(len(mine), count)
            columns = (
                packing.integers(series["id"][mine]),
                *self._run_columns(),
                commit,
                packing.doubles(np.median(values, axis=1)),
                packing.arrays(values, packing.FLOAT8),
            )
            self._copier.offer("measurements", packing.packed(len(mine), columns))
        series["is_sent"][places] = True

    def _send_samples(self, block: _Block, processes: NDArray[Any]) -> None:
        samples = [reading.samples for result in block.results for reading in result.readings]
        lengths = np.fromiter(map(len, samples), np.int64, len(samples))
        has_failed = self._roster.units["has_failed"][block.units[block.owners]]
        for length in np.unique(lengths[~has_failed & (lengths > 0)]).tolist():
            mine = np.flatnonzero(~has_failed & (lengths == length))
            flat = np.fromiter(chain.from_iterable([samples[i] for i in mine.tolist()]), ">f4", len(mine) * length)
            columns = (
                packing.integers(self._roster.series["id"][block.series[mine]]),
                *self._run_columns(),
                packing.integers(processes[block.owners[mine]], 2),
                packing.arrays(flat.reshape(len(mine), length), packing.FLOAT4),
            )
            self._copier.offer("samples", packing.packed(len(mine), columns))

    def _send_outcomes(self, block: _Block, processes: NDArray[Any]) -> None:
        alike: dict[tuple[str, Outcome, str, bool], list[int]] = {}
        for place, r in enumerate(block.results):
            alike.setdefault((r.provider, r.outcome, r.detail, r.first_call_s is None), []).append(place)
        run_id = packing.octets(UUID(self.header.run_id).bytes)
        for (provider, outcome, detail, is_first_unknown), places in alike.items():
            mine = [block.results[place] for place in places]
            columns = (
                run_id,
                packing.integers(self._roster.units["case_id"][block.units[places]]),
                packing.octets(provider.encode()),
                packing.integers(processes[places], 2),
                packing.octets(outcome.value.encode()),
                packing.times([packing.microseconds_of(r.ended_at) for r in mine]),
                packing.octets(detail.encode()),
                None if is_first_unknown else packing.doubles([r.first_call_s for r in mine]),
            )
            self._copier.offer("outcomes", packing.packed(len(mine), columns))


@contextmanager
def _rarely_collecting_cycles() -> Iterator[None]:
    """Decoded results hold no cycles, and looking for some in every block took a third of an ingest."""
    usual = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _is_other(declared: Sequence[float | None], stored: NDArray[Any]) -> NDArray[Any]:
    said = np.array(declared, np.float64)  # None becomes NaN
    other: NDArray[Any] = ~np.isnan(said) & (said != stored)
    return other


def _enlarged(matrix: NDArray[Any], rows: int, columns: int, filling: float | bool) -> NDArray[Any]:
    """The matrix with at least so many rows and columns."""
    if matrix.shape[0] >= rows and matrix.shape[1] >= columns:
        return matrix
    larger = np.full((max(rows, matrix.shape[0] * 3 // 2), max(columns, matrix.shape[1])), filling, matrix.dtype)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
