"""The commands in the docs are executed, in order, as a reader would type them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONSOLE = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: These stay in the foreground, install, or need a service; each has a test of its own.
WALKED_ELSEWHERE = re.compile(r"^(make |perfdb (up|demo)\s*(#.*)?$|docker|\. |source |pip |git clone|sudo |pg_dump)")

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Step:
    """A command to type, or a file to write first."""

    text: str
    file: str | None = None


def steps(document: Path) -> Iterator[Step]:
    for kind, block in CONSOLE.findall(document.read_text()):
        named = re.match(r"# file: (\S+)\n", block)
        if kind == "python" and named:
            yield Step(block, named.group(1))
        elif kind == "console":
            for line in block.splitlines():
                if line.startswith("$ ") and not WALKED_ELSEWHERE.match(line[2:]):
                    yield Step(line[2:])


@pytest.fixture
def terminal(home: Path) -> dict[str, str]:
    """The environment of a reader: our commands on the path, an empty state folder, a name for git."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PERFDB_HOME": str(home),
        "GIT_AUTHOR_NAME": "reader",
        "GIT_AUTHOR_EMAIL": "reader@example.org",
        "GIT_COMMITTER_NAME": "reader",
        "GIT_COMMITTER_EMAIL": "reader@example.org",
    }


def walk(document: Path, folder: Path, terminal: dict[str, str]) -> int:
    walked = 0
    for step in steps(document):
        if step.file:
            (folder / step.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.file).write_text(step.text)
            continue
        done = subprocess.run(
            ["bash", "-c", step.text],
            cwd=folder,
            env=terminal,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, f"{document.name}: $ {step.text}\n{done.stdout}\n{done.stderr}"
        walked += 1
    return walked


def test_the_ten_minute_path_to_a_benchmark_of_ones_own_works(tmp_path: Path, terminal: dict[str, str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert walk(ROOT / "docs/add-a-benchmark.md", folder, terminal) >= 3


@pytest.mark.parametrize("name", ["README.md", "docs/operate.md"])
def test_the_commands_of_a_page_work_in_a_checkout(name: str, tmp_path: Path, terminal: dict[str, str]) -> None:
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "-c", "safe.directory=*", "clone", "-q", str(ROOT), str(clone)], check=True, capture_output=True
    )
    # a reader has run `make up` before, which measures once
    first = ["bash", "-c", "perfdb run smoke --filter m=256"]
    subprocess.run(first, cwd=clone, env=terminal, check=True, capture_output=True)
    assert walk(ROOT / name, clone, terminal) >= 1


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    missing = [t for t in targets if not t.startswith(("http://", "https://")) and not (page.parent / t).exists()]
    assert not missing
