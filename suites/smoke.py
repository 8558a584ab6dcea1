"""The smoke suite: real work of a CPU in under a minute, controls first."""

from suites.kernels import attention, controls, fake_quant, packing
from suites.layers import ternary_linear
from suites.qat_steps import feed_forward

__all__ = ["attention", "controls", "fake_quant", "feed_forward", "packing", "ternary_linear"]
