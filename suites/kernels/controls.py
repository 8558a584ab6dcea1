"""Controls: frozen code, first in every run. When these move, it is the machine or the stack, not the commit."""

import torch

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.registry import Launch, benchmark


def copied(case: Case) -> torch.Tensor:
    """The source of the copy."""
    return inputs.activations(case, case.size("bytes") // 4).double()


@benchmark(cases=[Case.of(bytes=16 * 2**20)], cost=cost.copy, reference=copied, tolerance=tolerance.EXACT, control=True)
def copy(case: Case) -> Launch:
    """Memory to memory, into a target that held NaN."""
    source = inputs.activations(case, case.size("bytes") // 4)
    target = torch.full_like(source, torch.nan)
    return Launch(lambda: target.copy_(source))


def product(case: Case) -> torch.Tensor:
    """The matrix product in float64."""
    m, n, k = case.size("m"), case.size("n"), case.size("k")
    return inputs.activations(case, m, k).double() @ inputs.weights(case, k, n).double()


@benchmark(
    cases=[Case.of(m=256, n=512, k=1024)],
    cost=cost.matmul,
    reference=product,
    tolerance=tolerance.FLOAT32,
    control=True,
)
def matmul(case: Case) -> Launch:
    """The library's float32 matrix product."""
    x_MK = inputs.activations(case, case.size("m"), case.size("k"))
    w_KN = inputs.weights(case, case.size("k"), case.size("n"))
    return Launch(lambda: x_MK @ w_KN)
