"""A git repository to measure, and benchmark files to write into it."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from perfdb.settings import Settings


@dataclass(frozen=True)
class Repository:
    """A repository in a temporary folder."""

    path: Path

    def git(self, *arguments: str) -> str:
        options = ("-c", "user.name=author", "-c", "user.email=author@example.org", "-c", "commit.gpgsign=false")
        command = ["git", *options, "-C", str(self.path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, subject: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[[str], Repository]:
    def make(name: str = "kernels") -> Repository:
        path = tmp_path / name
        path.mkdir(parents=True)
        repository = Repository(path)
        repository.git("init", "-q", "-b", "main")
        return repository

    return make


@pytest.fixture
def repository(make_repository: Callable[[str], Repository]) -> Repository:
    return make_repository("kernels")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")
