"""Cost: floating-point operations and bytes of one call, each operand read once and each result written once."""

from perfdb.domain.case import Case, Cost

FLOAT32 = 4


def copy(case: Case) -> Cost:
    """Every byte is read and written."""
    return Cost(0.0, 2.0 * case.size("bytes"))


def matmul(case: Case) -> Cost:
    """2 m n k operations; both operands and the result move once."""
    m, n, k = case.size("m"), case.size("n"), case.size("k")
    return Cost(2.0 * m * n * k, float(FLOAT32) * (m * k + k * n + m * n))


def elementwise(operations: float, reads: int = 1, writes: int = 1) -> "CostOf":
    """A chain of ``operations`` a value over an ``m`` by ``k`` operand."""
    return CostOf(operations, reads, writes)


class CostOf:
    """Cost of an elementwise chain; callable as ``cost``."""

    def __init__(self, operations: float, reads: int, writes: int) -> None:
        self.operations, self.reads, self.writes = operations, reads, writes

    def __call__(self, case: Case) -> Cost:
        """Operations and traffic of one case."""
        values = case.size("m") * case.size("k")
        return Cost(self.operations * values, float(FLOAT32) * (self.reads + self.writes) * values)


def linear(case: Case) -> Cost:
    """One product forward; the gradients of input and weight are two more of the same size."""
    one = matmul(case)
    return one if case["pass"] == "forward" else Cost(2 * one.flops, 2 * one.bytes_moved)


def attention(case: Case) -> Cost:
    """4 b h t^2 d operations for both products, half of them under a causal mask; q, k, v and the result move once."""
    batch, heads, tokens, dim = (case.size(axis) for axis in ("batch", "heads", "tokens", "dim"))
    flops = 4.0 * batch * heads * tokens**2 * dim
    return Cost(flops / 2 if case["causal"] else flops, 4.0 * FLOAT32 * batch * heads * tokens * dim)


def packing(case: Case) -> Cost:
    """Int8 levels in, a quarter of a byte a level packed, and int8 levels out."""
    return Cost(0.0, 2.5 * case.size("levels"))


def qat_step(case: Case) -> Cost:
    """6 operations a parameter and token for forward and backward; SGD reads and writes weights and reads gradients."""
    tokens, width, hidden = (case.size(axis) for axis in ("tokens", "width", "hidden"))
    parameters = 2.0 * width * hidden
    return Cost(6 * parameters * tokens, FLOAT32 * (9 * parameters + 4.0 * tokens * (width + hidden)))
