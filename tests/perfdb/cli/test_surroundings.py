"""Odd surroundings: long paths, zones, locales, proxies and closed folders; every command works there all the same."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfdb.domain.run import Run
from perfdb.store.embedded import EmbeddedServer

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
Maker = Callable[..., Run]
DEAD = "http://127.0.0.1:9"
LONG = 150
SURROUNDINGS = {
    "a zone off by 45 minutes": {"TZ": "Asia/Kathmandu"},
    "a zone that is none": {"TZ": "garbage"},
    "no locale": {"LC_ALL": "C"},
    "a locale that may be missing": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "no UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "dead proxies": {
        name: DEAD for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())
    },
}


@pytest.fixture(scope="module")
def home(shared_home: Path) -> Iterator[Path]:
    """A state folder whose path is 150 characters long; its server runs as long as the tests of this file."""
    room = LONG - len(str(shared_home)) - 2
    folder = shared_home / ("a" * (room // 2)) / ("b" * (room - room // 2))
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o711)
    assert len(str(folder)) == LONG
    with EmbeddedServer(folder).use():
        yield folder


def numbered(make_run: Maker, number: int) -> Run:
    """A run whose number shows in the beginning of its id."""
    return make_run(number=(number + 1) * 2**96, hours=number, benchmark="größe")


def works(terminal: "Terminal", run: Run, **more: str) -> None:
    """Every command of every day, with one run more."""
    terminal.spool(run)
    assert "stored: 1 measurements" in told(terminal("ingest", **more))
    assert run.header.run_id[:8] in told(terminal("list", "runs", **more))
    assert str(terminal.home) in told(terminal("status", **more))
    said = terminal("doctor", **more)
    assert "Traceback" not in said.stderr
    assert "no answer" not in said.stdout
    assert "revision" in said.stdout.replace("\n", " ")


def told(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_commands_work_in(terminal: "Terminal", make_run: Maker, name: str) -> None:
    works(terminal, numbered(make_run, list(SURROUNDINGS).index(name)), **SURROUNDINGS[name])


def test_times_are_the_same_in_every_zone(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(numbered(make_run, 100))
    terminal("ingest", TZ="Asia/Kathmandu")
    asked = ("list", "runs", "--json")
    assert terminal(*asked, TZ="Asia/Kathmandu").stdout == terminal(*asked, TZ="UTC").stdout


def test_commands_work_in_a_folder_that_only_we_may_enter(terminal: "Terminal", make_run: Maker) -> None:
    terminal.folder /= "closed"
    terminal.folder.mkdir(mode=0o700)
    works(terminal, numbered(make_run, 101))


def test_nothing_is_written_into_the_checkout(terminal: "Terminal", make_run: Maker) -> None:
    terminal.folder = ROOT
    before = checkout()
    works(terminal, numbered(make_run, 102))
    assert checkout() == before


def checkout() -> dict[str, int]:
    """Every file of the checkout that git does not ignore, and when it was written."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (ROOT / name).stat().st_mtime_ns for name in listed if (ROOT / name).is_file()}
