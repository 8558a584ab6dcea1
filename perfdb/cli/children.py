"""Children: processes that ``up`` starts, told to stop by the signal they expect, and never left behind."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Long enough for a run to store what it has; after that it is killed.
GRACE_S = 30.0
_PR_SET_PDEATHSIG = 1


@contextmanager
def stoppable() -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP raises ``KeyboardInterrupt``; later ones do not disturb the clearing up."""

    def stop(_: int, __: FrameType | None) -> None:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def child(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], output: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, so that only we pass signals on; stopped when the context ends.

    Without ``output`` it writes where we write.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it, give it time to store what it has, then kill it with all its children."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _die_with_parent() -> None:
    """Ask Linux to end the child when we are killed by SIGKILL; let it hear signals that we may be ignoring."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
