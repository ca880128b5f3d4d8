"""Kendall's tau and its p: against scipy, and of few values against all their orders."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.stats

from perjoule.statistics.ranks import kendall, tau_b

stats: Any = scipy.stats


@pytest.mark.parametrize("count", [9, 20, 33, 34, 60])
@pytest.mark.parametrize("levels_count", [4, 1_000_000])
def test_p_is_exact_without_equal_values_up_to_33_and_else_normal(count: int, levels_count: int) -> None:
    dice = np.random.default_rng(count)
    first = dice.integers(0, levels_count, count).tolist()
    second = [value + noise for value, noise in zip(first, dice.integers(0, 5, count).tolist(), strict=True)]
    second[::2] = dice.permutation(second[::2]).tolist()
    wanted = stats.kendalltau(first, second)
    tau, p, least_p = kendall(first, second)
    assert tau_b(first, second) == tau == pytest.approx(wanted.statistic, rel=1e-12)
    assert (p, least_p) == (pytest.approx(wanted.pvalue, rel=1e-12), 0)


def test_there_is_none_where_all_of_a_side_are_equal() -> None:
    assert tau_b([1, 1, 1], [1, 2, 3]) is None
    assert tau_b([1], [1]) is None


@pytest.mark.parametrize("count", [2, 3, 5, 6])
@pytest.mark.parametrize("levels_count", [3, 1_000_000])
def test_p_of_few_values_is_the_share_of_all_orders_that_are_as_extreme(
    count: int, levels_count: int
) -> None:
    """By the signs of all differences at once; where a side is of one value alone, every order is."""
    dice = np.random.default_rng(count)
    first, second = dice.integers(0, levels_count, (2, count))
    signs = np.sign(np.subtract.outer(first, first))
    orders = np.array(list(permutations(second.tolist())))
    sizes = np.abs((signs * np.sign(orders[:, :, None] - orders[:, None, :])).sum(axis=(1, 2)))
    found = kendall(first.tolist(), second.tolist())
    assert found[1:] == pytest.approx((np.mean(sizes >= sizes[0]), np.mean(sizes == sizes.max())))
