"""The Pareto front: the points of which no other is at least as good at every aim and better at one."""

import numpy as np

from perjoule.planning.quantities import Bools, Floats, Ints

_SIEVES_COUNT = 40  # strong points that remove most of the others before all are compared
_BLOCK_COUNT = 256


def front(points: Floats) -> Ints:
    """Return the positions of the points that no other dominates, in ascending order; equal points do not
    dominate each other.

    Exact: points are only compared, never rounded. A point that dominates another precedes it in
        lexicographic order.

    Args:
        points: shape (n, aims), finite, each aim the better the lower.
    """
    if not len(points):
        return np.array([], dtype=np.intp)
    columns = np.ascontiguousarray(points.T)
    remaining = _sieved(columns)
    remaining = remaining[np.lexsort(columns[::-1, remaining])]
    columns = columns[:, remaining]
    front_columns = np.empty((len(columns), 0))
    places: list[Ints] = []
    for begin in range(0, len(remaining), _BLOCK_COUNT):
        block = np.arange(begin, min(begin + _BLOCK_COUNT, len(remaining)))
        block = block[~_dominated(columns[:, block], front_columns)]
        block = block[~_dominated(columns[:, block], columns[:, block])]
        front_columns = np.concatenate([front_columns, columns[:, block]], axis=1)
        places.append(block)
    return np.sort(remaining[np.concatenate(places)])


def _sieved(columns: Floats) -> Ints:
    """Remove what single strong points dominate: those with the lowest sums of the aims, each over its
    range.
    """
    low: Floats = np.min(columns, axis=1, keepdims=True)
    width: Floats = np.max(columns, axis=1, keepdims=True) - low
    sums: Floats = np.sum((columns - low) / np.where(width > 0, width, 1), axis=0)
    remaining: Ints = np.arange(columns.shape[1], dtype=np.intp)
    for turn in range(_SIEVES_COUNT):
        if turn >= len(remaining):
            break
        strong = int(remaining[np.argpartition(sums[remaining], turn)[turn]])
        worse = _dominated(columns[:, remaining], columns[:, strong : strong + 1])
        remaining = np.asarray(remaining[~worse], dtype=np.intp)
    return remaining


def _dominated(columns: Floats, by: Floats) -> Bools:
    """Return which points any of the others dominates: shapes (aims, n) and (aims, m)."""
    at_least = np.ones((by.shape[1], columns.shape[1]), dtype=np.bool_)
    better = np.zeros_like(at_least)
    for column, by_column in zip(columns, by, strict=True):
        at_least &= by_column[:, None] <= column
        better |= by_column[:, None] < column
    return np.any(at_least & better, axis=0)
