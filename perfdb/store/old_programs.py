"""OldPrograms: PostgreSQL programs of an older major version, found on this machine or installed aside."""

import subprocess
import sys
from pathlib import Path

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import SYSTEM, WHEEL, Binaries, binaries_in, open_to_all, system_folders
from perfdb.store.folders import remove_folder

#: Below the state folder; one folder a major version, as pip filled it.
INSTALLED = "postgres-old"


def old_programs(home: Path, major: int) -> Binaries:
    """Programs of that version: the system's, a copy of an old wheel, else a wheel that pip installs into ``home``.

    Raises ``EmbeddedError`` saying where it looked and what to do.
    """
    return found_programs(home, major) or _install(home, major)


def found_programs(home: Path, major: int) -> Binaries | None:
    """Programs of that version that are on this machine."""
    copies = [path / WHEEL for path in sorted(home.glob(f"postgres-{major}.*"), reverse=True)]
    wheels = [package / "pginstall" / "bin" for package in (*copies, home / INSTALLED / str(major) / WHEEL)]
    for folder in (*system_folders("postgres"), *wheels):
        found = binaries_in(folder, str(folder))
        if found and found.major == major:
            return found
    return None


def _install(home: Path, major: int) -> Binaries:
    """Ask pip for the wheel of that version, aside from the one that perfdb uses."""
    wanted = f"{WHEEL.replace('_', '-')}=={major}.*"
    target = home / INSTALLED / str(major)
    unfinished = target.with_name(f"{target.name}.unfinished")
    remove_folder(unfinished)
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]
    done = subprocess.run(
        [sys.executable, "-P", *command, str(unfinished), wanted],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        open_to_all(unfinished)
        target.parent.chmod(0o755)
        unfinished.rename(target)
    else:
        remove_folder(unfinished)
    return found_programs(home, major) or _missing(home, major, wanted, done.stderr)


def _missing(home: Path, major: int, wanted: str, said: str) -> Binaries:
    lines = [line.strip() for line in said.splitlines() if "error" in line.lower()]
    reason = lines[-1].removeprefix("ERROR: ") if lines else "it gave no reason"
    raise EmbeddedError(
        f"the programs of PostgreSQL {major} are needed to read the old data folder; they are neither in "
        f"{SYSTEM}/{major}/bin nor in {home}, and pip could not install {wanted}: {reason}; install PostgreSQL {major} "
        f"(Debian: apt install postgresql-{major}), then repeat the command"
    )
