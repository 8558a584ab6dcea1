"""Partition: the exact penalised least-squares split of a sequence into constant segments.

Optimal partitioning with pruning (Killick, Fearnhead and Eckley, PELT, 2012): segment cost is the sum of squares around
the mean, each change costs ``price``, and a segment has at least ``shortest`` values.
"""

import numpy as np

from perfdb.analysis.noise import Floats


def split(values: Floats, price: float, shortest: int) -> list[int]:
    """Indices at which a new segment starts, ascending; empty when one segment is best."""
    n = values.size
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    best = np.full(n + 1, np.inf)
    best[0] = -price
    previous = np.zeros(n + 1, dtype=np.int64)
    starts = np.empty(0, dtype=np.int64)
    for end in range(shortest, n + 1):
        newest = end - shortest
        if newest == 0 or newest >= shortest:
            starts = np.append(starts, newest)
        total = sums[end] - sums[starts]
        without_price = best[starts] + squares[end] - squares[starts] - total * total / (end - starts)
        chosen = int(np.argmin(without_price))
        best[end] = without_price[chosen] + price
        previous[end] = starts[chosen]
        starts = starts[without_price <= best[end] + 1e-9]
    return _walk_back(previous, n)


def _walk_back(previous: np.ndarray[tuple[int], np.dtype[np.int64]], end: int) -> list[int]:
    changes: list[int] = []
    while end > 0:
        end = int(previous[end])
        if end > 0:
            changes.append(end)
    return changes[::-1]
