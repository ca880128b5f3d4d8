"""Kendall's tau of more values than are enumerated, against scipy."""

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
