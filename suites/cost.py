"""Cost: floating-point operations and bytes of one call, each operand read once and each result written once.

Formulas are counted from the operations; the tests hold them against numbers worked out by hand and those of products
against torch's own counter, ``torch.utils.flop_counter``.
"""

from perfdb.domain.case import Case, Cost

FLOAT32 = 4


def copy(case: Case) -> Cost:
    """Every byte is read and written."""
    return Cost(0.0, 2.0 * case.size("bytes"))


def matmul(case: Case) -> Cost:
    """2 m n k operations, a multiplication and an addition each; both operands and the result move once."""
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
    """One product forward; the gradients of input and weight are two more of the same size.

    Quantizing the weight is left out: fused into the product it moves no byte more.
    """
    one = matmul(case)
    return one if case["pass"] == "forward" else Cost(2 * one.flops, 2 * one.bytes_moved)


def attention(case: Case) -> Cost:
    """4 b h t^2 d operations for both products, half of them under a causal mask; q, k, v and the result move once.

    FLOPs as in FlashAttention-2 (Dao, 2023, section 4.1): the softmax is not counted.
    """
    batch, heads, tokens, dim = (case.size(axis) for axis in ("batch", "heads", "tokens", "dim"))
    flops = 4.0 * batch * heads * tokens**2 * dim
    return Cost(flops / 2 if case["causal"] else flops, 4.0 * FLOAT32 * batch * heads * tokens * dim)


def packing(case: Case) -> Cost:
    """Int8 levels in, a quarter of a byte a level packed, and int8 levels out."""
    return Cost(0.0, 2.5 * case.size("levels"))


def qat_step(case: Case) -> Cost:
    """A block of two products w -> h -> w, its loss, its gradients, and its update by SGD with momentum.

    Five products of 2 t w h operations: two forward, two for the weights' gradients, one for that of the hidden values;
    the block's input needs none. Each product, and each elementwise chain between two of them, moves its operands
    once: 8 t w + 6 t h values of tokens, and of the 2 w h weights 1 forward, 1/2 backward, 1 for gradients, 5 for the
    update (weight, gradient, momentum in; weight, momentum out), 3 more to make them ternary (read twice, written).
    """
    tokens, width, hidden = (case.size(axis) for axis in ("tokens", "width", "hidden"))
    passes = 10.5 if case["quantizer"] == "ternary" else 7.5
    values = passes * 2 * width * hidden + tokens * (8 * width + 6 * hidden)
    return Cost(5 * 2.0 * tokens * width * hidden, FLOAT32 * values)
