"""Spool: the versioned JSON-lines record of a run, appended durably and read line by line.

A file holds one run: a ``run`` line, then ``result`` lines, then one ``end`` line. Every line is one JSON object with
``v`` (format version) and ``kind``. A torn last line loses only itself; a rejected line is reported with its number.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from perfdb.domain.run import CaseResult, Run, RunHeader
from perfdb.errors import SpoolError
from perfdb.record import Record, decode_header, decode_result, decode_time, encode_header, encode_result, encode_time

SPOOL_VERSION = 1
SUFFIX = ".jsonl"
#: A longer line is no result of ours (a case with 10,000 samples takes 0.2 MB).
MAX_LINE_BYTES = 16 * 2**20


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
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("xb", buffering=0)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._append(encode_header(header))
        _sync_folder(folder)

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
        line = json.dumps({"v": SPOOL_VERSION, **record}, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            self._file.write(line)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error


def read_spool(path: Path) -> SpoolFile:
    """Read a run.

    Raises ``SpoolError`` when the file cannot be read, its run line is missing or broken, or a newer perfdb wrote it.
    """
    reader = _Reader(path)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(_lines(file), start=1):
                reader.take(number, line)
    except OSError as error:
        raise SpoolError(f"cannot read {path}: {error.strerror}; check that it exists and is readable") from error
    return reader.spool_file()


class _Reader:
    """Collects the records of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: RunHeader | None = None
        self.results: list[CaseResult] = []
        self.finished_at: datetime | None = None
        self.rejections: list[Rejection] = []

    def take(self, number: int, line: bytes) -> None:
        """Take one line or note why not. A newer version is no rejection: the whole file is refused."""
        try:
            self._accept(_parse(line))
        except _NewerVersionError as newer:
            raise SpoolError(
                f"{self.path} line {number} has spool version {newer}, this perfdb reads up to {SPOOL_VERSION}; "
                "upgrade perfdb on this machine, then ingest the file again"
            ) from newer
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            self.rejections.append(Rejection(number, _reason(line, error)))

    def spool_file(self) -> SpoolFile:
        """What was collected; raises ``SpoolError`` when there is no run line."""
        if self.header is None:
            first = f" (line {self.rejections[0].line}: {self.rejections[0].reason})" if self.rejections else ""
            raise SpoolError(f"{self.path} has no readable run line{first}; move the file aside or restore it")
        run = Run(self.header, tuple(self.results), self.finished_at)
        return SpoolFile(self.path, run, tuple(self.rejections))

    def _accept(self, record: Record) -> None:
        kind = record["kind"]
        if kind == "run":
            if self.header is not None:
                raise ValueError("a second run line")
            self.header = decode_header(record)
        elif self.header is None:
            raise ValueError("comes before the run line")
        elif kind == "result":
            self.results.append(decode_result(record))
        elif kind == "end":
            self.finished_at = decode_time(record["finished_at"])
        else:
            raise ValueError(f"unknown kind {kind!r:.60}")


class _NewerVersionError(Exception):
    """The line's format version is above ours."""


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
            yield b""
        else:
            yield line


def _parse(line: bytes) -> Record:
    if not line.strip():
        raise ValueError("is empty or too long")
    if not line.endswith(b"\n"):
        raise ValueError("is torn: it has no end")
    record = json.loads(line)
    if not isinstance(record, dict):
        raise TypeError("is not a JSON object")
    version = record.get("v")
    if not isinstance(version, int):
        raise TypeError("has no format version")
    if version > SPOOL_VERSION:
        raise _NewerVersionError(version)
    return record


def _reason(line: bytes, error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"has no field {error.args[0]!r}"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "is not JSON" if line.endswith(b"\n") else "is torn: it has no end"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    return f"{error}"[:200]


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
