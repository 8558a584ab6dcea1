"""``make clean``: it says what goes, asks, and removes nothing that it did not list."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a virtual environment, caches, and a file of the user's."""
    folder = tmp_path / "a checkout"
    for path in ("my venv", ".mypy_cache", "perfdb/__pycache__"):
        (folder / path).mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "my venv" / "pyvenv.cfg").write_text("")
    (folder / "perfdb" / "mine.py").write_text("")
    return folder


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "clean", *arguments],
        cwd=checkout,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_removes_what_it_lists_and_nothing_else(checkout: Path) -> None:
    done = make(checkout, "VENV=my venv", "YES=1")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("my venv", ".mypy_cache", "1 __pycache__ folders"))
    left = {str(path.relative_to(checkout)) for path in checkout.rglob("*")}
    assert left == {"Makefile", "perfdb", "perfdb/mine.py"}
    assert make(checkout, "VENV=my venv", "YES=1").stdout == "nothing to remove\n"


def test_without_a_terminal_and_an_answer_nothing_goes(checkout: Path) -> None:
    done = make(checkout, "VENV=my venv")
    assert done.returncode != 0
    assert "there is no terminal to ask at; run: make clean YES=1" in done.stderr
    assert (checkout / "my venv").is_dir()


def test_a_folder_that_is_no_virtual_environment_is_never_removed(checkout: Path) -> None:
    done = make(checkout, "VENV=perfdb", "YES=1")
    assert done.returncode != 0
    assert "perfdb is no virtual environment, so it is not removed" in done.stderr
    assert (checkout / "perfdb" / "mine.py").is_file()
