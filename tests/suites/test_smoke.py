"""The smoke suite: declared completely, right against float64, and seeded."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import Tensor

from perfdb.domain.case import Case, Outcome
from perfdb.domain.metric import RELATIVE_ERROR
from perfdb.settings import Settings
from runners.measure.correctness import WrongResultError
from runners.measure.visit import launch_of, outputs_of, yardstick_of
from runners.progress import Display
from runners.session import Request, measure, prepare
from runners.target import OURS, find_target
from suites import inputs
from suites.quantize import SMALLEST_SCALE
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


def declared_as(name: str, provider: str = "eager") -> Benchmark:
    (found,) = [declared for declared in SMOKE if (declared.name, declared.provider) == (name, provider)]
    return found


def unrounded(x: Tensor) -> Tensor:
    return x


def floored(x: Tensor) -> Tensor:
    scale = x.abs().amax(dim=-1, keepdim=True) / 127
    return (x / scale).floor() * scale


def scaled_by_the_tensor(x: Tensor) -> Tensor:
    scale = x.abs().max() / 127
    return (x / scale).round() * scale


def ternary_by_the_row(x: Tensor) -> Tensor:
    scale = x.abs().mean(dim=-1, keepdim=True).clamp(min=SMALLEST_SCALE)
    return (x / scale).round().clamp(-1, 1) * scale


def int8_in_bf16(x: Tensor) -> Tensor:
    scale = x.bfloat16().abs().amax(dim=-1, keepdim=True) / 127
    return (x.bfloat16() / scale).round() * scale


@pytest.mark.parametrize(
    ("quantizer", "wrong"),
    [
        ("ternary", unrounded),
        ("ternary", ternary_by_the_row),
        ("int8_per_token", unrounded),
        ("int8_per_token", floored),
        ("int8_per_token", scaled_by_the_tensor),
        ("int8_per_token", int8_in_bf16),
    ],
)
def test_a_wrong_quantizer_is_found(quantizer: str, wrong: Callable[[Tensor], Tensor]) -> None:
    declared = declared_as("fake_quant")
    (case,) = [case for case in declared.cases if case["quantizer"] == quantizer]
    operand = inputs.activations(case, case.size("m"), case.size("k"))
    with pytest.raises(WrongResultError, match="exceeds the tolerance"):
        yardstick_of(declared, case).error_of(wrong(operand))


@pytest.mark.parametrize("case", declared_as("qat_step").cases, ids=lambda case: case.label)
def test_a_step_is_checked_from_its_first_weights_however_many_were_timed(case: Case) -> None:
    launch = launch_of(declared_as("qat_step"), case)
    assert launch.outputs is not None
    for _ in range(3):
        launch.call()
    error = yardstick_of(declared_as("qat_step"), case).error_of(launch.outputs())
    assert error is not None
    assert error < 1e-5


def test_a_step_that_skips_its_update_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = declared_as("qat_step")
    launch = launch_of(declared, declared.cases[0])
    monkeypatch.setattr(torch.optim.SGD, "step", lambda _: None)
    with pytest.raises(WrongResultError, match="momentum_up is in the reference and was not computed"):
        yardstick_of(declared, declared.cases[0]).error_of(outputs_of(launch, launch.call()))


@pytest.mark.slow
def test_a_worker_measures_every_case_compiled_ones_too(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    prepared = prepare(Request(find_target(OURS, None, OURS), "smoke", processes=1, seed=1), settings)
    run = measure(prepared, prepared.header(), settings, Display(Console(file=StringIO(), force_terminal=False)))
    assert [(r.label, r.detail) for r in run.results if r.outcome is not Outcome.MEASURED] == []
    assert len(run.results) == len(CASES)
    tolerances = {(declared.name, declared.provider): declared.tolerance for declared in SMOKE}
    for result in run.results:
        (error,) = [reading.value for reading in result.readings if reading.metric == RELATIVE_ERROR]
        assert error <= tolerances[result.benchmark, result.provider] / 3


@pytest.mark.parametrize("draw", [inputs.activations, inputs.weights])
def test_operands_depend_on_the_case_alone_and_hold_no_zeros(draw: Callable[..., Tensor]) -> None:
    case = Case.of(m=64, k=64)
    first = draw(case, 64, 64)
    assert torch.equal(first, draw(case, 64, 64))
    assert not torch.equal(first, draw(case, 64, 64, stream=9))
    assert not torch.equal(first, draw(Case.of(m=64, k=65), 64, 64))
    assert bool((first != 0).all())


def test_activations_are_standard_normal_and_weights_shrink_with_fan_in() -> None:
    case = Case.of(m=64, k=64)
    assert abs(float(inputs.activations(case, 64, 64).std()) - 1) < 0.1
    assert abs(float(inputs.weights(case, 64, 64).std()) - 1 / 8) < 0.0125


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
