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
    # of every start that may still win: itself, the sum before it, and the cost before it less the squares before it
    starts, sums_there, costs_there = np.empty((3, n + 1))
    many = 0
    for end in range(shortest, n + 1):
        newest = end - shortest
        if newest == 0 or newest >= shortest:
            starts[many], sums_there[many], costs_there[many] = newest, sums[newest], best[newest] - squares[newest]
            many += 1
        totals = sums[end] - sums_there[:many]
        costs = costs_there[:many] - totals * totals / (end - starts[:many])
        chosen = int(costs.argmin())
        best[end] = costs[chosen] + squares[end] + price
        previous[end] = int(starts[chosen])
        may_win = costs <= costs[chosen] + price + 1e-9
        if not may_win.all():
            left = int(np.count_nonzero(may_win))
            for kept in (starts, sums_there, costs_there):
                kept[:left] = kept[:many][may_win]
            many = left
    return _walk_back(previous, n)


def _walk_back(previous: np.ndarray[tuple[int], np.dtype[np.int64]], end: int) -> list[int]:
    changes: list[int] = []
    while end > 0:
        end = int(previous[end])
        if end > 0:
            changes.append(end)
    return changes[::-1]
