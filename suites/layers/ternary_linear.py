"""A linear layer whose weights are ternary in the forward pass and real in the optimizer."""

import torch
from torch import Tensor

from perfdb.domain.case import Case, Pass
from suites import cost, inputs, tolerance
from suites.quantize import straight_through, ternary
from suites.registry import Call, benchmark, grid


def operands(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Input (m, k), master weight (n, k), gradient of the output (m, n)."""
    m, n, k = case.size("m"), case.size("n"), case.size("k")
    return inputs.activations(case, m, k), inputs.weights(case, n, k), inputs.activations(case, m, n, stream=2)


def forward(x_MK: Tensor, w_NK: Tensor) -> Tensor:
    """The layer's output (m, n)."""
    return x_MK @ straight_through(ternary(w_NK), w_NK).T


def expected(case: Case) -> object:
    """In float64: the output, or the gradients written out. The quantizer passes the weight's gradient through."""
    x_MK, w_NK, dy_MN = (operand.double() for operand in operands(case))
    if case["pass"] == Pass.FORWARD:
        return x_MK @ ternary(w_NK).T
    return {"dx": dy_MN @ ternary(w_NK), "dw": dy_MN.T @ x_MK}


@benchmark(
    cases=grid(m=[256], n=[512], k=[512], **{"pass": [Pass.FORWARD.value, Pass.BACKWARD.value]}),
    cost=cost.linear,
    reference=expected,
    tolerance=tolerance.QUANTIZED,
)
def ternary_linear(case: Case) -> Call:
    """Forward as in training, or backward through a kept graph."""
    x_MK, w_NK, dy_MN = operands(case)
    if case["pass"] == Pass.FORWARD:
        return lambda: forward(x_MK, w_NK)
    x_MK.requires_grad_()
    w_NK.requires_grad_()
    y_MN = forward(x_MK, w_NK)

    def backward() -> dict[str, Tensor]:
        dx, dw = torch.autograd.grad(y_MN, (x_MK, w_NK), dy_MN, retain_graph=True)
        return {"dx": dx, "dw": dw}

    return backward
