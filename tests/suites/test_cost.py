"""Costs, against numbers worked out by hand, and those of products against torch's own counter."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from perfdb.domain.case import Case, Cost
from runners.measure.visit import launch_of
from suites import cost
from suites.kernels.attention import attended
from suites.registry import Benchmark, discover

PRODUCTS = [
    (declared, case)
    for declared in discover(["suites.smoke"])
    for case in declared.cases
    if declared.name in ("matmul", "ternary_linear", "qat_step")
]


def test_a_matmul_is_two_operations_a_product() -> None:
    assert cost.matmul(Case.of(m=2, n=3, k=5)) == Cost(60.0, 4 * (10 + 15 + 6))


def test_a_copy_reads_and_writes() -> None:
    assert cost.copy(Case.of(bytes=100)) == Cost(0.0, 200.0)


def test_the_backward_pass_of_a_linear_layer_is_two_products() -> None:
    forward = cost.linear(Case.of(m=2, n=3, k=5, **{"pass": "forward"}))
    backward = cost.linear(Case.of(m=2, n=3, k=5, **{"pass": "backward"}))
    assert backward == Cost(2 * forward.flops, 2 * forward.bytes_moved)


def test_a_causal_mask_halves_attention() -> None:
    shape = {"batch": 1, "heads": 2, "tokens": 4, "dim": 8}
    assert cost.attention(Case.of(shape, causal=False)) == Cost(4 * 2 * 16 * 8, 4 * 4 * 2 * 4 * 8)
    assert cost.attention(Case.of(shape, causal=True)).flops == 2 * 2 * 16 * 8


def test_an_elementwise_chain_moves_its_operand_once_each_way() -> None:
    assert cost.elementwise(7)(Case.of(m=10, k=10)) == Cost(700.0, 800.0)


def test_packing_moves_a_level_and_its_quarter_byte_there_and_back() -> None:
    assert cost.packing(Case.of(levels=8)) == Cost(0.0, 8 + 2 + 2 + 8)


def test_a_step_is_five_products_and_an_update() -> None:
    shape = {"tokens": 2, "width": 3, "hidden": 5}
    # 5 x 2 x 2 x 3 x 5; of the 30 weights 1 + 0.5 + 1 + 5 values each, of tokens 2 x (8 x 3 + 6 x 5)
    assert cost.qat_step(Case.of(shape, quantizer="none")) == Cost(300.0, 4 * (7.5 * 30 + 108))
    assert cost.qat_step(Case.of(shape, quantizer="ternary")) == Cost(300.0, 4 * (10.5 * 30 + 108))


@pytest.mark.parametrize("pair", PRODUCTS, ids=lambda pair: f"{pair[0].name}-{pair[1].label}")
def test_torch_counts_the_same_operations(pair: tuple[Benchmark, Case]) -> None:
    declared, case = pair
    launch = launch_of(declared, case)
    launch.call()
    with FlopCounterMode(display=False) as counter:
        launch.call()
    declared_cost = declared.cost(case)
    assert declared_cost is not None
    assert counter.get_total_flops() == declared_cost.flops


def test_torch_counts_the_same_operations_in_attention_written_out() -> None:
    case = Case.of(batch=2, heads=3, tokens=5, dim=7, causal=False)
    with FlopCounterMode(display=False) as counter:
        attended(case)
    assert counter.get_total_flops() == cost.attention(case).flops
