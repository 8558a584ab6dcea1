from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perfdb.errors import RepositoryError
from runners.target import OURS, find_target, moved

if TYPE_CHECKING:
    from pathlib import Path

    from tests.runners.conftest import Repository

TABLE = '[tool.perfdb]\nrepository = "ours"\nmodules = ["bench.all"]\npath = ["src"]\n'


def test_the_repository_here_is_measured_when_it_has_a_table(repository: Repository) -> None:
    repository.write("pyproject.toml", TABLE)
    folder = repository.write("deep/er/x", "").parent
    target = find_target(None, None, folder)
    assert target.tree == repository.path
    assert (target.name, target.modules) == ("ours", ("bench.all",))
    assert target.import_folders == (repository.path, repository.path / "src")
    assert target.suites == OURS / "suites"


def test_a_foreign_suites_folder_without_a_table_is_not_measured(repository: Repository) -> None:
    repository.write("suites/__init__.py", "")
    assert find_target(None, None, repository.path).tree == OURS


def test_a_checkout_of_perfdb_brings_its_own_suites(repository: Repository) -> None:
    repository.write("pyproject.toml", '[project]\nname = "perfdb"\n' + TABLE)
    repository.write("suites/__init__.py", "")
    assert find_target(repository.path, None, OURS).suites == repository.path / "suites"


def test_a_named_repository_must_name_its_benchmarks(repository: Repository) -> None:
    with pytest.raises(RepositoryError, match=r"names no benchmarks.*\[tool.perfdb\] modules"):
        find_target(repository.path, None, OURS)


def test_a_repository_that_does_not_exist_is_explained(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="is not a folder"):
        find_target(tmp_path / "nothing", None, OURS)


@pytest.mark.parametrize("text", ["[tool.perfdb", "[tool.perfdb]\nmodules = 'one'", "[tool.perfdb]\nmodules = [1]"])
def test_a_broken_table_is_explained(text: str, repository: Repository) -> None:
    repository.write("pyproject.toml", text)
    with pytest.raises(RepositoryError, match=r"pyproject\.toml"):
        find_target(repository.path, None, OURS)


def test_a_file_belongs_to_its_repository(repository: Repository) -> None:
    file = repository.write("bench/mine.py", "")
    target = find_target(None, file, OURS)
    assert (target.tree, target.file, target.modules) == (repository.path, file, ())
    assert target.import_folders == (file.parent, repository.path)


def test_a_file_without_a_repository_belongs_to_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("")
    assert find_target(None, file, OURS).tree == tmp_path


def test_a_file_outside_of_the_named_repository_is_refused(repository: Repository, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("")
    with pytest.raises(RepositoryError, match="lies outside of"):
        find_target(repository.path, file, OURS)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="does not exist"):
        find_target(None, tmp_path / "mine.py", OURS)


def test_another_tree_keeps_the_name_and_brings_its_own_modules(repository: Repository, tmp_path: Path) -> None:
    repository.write("pyproject.toml", TABLE)
    target = find_target(repository.path, None, OURS)
    (tmp_path / "old").mkdir()
    (tmp_path / "old/pyproject.toml").write_text(TABLE.replace("ours", "renamed").replace("bench.all", "old"))
    found = moved(target, tmp_path / "old")
    assert (found.tree, found.name, found.modules) == (tmp_path / "old", "ours", ("old",))


def test_a_file_that_another_commit_lacks_is_explained(repository: Repository, tmp_path: Path) -> None:
    target = find_target(None, repository.write("bench/mine.py", ""), OURS)
    with pytest.raises(RepositoryError, match=r"bench/mine.py does not exist at that commit"):
        moved(target, tmp_path)
