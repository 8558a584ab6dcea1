"""The programs of PostgreSQL: a chosen folder wins, and a wrong one is one sentence."""

from pathlib import Path

import pytest

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import CHOSEN_VARIABLE, Binaries, chosen_binaries, find_binaries, system_folders
from perfdb.store.embedded import EmbeddedServer


@pytest.fixture
def system() -> Path:
    folders = system_folders("initdb")
    if not folders:
        pytest.skip("no PostgreSQL of the system")
    return folders[0]


def program(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / name).chmod(0o755)


def test_the_variable_wins_over_the_wheel(home: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN_VARIABLE, str(system))
    found = find_binaries(home)
    assert (found.folder, found.source) == (system, CHOSEN_VARIABLE)


def test_a_setting_serves_as_well(home: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOSEN_VARIABLE, raising=False)
    server = EmbeddedServer(home, system)
    with server.use():
        assert server.data.name == f"pg{server.binaries.major}"
    assert server.binaries.folder == system


def test_a_folder_without_programs_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"names .*, which holds no postgres, initdb, pg_ctl; name a folder"):
        chosen_binaries(tmp_path)


def test_a_folder_whose_programs_do_not_run_is_named(tmp_path: Path) -> None:
    for name in ("postgres", "initdb", "pg_ctl"):
        (tmp_path / name).write_text("no program")
    with pytest.raises(EmbeddedError, match="whose postgres does not run; name a folder"):
        chosen_binaries(tmp_path)


def test_programs_older_than_15_are_refused(tmp_path: Path) -> None:
    for name in ("postgres", "initdb", "pg_ctl"):
        program(tmp_path, name, "postgres (PostgreSQL) 14.9")
    with pytest.raises(EmbeddedError, match="which holds PostgreSQL 14; perfdb needs 15 or newer"):
        chosen_binaries(tmp_path)


def test_newer_data_is_refused_and_says_that_postgresql_does_not_go_back(home: Path) -> None:
    found = find_binaries(home)
    newer = home / "pg99"
    newer.mkdir()
    (newer / "PG_VERSION").write_text("99\n")
    server = EmbeddedServer(home, Binaries(found.folder, found.major, found.source))
    with (
        pytest.raises(EmbeddedError, match=r"pg99 was made by PostgreSQL 99, .* does not go back; install"),
        server.use(),
    ):
        pass
