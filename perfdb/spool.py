"""Spool: the versioned JSON-lines record of a run, appended durably and read line by line.

A file holds one run: a ``run`` line, then ``result`` lines, then one ``end`` line. Every line is one JSON object with
``v`` (format version) and ``kind``. A torn last line loses only itself; a rejected line is reported with its number.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from perfdb.decoder import NewerVersionError, decode_line
from perfdb.domain.metric import Metric
from perfdb.domain.run import CaseResult, Run, RunHeader
from perfdb.domain.text import printable
from perfdb.errors import SpoolError
from perfdb.record import RECORD_VERSION, Record, encode_header, encode_result, encode_time

SUFFIX = ".jsonl"
#: A longer line is no result of ours (a case with 10,000 samples takes 0.2 MB).
MAX_LINE_BYTES = 16 * 2**20
#: A line of commas would grow thirtyfold when decoded; a line of ours holds far fewer values.
MOST_VALUES = 2**18
#: More broken lines than this are no damage but another kind of file.
MAX_REJECTIONS = 10_000
LONGEST_REASON = 180
TORN = "is torn: it has no end"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that was not taken, with the reason. ``line`` counts from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """A run as read from a file, and the lines that were rejected."""

    path: Path
    run: Run
    rejections: tuple[Rejection, ...] = ()


class SpoolWriter:
    """Appends one run to ``folder/<run id>.jsonl``; every line is on disk before the call returns.

    Raises ``SpoolError`` when the folder cannot be written (a full disk, no rights); what was written before stays.
    """

    def __init__(self, folder: Path, header: RunHeader) -> None:
        self.path = folder / f"{header.run_id}{SUFFIX}"
        unfinished = self.path.with_suffix(".new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            self._file = unfinished.open("xb", buffering=0)
            self._begin(unfinished, header)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _begin(self, unfinished: Path, header: RunHeader) -> None:
        """Name the file once its run line is in it: one without can neither be stored nor completed."""
        try:
            self._append(encode_header(header))
            unfinished.rename(self.path)
        except (OSError, SpoolError):
            self._file.close()
            unfinished.unlink(missing_ok=True)
            raise
        _sync_folder(self.path.parent)

    def add(self, result: CaseResult) -> None:
        """Append one result."""
        self._append(encode_result(result))

    def close_run(self, finished_at: datetime) -> None:
        """Append the closing record: the run is complete."""
        self._append({"kind": "end", "finished_at": encode_time(finished_at)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _append(self, record: Record) -> None:
        line = json.dumps({"v": RECORD_VERSION, **record}, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            self._write(line)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _write(self, line: bytes) -> None:
        """All of it or nothing: a disk that fills up takes part of a line and raises at the next one only."""
        before, rest = self._file.seek(0, os.SEEK_END), memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(before)
            raise


def read_spool(path: Path) -> SpoolFile:
    """Read a whole run into memory. Raises ``SpoolError`` as ``SpoolReader`` does."""
    reader = SpoolReader(path)
    results = tuple(reader.results)
    return SpoolFile(path, Run(reader.header, results, reader.finished_at), reader.rejections)


class SpoolReader:
    """Reads one run, as often as its ``results`` are asked for, holding one line in memory.

    What is true of the whole file (``finished_at``, ``rejections``) is known once the results were read to their end.
    Raises ``SpoolError`` when the file cannot be read, its run line is missing or broken, or a newer perfdb wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished_at: datetime | None = None
        self._rejections: list[Rejection] = []
        self.header = self._find_header()

    @property
    def results(self) -> Iterator[CaseResult]:
        """The results in the order they were taken; every look at them reads the file anew."""
        self.finished_at, self._rejections, is_first = None, [], True
        metrics: dict[tuple[str, str], Metric] = {}
        for number, record in self._records():
            if isinstance(record, CaseResult) and not is_first:
                if contradiction := _contradiction(record, metrics):
                    self._reject(number, contradiction)
                else:
                    yield record
            elif isinstance(record, datetime) and not is_first:
                self.finished_at = record
            elif isinstance(record, RunHeader) and is_first:
                is_first = False
            else:
                self._reject(number, "comes before the run line" if is_first else "is a second run line")

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """The lines that were not taken; of more than ``MAX_REJECTIONS`` the last stands for all that follow."""
        return tuple(self._rejections)

    def _find_header(self) -> RunHeader:
        for _, record in self._records():
            if isinstance(record, RunHeader):
                return record
        first = next(iter(self._rejections), None)
        why = f" (line {first.line} {first.reason})" if first else ""
        raise SpoolError(f"{self.path} has no readable run line{why}; move the file aside or restore it")

    def _records(self) -> Iterator[tuple[int, RunHeader | CaseResult | datetime]]:
        try:
            with _open(self.path) as file:
                for number, line in enumerate(_lines(file), start=1):
                    try:
                        record = _decoded(line)
                    except NewerVersionError as newer:
                        raise self._too_new(number, newer) from newer
                    except (ValueError, RecursionError) as error:
                        self._reject(number, _reason(line, error))
                        continue
                    if not line.endswith(b"\n"):
                        self._reject(number, TORN)
                        continue
                    yield number, record
        except OSError as error:
            raise SpoolError(
                f"cannot read {self.path}: {error.strerror}; check that it exists and is readable"
            ) from error

    def _too_new(self, number: int, newer: NewerVersionError) -> SpoolError:
        return SpoolError(
            f"{self.path} line {number} has spool version {newer}, this perfdb reads up to {RECORD_VERSION}; "
            "upgrade perfdb on this machine, then ingest the file again"
        )

    def _reject(self, number: int, reason: str) -> None:
        if len(self._rejections) < MAX_REJECTIONS:
            self._rejections.append(Rejection(number, reason))
        else:
            self._rejections[-1] = Rejection(number, f"is the last of many: no more than {MAX_REJECTIONS} are listed")


def _open(path: Path) -> BinaryIO:
    """Open a file that has an end: a pipe named like a spool file would keep us waiting."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.open("rb")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
            yield b""
        else:
            yield line


def _decoded(line: bytes) -> RunHeader | CaseResult | datetime:
    if len(line) > MOST_VALUES and line.count(b",") > MOST_VALUES:
        raise ValueError(f"holds more than {MOST_VALUES:,} values")
    return decode_line(line)


def _contradiction(result: CaseResult, metrics: dict[tuple[str, str], Metric]) -> str:
    """What ``result`` says against the ``metrics`` of its benchmark so far: one series has one unit."""
    for reading in result.readings:
        metric = reading.metric
        known = metrics.setdefault((result.benchmark, metric.name), metric)
        if known is not metric and known != metric:  # the decoder makes equal ones once
            said, before = (f"{m.unit!r:.40} ({m.better} is better)" for m in (metric, known))
            return printable(f"says {metric.name!r:.60} in {said}, a line before it in {before}"[:LONGEST_REASON])
    return ""


def _reason(line: bytes, error: Exception) -> str:
    """Why a line was rejected: short, and free of what a hostile file could write to a terminal."""
    if not line.strip():
        return "is empty or too long"
    if not line.endswith(b"\n"):
        return TORN
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    said, _, where = f"{error}".rpartition(" - at ") if " - at " in f"{error}" else (f"{error}", "", "")
    if isinstance(error, msgspec.ValidationError):
        said = f"does not fit at {where.strip('`$.') or 'its start'}: {said[0].lower()}{said[1:]}".replace("`", "")
    elif isinstance(error, msgspec.DecodeError):
        said = f"is not JSON: {said.removeprefix('JSON is malformed: ').lower()}"
    return printable(said[:LONGEST_REASON])


def _unwritable(path: Path, error: OSError) -> SpoolError:
    return SpoolError(
        f"cannot write {path}: {error.strerror}; free space or fix the rights of that folder, then run again"
    )


def _sync_folder(folder: Path) -> None:
    """Make the new file's name itself durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
