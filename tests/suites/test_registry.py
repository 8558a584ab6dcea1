"""Declarations: found in order, complete, and never twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from perfdb.domain.case import Case
from suites.registry import Benchmark, DeclarationError, benchmark, controls_first, discover, grid, load_file


def declared_in(path: Path, text: str) -> tuple[Benchmark, ...]:
    path.write_text("from suites import Case, benchmark\n" + text)
    return load_file(path)


def test_a_file_declares_with_one_decorator(tmp_path: Path) -> None:
    (found,) = declared_in(
        tmp_path / "mine.py", "@benchmark(cases=[Case.of(n=1)], provider='p')\ndef f(case):\n    return lambda: 1\n"
    )
    assert (found.name, found.provider, found.cases, found.module) == ("f", "p", (Case.of(n=1),), "mine")
    assert found.cost(Case.of()) is None


def test_only_what_the_file_itself_declares_is_found(tmp_path: Path) -> None:
    assert declared_in(tmp_path / "empty_file.py", "") == ()


def test_declaring_one_benchmark_twice_is_refused(tmp_path: Path) -> None:
    twice = (
        "@benchmark()\ndef a(case):\n    return lambda: 1\n@benchmark(name='a')\ndef b(case):\n    return lambda: 1\n"
    )
    with pytest.raises(DeclarationError, match="benchmark a of provider eager is declared twice in twice; rename one"):
        declared_in(tmp_path / "twice.py", twice)


def test_a_function_pasted_twice_is_refused(tmp_path: Path) -> None:
    pasted = "@benchmark(cases=[Case.of(n={})])\ndef same(case):\n    return lambda: 1\n"
    with pytest.raises(DeclarationError, match="declared twice in pasted; rename one, or name its provider"):
        declared_in(tmp_path / "pasted.py", pasted.format(1) + pasted.format(2))


def test_a_file_that_is_loaded_again_declares_anew(tmp_path: Path) -> None:
    text = "@benchmark(provider='{}')\ndef again(case):\n    return lambda: 1\n"
    assert [d.provider for d in declared_in(tmp_path / "again.py", text.format("a"))] == ["a"]
    for provider in ("b", "c"):
        assert [d.provider for d in declared_in(tmp_path / "again.py", text.format(provider))] == [provider]


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ("[Case.of(dtype=complex)]", r"axis dtype is <class 'complex'> \(type\); an axis holds text"),
        ("[Case.of(shape=(1, 2))]", r"axis shape is \(1, 2\) \(tuple\); an axis holds text"),
        ("[Case.of(rate=float('nan'))]", r"axis rate is nan \(float\); an axis holds text, a bool or a finite number"),
        ("[{'n': 1}]", r"has dict among its cases; write Case.of\(axis=value, ...\)"),
    ],
)
def test_cases_that_cannot_be_stored_are_refused_by_name(tmp_path: Path, cases: str, sentence: str) -> None:
    text = f"@benchmark(cases={cases})\ndef odd(case):\n    return lambda: 1\n"
    with pytest.raises(DeclarationError, match=f"benchmark odd in odd.*{sentence}"):
        declared_in(tmp_path / "odd.py", text)


def test_one_case_and_one_suite_need_no_list(tmp_path: Path) -> None:
    text = "@benchmark(cases=Case.of(n=1), suites='nightly')\ndef one(case):\n    return lambda: 1\n"
    (found,) = declared_in(tmp_path / "one_of_each.py", text)
    assert (found.cases, found.suites) == ((Case.of(n=1),), ("nightly",))


def test_declaring_imports_no_torch() -> None:
    script = "import sys, suites; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=False).returncode == 0


def test_a_benchmark_without_cases_is_refused() -> None:
    with pytest.raises(DeclarationError, match="has no cases"):
        benchmark(cases=[], name="none")(lambda case: lambda: case)


def test_controls_go_first_and_the_rest_keeps_its_order() -> None:
    smoke = discover(["suites.smoke"])
    assert controls_first(reversed(smoke))[0].is_control
    rest = [d.name for d in smoke if not d.is_control]
    assert [d.name for d in controls_first(smoke) if not d.is_control] == rest


def test_a_grid_is_every_combination() -> None:
    assert [case.label for case in grid(a=[1, 2], b=["x", "y"])] == ["a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y"]
