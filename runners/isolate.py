"""Isolate: one worker process in its own group, read over a pipe, whose end has a name whatever it was."""

import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from perfdb.domain.case import Outcome
from runners.measure.messages import CASE_MARK, Plan, write_plan

Message = Mapping[str, Any]

#: What is kept of a worker's standard output and error, so that printing a gigabyte costs nothing.
KEPT_OUTPUT_BYTES = 64 * 2**10
_CHUNK_BYTES = 2**16
#: How often a worker that holds its pipe open is asked whether it still lives.
_LOOK_S = 0.2
#: A pipe holds at most 1 MiB, the most that a user may ask Linux for.
_REST_READS = 2 * 2**20 // _CHUNK_BYTES
#: Our packages come before everything, so that nothing named like them can take their place.
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runners.measure.worker import main; main(*sys.argv[2:])"


@dataclass(frozen=True, slots=True)
class Launcher:
    """How workers are started: their Python, our packages, their environment, and where their folders go."""

    python: Path
    packages: Path
    environment: Mapping[str, str]
    scratch: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker ended: its exit code or minus its signal, whether we ended it for its time, its last output."""

    code: int
    is_timed_out: bool
    output: str

    def blame(self) -> tuple[Outcome, str]:
        """What this end means for the case that was running."""
        if self.is_timed_out:
            return Outcome.TIMED_OUT, f"was still running when its time was over{self.last_line}"
        if self.code == -signal.SIGKILL:
            return Outcome.OUT_OF_MEMORY, f"was killed by SIGKILL, as Linux does when memory runs out{self.last_line}"
        if self.code < 0:
            return Outcome.FAILED, f"was killed by {_signal_name(-self.code)}{self.last_line}"
        return Outcome.FAILED, f"ended its process with exit code {self.code}{self.last_line}"

    @property
    def last_line(self) -> str:
        """``; last output: ...``, or nothing when nothing was printed."""
        lines = [" ".join(line.split()) for line in self.output.replace("\0", " ").splitlines() if line.strip()]
        return f"; last output: {lines[-1][:160]}" if lines else ""


class Worker:
    """A worker process. Leaving the context kills its whole group and removes its folder."""

    def __init__(self, launcher: Launcher, plan: Plan) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="worker-", suffix=f"-{os.getpid()}", dir=launcher.scratch))
        self._output = bytearray()
        self._messages: deque[Message] = deque()
        self._torn = b""
        self._is_timed_out = False
        self._deadline = time.monotonic()
        self._pipe, far_end = os.pipe()
        try:
            self._process = self._started(launcher, plan, far_end)
        finally:
            os.close(far_end)

    def _started(self, launcher: Launcher, plan: Plan, far_end: int) -> subprocess.Popen[bytes]:
        write_plan(plan, self._folder / "plan.json")
        working = self._folder / "cwd"
        working.mkdir()
        command: list[str | Path] = [
            launcher.python,
            "-P",
            "-c",
            _START,
            launcher.packages,
            self._folder / "plan.json",
            str(far_end),
        ]
        return subprocess.Popen(
            command,
            cwd=working,
            env=dict(launcher.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(far_end,),
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        os.close(self._pipe)
        if self._process.stdout:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def allow(self, seconds: float) -> None:
        """From now on the worker has this long until it must have said what comes next."""
        self._deadline = time.monotonic() + seconds

    def messages(self) -> Iterator[Message]:
        """What the worker says, until it ends or its time is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ, self._take_messages)
            selector.register(self._stdout, selectors.EVENT_READ, self._take_output)
            while self._is_going_on():
                self._read(selector, _LOOK_S)
                yield from self._waiting()
            self._read_rest(selector)
            yield from self._waiting()

    def kill(self) -> None:
        """End the worker and everything it started; nothing happens when it has ended."""
        family = self._descendants()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for child in family:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self._process.wait()

    def ended(self) -> Ended:
        """How the worker ended; called after ``messages`` has run out."""
        of_this_case = self._output.rpartition(CASE_MARK)[2]
        return Ended(self._process.wait(), self._is_timed_out, of_this_case.decode(errors="replace"))

    @property
    def _stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _is_going_on(self) -> bool:
        is_alive = self._process.poll() is None
        if is_alive and time.monotonic() < self._deadline:
            return True
        self._is_timed_out = is_alive
        self.kill()
        return False

    def _waiting(self) -> Iterator[Message]:
        while self._messages:
            yield self._messages.popleft()

    def _read_rest(self, selector: selectors.BaseSelector) -> None:
        """What was written before the end: never more than pipes hold, as a stray child may write for ever."""
        for _ in range(_REST_READS):
            if not self._read(selector, 0):
                return

    def _read(self, selector: selectors.BaseSelector, patience_s: float) -> bool:
        if not selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
            return False
        ready = selector.select(patience_s)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if chunk:
                key.data(chunk)
            else:
                selector.unregister(key.fd)
        return bool(ready)

    def _take_output(self, chunk: bytes) -> None:
        self._output += chunk
        del self._output[:-KEPT_OUTPUT_BYTES]

    def _take_messages(self, chunk: bytes) -> None:
        *lines, self._torn = (self._torn + chunk).split(b"\n")
        for line in lines:
            # a benchmark may write to any descriptor; what is no message of ours says nothing
            with suppress(ValueError):
                self._messages.append(json.loads(line))

    def _descendants(self) -> list[psutil.Process]:
        """Children that left the group, which only their parent still knows."""
        try:
            return list(psutil.Process(self._process.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return []


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
