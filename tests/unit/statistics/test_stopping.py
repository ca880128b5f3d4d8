"""When repetitions end, by docs/explanations/how-numbers-are-made.md ("Intervals"): half the interval, widened by
1.15, or by 1.2 where fewer than five may end it.
"""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from perjoule.model import Cell
from perjoule.statistics.stopping import narrow_enough, stopped_interval, widening, widening_of


@pytest.mark.parametrize(("least_count", "factor"), [(3, 1.2), (4, 1.2), (5, 1.15), (6, 1.15), (50, 1.15)])
def test_an_interval_is_widened_more_where_fewer_than_five_may_end_it(least_count, factor):
    assert widening(least_count) == factor


def test_cells_are_widened_as_their_campaign_is_and_by_nothing_without_a_stop_rule():
    plain = Cell("m", "fio", "write", 1, {})
    wide = Cell("m", "fio", "read", 1, {}, widening=1.2)
    assert (widening_of(()), widening_of((plain,)), widening_of((plain, wide))) == (1.0, 1.0, 1.2)


def half_ratio(values, factor):
    """Half of the widened interval over the mean."""
    half = factor * stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / sqrt(len(values))
    return half / np.mean(values)


@pytest.mark.parametrize(
    ("least_count", "factor"), [(3, 1.2), (4, 1.2), (5, 1.15)], ids=["three", "four", "five"]
)
@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_repetitions_end_with_an_interval_narrow_enough_of_enough_of_them(least_count, factor, count):
    values = [100.0 + n % 4 for n in range(count)]
    wanted_ratio = half_ratio(values, factor)
    found = stopped_interval(values, factor)
    assert (found.high - found.mean) / found.mean == pytest.approx(wanted_ratio)
    assert (found.mean - found.low, found.values) == (pytest.approx(found.high - found.mean), tuple(values))
    assert narrow_enough(values, 1.001 * wanted_ratio, least_count) == (count >= least_count)
    assert not narrow_enough(values, 0.999 * wanted_ratio, least_count)


def test_fewer_than_three_never_end_it_and_neither_do_two_modes():
    assert not narrow_enough([100.0, 100.1], 0.5, 1)
    assert narrow_enough([100.0, 100.1, 100.2], 0.5, 1)
    two_modes = [100.0, 100.1, 100.2, 120.0, 120.1, 120.2]
    assert half_ratio(two_modes, 1.15) < 0.5
    assert not narrow_enough(two_modes, 0.5, 5)
