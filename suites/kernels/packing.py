"""Packing ternary levels into 2 bits and back."""

from torch import Tensor

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.quantize import pack_ternary, unpack_ternary
from suites.registry import Call, benchmark


def levels(case: Case) -> Tensor:
    """Levels to pack."""
    return inputs.ternary_levels(case, case.size("levels"))


@benchmark(cases=[Case.of(levels=2**20)], cost=cost.packing, reference=levels, tolerance=tolerance.EXACT)
def ternary_packing(case: Case) -> Call:
    """There and back: every level must return."""
    packed = levels(case)
    return lambda: unpack_ternary(pack_ternary(packed))
