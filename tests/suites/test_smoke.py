"""The smoke suite: declared completely, right against float64, and seeded."""

from pathlib import Path

import pytest
import torch

from perfdb.domain.case import Case
from runners.measure.correctness import WrongResultError
from runners.measure.visit import launch_of, outputs_of, yardstick_of
from suites import inputs
from suites.registry import Benchmark, UnsupportedError, discover

SMOKE = discover(["suites.smoke"])
CASES = [(declared, case) for declared in SMOKE for case in declared.cases]
EAGER = [(declared, case) for declared, case in CASES if declared.provider == "eager"]


def named(pair: tuple[Benchmark, Case] | object) -> str:
    return f"{pair[0].name}-{pair[0].provider}-{pair[1].label}" if isinstance(pair, tuple) else ""


def test_the_controls_come_first() -> None:
    flags = [declared.is_control for declared in SMOKE]
    assert flags[:2] == [True, True]
    assert not any(flags[2:])


def test_the_suite_holds_what_it_promises() -> None:
    names = {(declared.name, declared.provider) for declared in SMOKE}
    promised = {"copy", "matmul", "fake_quant", "ternary_linear", "attention", "qat_step", "ternary_packing"}
    assert {name for name, _ in names} == promised
    assert {("fake_quant", "eager"), ("fake_quant", "compiled")} <= names


@pytest.mark.parametrize("declared", SMOKE, ids=lambda declared: f"{declared.name}-{declared.provider}")
def test_every_benchmark_states_cost_and_reference(declared: Benchmark) -> None:
    assert declared.reference is not None
    for case in declared.cases:
        cost = declared.cost(case)
        assert cost is not None
        assert cost.bytes_moved > 0


@pytest.mark.parametrize("pair", EAGER, ids=named)
def test_every_case_agrees_with_its_float64_reference(pair: tuple[Benchmark, Case]) -> None:
    declared, case = pair
    launch = launch_of(declared, case)
    error = yardstick_of(declared, case).error_of(outputs_of(launch, launch.call()))
    assert error is not None
    assert error <= declared.tolerance / 3 or declared.tolerance == 0


@pytest.mark.parametrize("pair", EAGER, ids=named)
def test_wrong_arithmetic_exceeds_every_tolerance(pair: tuple[Benchmark, Case]) -> None:
    declared, case = pair
    launch = launch_of(declared, case)
    outputs = outputs_of(launch, launch.call())
    wrong = {name: part * 1.05 for name, part in outputs.items()} if isinstance(outputs, dict) else outputs * 1.05  # type: ignore[operator]
    with pytest.raises(WrongResultError, match="exceeds the tolerance"):
        yardstick_of(declared, case).error_of(wrong)


def test_operands_depend_on_the_case_alone_and_hold_no_zeros() -> None:
    case = Case.of(m=64, k=64)
    first, second = inputs.activations(case, 64, 64), inputs.activations(case, 64, 64)
    assert torch.equal(first, second)
    assert not torch.equal(first, inputs.activations(case, 64, 64, stream=1))
    assert not torch.equal(first, inputs.activations(Case.of(m=64, k=65), 64, 64))
    assert bool((first != 0).all())
    assert abs(float(first.std()) - 1) < 0.1


def test_ternary_operands_hold_each_level_about_equally_often() -> None:
    levels = inputs.ternary_levels(Case.of(n=1), 30_000)
    counts = [int((levels == level).sum()) for level in (-1, 0, 1)]
    assert sum(counts) == 30_000
    assert min(counts) > 9_500


def test_without_a_compiler_the_compiled_cases_are_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (declared,) = [d for d in SMOKE if d.provider == "compiled"]
    with pytest.raises(UnsupportedError, match="apt install g\\+\\+"):
        declared.function(declared.cases[0])
