"""Embedded: the PostgreSQL server that came with the install, started when needed and stopped by its last user.

Every process that uses the server holds a shared lock on ``server.lock``; whoever leaves and finds nobody else holding
it stops the server. So no perfdb process pulls it from under another, and a killed one leaves nothing that cannot be
mended: the kernel drops its lock, and the next user recovers the server and stops it in turn.
"""

import fcntl
import json
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from sqlalchemy import URL

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import Binaries, find_binaries, server_account
from perfdb.store.clusters import clusters, other_major, refuse_unfinished_upgrade
from perfdb.store.engine import rendered

DATABASE = "perfdb"
USER = "perfdb"
#: The kernel's limit is 107 bytes with the socket's own name, which is up to 16.
MAX_SOCKET_FOLDER_BYTES = 90
#: PostgreSQL's programs call each other through a shell, between double quotes.
UNQUOTED = ('"', "$", "`", "\\")
#: After kill -9 the orphaned backends keep the memory for a moment: 1.7 to 2.3 s were seen.
START_ATTEMPTS = 20
#: Of replaying what was written before a crash; a gigabyte of it takes half a minute.
RECOVERY_S = 300.0
#: Of writing what is only in memory, before the server is stopped without.
STOP_S = 30
#: How PostgreSQL refuses one connection too many, and any while it stops.
FULL, STOPPING = "too many clients already", "the database system is shutting down"
SECONDS_BETWEEN_ATTEMPTS = 0.5


class EmbeddedServer:
    """One cluster a state folder: all of it lies under ``home``, the data folder owned by whom the server runs as."""

    def __init__(self, home: Path, programs: Binaries | Path | None = None) -> None:
        """``programs`` are the ones to run, or the folder that holds them; by default they are looked for."""
        self.home = home.absolute()
        self._programs = programs
        self._account = server_account()

    @property
    def binaries(self) -> Binaries:
        """The programs, found at first use."""
        if not isinstance(self._programs, Binaries):
            self._programs = find_binaries(self.home, self._programs)
        return self._programs

    @property
    def data(self) -> Path:
        """The data folder of this major version."""
        return self.home / f"pg{self.binaries.major}"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.data / "server.log"

    @property
    def url(self) -> str:
        """Address with password; only valid once the cluster exists."""
        return self._url(DATABASE)

    @contextmanager
    def use(self) -> Iterator[str]:
        """Start the server if it is down, give its address, and stop it when no other process uses it."""
        self._make_home()
        with (self.home / "server.lock").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                self._ensure_running()
                yield self.url
            finally:
                with suppress(BlockingIOError):
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.stop()

    def is_running(self) -> bool:
        """Whether it answers a real connection, be it that it is full: a pid file proves nothing."""
        return self._refusal() is None

    def stop(self) -> bool:
        """Stop the server whoever uses it; False when it was not running.

        One that takes no connection, for it recovers from a crash, is stopped at once and recovers at its next start:
        PostgreSQL 18 was seen to wait forever when it is asked for a fast stop while it recovers.
        """
        if not (self.data / "postmaster.pid").exists():
            return False
        modes = ("fast", "immediate") if self.is_running() else ("immediate",)
        return any(self._pg_ctl("stop", "-m", mode, "-w", "-t", str(STOP_S)).returncode == 0 for mode in modes)

    def _refusal(self) -> str | None:
        """Why it takes no connection; None when it does, or only has too many."""
        if not self._state_file.exists():
            return "it was never started"
        try:
            with psycopg.connect(self._conninfo("postgres"), connect_timeout=3):
                return None
        except psycopg.OperationalError as error:
            return None if FULL in str(error) else str(error)

    @property
    def _state_file(self) -> Path:
        return self.home / "server.json"

    def _make_home(self) -> None:
        if any(character in str(self.home) for character in UNQUOTED):
            raise EmbeddedError(
                f"the state folder {self.home} holds one of {' '.join(UNQUOTED)}, which PostgreSQL's programs do not "
                "take; name another with PERFDB_HOME"
            )
        try:
            if not self.home.is_dir():
                self.home.mkdir(parents=True)
                self.home.chmod(0o711 if self._account else 0o700)  # whatever the umask is
        except OSError as error:
            raise EmbeddedError(
                f"the state folder {self.home} cannot be made: {error.strerror}; name another with PERFDB_HOME"
            ) from error
        self._refuse_unreachable()

    def _refuse_unreachable(self) -> None:
        """PostgreSQL runs as ``nobody`` when we are root, so every folder above must let others through."""
        if self._account is None:
            return
        for folder in (self.home, *self.home.parents):
            if not folder.stat().st_mode & 0o001:
                raise EmbeddedError(
                    f"PostgreSQL does not run as root, and its user {self._account.name} cannot pass {folder}; name "
                    "another state folder with PERFDB_HOME (/var/lib/perfdb works), or run perfdb as a normal user"
                )

    def _ensure_running(self) -> None:
        with (self.home / "start.lock").open("a") as starters:
            fcntl.flock(starters, fcntl.LOCK_EX)
            if not self.is_running():
                if not self.data.is_dir():
                    self._refuse_other_major()
                    self._initialise(starters.fileno())
                self._start()
            self._ensure_database()

    def _refuse_other_major(self) -> None:
        refuse_unfinished_upgrade(self.home)
        for cluster in clusters(self.home):
            raise EmbeddedError(other_major(cluster, self.binaries))

    def _initialise(self, lock: int) -> None:
        """Make the cluster aside and rename it: an interrupted start leaves no half of one.

        The ``lock`` is handed on: when we are killed, initdb works on, and the next start must wait until it has ended.
        """
        unfinished = self.home / "initialising"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        password = secrets.token_urlsafe(24)
        password_file = unfinished / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(password)
        self._hand_over(unfinished, password_file)
        data = unfinished / "data"
        made = self.binaries.run(
            *("initdb", "--pgdata", str(data), "--username", USER, "--pwfile", str(password_file)),
            *("--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C"),
            account=self._account,
            kept_open=(lock,),
        )
        if made.returncode:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise EmbeddedError(f"PostgreSQL could not make its data folder in {self.home}: {_last_line(made.stdout)}")
        with (data / "postgresql.conf").open("a") as conf:
            conf.write("\ninclude 'perfdb.conf'\n")
        self._write_state({"port": _free_port(), "password": password})
        data.rename(self.data)
        shutil.rmtree(unfinished, ignore_errors=True)

    def _start(self) -> None:
        """Start the server, or wait for one that a killed process left starting, recovering or stopping."""
        attempts, began = 0, time.monotonic()
        while attempts < START_ATTEMPTS and time.monotonic() < began + RECOVERY_S:
            if not self._has_postmaster():
                attempts += 1
                self._write_configuration()
                self._pg_ctl("start", "-w", "-t", "60", "-l", str(self.log))
            refusal = self._refusal()
            if refusal is None:
                return
            if STOPPING in refusal and time.monotonic() > began + STOP_S:
                self.stop()
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
        raise EmbeddedError(f"PostgreSQL does not start: {self._why()}; its log is {self.log}")

    def _write_configuration(self) -> None:
        state = self._state()
        if not _is_free(int(state["port"])) and not self._has_postmaster():
            state["port"] = _free_port()
            self._write_state(state)
        folder = str(self.data) if self._has_socket else ""
        quoted = folder.replace('"', '""').replace("'", "''")
        lines = {
            "port": str(state["port"]),
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'\"{quoted}\"'" if folder else "''",
            "timezone": "'UTC'",
            "log_timezone": "'UTC'",
            "max_connections": "50",
        }
        configuration = self.data / "perfdb.conf"
        configuration.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
        self._hand_over(configuration)

    def _ensure_database(self) -> None:
        """Whoever made the cluster may have been killed before it made the database."""
        try:
            with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
                found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
                if not found:
                    connection.execute(f'CREATE DATABASE "{DATABASE}"')
        except psycopg.OperationalError as error:
            raise EmbeddedError(
                f"the PostgreSQL in {self.home} takes no connection: {_last_line(str(error))}; end other users of it, "
                "or stop it with perfdb down, then repeat the command"
            ) from error

    @property
    def _has_socket(self) -> bool:
        return len(os.fsencode(self.data)) <= MAX_SOCKET_FOLDER_BYTES

    def _url(self, database: str) -> str:
        state = self._state()
        host = str(self.data) if self._has_socket else "127.0.0.1"
        url = URL.create(
            "postgresql+psycopg",
            username=USER,
            password=str(state["password"]),
            database=database,
            query={"host": host, "port": str(state["port"])},
        )
        return rendered(url)

    def _conninfo(self, database: str) -> str:
        state = self._state()
        return psycopg.conninfo.make_conninfo(
            host=str(self.data) if self._has_socket else "127.0.0.1",
            port=str(state["port"]),
            user=USER,
            password=str(state["password"]),
            dbname=database,
        )

    def _state(self) -> dict[str, str | int]:
        try:
            state: dict[str, str | int] = json.loads(self._state_file.read_text())
        except (OSError, ValueError) as error:
            raise EmbeddedError(
                f"{self._state_file} holds the server's password and cannot be read: {error}; restore it from a backup"
            ) from error
        return state

    def _write_state(self, state: dict[str, str | int]) -> None:
        unfinished = self._state_file.with_suffix(".new")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(state))
        unfinished.rename(self._state_file)

    def _hand_over(self, *paths: Path) -> None:
        if self._account:
            for path in paths:
                os.chown(path, self._account.uid, self._account.gid)

    def _pg_ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.binaries.run("pg_ctl", "--pgdata", str(self.data), *arguments, account=self._account)

    def _has_postmaster(self) -> bool:
        """Whether our own server is up, though it may still be recovering."""
        return self._pg_ctl("status").returncode == 0

    def _why(self) -> str:
        try:
            return _last_line(self.log.read_text(errors="replace"))
        except OSError:
            return "it wrote no log"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
