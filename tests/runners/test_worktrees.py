from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfdb.errors import RepositoryError
from runners.worktrees import commits_between, worktree

if TYPE_CHECKING:
    from tests.runners.conftest import Repository


def test_a_span_is_oldest_first_without_its_start(repository: Repository) -> None:
    shas = [repository.commit(str(number)) for number in range(4)]
    assert commits_between(repository.path, f"{shas[0]}..{shas[3]}", 1) == tuple(shas[1:])
    assert commits_between(repository.path, "HEAD~2..", 1) == tuple(shas[2:])


def test_every_second_commit_counts_back_from_the_newest(repository: Repository) -> None:
    shas = [repository.commit(str(number)) for number in range(6)]
    assert commits_between(repository.path, f"{shas[0]}..HEAD", 2) == (shas[1], shas[3], shas[5])


@pytest.mark.parametrize("span", ["HEAD", "..HEAD", "HEAD~1...HEAD", "nothing..HEAD", "--all..HEAD", "HEAD..HEAD"])
def test_a_span_that_means_nothing_is_explained(span: str, repository: Repository) -> None:
    repository.commit()
    repository.commit()
    with pytest.raises(RepositoryError):
        commits_between(repository.path, span, 1)


def test_a_folder_without_git_has_no_commits_to_measure(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="git init"):
        commits_between(tmp_path, "HEAD~1..HEAD", 1)


def test_a_worktree_holds_the_commit_and_is_removed(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", "old")
    old = repository.commit()
    repository.write("a.py", "new")
    repository.commit()
    with worktree(repository.path, old, tmp_path / "worktrees") as tree:
        assert (tree / "a.py").read_text() == "old"
    assert not tree.exists()
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_a_worktree_is_removed_when_a_person_interrupts(repository: Repository, tmp_path: Path) -> None:
    sha = repository.commit()
    with pytest.raises(KeyboardInterrupt), worktree(repository.path, sha, tmp_path / "worktrees") as tree:
        raise KeyboardInterrupt
    assert not tree.exists()
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_the_worktree_of_a_killed_process_is_cleared_away(repository: Repository, tmp_path: Path) -> None:
    sha = repository.commit()
    with worktree(repository.path, sha, tmp_path) as tree:
        folder = tree.parent
    abandoned = folder / f"{sha[:12]}-{2**22 + 1}"
    repository.git("worktree", "add", "-q", "--detach", str(abandoned))
    with worktree(repository.path, sha, tmp_path):
        assert not abandoned.exists()


def test_a_subfolder_is_the_same_subfolder_at_that_commit(repository: Repository, tmp_path: Path) -> None:
    repository.write("sub/a.py", "x")
    sha = repository.commit()
    with worktree(repository.path / "sub", sha, tmp_path) as tree:
        assert (tree / "a.py").is_file()
