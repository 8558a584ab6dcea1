"""Quantize: the fake quantizers that the suites measure, in any floating type, so that float64 is their own reference.

The straight-through estimator passes gradients as if nothing had been rounded (Bengio, Leonard and Courville, 2013).
"""

import torch
from torch import Tensor

#: Keeps an all-zero operand from dividing by 0.
SMALLEST_SCALE = 1e-5


def ternary(w: Tensor) -> Tensor:
    """Weights on {-s, 0, s} with s = mean |w| (BitNet b1.58: Ma et al., 2024); same shape and type as ``w``."""
    scale = w.abs().mean().clamp(min=SMALLEST_SCALE)
    return (w / scale).round().clamp(-1, 1) * scale


def int8_per_token(x: Tensor) -> Tensor:
    """Activations on 255 levels a row with the row's largest magnitude at 127; same shape and type as ``x``."""
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=SMALLEST_SCALE) / 127
    return (x / scale).round().clamp(-127, 127) * scale


def straight_through(quantized: Tensor, original: Tensor) -> Tensor:
    """The quantized values forward, the identity backward."""
    return original + (quantized - original).detach()


QUANTIZERS = {"ternary": ternary, "int8_per_token": int8_per_token}


def pack_ternary(levels: Tensor) -> Tensor:
    """Four levels -1, 0, 1 a byte, 2 bits each, lowest first: int8 of size 4 n to uint8 of size n."""
    quads = (levels.reshape(-1, 4) + 1).to(torch.uint8)
    return quads[:, 0] | (quads[:, 1] << 2) | (quads[:, 2] << 4) | (quads[:, 3] << 6)


def unpack_ternary(packed: Tensor) -> Tensor:
    """The levels that ``pack_ternary`` packed: uint8 of size n to int8 of size 4 n."""
    quads = torch.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], dim=1)
    return quads.reshape(-1).to(torch.int8) - 1
