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


@pytest.mark.parametrize("count", [12, 4])
def test_interval_and_p_of_one_group_are_morgans(count):
    groups = drawn(count)
    found, p = spread_ratio(groups)
    (first, second), _ = within(groups)
    assert found is not None
    assert found.mean == pytest.approx(np.sqrt(second @ second / (first @ first)))
    assert found.values == (found.mean,)
    assert p == pytest.approx(p_of(groups))
    low = optimize.brentq(lambda ratio: p_of(groups, ratio) - 0.05, 1e-4 * found.mean, found.mean * 0.9999)
    high = optimize.brentq(lambda ratio: p_of(groups, ratio) - 0.05, found.mean * 1.0001, 1e4 * found.mean)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_of_several_groups_the_logarithms_of_their_ratios_have_students_interval():
    groups = drawn(5, 4, 6)
    found, p = spread_ratio(groups)
    deviations = [np.array(group.pairs).std(axis=0) for group in groups]
    logs = np.log([second / first for first, second in deviations])
    by_scipy = stats.ttest_1samp(logs, 0.0)
    ends = by_scipy.confidence_interval(0.95)
    assert found is not None
    logs_found = np.log([found.mean, found.low, found.high])
    assert logs_found == pytest.approx([logs.mean(), ends.low, ends.high])
    assert found.values == pytest.approx(np.exp(logs))
    assert p == pytest.approx(by_scipy.pvalue)


@pytest.mark.parametrize("spread", [0.0, 0.7, 1.2])
def test_the_interval_holds_however_unequally_groups_scatter(spread):
    """Pooled squares held the ratio in 60 % at 1.2."""
    draws = np.random.default_rng(12)
    held_count = 0
    for _ in range(400):
        scales = np.exp(draws.normal(0, spread, 12))
        pairs = draws.normal(0, 1, (12, 3, 2)) * scales[:, None, None] * (1.0, 1.5)
        found, _ = spread_ratio([Spreads(tuple(map(tuple, group))) for group in pairs])
        assert found is not None
        held_count += found.low <= 1.5 <= found.high
    assert 0.92 * 400 <= held_count <= 0.98 * 400


def test_a_group_without_scatter_does_not_count():
    still, *others = Spreads(((1.0, 2.0), (1.0, 3.0), (1.0, 5.0))), *drawn(4, 5)
    assert spread_ratio([still, *others]) == spread_ratio(others)
    assert spread_ratio([still, others[0]]) == (None, None)
    assert spread_ratio([]) == (None, None)


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
