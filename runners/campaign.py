"""Campaign: what ``perfdb run`` does around a session: one run of a tree, or one of each commit; stored and shown."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, TextIO

from perfdb.domain.run import Run, RunState
from perfdb.errors import MeasureError, PerfdbError, RepositoryError, SelectionError, SpoolError
from perfdb.settings import Settings
from runners.ingest import measured_commits, store_spool
from runners.probe import this_hardware, this_machine
from runners.progress import Display
from runners.session import Request, measure, prepare
from runners.summary import encode_run, rows_of, table_of
from runners.target import moved
from runners.workspace import inspect
from runners.worktrees import commits_between, worktree

#: What is wrong with one commit and says nothing about the next.
_OF_ONE_COMMIT = (RepositoryError, SelectionError, MeasureError)


@dataclass(slots=True)
class Campaign:
    """Runs for one request. ``runs`` are finished ones as JSON objects, ``begun`` the newest with a spool file."""

    request: Request
    settings: Settings
    display: Display
    runs: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    begun: str | None = None

    def measure_tree(self) -> None:
        """Measure the tree as it is, then store and judge the run."""
        self._measure_and_store(self.request)

    def measure_commits(self, span: str, every: int, *, again: bool) -> None:
        """Measure the commits of ``A..B`` in worktrees, oldest first; one that fails is told and the others go on."""
        target = self.request.target
        shas = commits_between(target.tree, span, every)
        name = inspect(target.tree, name=target.name, files=()).code.repository
        named = replace(self.request, target=replace(target, name=name))
        self.skipped = [] if again else self._measured(name, shas)
        todo = [sha for sha in shas if sha not in self.skipped]
        self.display.say(f"{len(todo)} commits to measure, {len(self.skipped)} have a complete run already")
        for sha in todo:
            self._measure_commit(named, sha)

    def told(self) -> dict[str, Any]:
        """The campaign as one JSON object."""
        return {"runs": self.runs, "skipped_commits": self.skipped, "failed_commits": self.failed}

    def keep_interrupted(self) -> None:
        """Store what an interrupted run has so far."""
        if self.begun is None:
            self.display.say("interrupted before the first case")
            return
        self.display.say(f"interrupted: the finished cases are kept as an incomplete run in {self.settings.spool}")
        try:
            self._store()
        except PerfdbError as error:
            self.display.warn(str(error))

    def _store(self) -> None:
        for warning in store_spool(self.settings, self.begun or ""):
            self.display.warn(warning)

    def _measured(self, repository: str, shas: tuple[str, ...]) -> list[str]:
        hardware = this_hardware(this_machine()).digest
        known = measured_commits(self.settings, repository, self.request.name, hardware)
        return [sha for sha in shas if sha in known]

    def _measure_commit(self, request: Request, sha: str) -> None:
        self.display.say(f"commit {sha[:10]}")
        try:
            with worktree(request.target.tree, sha, self.settings.home / "worktrees") as tree:
                self._measure_and_store(replace(request, target=moved(request.target, tree)))
        except _OF_ONE_COMMIT as error:
            self.failed[sha] = str(error)
            self.display.warn(f"commit {sha[:10]} was not measured: {error}")

    def _measure_and_store(self, request: Request) -> None:
        run = self._measure(request)
        self._store()
        if run.state is RunState.INCOMPLETE:
            raise MeasureError(
                f"{request.target.tree} changed while it was measured, so the run is incomplete, not judged; run again"
            )

    def _measure(self, request: Request) -> Run:
        self.begun = None
        self.display.say(f"loading the benchmarks of {request.target.file or request.target.tree}")
        prepared = prepare(request, self.settings)
        tolerances = {declaration.key: declaration.tolerance for declaration in prepared.chosen()}
        for warning in prepared.workspace.warnings:
            self.display.warn(warning)
        header = prepared.header()
        with alone(self.settings.home, self.display), self.display:
            self.begun = header.run_id
            run = measure(prepared, header, self.settings, self.display)
        rows = rows_of(run, tolerances)
        self.runs.append(encode_run(run, rows))
        self.display.show(table_of(rows, title_of(run)))
        return run


def title_of(run: Run) -> str:
    """What was measured, in one line."""
    head = run.header
    commit = head.code.commit.short if head.code.commit else "no commit"
    return f"{head.suite} of {head.code.repository} at {commit} ({head.code.state}), {head.hardware.label}"


@contextmanager
def alone(home: Path, display: Display) -> Iterator[None]:
    """Wait until no other run of this user measures: two at once would time each other."""
    with lock_file(home) as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            display.say("another perfdb run is measuring; waiting until it ends")
            flock(lock, LOCK_EX)
        yield


def lock_file(home: Path) -> TextIO:
    """The file whose lock the measuring run holds. Raises ``SpoolError`` when the state folder cannot be written."""
    file = home / "measuring.lock"
    try:
        home.mkdir(parents=True, exist_ok=True)
        return file.open("a")
    except OSError as error:
        raise SpoolError(
            f"cannot write {file}: {error.strerror}; free space or fix its rights, then run again"
        ) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM means what Ctrl-C means: stop the worker, keep what there is."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
