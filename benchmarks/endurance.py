"""``python -m benchmarks.endurance [--kills N] [--seed N] [--keep]``: what survives SIGKILL at random moments.

In turn the PostgreSQL server, a process that ingests, one that writes runs, and rarely a real ``perfdb run`` are
killed. After each kill the next start must recover by itself, and whatever was acknowledged must be there exactly once.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from benchmarks.figure import Figure, keep, machine_facts, markdown
from benchmarks.ledger import Ledger
from perfdb.database import open_migrated
from perfdb.detect import ingest_folder
from perfdb.errors import PerfdbError
from perfdb.settings import Settings
from perfdb.store.binaries import CHOSEN_VARIABLE
from perfdb.store.embedded import EmbeddedServer

ROOT = Path(__file__).parents[1]
#: Victims, one after the other; a real run takes longer than the others together.
TURNS = ("server", "ingest", "writer")
REAL_RUN_EVERY = 40
REAL_RUN = ("-m", "perfdb", "run", "smoke", "--filter", "levels=*", "--processes", "1")
#: Seconds from the first sign of life within which a victim is killed: about what it needs for one round.
WITHIN = {"server": 1.5, "ingest": 2.5, "writer": 2.0, "run": 8.0}
#: Every run is compared with its file row by row this often, and at the end; those of the last kill always are.
WHOLE_EVERY = 25
SLOWEST_RECOVERY_S = 30.0
PATIENCE_S = 60.0


@dataclass(slots=True)
class Endurance:
    """Kills in one state folder, and what was seen after them."""

    home: Path
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    recoveries_s: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.settings.spool, self.settings.ingested)

    @property
    def settings(self) -> Settings:
        """Of the state folder; those of the person who runs this count for nothing."""
        return Settings(home=self.home, database_url=None)

    def kill(self, victim: str) -> None:
        """Kill one victim at a random moment, recover, and check what belongs to it."""
        before = self.ledger.closed.copy()
        {"server": self._kill_server, "run": self._kill_run}.get(victim, self._kill_process)(victim)
        self.ledger.note_closed_files()
        self.recover(self.ledger.closed - before)

    def recover(self, runs: set[str] | None = None) -> None:
        """Start again, ingest what waits, and compare ``runs`` (default: all) with the database."""
        started = time.perf_counter()
        try:
            with open_migrated(self.settings) as engine:
                self.recoveries_s.append(time.perf_counter() - started)
                self._check(engine, runs)
        except PerfdbError as error:
            self.violations.append(f"no recovery: {error}")

    def _check(self, engine: Engine, runs: set[str] | None) -> None:
        with engine.connect() as connection:
            self.violations += self.ledger.losses(connection)
        for report in ingest_folder(engine, self.settings.spool, self.settings.ingested):
            if report.refusal:
                self.violations.append(f"refused: {report.refusal}")
            elif report.rejections:
                self.violations.append(f"{report.path} line {report.rejections[0].line} {report.rejections[0].reason}")
        with engine.connect() as connection:
            self.violations += self.ledger.violations(connection, runs)

    def _kill_process(self, victim: str) -> None:
        with self._started("-m", "benchmarks.victims", {"ingest": "ingest", "writer": "write"}[victim]) as process:
            self._await_ready(process)
            time.sleep(self.chance.uniform(0, WITHIN[victim]))
            self._kill_now(process, victim)
            self._heard(process)

    def _kill_server(self, victim: str) -> None:
        """While a process ingests, which must then end with one sentence, or not have noticed."""
        with self._started("-m", "benchmarks.victims", "ingest") as process:
            self._await_ready(process)
            time.sleep(self.chance.uniform(0, WITHIN[victim]))
            deadline = time.monotonic() + PATIENCE_S
            while not self._was_server_killed() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            said = self._heard(process)
        if process.returncode not in (0, 1) or "Traceback" in said or len(said.splitlines()) > 1:
            self.violations.append(f"the server was killed and the ingest ended with {process.returncode}: {said}")

    def _kill_run(self, victim: str) -> None:
        with self._started(*REAL_RUN) as process:
            time.sleep(self.chance.uniform(1, WITHIN[victim]))
            self._kill_now(process, victim)
            process.communicate()

    def _kill_now(self, process: "subprocess.Popen[str]", victim: str) -> None:
        """Count it as killed unless it had ended by itself, which only a real run may."""
        is_alive = process.poll() is None
        process.kill()
        self.kills[victim] += is_alive
        if not is_alive and victim != "run":
            self.violations.append(f"the {victim} ended by itself: {process.communicate()[1]}")

    def _was_server_killed(self) -> bool:
        with suppress(OSError, ValueError, IndexError):
            pid_file = EmbeddedServer(self.home).data / "postmaster.pid"
            os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
            self.kills["server"] += 1
            return True
        return False

    @contextmanager
    def _started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        more = (str(self.home),) if "benchmarks.victims" in arguments else ()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PERFDB_") or name == CHOSEN_VARIABLE
        }
        process = subprocess.Popen(
            [sys.executable, *arguments, *more],
            cwd=ROOT,
            env={**kept, "PERFDB_HOME": str(self.home), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def _await_ready(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"a victim did not start: {process.communicate()[1]}")

    def _heard(self, process: "subprocess.Popen[str]") -> str:
        """Note what a victim acknowledged once its standard input is closed; gives what it said of errors."""
        said, errors = process.communicate(timeout=PATIENCE_S)
        noted = {"closed": self.ledger.closed, "stored": self.ledger.stored}
        for line in said.splitlines():
            word, _, run = line.partition(" ")
            noted[word].add(run)
        return errors.strip()


def endure(home: Path, kills: int, seed: int, tell: Callable[[str], object] = sys.stderr.write) -> Endurance:
    """Kill so many times in ``home``; the figures are in what is returned."""
    endurance = Endurance(home, random.Random(seed))
    endurance.recover()
    for number in count(1):
        if endurance.kills.total() >= kills:
            break
        is_real = number % REAL_RUN_EVERY == 0
        endurance.kill("run" if is_real else TURNS[number % len(TURNS)])
        if number % WHOLE_EVERY == 0:
            endurance.recover()
            tell(
                f"{number} kills, {len(endurance.ledger.stored)} runs stored, {len(endurance.violations)} violations\n"
            )
    endurance.recover()
    return endurance


def figures(endurance: Endurance) -> Iterator[Figure]:
    """What is kept of it."""
    for victim, many in sorted(endurance.kills.items()):
        yield Figure(f"kills of the {victim}", many, "kills")
    slowest, wrong = max(endurance.recoveries_s, default=0.0), len(endurance.violations)
    yield Figure("runs acknowledged", len(endurance.ledger.closed), "runs")
    yield Figure("starts that recovered by themselves", len(endurance.recoveries_s), "starts")
    yield Figure("slowest recovery", slowest, "s", goal="< 30 s", is_met=slowest < SLOWEST_RECOVERY_S)
    yield Figure("violations", wrong, "", goal="0", is_met=wrong == 0)


def main() -> int:
    """Endure, print the figures, and exit with 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--keep", action="store_true", help="write the figures to benchmarks/results/")
    asked = parser.parse_args()
    sys.stdout.write(f"seed {asked.seed}\n")
    with TemporaryDirectory(prefix="perfdb-endurance-") as folder:
        Path(folder).chmod(0o711)  # PostgreSQL's user must be able to pass it
        endurance = endure(Path(folder), asked.kills, asked.seed)
    found = list(figures(endurance))
    sys.stdout.write("\n".join([*endurance.violations, markdown(found, machine_facts())]) + "\n")
    if asked.keep:
        keep("endurance", found, f"python -m benchmarks.endurance --kills {asked.kills} --seed {asked.seed}")
    return 1 if any(figure.is_met is False for figure in found) else 0


if __name__ == "__main__":
    sys.exit(main())
