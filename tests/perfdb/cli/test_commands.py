"""The commands as a person types them: their output, their errors, their exit codes."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from perfdb.domain.run import Run

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

Maker = Callable[..., Run]
DAILY = ("up", "down", "run", "compare", "history", "list", "status", "doctor", "ingest")
VERBS = (*DAILY, "demo", "db", "purge", "completion")


def test_help_lists_every_verb_and_ends_in_an_example(terminal: "Terminal") -> None:
    text = terminal("--help").stdout
    assert all(f"  {verb} " in text for verb in VERBS)
    assert text.rstrip().splitlines()[-1].strip().startswith("Example: perfdb")


@pytest.mark.parametrize("verb", [*VERBS, "db migrate", "db url", "db backup", "db restore", "db upgrade", "db prune"])
def test_the_help_of_every_verb_ends_in_an_example(terminal: "Terminal", verb: str) -> None:
    done = terminal(*verb.split(), "--help")
    assert done.returncode == 0
    assert "Example: perfdb" in done.stdout.rstrip()[-160:]


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from perfdb.cli.entry import exit_code; exit_code(['--help']); "
        "print([module for module in HEAVY if module in sys.modules])"
    )
    heavy = ("torch", "sqlalchemy", "streamlit", "pydantic", "scipy", "numpy", "psycopg", "alembic")
    done = subprocess.run(
        [sys.executable, "-P", "-c", program.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_verb_or_option_is_wrong_usage(terminal: "Terminal") -> None:
    for arguments in (("measure",), ("compare", "--faster"), ("db", "drop"), ("history",), ("up", "--port", "99999")):
        done = terminal(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_an_empty_store_says_what_to_do_next(terminal: "Terminal") -> None:
    done = terminal("list", "runs")
    assert (done.returncode, done.stdout) == (0, "There are no runs yet. Measure this machine with: perfdb run smoke\n")
    assert terminal.json("list", "series") == {"series": []}


def test_runs_are_ingested_listed_compared_and_shown(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run([100, 101, 99], position=1))
    terminal.spool(make_run([150, 151, 149], position=2))
    ingested = terminal("ingest")
    assert ingested.returncode == 0
    assert ingested.stdout.count("stored: 1 measurements of 3 results") == 2
    assert terminal("ingest").stdout == "Nothing waits in the spool.\n"
    runs = terminal.json("list", "runs")["runs"]
    assert isinstance(runs, list)
    assert len(runs) == 2
    compared = terminal("compare")
    assert compared.stdout.startswith("1 regression.\n")
    assert "matmul[m=1]" in compared.stdout
    assert "+50" in compared.stdout
    assert terminal("compare", "latest~1", "latest", "--fail-on", "regression").returncode == 3
    assert terminal("compare", "latest", "latest~1").stdout.startswith("1 improvement.\n")
    shown = terminal("history", "matmul[m=1]")
    assert "needs 14 more results" in shown.stdout
    series = terminal.json("history", "matmul[m=1]")["series"]
    assert isinstance(series, dict)
    assert terminal("history", str(series["digest"])[:8]).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compare", "latest~1", "latest"), "too few complete runs; measure one with: perfdb run smoke"),
        (("history", "matmull"), "no series matches 'matmull'"),
        (("list", "rnus"), "no noun matches 'rnus'; nearest: runs"),
        (("ingest", "nowhere.jsonl"), "cannot read nowhere.jsonl: No such file or directory"),
    ],
)
def test_an_error_is_one_sentence_with_the_next_action(
    terminal: "Terminal", arguments: tuple[str, ...], sentence: str
) -> None:
    done = terminal(*arguments)
    assert done.returncode == 1
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_line_is_named_and_the_rest_is_stored(terminal: "Terminal", make_run: Maker) -> None:
    path = terminal.spool(make_run())
    lines = path.read_text().splitlines()
    lines[2] = '{"v":1,"kind":"result"'
    path.write_text("\n".join(lines) + "\n")
    done = terminal("ingest")
    assert done.returncode == 1
    assert f"{path} line 3 is not JSON: input data was truncated; the line was left out" in done.stdout
    assert len(terminal.json("list", "runs")["runs"]) == 1  # type: ignore[arg-type]


def test_a_database_that_is_down_is_one_sentence(terminal: "Terminal") -> None:
    for arguments in (("list", "runs"), ("compare",), ("ingest",), ("db", "migrate")):
        done = terminal(*arguments, PERFDB_DATABASE_URL="postgresql://u:secret@127.0.0.1:1/perfdb")
        assert done.returncode == 1
        assert done.stderr.startswith("perfdb: the database at 127.0.0.1:1/perfdb cannot be used")
        assert len(done.stderr.splitlines()) == 1
        assert "secret" not in done.stderr


def test_a_state_folder_that_cannot_be_made_is_one_sentence(terminal: "Terminal") -> None:
    (terminal.folder / "file").write_text("in the way")
    for arguments in (("up", "--no-measure"), ("list", "runs"), ("run", "smoke")):
        done = terminal(*arguments, PERFDB_HOME=str(terminal.folder / "file" / "home"))
        assert done.returncode == 1
        assert "PERFDB_HOME" in done.stderr or "fix its rights" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_wrong_setting_is_named(terminal: "Terminal") -> None:
    done = terminal("status", PERFDB_DASHBOARD_PORT="many")
    assert done.returncode == 1
    assert done.stderr.startswith("perfdb: PERFDB_DASHBOARD_PORT is wrong")


def test_status_and_doctor_tell_where_things_lie(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    status = terminal.json("status")
    assert (status["waiting_runs"], status["state_folder"]) == (1, str(terminal.home))
    doctor = terminal("doctor", "--json")
    findings = {finding["name"]: finding for finding in json.loads(doctor.stdout)["findings"]}
    assert findings["database"]["is_ok"]
    assert findings["spool"]["action"] == "perfdb ingest"
    assert doctor.returncode == 1


def test_the_address_of_the_database_hides_its_password(terminal: "Terminal") -> None:
    hidden, shown = terminal("db", "url").stdout.strip(), terminal("db", "url", "--show-password").stdout.strip()
    password = json.loads((terminal.home / "server.json").read_text())["password"]
    assert "***" in hidden
    assert password not in hidden
    assert password in shown


def test_the_demo_has_a_database_of_its_own(terminal: "Terminal") -> None:
    first = terminal.json("demo", "--no-dashboard")
    assert first["new_runs"] == 122
    assert str(first["database"]).endswith("/perfdb_demo")
    assert terminal.json("demo", "--no-dashboard")["new_runs"] == 0
    assert terminal.json("list", "runs") == {"runs": []}


def test_nothing_to_stop_is_fine(terminal: "Terminal") -> None:
    assert terminal("down").stdout == "nothing was running\n"
    assert terminal.json("down") == {"stopped": []}


def test_a_foreign_package_in_the_working_folder_does_not_win(terminal: "Terminal") -> None:
    for name in ("perfdb", "suites", "runners", "dashboard"):
        (terminal.folder / name).mkdir()
        (terminal.folder / name / "__init__.py").write_text("raise SystemExit('the foreign one')\n")
    assert terminal("list", "runs").returncode == 0
    assert "fake_quant" in terminal("list", "benchmarks", "smoke").stdout


def test_a_closed_pipe_is_no_traceback(terminal: "Terminal") -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -P -m perfdb list cases | head -1"],
        cwd=terminal.folder,
        env=terminal.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
