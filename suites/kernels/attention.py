"""Scaled dot-product attention."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.registry import Call, benchmark, grid


def operands(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of shape batch, heads, tokens, dim."""
    shape = tuple(case.size(axis) for axis in ("batch", "heads", "tokens", "dim"))
    query, key, value = (inputs.activations(case, *shape, stream=stream) for stream in range(3))
    return query, key, value


def attended(case: Case) -> Tensor:
    """The softmax written out in float64 (Vaswani et al., 2017, equation 1)."""
    query, key, value = (operand.double() for operand in operands(case))
    scores = query @ key.transpose(-1, -2) / math.sqrt(case.size("dim"))
    if case["causal"]:
        tokens = case.size("tokens")
        scores = scores.masked_fill(torch.ones(tokens, tokens, dtype=torch.bool).triu(1), -math.inf)
    return scores.softmax(-1) @ value


@benchmark(
    cases=grid(batch=[1], heads=[8], tokens=[256], dim=[64], causal=[False, True]),
    cost=cost.attention,
    reference=attended,
    tolerance=tolerance.FLOAT32,
)
def attention(case: Case) -> Call:
    """The library's kernel for this machine."""
    query, key, value = operands(case)
    causal = bool(case["causal"])
    return lambda: scaled_dot_product_attention(query, key, value, is_causal=causal)
