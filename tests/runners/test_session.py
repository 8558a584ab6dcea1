"""Real worker processes measure small benchmark files."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from perfdb.domain.case import Case, Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.run import RunState
from perfdb.errors import MeasureError, SpoolError
from perfdb.settings import Settings
from perfdb.spool import read_spool
from runners.measure.messages import CaseKey
from runners.progress import Display
from runners.session import Request, measure, prepare, surveyed_declarations
from runners.summary import encode_run, rows_of
from runners.target import OURS, find_target
from runners.visits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from perfdb.domain.run import CaseResult, Run
    from tests.runners.conftest import Repository

    Measurer = Callable[..., Run]

HEADER = """
import os, signal, sys, time
import numpy as np
from suites import Case, Cost, benchmark

def declare(function=None, *, reference=None, tolerance=1e-6, cases=(Case.of(n=1),), control=False, provider="eager"):
    def decorate(function):
        return benchmark(
            cases=cases, provider=provider, cost=lambda case: Cost(1.0, 8.0), reference=reference,
            tolerance=tolerance, control=control,
        )(function)
    return decorate(function) if function else decorate

"""
ONE = HEADER + "@declare\ndef one(case):\n    return lambda: 1.0\n"
QUICK = Limits(case_s=30.0)


@pytest.fixture
def quiet() -> Display:
    return Display(Console(file=StringIO(), force_terminal=False))


@pytest.fixture
def measured(tmp_path: Path, settings: Settings, quiet: Display) -> Measurer:
    """Writes a benchmark file outside of any repository, measures it and gives the run."""

    def measure_text(body: str, *, processes: int = 1, limits: Limits = QUICK, name: str = "mine.py") -> Run:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEADER + body)
        request = Request(find_target(None, file, tmp_path), None, processes=processes, seed=1, limits=limits)
        prepared = prepare(request, settings)
        return measure(prepared, prepared.header(), settings, quiet)

    return measure_text


def only(run: Run) -> CaseResult:
    assert len(run.results) == 1
    return run.results[0]


def test_a_right_case_is_measured_in_every_process(measured: Measurer) -> None:
    run = measured(
        "@declare(reference=lambda case: [3.0])\ndef adds(case):\n    x = np.ones(1)\n    return lambda: x + 2\n",
        processes=2,
    )
    assert run.state is RunState.COMPLETE
    assert [r.process for r in run.results] == [0, 1]
    latency, error = run.results[0].readings
    assert (latency.metric.name, latency.metric.unit, error.metric.name) == ("latency", "us", "relative_error")
    assert latency.value > 0
    assert len(latency.samples) >= 3
    assert error.value == 0.0
    assert run.results[0].first_call_s is not None
    assert run.header.code.state is CodeState.UNVERSIONED
    assert run.header.suite == "mine.py"
    assert run.header.seed == 1


def test_a_case_that_raises_is_failed_with_type_message_and_place(measured: Measurer) -> None:
    result = only(measured("@declare\ndef bad(case):\n    raise ValueError('no good')\n"))
    assert result.outcome is Outcome.FAILED
    line = (HEADER + "@declare\ndef bad(case):\n").count("\n") + 1
    assert result.detail == f"ValueError: no good (mine.py:{line})"


def test_nan_is_a_wrong_result_that_says_so(measured: Measurer) -> None:
    result = only(measured("@declare(reference=lambda c: [1.0])\ndef bad(case):\n    return lambda: [float('nan')]\n"))
    assert result.outcome is Outcome.WRONG_RESULT
    assert "NaN" in result.detail
    assert result.readings == ()


def test_a_result_beyond_its_tolerance_is_not_timed(measured: Measurer, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    result = only(
        measured(
            "@declare(reference=lambda c: [1.0], tolerance=0.01)\ndef bad(case):\n"
            f"    def call():\n        open({str(calls)!r}, 'a').write('x')\n        return [1.1]\n    return call\n"
        )
    )
    assert result.outcome is Outcome.WRONG_RESULT
    assert "0.1 exceeds the tolerance 0.01" in result.detail
    assert calls.read_text() == "x"


def test_a_result_that_goes_wrong_while_it_is_timed_is_found(measured: Measurer) -> None:
    result = only(
        measured(
            "@declare(reference=lambda c: [1.0])\ndef drifts(case):\n    x = np.zeros(1)\n"
            "    def call():\n        x[0] += 1\n        return x.copy()\n    return call\n"
        )
    )
    assert result.outcome is Outcome.WRONG_RESULT
    assert result.detail.endswith("after timing")
    assert result.readings == ()


def test_an_unsupported_case_gives_its_reason(measured: Measurer) -> None:
    result = only(
        measured(
            "from suites import UnsupportedError\n@declare\ndef x(case):\n"
            "    raise UnsupportedError('no tensor core')\n"
        )
    )
    assert (result.outcome, result.detail) == (Outcome.UNSUPPORTED, "no tensor core")


@pytest.mark.parametrize(
    ("statement", "outcome", "detail"),
    [
        ("os._exit(0)", Outcome.FAILED, "exit code 0"),
        ("os._exit(3)", Outcome.FAILED, "exit code 3"),
        ("sys.exit(4)", Outcome.FAILED, "sys.exit with code 4"),
        ("os.abort()", Outcome.FAILED, "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGTERM)", Outcome.FAILED, "SIGTERM"),
        ("os.kill(os.getpid(), signal.SIGKILL)", Outcome.OUT_OF_MEMORY, "SIGKILL"),
        ("bytearray(2**62)", Outcome.OUT_OF_MEMORY, "MemoryError"),
        ("time.sleep(3600)", Outcome.TIMED_OUT, "its time was over"),
    ],
)
def test_every_bad_end_has_a_name_and_the_cases_after_it_are_measured(
    statement: str, outcome: Outcome, detail: str, measured: Measurer
) -> None:
    run = measured(
        f"@declare(control=True)\ndef a(case):\n    return lambda: {statement}\n"
        "@declare\ndef b(case):\n    return lambda: 1.0\n",
        limits=Limits(case_s=5.0 if "sleep" in statement else 30.0),
    )
    first, second = run.results
    assert (first.benchmark, first.outcome) == ("a", outcome)
    assert detail in first.detail
    assert first.is_control
    assert (second.benchmark, second.outcome) == ("b", Outcome.MEASURED)
    assert run.state is RunState.COMPLETE


def test_a_case_that_failed_is_not_tried_in_the_next_process(measured: Measurer) -> None:
    run = measured(
        "@declare\ndef a(case):\n    os._exit(1)\n@declare\ndef b(case):\n    return lambda: 1.0\n", processes=3
    )
    assert [r.process for r in run.results if r.benchmark == "a"] == [0]
    assert [r.process for r in run.results if r.benchmark == "b"] == [0, 1, 2]


def test_what_was_printed_last_before_a_crash_is_told(measured: Measurer) -> None:
    result = only(measured("@declare\ndef a(case):\n    print('about to die', flush=True)\n    os.abort()\n"))
    assert result.detail.endswith("last output: about to die")


def test_printing_without_end_costs_neither_memory_nor_time(measured: Measurer) -> None:
    body = (
        "@declare\ndef a(case):\n    for _ in range(1024):\n        os.write(1, b'x' * 65536)\n    return lambda: 1.0\n"
    )
    assert only(measured(body)).outcome is Outcome.MEASURED


def test_garbage_on_the_workers_own_pipe_does_no_harm(measured: Measurer) -> None:
    body = (
        "@declare\ndef a(case):\n    for fd in range(3, 64):\n        try:\n            os.write(fd, b'garbage\\n')\n"
        "        except OSError:\n            pass\n    return lambda: 1.0\n"
    )
    assert only(measured(body)).outcome is Outcome.MEASURED


def test_a_child_that_a_benchmark_left_behind_is_killed_with_its_worker(measured: Measurer, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = (
        "import subprocess\n@declare\ndef a(case):\n"
        "    child = subprocess.Popen(['sleep', '3600'], start_new_session=True)\n"
        f"    open({str(pid)!r}, 'w').write(str(child.pid))\n    time.sleep(3600)\n"
    )
    assert only(measured(body, limits=Limits(case_s=3.0))).outcome is Outcome.TIMED_OUT
    assert ends(int(pid.read_text()))


def test_a_file_that_cannot_be_loaded_is_explained_with_its_place(measured: Measurer, settings: Settings) -> None:
    with pytest.raises(MeasureError, match=r"cannot be loaded: ModuleNotFoundError: .*nothing_like_it.* \(mine\.py:"):
        measured("import nothing_like_it\n")
    with pytest.raises(MeasureError, match="SyntaxError"):
        measured("def (:\n")
    with pytest.raises(MeasureError, match=r"sys.exit with code 5"):
        measured("sys.exit(5)\n")
    assert not settings.spool.exists()


def test_a_worker_that_dies_while_it_loads_is_explained(measured: Measurer) -> None:
    with pytest.raises(MeasureError, match=r"ended with code 9 before its first case; last output: bye"):
        measured("print('bye', flush=True)\nos._exit(9)\n")


def test_a_worker_that_never_loads_is_given_up(measured: Measurer) -> None:
    with pytest.raises(MeasureError, match="not ready after 2 s"):
        measured("time.sleep(3600)\n", limits=Limits(start_s=2.0))


def test_a_path_with_spaces_and_odd_neighbours_does_not_matter(measured: Measurer, tmp_path: Path) -> None:
    folder = tmp_path / "my own benchmarks"
    folder.mkdir()
    (folder / "queue.py").write_text("raise RuntimeError('not the queue of Python')")
    (folder / "neighbour.py").write_text("VALUE = 1.0")
    result = only(
        measured(
            "import queue, neighbour\n@declare\ndef a(case):\n    assert ' ' not in __file__ + os.getcwd()\n"
            "    return lambda: neighbour.VALUE\n",
            name="my own benchmarks/mine.py",
        )
    )
    assert (result.outcome, result.detail) == (Outcome.MEASURED, "")


def test_the_working_folder_of_a_benchmark_is_fresh_and_secrets_stay_outside(
    measured: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFDB_DATABASE_URL", "postgresql://user:secret@host/db")
    body = (
        "@declare\ndef a(case):\n    assert os.listdir('.') == []\n"
        "    assert not [n for n in os.environ if n.startswith('PERFDB')]\n    return lambda: 1.0\n"
    )
    assert only(measured(body)).detail == ""


def test_foreign_packages_in_the_repository_and_in_the_working_folder_do_not_win(
    repository: Repository, settings: Settings, quiet: Display, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("suites", "runners", "perfdb"):
        repository.write(f"{name}/__init__.py", "raise RuntimeError('foreign')")
    repository.write("bench.py", ONE)
    repository.write("pyproject.toml", "[tool.perfdb]\nmodules = ['bench']\n")
    sha = repository.commit()
    monkeypatch.chdir(repository.path)
    prepared = prepare(Request(find_target(None, None, repository.path), "smoke", processes=1), settings)
    run = measure(prepared, prepared.header(), settings, quiet)
    assert only(run).outcome is Outcome.MEASURED
    assert run.header.code.commit is not None
    assert run.header.code.commit.sha == sha
    assert run.header.code.repository == "kernels"
    # measuring leaves no file behind that would make the tree dirty
    assert repository.git("status", "--porcelain") == ""


def test_a_module_outside_of_the_code_under_test_is_refused(
    repository: Repository, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.py").write_text(ONE)
    repository.write("pyproject.toml", "[tool.perfdb]\nmodules = ['elsewhere']\npath = ['..']\n")
    with pytest.raises(MeasureError, match=r"one is declared in .*elsewhere\.py, outside of the code under test"):
        prepare(Request(find_target(repository.path, None, tmp_path), "smoke"), settings)
    assert not settings.spool.exists()


def test_an_installed_copy_does_not_win_over_the_code_under_test(
    repository: Repository, settings: Settings, quiet: Display, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, value in ((tmp_path / "installed", 2.0), (repository.path / "src", 1.0)):
        folder.mkdir()
        (folder / "library.py").write_text(f"VALUE = {value}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    body = "import library\n@declare(reference=lambda c: [1.0])\ndef a(case):\n    return lambda: [library.VALUE]\n"
    repository.write("bench.py", HEADER + body)
    repository.write("pyproject.toml", "[tool.perfdb]\nmodules = ['bench']\npath = ['src']\n")
    prepared = prepare(Request(find_target(repository.path, None, tmp_path), "smoke", processes=1), settings)
    assert only(measure(prepared, prepared.header(), settings, quiet)).outcome is Outcome.MEASURED


def test_code_that_changes_while_it_is_measured_leaves_the_run_incomplete(
    repository: Repository, settings: Settings, quiet: Display, tmp_path: Path
) -> None:
    changed = repository.path / "other.py"
    body = f"@declare\ndef a(case):\n    open({str(changed)!r}, 'w').write('new')\n    return lambda: 1.0\n"
    file = repository.write("bench.py", HEADER + body)
    repository.commit()
    prepared = prepare(Request(find_target(None, file, tmp_path), None, processes=1), settings)
    header = prepared.header()
    run = measure(prepared, header, settings, quiet)
    assert run == read_spool(settings.spool / f"{header.run_id}.jsonl").run
    assert run.state is RunState.INCOMPLETE
    assert len(run.results) == 1


def test_a_spool_that_cannot_be_written_is_explained(tmp_path: Path, settings: Settings, quiet: Display) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ONE)
    prepared = prepare(Request(find_target(None, file, tmp_path), None, processes=1), settings)
    settings.spool.write_text("in the way")
    with pytest.raises(SpoolError, match="cannot write"):
        measure(prepared, prepared.header(), settings, quiet)


def test_declarations_are_listed_without_measuring(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEADER + "@declare(cases=[Case.of(n=1), Case.of(n=2)])\ndef a(case):\n    raise RuntimeError\n")
    found = surveyed_declarations(Request(find_target(None, file, tmp_path), None), settings)
    assert [d.key.label for d in found] == ["a[n=1]", "a[n=2]"]


def test_the_parent_never_imports_torch() -> None:
    program = "import sys, runners.verbs, runners.session; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=OURS, check=False).returncode == 0


def test_the_worker_imports_nothing_but_itself_and_what_it_measures(measured: Measurer) -> None:
    body = (
        "@declare\ndef a(case):\n    heavy = {'sqlalchemy', 'psycopg', 'pydantic', 'typer', 'rich', 'psutil'}\n"
        "    assert not heavy & set(sys.modules)\n    return lambda: 1.0\n"
    )
    assert only(measured(body)).detail == ""


def test_a_killed_parent_takes_its_worker_along(tmp_path: Path) -> None:
    pid, file = tmp_path / "pid", tmp_path / "mine.py"
    os.mkfifo(pid)
    file.write_text(
        HEADER + f"@declare\ndef a(case):\n    open({str(pid)!r}, 'w').write(str(os.getpid()))\n    time.sleep(3600)\n"
    )
    program = (
        "from pathlib import Path; from perfdb.settings import load_settings\n"
        "from runners.progress import Display; from runners.session import *; from runners.target import find_target\n"
        f"p = prepare(Request(find_target(None, Path({str(file)!r}), Path('/')), None), load_settings())\n"
        "measure(p, p.header(), load_settings(), Display())\n"
    )
    environment = {**os.environ, "PERFDB_HOME": str(tmp_path / "home")}
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=OURS, env=environment, stderr=subprocess.DEVNULL)
    worker = int(pid.read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert ends(worker)


def ends(pid: int) -> bool:
    """Whether a process has ended or does so soon."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    is_over = bool(select.select([descriptor], [], [], 10)[0])
    os.close(descriptor)
    return is_over


def test_a_run_is_json_for_programs(measured: Measurer) -> None:
    run = measured("@declare(reference=lambda c: [1.0])\ndef a(case):\n    return lambda: [1.0]\n", processes=2)
    rows = rows_of(run, {CaseKey("a", "eager", Case.of(n=1)): 1e-6})
    told = json.loads(json.dumps(encode_run(run, rows)))
    assert told["state"] == "complete"
    assert told["results"][0]["tolerance"] == 1e-6
    assert len(told["results"][0]["process_values_us"]) == 2
