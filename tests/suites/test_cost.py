"""Costs, against numbers worked out by hand."""

from perfdb.domain.case import Case, Cost
from suites import cost


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
