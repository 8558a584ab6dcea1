"""Declarations: found in order, complete, and never twice."""

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
