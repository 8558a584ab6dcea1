"""Inputs: operands seeded by their case, drawn from N(0, 1) unless said otherwise, never zeros."""

import math

import torch
from torch import Tensor

from perfdb.domain.case import Case


def generator(case: Case, stream: int = 0) -> torch.Generator:
    """Random numbers that depend on the case and ``stream`` alone; each operand has a stream of its own."""
    return torch.Generator().manual_seed((case.seed + 7919 * stream) % 2**63)


def activations(case: Case, *shape: int, stream: int = 0) -> Tensor:
    """Activations or gradients: N(0, 1), float32."""
    return torch.randn(*shape, generator=generator(case, stream))


def weights(case: Case, *shape: int, stream: int = 1) -> Tensor:
    """Master weights: N(0, 1 / fan-in), float32; the last axis is fan-in."""
    return torch.randn(*shape, generator=generator(case, stream)) / math.sqrt(shape[-1])


def ternary_levels(case: Case, *shape: int, stream: int = 2) -> Tensor:
    """Levels -1, 0, 1 in equal parts, int8."""
    return torch.randint(-1, 2, shape, generator=generator(case, stream), dtype=torch.int8)
