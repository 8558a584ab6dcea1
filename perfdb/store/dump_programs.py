"""DumpPrograms: the pg_dump and pg_restore that fit a server, found on this machine and run."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import make_url

from perfdb.errors import StoreError
from perfdb.store.binaries import WHEEL, chosen_folder, program_major, system_folders
from perfdb.store.engine import address, rendered

PROGRAMS = ("pg_dump", "pg_restore")
#: From this version on pg_restore sets ``transaction_timeout``, which older servers do not know.
SETS_TRANSACTION_TIMEOUT = 17


@dataclass(frozen=True, slots=True)
class DumpPrograms:
    """A folder with ``pg_dump`` and ``pg_restore`` of one major version."""

    folder: Path
    major: int

    def restores_into(self, server_major: int) -> bool:
        """Whether this pg_restore fills a server of that version without an error."""
        newer = SETS_TRANSACTION_TIMEOUT
        return self.major >= server_major and (self.major < newer or server_major >= newer)

    def dump(self, url: str, file: Path, *, snapshot: str | None = None, held: int | None = None) -> None:
        """Write the database as an archive; pg_dump keeps the descriptor ``held`` open as long as it lives.

        Raises ``StoreError`` saying what pg_dump said.
        """
        arguments = ["--format=custom", f"--file={file}"]
        if snapshot:
            arguments.append(f"--snapshot={snapshot}")
        self._connected("pg_dump", url, *arguments, doing=f"dump {address(url)}", held=held)

    def restore(self, file: Path, url: str) -> None:
        """Fill an empty database from an archive, all or nothing; its owner is whoever connects.

        Raises ``StoreError`` saying what pg_restore said.
        """
        arguments = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", str(file))
        self._connected("pg_restore", url, *arguments, doing=f"restore {file} into {address(url)}")

    def revision_of(self, file: Path) -> str | None:
        """The perfdb revision that an archive was made at; None when it holds no database of perfdb.

        Raises ``StoreError`` when the file is no archive that this pg_restore reads.
        """
        done = self._run("pg_restore", "--data-only", "--table=alembic_version", "--file=-", str(file))
        if done.returncode:
            raise StoreError(
                f"{file} is no backup that can be read: {_first_error(done.stderr)}; {_action(done.stderr)}"
            )
        copied = re.search(r"^COPY .*alembic_version.*\n(\w+)$", done.stdout, re.MULTILINE)
        return copied.group(1) if copied else None

    def _connected(self, program: str, url: str, *arguments: str, doing: str, held: int | None = None) -> None:
        parts = conninfo_to_dict(rendered(make_url(url).set(drivername="postgresql")))
        password = parts.pop("password", None)  # an argument would show it to every user of the machine
        conninfo = make_conninfo("", **parts)
        environment = {"PGPASSWORD": str(password)} if password else {}
        done = self._run(program, "--dbname", conninfo, "--no-password", *arguments, environment=environment, held=held)
        if done.returncode:
            raise StoreError(f"{program} could not {doing}: {_first_error(done.stderr)}; {_action(done.stderr)}")

    def _run(
        self, program: str, *arguments: str, environment: Mapping[str, str] | None = None, held: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            pass_fds=() if held is None else (held,),
        )


def known_programs(chosen: Path | None = None) -> list[DumpPrograms]:
    """Every pair on this machine: those of the chosen folder, the wheel's and the system's, oldest first."""
    folders = [folder for folder in (chosen or chosen_folder(), _wheel_folder()) if folder]
    folders += system_folders("pg_dump")
    found = [(folder, program_major(folder / "pg_dump")) for folder in folders if _holds_both(folder)]
    return sorted((DumpPrograms(folder, major) for folder, major in found if major), key=lambda known: known.major)


def programs_for_dump(server_major: int, chosen: Path | None = None) -> DumpPrograms:
    """The oldest pair that dumps a server of that version: what it writes the most servers take back.

    Raises ``StoreError`` when there is none.
    """
    for known in known_programs(chosen):
        if known.major >= server_major:
            return known
    raise StoreError(_none_fits(server_major, f"{server_major} or newer", chosen))


def programs_for_restore(server_major: int, chosen: Path | None = None) -> DumpPrograms:
    """The newest pair that fills a server of that version: it reads the most archives.

    Raises ``StoreError`` when there is none.
    """
    for known in reversed(known_programs(chosen)):
        if known.restores_into(server_major):
            return known
    newest = SETS_TRANSACTION_TIMEOUT - 1
    wanted = f"{server_major} or newer" if server_major > newest else f"{server_major} to {newest}"
    raise StoreError(_none_fits(server_major, wanted, chosen))


def _none_fits(server_major: int, wanted: str, chosen: Path | None) -> str:
    seen = ", ".join(str(known.major) for known in known_programs(chosen))
    here = f"those of version {seen}" if seen else "none"
    return (
        f"the server is PostgreSQL {server_major}, which needs {' and '.join(PROGRAMS)} of version {wanted}; this "
        f"machine has {here}: install them (Debian: apt install postgresql-client-{server_major}), then repeat the "
        "command"
    )


def _wheel_folder() -> Path | None:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _holds_both(folder: Path) -> bool:
    return all((folder / program).is_file() for program in PROGRAMS)


def _first_error(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()] or lines
    return re.sub(r"^pg_\w+: (error: )?", "", errors[0]).rstrip(".;") if errors else "it gave no reason"


def _action(said: str) -> str:
    if "No space left" in said:
        return "free space, then repeat the command"
    if "unsupported version" in said:
        return "a newer pg_dump made it: install a PostgreSQL client of its version, then repeat the command"
    if "does not appear to be a valid archive" in said or "too short" in said:
        return "name a file that perfdb db backup made"
    return "correct that, then repeat the command"
