"""``perfdb up``: what it starts it stops, at any moment, and nothing is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfdb.cli.state import UpState
from perfdb.store.binaries import CHOSEN_VARIABLE
from perfdb.store.embedded import EmbeddedServer

pytestmark = pytest.mark.slow
SUITE = """
import time
from suites import Case, benchmark

@benchmark(cases=[Case.of(n=n) for n in range(6)])
def nap(case):
    return lambda: time.sleep(0.002)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose smoke suite is quick."""
    path = tmp_path / "a repository"
    path.mkdir()
    (path / "pyproject.toml").write_text('[tool.perfdb]\nrepository = "naps"\nmodules = ["naps"]\n')
    (path / "naps.py").write_text(SUITE)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=path, check=True)
    return path


class Up:
    """A ``perfdb up`` whose output can be waited for."""

    def __init__(self, home: Path, folder: Path, *arguments: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFDB_", "GIT_", "DISPLAY"))}
        environment |= {k: v for k, v in os.environ.items() if k == CHOSEN_VARIABLE}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "perfdb", "up", *arguments],
            cwd=folder,
            env={**environment, "PERFDB_HOME": str(home), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.seen: list[str] = []

    def wait_for(self, words: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen.append(line)
            if words in line:
                return line
        raise AssertionError(f"{words!r} never came:\n{''.join(self.seen)}")

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        self.seen.append(self.process.communicate(timeout=60)[0] or "")
        return self.process.returncode


Starter = Callable[..., Up]


@pytest.fixture
def up(home: Path, folder: Path) -> Iterator[Starter]:
    """Starts ``perfdb up`` with the arguments given; none outlives the test."""
    started: list[Up] = []

    def start(*arguments: str) -> Up:
        started.append(Up(home, folder, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        assert each.process.stdout is not None
        each.process.stdout.close()


def runs(home: Path, folder: Path) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "perfdb", "list", "runs", "--json"],
        cwd=folder,
        env={**os.environ, "PERFDB_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, object]] = json.loads(done.stdout)["runs"]
    return found


def answers(address: str) -> bool:
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
        return bool(answer.status == 200)


def test_it_measures_judges_shows_and_stops_what_it_started(up: Starter, home: Path, folder: Path) -> None:
    first = up()
    line = first.wait_for("perfdb is at http://127.0.0.1:")
    address = line.split()[3]
    assert answers(address)
    assert first.stop() == 0
    assert UpState(home).running() is None
    assert not EmbeddedServer(home).is_running()
    (run,) = runs(home, folder)
    assert (run["repository"], run["state"], run["code_state"]) == ("naps", "complete", "committed")


def test_again_it_adds_a_run_and_points_to_the_dashboard_that_runs(up: Starter, home: Path, folder: Path) -> None:
    first = up("--no-measure")
    address = first.wait_for("perfdb is at").split()[3]
    second = up()
    assert address in second.wait_for("perfdb is already up")
    assert second.process.wait(timeout=30) == 0
    assert answers(address)
    assert len(runs(home, folder)) == 1
    assert first.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize("words", ["database:", "loading the benchmarks", "process 1 of 3", "process 2 of 3"])
def test_ctrl_c_while_it_works_loses_nothing_and_again_it_works(
    up: Starter, home: Path, folder: Path, words: str
) -> None:
    first = up()
    first.wait_for(words)
    assert first.stop() == 130
    assert not EmbeddedServer(home).is_running()
    second = up()
    second.wait_for("perfdb is at")
    assert second.stop() == 0
    states = [run["state"] for run in runs(home, folder)]
    assert states[0] == "complete"
    assert states[1:] in ([], ["incomplete"])


def test_a_closed_terminal_stops_it_too(up: Starter, home: Path) -> None:
    first = up("--no-measure")
    first.wait_for("perfdb is at")
    assert first.stop(signal.SIGHUP) == 0
    assert not EmbeddedServer(home).is_running()


def test_dead_proxies_and_an_unknown_zone_do_not_keep_the_dashboard_from_its_health_check(
    up: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("TZ", "garbage")
    first = up("--no-measure")
    first.wait_for("perfdb is at")
    assert first.stop() == 0


@pytest.mark.parametrize("words", ["database:", "perfdb is at"])
def test_down_stops_it_whether_it_starts_or_serves(up: Starter, home: Path, folder: Path, words: str) -> None:
    first = up("--no-measure")
    first.wait_for(words)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "perfdb", "down"],
        cwd=folder,
        env={**os.environ, "PERFDB_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("stopped: perfdb up")
    assert first.process.wait(timeout=30) == (130 if words == "database:" else 0)
    assert not EmbeddedServer(home).is_running()


def test_two_at_once_in_a_fresh_folder_have_one_dashboard(up: Starter, home: Path) -> None:
    both = [up("--no-measure"), up("--no-measure")]
    seen = [each.wait_for("perfdb is") for each in both]
    (address,) = (line.split()[3] for line in seen if line.startswith("perfdb is at"))
    (other,) = (each for each, line in zip(both, seen, strict=True) if "perfdb is already up: " in line)
    assert other.process.wait(timeout=30) == 0
    assert answers(address)
    both.remove(other)
    assert both[0].stop() == 0
    assert not EmbeddedServer(home).is_running()


def test_killed_outright_it_leaves_nothing_that_the_next_one_cannot_mend(up: Starter, home: Path) -> None:
    first = up("--no-measure")
    address = first.wait_for("perfdb is at").split()[3]
    first.process.kill()
    first.process.communicate()
    deadline = time.monotonic() + 20
    port = int(address.rsplit(":", 1)[1])
    while time.monotonic() < deadline and is_taken(port):
        time.sleep(0.1)
    assert not is_taken(port)
    second = up("--no-measure")
    second.wait_for("perfdb is at")
    assert second.stop() == 0
    assert not EmbeddedServer(home).is_running()


def test_a_port_that_is_taken_is_named(up: Starter) -> None:
    with socket.socket() as taker:
        taker.bind(("127.0.0.1", 0))
        taker.listen()
        port = taker.getsockname()[1]
        first = up("--no-measure", "--port", str(port))
        assert first.process.wait(timeout=30) == 1
        first.wait_for(f"port {port} is taken by another program; choose another with --port")


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
