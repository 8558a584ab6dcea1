"""Fake quantizers and packing, on values checkable by hand."""

from itertools import product

import torch

from suites.quantize import int8_per_token, pack_ternary, straight_through, ternary, unpack_ternary


def test_ternary_rounds_to_the_mean_magnitude() -> None:
    assert ternary(torch.tensor([2.0, -2.0, 0.5, -1.5])).tolist() == [1.5, -1.5, 0.0, -1.5]


def test_int8_puts_the_largest_of_a_row_at_127() -> None:
    row = torch.tensor([[127.0, -63.4, 0.2], [1.27, 0.0, -0.011]], dtype=torch.float64)
    expected = torch.tensor([[127.0, -63.0, 0.0], [1.27, 0.0, -0.01]], dtype=torch.float64)
    assert torch.allclose(int8_per_token(row), expected)


def test_a_zero_operand_stays_zero() -> None:
    assert not ternary(torch.zeros(4)).any()
    assert not int8_per_token(torch.zeros(2, 2)).any()


def test_gradients_pass_through_the_rounding() -> None:
    weight = torch.tensor([0.3, -0.9], requires_grad=True)
    straight_through(ternary(weight), weight).sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    assert weight.grad.tolist() == [1.0, 1.0]


def test_every_byte_of_four_levels_survives_packing() -> None:
    quads = torch.tensor(list(product((-1, 0, 1), repeat=4)), dtype=torch.int8).reshape(-1)
    packed = pack_ternary(quads)
    assert packed.numel() == 81
    assert len(set(packed.tolist())) == 81
    assert torch.equal(unpack_ternary(packed), quads)
