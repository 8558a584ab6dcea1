"""StateFolder: what perfdb puts into ``PERFDB_HOME``, how large each part is, and its removal."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from perfdb.errors import PerfdbError
from perfdb.spool import SUFFIX
from perfdb.store.folders import remove_folder, size_of

#: Every name that perfdb gives to something in its state folder, by what it is to people; the first match counts.
#: ``perfdb.toml`` is the user's own and not among them.
NAMES = (
    ("database", r"pg\d+|upgrading|initialising|checking"),
    ("data folders kept after an upgrade", r"pg\d+\.kept-\d{8}(-\d+)?"),
    ("PostgreSQL programs", r"postgres-\d+(\.\d+)+(\.\d+)?|postgres-old"),
    ("spool", r"spool"),
    ("logs", r"log"),
    ("backups", r"backup"),
    ("worktrees", r"worktrees"),
    ("state", r"(server|up)\.(json|new)|(server|start|up|measuring)\.lock"),
)
#: Whoever uses the database, runs ``perfdb up`` or measures holds one of these.
LOCKS = ("server.lock", "up.lock", "measuring.lock")


@dataclass(frozen=True, slots=True)
class Part:
    """Something that perfdb made in its state folder."""

    path: Path
    what: str
    size_bytes: int


def parts(home: Path) -> list[Part]:
    """What perfdb made in ``home``, largest first; what it does not know is left out."""
    listed = home.iterdir() if home.is_dir() else ()
    found = [Part(path, what, size_of(path)) for path in listed if (what := _what(path.name))]
    return sorted(found, key=lambda part: (-part.size_bytes, part.path.name))


def waiting_runs(spool: Path) -> int:
    """Run files that are not stored yet."""
    return sum(1 for _ in spool.glob(f"*{SUFFIX}"))


def set_aside_runs(spool: Path) -> dict[str, int]:
    """Run files in each folder of the spool, e.g. those that were stored, by the folder's name."""
    folders = sorted(path for path in spool.iterdir() if path.is_dir()) if spool.is_dir() else []
    return {folder.name: sum(1 for _ in folder.glob(f"*{SUFFIX}*")) for folder in folders}


def log_files(home: Path) -> list[Part]:
    """Every log: the dashboard's, and each data folder's server's."""
    found = [path for pattern in ("log/*", "pg*/server.log") for path in home.glob(pattern) if path.is_file()]
    return [Part(path, "log", size_of(path)) for path in sorted(found)]


@contextmanager
def unused(home: Path) -> Iterator[None]:
    """Keep every other perfdb process out of the folder. Raises ``PerfdbError`` while something runs in it."""
    with ExitStack() as held:
        for name in LOCKS:
            if not (home / name).exists():
                continue
            lock = held.enter_context((home / name).open("a"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _still_used(f"a perfdb process uses {home}") from None
        for pid_file in home.glob("pg*/postmaster.pid"):
            if _runs_in(pid_file):
                raise _still_used(f"the PostgreSQL of {pid_file.parent} runs")
        yield


def remove(found: list[Part], home: Path) -> None:
    """Remove parts, and the folder itself when nothing else is in it."""
    for part in found:
        if part.path.is_dir() or part.path.is_symlink():
            remove_folder(part.path)
        else:
            part.path.unlink(missing_ok=True)
    if home.is_dir() and not any(home.iterdir()):
        home.rmdir()


def _what(name: str) -> str:
    return next((what for what, pattern in NAMES if re.fullmatch(pattern, name)), "")


def _runs_in(pid_file: Path) -> bool:
    """Whether the process that a pid file names is a server in that folder, and not one that got its number later."""
    try:
        pid = int(pid_file.read_text().split()[0])
        os.kill(pid, 0)
    except (OSError, ValueError, IndexError):
        return False
    folder = Path(f"/proc/{pid}/cwd")
    try:
        return folder.resolve() == pid_file.parent.resolve()
    except OSError:
        return True


def _still_used(seen: str) -> PerfdbError:
    return PerfdbError(f"{seen}; stop it with perfdb down, then repeat the command")
