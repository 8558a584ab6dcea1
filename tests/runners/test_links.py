from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from perfdb.errors import SpoolError
from runners.links import link_target
from runners.target import OURS, Target

if TYPE_CHECKING:
    from pathlib import Path


def target(tree: Path) -> Target:
    tree.mkdir(parents=True, exist_ok=True)
    return Target(tree, OURS / "suites", ("bench",), ("src",))


def test_the_packages_folder_holds_exactly_ours(tmp_path: Path) -> None:
    paths = link_target(target(tmp_path / "tree"), tmp_path / "home")
    assert {link.name: link.resolve() for link in paths.packages.iterdir()} == {
        name: OURS / name for name in ("perfdb", "runners", "suites")
    }


def test_no_path_of_a_worker_holds_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tree = tmp_path / "my tree"
    paths = link_target(target(tree), tmp_path / "my home")
    everything = [paths.python, paths.packages, paths.tree, *paths.path, paths.caches, paths.scratch, paths.temporary]
    assert not [path for path in everything if " " in str(path)]
    assert paths.tree.resolve() == tree
    assert [path.resolve() for path in paths.path] == [tree, tree / "src"]


def test_the_same_target_has_the_same_paths_so_that_caches_serve(tmp_path: Path) -> None:
    assert link_target(target(tmp_path / "t"), tmp_path / "h") == link_target(target(tmp_path / "t"), tmp_path / "h")


def test_links_to_a_tree_that_is_gone_are_forgotten(tmp_path: Path) -> None:
    gone = link_target(target(tmp_path / "gone"), tmp_path / "home").tree
    (tmp_path / "gone").rmdir()
    link_target(target(tmp_path / "tree"), tmp_path / "home")
    assert not gone.is_symlink()
    assert not gone.parent.exists()


def test_an_environment_in_a_path_with_spaces_is_started_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "with spaces"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin/python"))
    python = link_target(target(tmp_path / "tree"), tmp_path / "home").python
    told = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    assert " " not in told.stdout
    assert told.stdout.strip().startswith(str(tmp_path / "home"))


def test_a_state_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match="cannot write"):
        link_target(target(tmp_path / "tree"), tmp_path / "file")
