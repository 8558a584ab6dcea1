"""Backups of a real database: whole, tested by restoring, never in the way of anything, and refused with a sentence."""

import multiprocessing
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url, text

from perfdb.domain.run import Run
from perfdb.errors import StoreError
from perfdb.store import dump_programs
from perfdb.store.backup import UNFINISHED, Place, back_up, prove, temporary_cluster
from perfdb.store.contents import Contents, contents_at
from perfdb.store.dump_programs import DumpPrograms, known_programs, programs_for_dump, programs_for_restore
from perfdb.store.engine import open_engine, rendered
from perfdb.store.ingest import ingest_run
from perfdb.store.scratch import ScratchRefusedError, scratch_database, scratch_name, server_connection

Maker = Callable[..., Run]


@pytest.fixture
def filled_url(engine: Engine, database_url: str, make_run: Maker) -> str:
    """A database with three runs."""
    for position in range(1, 4):
        with engine.begin() as connection:
            ingest_run(connection, make_run(position=position))
    return database_url


@pytest.fixture
def place(shared_home: Path) -> Place:
    return Place(shared_home)


@pytest.fixture
def restricted_url(filled_url: str) -> Iterator[str]:
    """The filled database as a user who reads everything and may make no database."""
    with server_connection(filled_url) as connection:
        connection.exec_driver_sql("CREATE ROLE reader LOGIN PASSWORD 'reader' IN ROLE pg_read_all_data")
    yield rendered(make_url(filled_url).set(username="reader", password="reader"))
    with server_connection(filled_url) as connection:
        connection.exec_driver_sql("DROP ROLE reader")


def databases(url: str) -> set[str]:
    with server_connection(url) as connection:
        return set(connection.scalars(text("SELECT datname FROM pg_database")))


def test_a_backup_holds_every_row_and_says_where_it_was_tested(filled_url: str, tmp_path: Path, place: Place) -> None:
    before = databases(filled_url)
    done = back_up(filled_url, tmp_path / "a folder" / "it's.dump", place)
    held = contents_at(filled_url)
    assert (done.rows, done.tables, done.revision) == (held.total, len(held.rows), held.revision)
    assert done.tested == "a scratch database of the same server"
    assert [path.name for path in done.file.parent.iterdir()] == ["it's.dump"]
    assert stat.S_IMODE(done.file.stat().st_mode) == 0o600
    assert databases(filled_url) == before


def test_an_untested_backup_says_so(filled_url: str, tmp_path: Path, place: Place) -> None:
    done = back_up(filled_url, tmp_path / "x.dump", place, verify=False)
    assert (done.tested, done.rows) == ("", None)
    assert done.revision == contents_at(filled_url).revision


def test_a_backup_overwrites_nothing(filled_url: str, tmp_path: Path, place: Place) -> None:
    (tmp_path / "x.dump").write_text("precious")
    with pytest.raises(StoreError, match=r"x\.dump exists, and a backup overwrites nothing"):
        back_up(filled_url, tmp_path / "x.dump", place)
    assert (tmp_path / "x.dump").read_text() == "precious"


def test_what_killed_backups_left_is_removed_and_nothing_else(filled_url: str, tmp_path: Path, place: Place) -> None:
    (tmp_path / f".old.dump{UNFINISHED}").write_text("half")
    (tmp_path / ".mine.unfinished").write_text("mine")
    back_up(filled_url, tmp_path / "x.dump", place)
    assert {path.name for path in tmp_path.iterdir()} == {"x.dump", ".mine.unfinished"}


def test_a_user_who_may_make_no_database_tests_in_a_cluster_of_its_own(
    restricted_url: str, tmp_path: Path, home: Path
) -> None:
    done = back_up(restricted_url, tmp_path / "x.dump", Place(home))
    assert done.tested == "a PostgreSQL of its own"
    assert not (home / "checking").exists()


def test_a_backup_that_lost_rows_fails_its_test(filled_url: str, tmp_path: Path, place: Place) -> None:
    done = back_up(filled_url, tmp_path / "x.dump", place)
    held = contents_at(filled_url)
    more = Contents(held.revision, {**held.rows, "public.runs": 4})
    with pytest.raises(StoreError, match=r"public\.runs holds 3 rows instead of 4 rows"):
        prove(filled_url, done.file, more, place)
    with pytest.raises(StoreError, match=r"its revision is .* instead of 9999"):
        prove(filled_url, done.file, Contents("9999", held.rows), place)


def test_a_truncated_backup_fails_its_test(filled_url: str, tmp_path: Path, place: Place) -> None:
    done = back_up(filled_url, tmp_path / "x.dump", place)
    os.truncate(done.file, done.size_bytes - 2000)
    before = databases(filled_url)
    with pytest.raises(StoreError, match="pg_restore could not restore"):
        prove(filled_url, done.file, contents_at(filled_url), place)
    assert databases(filled_url) == before


def test_the_scratch_of_a_killed_process_is_dropped_and_a_stranger_of_its_name_is_not(filled_url: str) -> None:
    name = scratch_name(str(make_url(filled_url).database), "check")
    program = multiprocessing.get_context("spawn").Process(target=_die_with_scratch, args=(filled_url,))
    program.start()
    program.join()
    assert name in databases(filled_url)
    with scratch_database(filled_url, "check") as own:
        assert contents_at(own).rows == {}
    with server_connection(filled_url) as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
        with (
            pytest.raises(StoreError, match="is in the way, which is no scratch"),
            scratch_database(filled_url, "check"),
        ):
            pass
        assert name in databases(filled_url)
        connection.exec_driver_sql(f'DROP DATABASE "{name}"')


def _die_with_scratch(url: str) -> None:
    with scratch_database(url, "check"):
        os._exit(9)


def test_two_tests_of_one_database_do_not_meet(filled_url: str) -> None:
    with (
        scratch_database(filled_url, "check"),
        pytest.raises(StoreError, match="another process backs up or restores"),
        scratch_database(filled_url, "check"),
    ):
        pass


def test_a_user_without_the_right_is_told_which(restricted_url: str) -> None:
    with pytest.raises(ScratchRefusedError, match="give it CREATEDB"), scratch_database(restricted_url, "check"):
        pass


def test_a_password_is_no_argument_of_a_program(filled_url: str, tmp_path: Path) -> None:
    """Arguments are for every user of the machine to see."""
    spy = tmp_path / "bin"
    spy.mkdir()
    for name in ("pg_dump", "pg_restore"):
        (spy / name).write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n')
        (spy / name).chmod(0o755)
    url = rendered(make_url(filled_url).set(password="hidden-password"))
    DumpPrograms(spy, 99).dump(url, tmp_path / "x.dump")
    assert "hidden-password" not in (tmp_path / "arguments").read_text()


def test_programs_that_are_too_old_or_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        StoreError, match=r"PostgreSQL 99, which needs pg_dump and pg_restore of version 99 or newer; .*"
    ):
        programs_for_dump(99)
    monkeypatch.setattr(dump_programs, "SETS_TRANSACTION_TIMEOUT", 9)
    with pytest.raises(StoreError, match=r"of version 5 to 8; .*apt install postgresql-client-5"):
        programs_for_restore(5)


def test_the_oldest_programs_dump_and_the_newest_restore() -> None:
    majors = [known.major for known in known_programs()]
    assert programs_for_dump(15).major == min(major for major in majors if major >= 15)
    if max(majors) >= 17:
        assert programs_for_restore(17).major == max(majors)


def test_a_cluster_that_a_killed_test_left_is_removed(home: Path) -> None:
    (home / "checking" / "pg1").mkdir(parents=True)
    with temporary_cluster(Place(home)) as url:
        engine = open_engine(url)
        engine.dispose()
    assert not (home / "checking").exists()
