"""Kendall's rank correlation, with an exact p where that can be had.

M. G. Kendall, A new measure of rank correlation, Biometrika 30 (1938), https://doi.org/10.2307/2332226
M. G. Kendall, Rank Correlation Methods, 4th edition (1970): the variance with ties, chapters 4 and 5
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from math import comb, erfc, sqrt

from perjoule.statistics.distributions import kendall_p

_ENUMERATED_MOST_COUNT = 8  # up to which all orders are enumerated: 40320
_EXACT_MOST_COUNT = 33  # up to which p is exact where no values are equal


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None if all values of a side are equal."""
    pairs = [comb(len(first), 2) - _equal_pairs_count(values) for values in (first, second)]
    return _concordance(first, second) / sqrt(pairs[0] * pairs[1]) if min(pairs) else None


def kendall(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Return Kendall's tau-b, its two-sided p, and the least p that any order could have.

    p is exact for few values, and for some more if none are equal; else it is that of a normal number.

    Raises:
        ValueError: fewer than two values, or of different length.
    """
    if len(first) != len(second) or len(first) < 2:
        raise ValueError("a ranking needs two or more values on either side")
    if (tau := tau_b(first, second)) is None:
        return 0.0, 1.0, 1.0
    concordance = _concordance(first, second)
    if len(first) <= _ENUMERATED_MOST_COUNT:
        sums = [abs(_concordance(first, order)) for order in permutations(second)]
        extreme_count = sum(s >= abs(concordance) for s in sums)
        return tau, extreme_count / len(sums), sums.count(max(sums)) / len(sums)
    if len(first) <= _EXACT_MOST_COUNT and not any(map(_equal_pairs_count, (first, second))):
        return tau, kendall_p(concordance, len(first)), 0.0
    return tau, erfc(abs(concordance) / sqrt(2 * _variance(first, second))), 0.0


def _concordance(first: Sequence[float], second: Sequence[float]) -> int:
    pairs = combinations(range(len(first)), 2)
    return sum(
        ((first[i] > first[j]) - (first[i] < first[j])) * ((second[i] > second[j]) - (second[i] < second[j]))
        for i, j in pairs
    )


def _equal_pairs_count(values: Sequence[float]) -> int:
    return sum(comb(count, 2) for count in Counter(values).values())


def _variance(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the variance of the concordance of independent orders, some values of which are equal."""
    n, groups = len(first), [Counter(values).values() for values in (first, second)]
    wide_count = sum(t * (t - 1) * (2 * t + 5) for group in groups for t in group)
    pairs = [sum(t * (t - 1) for t in group) for group in groups]
    triples = [sum(t * (t - 1) * (t - 2) for t in group) for group in groups]
    variance = (n * (n - 1) * (2 * n + 5) - wide_count) / 18 + pairs[0] * pairs[1] / (2 * n * (n - 1))
    return variance + triples[0] * triples[1] / (9 * n * (n - 1) * (n - 2))
