"""``perfdb run`` and ``perfdb list`` as a person types them, with real workers and a real database."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from io import StringIO
from typing import TYPE_CHECKING

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from perfdb.domain.run import RunState
from perfdb.errors import MeasureError, PerfdbError, RepositoryError, SelectionError, StoreError
from perfdb.store.runs import recent_runs
from runners.campaign import alone
from runners.progress import Display
from runners.target import OURS
from runners.verbs import list_declared, run

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine
    from typer.testing import Result

    from perfdb.domain.history import RunSummary
    from tests.runners.conftest import Repository

BENCH = """
from suites import Case, Cost, benchmark

@benchmark(
    cases=[Case.of(n=n) for n in (1, 2)], provider="eager", cost=lambda case: Cost(1.0, 8.0),
    reference=lambda case: [1.0], tolerance=1e-6,
)
def one(case):
    return lambda: [1.0]
"""
SLOW = BENCH.replace("return lambda: [1.0]", "import time; open(SIGN, 'w').close(); time.sleep(3600)")

app = typer.Typer(add_completion=False)
app.command("run")(run)
app.command("list")(list_declared)


@pytest.fixture
def here(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to type in, with a state folder and a database."""
    monkeypatch.setenv("PERFDB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PERFDB_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "160")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def typed(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def refused(error: type[PerfdbError], *words: str) -> str:
    result = typed(*words)
    assert isinstance(result.exception, error), result.output
    return str(result.exception)


def stored(engine: Engine) -> list[RunSummary]:
    with engine.connect() as connection:
        return recent_runs(connection)


def test_a_file_is_measured_stored_and_shown(here: Path, engine: Engine) -> None:
    (here / "mine.py").write_text(BENCH)
    result = typed("run", "mine.py", "--processes", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    for words in ("is in no git repository", "process 1 of 2: 2 cases", "one[n=1]", "measured", "0.0e+00 / 1e-06"):
        assert words in result.stderr
    (summary,) = stored(engine)
    assert summary.state is RunState.COMPLETE
    assert summary.suite == "mine.py"


def test_json_is_one_object_on_standard_output(here: Path) -> None:
    (here / "mine.py").write_text(BENCH)
    result = typed("run", "mine.py", "--processes", "1", "--json", "--filter", "n=2", "--seed", "5")
    told = json.loads(result.stdout)
    (only,) = told["runs"]
    assert [row["case"] for row in only["results"]] == [{"n": 2}]
    assert only["seed"] == 5
    assert only["state"] == "complete"


def test_code_that_changes_meanwhile_is_shown_and_stored_but_not_judged(here: Path, engine: Engine) -> None:
    changing = BENCH.replace("    return lambda", "    open(__file__, 'a').write('#')\n    return lambda")
    (here / "mine.py").write_text(changing)
    result = typed("run", "mine.py", "--processes", "1")
    assert isinstance(result.exception, MeasureError)
    assert "changed while it was measured" in str(result.exception)
    assert "0.0e+00 / 1e-06" in result.stderr
    assert [summary.state for summary in stored(engine)] == [RunState.INCOMPLETE]


def test_names_that_match_nothing_are_answered_with_the_nearest(here: Path) -> None:
    (here / "mine.py").write_text(BENCH)
    assert "no axis matches 'm'" in refused(SelectionError, "run", "mine.py", "--filter", "m=1")
    assert "no n matches '3'" in refused(SelectionError, "run", "mine.py", "--filter", "n=3")
    assert "does not exist" in refused(RepositoryError, "run", "other.py")


def test_a_database_that_is_down_keeps_the_run_in_the_spool(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFDB_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    (here / "mine.py").write_text(BENCH)
    result = typed("run", "mine.py", "--processes", "1", "--json")
    assert isinstance(result.exception, StoreError)
    assert "perfdb ingest" in str(result.exception)
    assert json.loads(result.stdout)["runs"][0]["state"] == "complete"
    assert len(list((tmp_path / "home/spool").glob("*.jsonl"))) == 1


def test_commits_are_measured_oldest_first_and_only_once(here: Path, engine: Engine, repository: Repository) -> None:
    repository.write("pyproject.toml", "[tool.perfdb]\nmodules = ['bench']\nrepository = 'mine'\n")
    shas = []
    for body in (BENCH, BENCH, "import nothing_like_it\n", BENCH):
        repository.write("bench.py", body)
        shas.append(repository.commit())
    words = ("run", "smoke", "--repo", str(repository.path), "--processes", "1", "--commits", f"{shas[0]}..{shas[3]}")
    first = json.loads(typed(*words, "--json").stdout)
    assert [told["code"]["commit"]["sha"] for told in first["runs"]] == [shas[1], shas[3]]
    assert list(first["failed_commits"]) == [shas[2]]
    assert {summary.repository for summary in stored(engine)} == {"mine"}
    assert [summary.commit.position for summary in stored(engine) if summary.commit] == [4, 2]
    second = json.loads(typed(*words, "--json").stdout)
    assert second["skipped_commits"] == [shas[1], shas[3]]
    assert second["runs"] == []
    again = json.loads(typed(*words, "--json", "--again", "--every", "2").stdout)
    assert [told["code"]["commit"]["sha"] for told in again["runs"]] == [shas[1], shas[3]]
    assert len(repository.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_kept_as_incomplete(
    number: signal.Signals, here: Path, engine: Engine, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    os.mkfifo(sign)
    (here / "mine.py").write_text(f"SIGN = {str(sign)!r}\n" + SLOW)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import typer; from runners.verbs import run; typer.run(run)"
    )
    command = [sys.executable, "-P", "-c", program, str(OURS), "mine.py"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    sign.read_text()
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "kept as an incomplete run" in told
    (summary,) = stored(engine)
    assert summary.state is RunState.INCOMPLETE


def test_two_runs_measure_one_after_the_other(tmp_path: Path) -> None:
    told = StringIO()
    display = Display(Console(file=told, force_terminal=False))
    with alone(tmp_path, display), pytest.raises(KeyboardInterrupt), alone(tmp_path, Interrupting(display.console)):
        raise AssertionError("two at once")
    with alone(tmp_path, display):
        assert told.getvalue() == ""


class Interrupting(Display):
    """A person who reads that they must wait, and presses Ctrl-C."""

    def say(self, text: str, style: str = "") -> None:
        assert "waiting" in text
        raise KeyboardInterrupt


def test_what_is_declared_is_listed(here: Path) -> None:
    (here / "mine.py").write_text(BENCH)
    cases = json.loads(typed("list", "cases", "mine.py", "--json").stdout)["cases"]
    assert [(row["case"], row["provider"], row["axes"]) for row in cases] == [
        ("one[n=1]", "eager", {"n": 1}),
        ("one[n=2]", "eager", {"n": 2}),
    ]
    assert json.loads(typed("list", "suites", "mine.py", "--json").stdout)["suites"] == [
        {"suite": "smoke", "benchmarks": 1, "cases": 2}
    ]
    table = typed("list", "benchmarks", "mine.py").stdout
    assert "one" in table
    assert "eager" in table


def test_a_list_that_does_not_exist_is_explained(here: Path) -> None:
    (here / "mine.py").write_text(BENCH)
    assert "nearest: cases" in refused(SelectionError, "list", "case", "mine.py")


@pytest.mark.parametrize("verb", ["run", "list"])
def test_help_ends_in_an_example(verb: str) -> None:
    lines = typed(verb, "--help").output
    assert f"Example: perfdb {verb}" in " ".join(lines.split())
