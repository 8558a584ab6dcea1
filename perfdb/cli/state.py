"""State: the one ``perfdb up`` of a state folder. Whoever holds the lock is alive, so its facts are true."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Up:
    """A running ``perfdb up``: its process, and the dashboard's address once it answers."""

    pid: int
    address: str = ""


class UpState:
    """``up.lock`` and ``up.json`` of a state folder."""

    def __init__(self, home: Path) -> None:
        self._lock, self._facts = home / "up.lock", home / "up.json"

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Whether we are the only one; the claim lasts as long as the context."""
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            self.tell("")
            try:
                yield True
            finally:
                self._facts.unlink(missing_ok=True)

    def tell(self, address: str) -> None:
        """Say where the dashboard is."""
        unfinished = self._facts.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(Up(os.getpid(), address))))
        unfinished.rename(self._facts)

    def running(self) -> Up | None:
        """The ``perfdb up`` that runs, if one does."""
        if not self._lock.exists():
            return None
        with self._lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return self._read()
        return None

    def _read(self) -> Up | None:
        try:
            return Up(**json.loads(self._facts.read_text()))
        except (OSError, ValueError, TypeError):
            return None
