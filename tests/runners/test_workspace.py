from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfdb.domain.commit import CodeState
from runners.workspace import inspect, normalised_url

if TYPE_CHECKING:
    from tests.runners.conftest import Repository


def test_a_clean_checkout_is_its_commit_with_its_ancestors(repository: Repository) -> None:
    shas = [repository.commit(f"change {number}: a, b") for number in range(3)]
    found = inspect(repository.path, name=None, files=())
    assert found.code.state is CodeState.COMMITTED
    assert (found.code.repository, found.code.branch, found.code.difference) == ("kernels", "main", "")
    assert [(c.sha, c.position, c.subject) for c in found.commits] == [
        (shas[2], 3, "change 2: a, b"),
        (shas[1], 2, "change 1: a, b"),
        (shas[0], 1, "change 0: a, b"),
    ]
    assert found.commits[0].parents == (shas[1],)
    assert found.code.commit == found.commits[0]
    assert not found.warnings


def test_positions_count_first_parents_only(repository: Repository) -> None:
    repository.commit("first")
    repository.git("checkout", "-q", "-b", "side")
    for number in range(3):
        repository.commit(f"side {number}")
    repository.git("checkout", "-q", "main")
    repository.commit("second")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    commits = inspect(repository.path, name=None, files=()).commits
    assert [(c.subject, c.position) for c in commits] == [("merge", 3), ("second", 2), ("first", 1)]
    assert len(commits[0].parents) == 2


def test_a_detached_head_is_fine_and_has_no_branch(repository: Repository) -> None:
    first = repository.commit()
    repository.commit()
    repository.git("checkout", "-q", first)
    found = inspect(repository.path, name=None, files=())
    assert found.code.branch == ""
    assert found.code.may_be_baseline
    assert not found.warnings


def test_a_shallow_clone_hides_positions_and_says_what_to_do(repository: Repository, tmp_path: Path) -> None:
    for number in range(3):
        repository.commit(str(number))
    repository.git("clone", "-q", "--depth", "2", f"file://{repository.path}", str(tmp_path / "shallow"))
    found = inspect(tmp_path / "shallow", name="n", files=())
    assert [c.position for c in found.commits] == [None, None]
    assert not found.code.may_be_baseline
    assert "git fetch --unshallow" in found.warnings[0]


def test_an_unborn_branch_is_unversioned_and_says_what_to_do(repository: Repository) -> None:
    file = repository.write("b.py", "x = 1")
    found = inspect(repository.path, name=None, files=[file])
    assert found.code.state is CodeState.UNVERSIONED
    assert found.code.commit is None
    assert "has no commit yet" in found.warnings[0]
    assert "git commit" in found.warnings[0]


def test_a_folder_without_git_is_identified_by_its_files(tmp_path: Path) -> None:
    file = tmp_path / "b.py"
    digests = []
    for text in ("x = 1", "x = 2", "x = 1"):
        file.write_text(text)
        found = inspect(tmp_path, name=None, files=[file])
        assert found.code.state is CodeState.UNVERSIONED
        assert found.code.repository == tmp_path.name
        assert "is in no git repository" in found.warnings[0]
        digests.append(found.code.difference)
    assert digests[0] == digests[2] != digests[1]


def test_a_dirty_tree_has_a_digest_of_what_differs(repository: Repository) -> None:
    repository.write("a.py", "1")
    repository.commit()
    seen = []
    for name, text in (("a.py", "2"), ("a.py", "3"), ("new.py", "4"), ("new.py", "5")):
        repository.write(name, text)
        found = inspect(repository.path, name=None, files=())
        assert found.code.state is CodeState.DIRTY
        assert not found.code.may_be_baseline
        assert "uncommitted changes" in found.warnings[0]
        seen.append(found.code.difference)
    assert len(set(seen)) == 4
    repository.write("new.py", "4")
    assert inspect(repository.path, name=None, files=()).code.difference == seen[2]


def test_ignored_files_do_not_make_a_tree_dirty(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("x.log", "noise")
    assert inspect(repository.path, name=None, files=()).code.state is CodeState.COMMITTED


def test_an_ignored_benchmark_is_not_attributed_to_the_commit(repository: Repository) -> None:
    repository.write(".gitignore", "scratch/\n")
    repository.commit()
    file = repository.write("scratch/b.py", "x = 1")
    found = inspect(repository.path, name=None, files=[file])
    assert found.code.state is CodeState.UNVERSIONED
    assert "is ignored by the git repository" in found.warnings[0]


def test_a_broken_link_and_a_name_in_bytes_do_no_harm(repository: Repository) -> None:
    repository.commit()
    (repository.path / "broken").symlink_to("nowhere")
    Path(str(repository.path) + "/\udcff.py").write_text("x")
    assert inspect(repository.path, name=None, files=()).code.state is CodeState.DIRTY


def test_variables_of_git_do_not_lead_elsewhere(
    repository: Repository, make_repository: Callable[[str], Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = repository.commit("ours")
    other = make_repository("other")
    other.commit("theirs")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    commit = inspect(repository.path, name=None, files=()).code.commit
    assert commit is not None
    assert commit.sha == sha


def test_a_checkout_of_another_user_is_read_as_it_is(repository: Repository) -> None:
    sha = repository.commit()
    if os.geteuid() == 0:
        for path in (repository.path, *repository.path.rglob("*")):
            os.chown(path, 65534, 65534)
    commit = inspect(repository.path, name=None, files=()).code.commit
    assert commit is not None
    assert commit.sha == sha


def test_the_configured_name_wins_over_the_origin(repository: Repository) -> None:
    repository.commit()
    repository.git("remote", "add", "origin", "https://user:secret@example.org/team/kernels.git")
    assert inspect(repository.path, name=None, files=()).code.repository == "example.org/team/kernels"
    assert inspect(repository.path, name="mine", files=()).code.repository == "mine"


def test_a_worktree_is_named_like_the_repository_it_belongs_to(repository: Repository, tmp_path: Path) -> None:
    repository.commit()
    repository.git("worktree", "add", "-q", "--detach", str(tmp_path / "elsewhere"))
    assert inspect(tmp_path / "elsewhere", name=None, files=()).code.repository == "kernels"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://user:secret@GitHub.com/Owner/name.git", "github.com/Owner/name"),
        ("git@github.com:Owner/name.git", "github.com/Owner/name"),
        ("ssh://git@github.com:22/Owner/name/", "github.com/Owner/name"),
        ("https://example.org/deep/er/name", "example.org/deep/er/name"),
        ("/srv/git/name.git", "name"),
        ("file:///srv/git/name.git", "name"),
        ("../name", "name"),
        ("", ""),
    ],
)
def test_a_remote_is_named_the_same_however_it_was_cloned(url: str, name: str) -> None:
    assert normalised_url(url) == name
