"""Fixtures: a terminal to type perfdb's commands at."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfdb.domain.run import Run
from perfdb.spool import SpoolWriter
from perfdb.store.binaries import CHOSEN_VARIABLE


class Terminal:
    """Types commands with a state folder of its own, from an empty folder."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFDB_", "GIT_"))}
        self.environment |= {k: v for k, v in os.environ.items() if k == CHOSEN_VARIABLE}
        self.environment["PERFDB_HOME"] = str(home)

    def __call__(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "perfdb", *arguments],
            cwd=self.folder,
            env=self.environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def json(self, *arguments: str, code: int = 0) -> dict[str, object]:
        done = self(*arguments, "--json")
        assert done.returncode == code, done.stderr
        parsed: dict[str, object] = json.loads(done.stdout)
        return parsed

    def spool(self, run: Run) -> Path:
        with SpoolWriter(self.home / "spool", run.header) as spool:
            for result in run.results:
                spool.add(result)
            if run.finished_at:
                spool.close_run(run.finished_at)
            return spool.path


@pytest.fixture
def terminal(home: Path, tmp_path: Path) -> Terminal:
    return Terminal(home, tmp_path)
