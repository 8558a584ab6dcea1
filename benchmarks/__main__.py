"""``python -m benchmarks [ingest] [scale] [pages] [--keep]``: how fast perfdb itself is, as ratios in one run.

Prints a Markdown table with the machine's facts; ``--keep`` also writes it, with the date, to ``benchmarks/results/``.
Works in PERFDB_BENCHMARK_HOME (default: a temporary folder), where a filled store is used again. Exits with 1 when a
goal is missed.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import ingest, pages, scale
from benchmarks.figure import Figure, keep, machine_facts, markdown
from perfdb.store.embedded import EmbeddedServer

BENCHMARKS: dict[str, Callable[[str], Iterator[Figure]]] = {
    "ingest": ingest.measure,
    "scale": scale.measure,
    "pages": pages.measure,
}


def main() -> int:
    """Measure what was asked for, everything by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--keep", action="store_true", help="write the figures to benchmarks/results/")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]}; choose of {', '.join(BENCHMARKS)}")
    figures = []
    with working_folder() as home, EmbeddedServer(home).use() as url:
        for name in asked.names or BENCHMARKS:
            found = list(BENCHMARKS[name](url))
            figures += found
            if asked.keep:
                keep(name, found, f"python -m benchmarks {name}")
    sys.stdout.write(markdown(figures, machine_facts()) + "\n")
    return 1 if any(figure.is_met is False for figure in figures) else 0


@contextmanager
def working_folder() -> Iterator[Path]:
    """Where the server's data lies; PostgreSQL's user must be able to pass it."""
    given = os.environ.get("PERFDB_BENCHMARK_HOME")
    if given:
        yield Path(given).absolute()
        return
    with tempfile.TemporaryDirectory(prefix="perfdb-benchmark-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


if __name__ == "__main__":
    sys.exit(main())
