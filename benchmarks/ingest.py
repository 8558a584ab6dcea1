"""Ingest: from spool file to commit, against decoding the file alone and against raw COPY of the same rows."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import psycopg
from sqlalchemy import Engine

from benchmarks.figure import Figure
from benchmarks.generated import START, spool_file
from perfdb.spool import SpoolReader, read_spool
from perfdb.store import packing
from perfdb.store.engine import open_engine, sibling_database
from perfdb.store.ingest import ingest_run
from perfdb.store.intake import TABLES
from perfdb.store.migrations import migrate
from perfdb.store.partitions import ensure_month, month_name

SERIES = 200_000
SAMPLES = 20
LARGE = 1_000_000
#: Bytes of one write of a raw COPY.
PIECE = 256 * 1024


def measure(url: str) -> Iterator[Figure]:
    """Ratios of one run; series are known to the store from the second run on, as they are every night."""
    database = sibling_database(url, f"benchmark_ingest_{uuid4().hex[:8]}")
    engine = open_engine(database)
    migrate(engine)
    with tempfile.TemporaryDirectory() as folder:
        first, known, again = (spool_file(Path(folder), SERIES, samples=SAMPLES) for _ in range(3))
        fresh = seconds(lambda: ingested(engine, first))
        decoding = seconds(lambda: sum(1 for _ in SpoolReader(known).results))
        whole = seconds(lambda: ingested(engine, known))
        decoded = _decoded_seconds(engine, again)
        bare, indexed = raw_seconds(database, engine, is_indexed=False), raw_seconds(database, engine, is_indexed=True)
        rate = SERIES / whole
        yield Figure("decode a spool file alone", SERIES / decoding, "results/s")
        yield Figure("spool file to commit", rate, "results/s", decoding / whole, ">= 0.60", decoding / whole >= 0.6)
        yield Figure("spool file to commit, every series new", SERIES / fresh, "results/s", decoding / fresh)
        yield Figure("raw binary COPY, no index", SERIES / bare, "results/s")
        yield Figure("raw binary COPY, indexed and partitioned", SERIES / indexed, "results/s")
        yield _share("decoded results to commit, of raw COPY without index", decoded, bare)
        yield _share("decoded results to commit, of raw COPY into the same tables", decoded, indexed)
    engine.dispose()
    yield peak_memory(sibling_database(url, f"benchmark_memory_{uuid4().hex[:8]}"))


def _decoded_seconds(engine: Engine, path: Path) -> float:
    run = read_spool(path).run
    return seconds(lambda: _ingest(engine, run))


def _share(name: str, ours: float, raw: float) -> Figure:
    return Figure(name, SERIES / ours, "results/s", raw / ours, ">= 0.70", raw / ours >= 0.7)


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ingested(engine: Engine, path: Path) -> None:
    """One file into the store, committed."""
    _ingest(engine, SpoolReader(path))


def _ingest(engine: Engine, run: object) -> None:
    with engine.begin() as connection:
        report = ingest_run(connection, run)  # type: ignore[arg-type]
    assert report.measurements == SERIES, report


def raw_seconds(database: str, engine: Engine, *, is_indexed: bool) -> float:
    """Rows of measurements and samples, packed beforehand, into tables like ours."""
    with engine.begin() as connection:
        ensure_month(connection, START)
    month, rows = month_name(START), raw_rows()
    with psycopg.connect(database.replace("+psycopg", "")) as connection:
        for table in rows:
            like = "INCLUDING ALL" if is_indexed else ""
            partition = "PARTITION BY RANGE (started_at)" if is_indexed else ""
            connection.execute(f"CREATE TABLE raw_{table} (LIKE {table} {like}) {partition}")
            if is_indexed:
                connection.execute(
                    f"CREATE TABLE raw_{table}_{month} PARTITION OF raw_{table} "
                    f"FOR VALUES FROM ('{START:%Y-%m-01}') TO ('{START:%Y-%m-28}')"
                )
        connection.commit()
        spent = seconds(lambda: _copy(connection, rows))
        for table in rows:
            connection.execute(f"DROP TABLE raw_{table}")
        return spent


def _copy(connection: psycopg.Connection[tuple[object, ...]], rows: dict[str, bytes]) -> None:
    for table, packed in rows.items():
        columns = ", ".join(TABLES[table])
        with connection.cursor() as cursor:
            statement = f"COPY raw_{table} ({columns}) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(statement) as copy:
                copy.write(packing.SIGNATURE)
                for start in range(0, len(packed), PIECE):
                    copy.write(packed[start : start + PIECE])
                copy.write(packing.TRAILER)
    connection.commit()


def raw_rows() -> dict[str, bytes]:
    """What an ingest of ``SERIES`` sends, packed."""
    series = packing.integers(np.arange(1, SERIES + 1))
    started, run_id = packing.times(packing.microseconds_of(START)), packing.octets(uuid4().bytes)
    values = np.random.default_rng(1).lognormal(4.6, 0.01, (SERIES, SAMPLES))
    measured = packing.arrays(values[:, :1], packing.FLOAT8)
    sampled = packing.arrays(values, packing.FLOAT4)
    commit, process = packing.integers(1), packing.integers(0, 2)
    return {
        "measurements": packing.packed(
            SERIES, (series, started, run_id, commit, packing.doubles(values[:, 0]), measured)
        ),
        "samples": packing.packed(SERIES, (series, started, run_id, process, sampled)),
    }


def peak_memory(database: str) -> Figure:
    """Of a process of its own that ingests a million measurements."""
    with tempfile.TemporaryDirectory() as folder:
        path = spool_file(Path(folder), LARGE, samples=SAMPLES)
        asked = [sys.executable, "-m", "benchmarks.ingest", database, str(path)]
        said = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    mib = int(said.stdout) / 1024
    return Figure("peak memory, ingest of 1,000,000 measurements", mib, "MiB", goal="< 500 MB", is_met=mib < 476)


def main() -> None:
    """``python -m benchmarks.ingest DATABASE FILE``: ingest, and print the peak of resident memory in KiB."""
    engine = open_engine(sys.argv[1])
    migrate(engine)
    with engine.begin() as connection:
        ingest_run(connection, SpoolReader(Path(sys.argv[2])))
    sys.stdout.write(str(peak_kib()))


def peak_kib() -> int:
    """Of this program: ``ru_maxrss`` also knows the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
