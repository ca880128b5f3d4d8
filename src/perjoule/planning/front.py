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
    left = _sieved(columns)
    left = left[np.lexsort(columns[::-1, left])]
    columns = columns[:, left]
    kept = np.empty((len(columns), 0))
    places: list[Ints] = []
    for begin in range(0, len(left), _BLOCK_COUNT):
        block = np.arange(begin, min(begin + _BLOCK_COUNT, len(left)))
        block = block[~_dominated(columns[:, block], kept)]
        block = block[~_dominated(columns[:, block], columns[:, block])]
        kept = np.concatenate([kept, columns[:, block]], axis=1)
        places.append(block)
    return np.sort(left[np.concatenate(places)])


def _sieved(columns: Floats) -> Ints:
    """Remove what single strong points dominate: those with the lowest sums of the aims, each over its
    range.
    """
    low: Floats = np.min(columns, axis=1, keepdims=True)
    width: Floats = np.max(columns, axis=1, keepdims=True) - low
    sums: Floats = np.sum((columns - low) / np.where(width > 0, width, 1), axis=0)
    left: Ints = np.arange(columns.shape[1], dtype=np.intp)
    for turn in range(_SIEVES_COUNT):
        if turn >= len(left):
            break
        strong = int(left[np.argpartition(sums[left], turn)[turn]])
        worse = _dominated(columns[:, left], columns[:, strong : strong + 1])
        left = np.asarray(left[~worse], dtype=np.intp)
    return left


def _dominated(columns: Floats, by: Floats) -> Bools:
    """Return which points any of the others dominates: shapes (aims, n) and (aims, m)."""
    at_least = np.ones((by.shape[1], columns.shape[1]), dtype=np.bool_)
    better = np.zeros_like(at_least)
    for own, other in zip(columns, by, strict=True):
        at_least &= other[:, None] <= own
        better |= other[:, None] < own
    return np.any(at_least & better, axis=0)
