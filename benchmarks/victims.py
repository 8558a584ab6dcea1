"""Victims: ``python -m benchmarks.victims (ingest|write) HOME``: a process that works until it is killed.

It says on standard output what it has acknowledged: ``ready``, ``closed RUN`` once a spool file is closed, ``stored
RUN`` once an ingest has returned. It ends by itself when its standard input is closed.
"""

import select
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from uuid import uuid4

from benchmarks.generated import header, results, spool_file
from perfdb.database import open_migrated
from perfdb.detect import ingest_folder
from perfdb.domain.case import Case, Outcome
from perfdb.domain.run import CaseResult, RunState
from perfdb.errors import PerfdbError
from perfdb.settings import Settings
from perfdb.spool import SpoolWriter

#: Of one file that is ingested: series, processes.
SERIES, PROCESSES = 150, 2
#: Files that wait when an ingest begins.
FILES = 3
#: Cases of a run that is written; each is waited for until it is on disk.
WRITTEN = 40


def ingest(settings: Settings) -> None:
    """Make spool files, then store all that waits, as ``perfdb ingest`` does; again and again."""
    settings.spool.mkdir(parents=True, exist_ok=True)
    staged = settings.home / "spool" / "staged"
    staged.mkdir(exist_ok=True)
    while is_wanted():
        for _ in range(FILES):
            path = spool_file(staged, SERIES, processes=PROCESSES, samples=5)
            path.replace(settings.spool / path.name)
            say("closed", path.stem)
        store(settings)


def write(settings: Settings) -> None:
    """Write a run line by line, then store it, as ``perfdb run`` does; again and again."""
    for number in count():
        if not is_wanted():
            return
        head = replace(header("written", processes=2), run_id=str(uuid4()), started_at=datetime.now(UTC), seed=number)
        with SpoolWriter(settings.spool, head) as spool:
            for result in (*results(WRITTEN // 2, 2, 5), _failed()):
                spool.add(result)
            spool.close_run(datetime.now(UTC))
        say("closed", head.run_id)
        store(settings)


def store(settings: Settings) -> None:
    """Ingest and judge what waits, and say what was stored."""
    with open_migrated(settings) as engine:
        for done in ingest_folder(engine, settings.spool, settings.ingested):
            if done.report and done.report.state is RunState.COMPLETE:
                say("stored", done.report.run_id)


def say(word: str, run: str = "") -> None:
    """In one write, so that a kill leaves whole lines only."""
    sys.stdout.write(f"{word} {run}\n")
    sys.stdout.flush()


def is_wanted() -> bool:
    """Whether whoever started us still holds our standard input open."""
    return not select.select([sys.stdin], [], [], 0)[0]


def _failed() -> CaseResult:
    return CaseResult("failing", Case.of(n=1), "eager", 0, Outcome.FAILED, datetime.now(UTC), detail="ValueError: no")


def main() -> int:
    """Work until killed, or until standard input ends; errors as ``perfdb`` tells them."""
    work = {"ingest": ingest, "write": write}[sys.argv[1]]
    say("ready")
    try:
        work(Settings(home=Path(sys.argv[2])))
    except PerfdbError as error:
        sys.stderr.write(f"perfdb: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
