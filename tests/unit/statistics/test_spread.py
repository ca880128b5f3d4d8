"""The ratio of two standard deviations of the same repetitions: by the correlation of sum and difference, of which
the formula in `statistics/spread.py` is a solution.
"""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from perjoule.statistics.spread import Spreads, spread_ratio

RNG = np.random.default_rng(3)


def within(groups):
    """Deviations from the means of groups, shape (2, N), and degrees of freedom, one less for the correlation."""
    parts = [np.array(group.pairs).T for group in groups]
    deviations = np.concatenate([part - part.mean(axis=1, keepdims=True) for part in parts], axis=1)
    return deviations, deviations.shape[1] - len(groups) - 1


def p_of(groups, ratio=1.0):
    """The second's deviation is `ratio` times that of the first if (second + ratio first) and (second - ratio
    first) don't correlate.
    """
    (first, second), freedom = within(groups)
    plus, minus = second + ratio * first, second - ratio * first
    r = (plus @ minus) / math.sqrt((plus @ plus) * (minus @ minus))
    return 2 * stats.t.sf(abs(r) * math.sqrt(freedom / (1 - r * r)), freedom)


def drawn(*counts, factor=1.5):
    groups = []
    for count in counts:
        first = RNG.normal(10, 1, count)
        second = RNG.normal(0, 1, count) * factor + 0.8 * first
        groups.append(Spreads(tuple(zip(first, second, strict=True))))
    return groups


@pytest.mark.parametrize("counts", [(12,), (5, 4, 6), (4,)])
def test_interval_and_p_are_morgans(counts):
    groups = drawn(*counts)
    found, p = spread_ratio(groups)
    (first, second), _ = within(groups)
    assert found is not None
    assert found.mean == pytest.approx(np.sqrt(second @ second / (first @ first)))
    assert found.values == (found.mean,)
    assert p == pytest.approx(p_of(groups))
    low = optimize.brentq(lambda ratio: p_of(groups, ratio) - 0.05, 1e-4 * found.mean, found.mean * 0.9999)
    high = optimize.brentq(lambda ratio: p_of(groups, ratio) - 0.05, found.mean * 1.0001, 1e4 * found.mean)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_too_few_repetitions_or_no_scatter_say_nothing():
    assert spread_ratio([Spreads(((1.0, 2.0), (2.0, 5.0)))]) == (None, None)
    assert spread_ratio([Spreads(((1.0, 2.0), (2.0, 5.0))), Spreads(((1.0, 2.0),))]) == (None, None)
    assert spread_ratio([Spreads(((1.0, 2.0), (2.0, 5.0), (4.0, 4.0)))])[0] is not None
    for pairs in (((1.0, 2.0), (1.0, 5.0), (1.0, 4.0)), ((1.0, 2.0), (3.0, 2.0), (4.0, 2.0))):
        assert spread_ratio([Spreads(pairs)]) == (None, None)


def test_what_moves_wholly_together_has_a_ratio_without_doubt():
    found, p = spread_ratio([Spreads(((1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (5.0, 10.0)))])
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert p == pytest.approx(0.0)
