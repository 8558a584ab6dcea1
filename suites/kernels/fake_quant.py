"""Fake quantization of weights (ternary) and activations (int8 a token), as it runs in every step of QAT."""

from torch import Tensor

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.compiler import compiled
from suites.quantize import QUANTIZERS
from suites.registry import Call, benchmark, grid

CASES = grid(quantizer=list(QUANTIZERS), m=[512], k=[1024])
#: Magnitude, reduction, division, rounding, two bounds, product.
OPERATIONS = 7.0


def operand(case: Case) -> Tensor:
    """An m by k operand."""
    return inputs.activations(case, case.size("m"), case.size("k"))


def quantized(case: Case) -> Tensor:
    """The same quantizer in float64."""
    return QUANTIZERS[case.text("quantizer")](operand(case).double())


@benchmark(
    name="fake_quant",
    cases=CASES,
    provider="eager",
    cost=cost.elementwise(OPERATIONS),
    reference=quantized,
    tolerance=tolerance.QUANTIZED,
)
def fake_quant_eager(case: Case) -> Call:
    """One torch operation after the other."""
    x_MK, quantizer = operand(case), QUANTIZERS[case.text("quantizer")]
    return lambda: quantizer(x_MK)


@benchmark(
    name="fake_quant",
    cases=CASES,
    provider="compiled",
    cost=cost.elementwise(OPERATIONS),
    reference=quantized,
    tolerance=tolerance.QUANTIZED,
)
def fake_quant_compiled(case: Case) -> Call:
    """The same chain, fused by torch.compile."""
    x_MK, quantizer = operand(case), compiled(QUANTIZERS[case.text("quantizer")])
    return lambda: quantizer(x_MK)
