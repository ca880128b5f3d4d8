"""The scatter of samples by themselves, by other ways than `energy/noise.py` takes."""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from perjoule.energy.noise import (
    TRIMMED_RATIO,
    TRIMMED_VARIANCE,
    Correlation,
    calm,
    correlation,
    independent,
    neighbours,
    noise,
)

RNG = np.random.default_rng(11)


def test_the_trimmed_variance_is_that_of_a_normal_without_its_largest_fifth():
    end = stats.norm.ppf(0.5 + TRIMMED_RATIO / 2)
    assert pytest.approx(1 - 1 / 5) == TRIMMED_RATIO
    assert pytest.approx(stats.truncnorm(-end, end).var(), abs=5e-5) == TRIMMED_VARIANCE


def test_noise_is_beside_the_line_through_irregular_neighbours():
    """At 1 s of 0 and 3 s the line from 7 to 1 W is at 5 W: 3 W beside it, of 1 + (2/3)^2 + (1/3)^2
    variances.
    """
    value, count = noise(np.array([0.0, 1.0, 3.0]), np.array([7.0, 8.0, 1.0]))
    assert (value, count) == (pytest.approx(sqrt(9 / (14 / 9) / 0.4377)), 1)
    t_s = np.cumsum(RNG.uniform(0.5, 2, 50))
    assert noise(t_s, 3 + 2 * t_s)[0] == pytest.approx(0, abs=1e-9)
    assert noise(np.array([0.0, 1.0]), np.array([3.0, 4.0])) == (0.0, 0)


def test_a_fifth_that_is_largest_does_not_count():
    """Second differences of 1, 1 ... and of two jumps: 8 of 10 are used."""
    value = np.cumsum(np.cumsum([0, 0, 1, -1, 1, -1, 90, -1, 1, -1, 80, 1]))
    deviation, count = noise(np.arange(12.0), value.astype(float))
    assert count == 8
    assert deviation == pytest.approx(sqrt(1 / 4 / 1.5 / 0.4377))


def ratio_by_polyfit(value):
    count = len(value)
    place = np.arange(count)
    beside = value - np.polyval(np.polyfit(place, value, 1), place)
    r = (beside[1:] * beside[:-1]).sum() / (beside**2).sum()
    return r + (1 + 3 * r + 1 + 2 * r) / count, (beside**2).sum()


def correlated(count, r, deviation=1.0):
    value = [0.0]
    for shock in RNG.normal(0, deviation, count - 1):
        value.append(r * value[-1] + shock)
    return 100 + np.array(value)


def test_correlation_is_that_beside_a_line_with_marriotts_correction():
    value = correlated(60, 0.5)
    found = correlation([value])
    ratio, squares = ratio_by_polyfit(value)
    assert 0.2 < ratio < 0.8
    assert (found.ratio, found.squares) == (pytest.approx(ratio), pytest.approx(squares))
    assert (found.count, found.stretches_count) == (60, 1)


def test_two_stretches_have_means_of_their_own_and_one_slope():
    one, other = correlated(30, 0.4), correlated(20, 0.4) + 50
    place = np.concatenate((np.arange(30), np.arange(20)))
    which = np.repeat([0, 1], [30, 20])
    design = np.stack((which == 0, which == 1, place), axis=1).astype(float)
    value = np.concatenate((one, other))
    beside = value - design @ np.linalg.lstsq(design, value, rcond=None)[0]
    r = sum((e[1:] * e[:-1]).sum() for e in (beside[:30], beside[30:])) / (beside**2).sum()
    assert correlation([one, other]).ratio == pytest.approx(r + ((1 + 3 * r) * 2 + 1 + 2 * r) / 50)


def test_correlation_stays_between_0_and_99_hundredths():
    assert correlation([np.tile([0.0, 1.0], 20)]).ratio == 0.0
    assert correlation([np.sin(np.linspace(0.0, 6.65, 400))]).ratio == 0.99
    assert correlation([np.full(40, 3.3)]).ratio == 0.0


def test_what_a_correlation_leaves():
    """r = 1/2: three samples are worth one."""
    half = Correlation(0.5, 60, 2, 15.0)
    assert (half.length, half.scatter, half.freedom) == (3.0, 0.5, 18.0)
    assert (half.worth(30), half.worth(4), half.worth(4.8)) == (10.0, 1.5, pytest.approx(1.6))
    assert Correlation(0.5, 6, 2, 1.0).freedom == 1.0
    assert half.most - 2 * sqrt((1 - half.most**2) / 60) == pytest.approx(0.5)


def test_a_window_is_cut_where_the_load_jumps():
    """By more than six usual steps; 5.9 are none."""
    steps = np.where(np.arange(99) % 2, 1.0, -1.0)
    usual = sqrt(1 / 0.4377)
    for size, stretches_count in ((5.9, 1), (6.1, 2)):
        jumping = steps.copy()
        jumping[50] = size * usual
        assert neighbours(np.concatenate(([0.0], np.cumsum(jumping))), []).stretches_count == stretches_count


def test_idle_samples_count_if_there_are_eight_in_a_row_and_more_than_in_the_window():
    window, quiet = correlated(9, 0.5), correlated(30, 0.5)
    own = correlation([window])
    assert neighbours(window, [quiet]) == correlation([quiet])
    assert neighbours(window, [quiet[:8], quiet[10:18]]) == correlation([quiet[:8], quiet[10:18]])
    assert neighbours(window, [quiet[:7], quiet[10:17]]) == own


@pytest.mark.parametrize(("factor", "restless"), [(2.9, False), (3.1, True)])
def test_a_load_that_changes_without_jumps_has_at_most_the_correlation_of_idle_time(factor, restless):
    quiet = np.tile([1.0, -1.0], 10)
    calmer, wild = correlation([quiet]), correlation([quiet[:8] * 20])
    slow = np.sin(np.arange(60) / 9)
    slow *= factor * calmer.scatter / correlation([slow]).scatter
    own = correlation([slow])
    found = neighbours(slow, [quiet, quiet[:8] * 20])
    assert wild.scatter > calmer.scatter
    assert found.ratio == (
        pytest.approx(correlation([quiet, quiet[:8] * 20]).most) if restless else own.ratio
    )
    assert found.ratio <= own.ratio


def test_few_samples_are_taken_as_independent():
    assert independent(np.array([3.0])) == (0.0, 1.0, 1.0)
    assert independent(np.array([3.0, 5.0])) == (pytest.approx(sqrt(2)), 2.0, 1.0)
    assert independent(np.array([3.0, 5.0, 4.0])) == (1.0, 3.0, 2.0)


def test_many_samples_are_worth_fewer_and_have_the_freedom_of_their_mean():
    value = correlated(80, 0.5)
    ratio, squares = ratio_by_polyfit(value)
    worth = 80 * (1 - ratio) / (1 + ratio)
    deviation, found_worth, freedom = independent(value)
    assert (found_worth, freedom) == (pytest.approx(worth), pytest.approx(worth - 1))
    assert deviation == pytest.approx(sqrt(squares / 80 / (1 - 2 / worth)))
    few = np.array([0.0, 1.0, 3.0, 4.0, 4.5])  # worth 1.5 samples at least, and 0.3 of their variance
    ratio, squares = ratio_by_polyfit(few)
    assert independent(few)[0] == pytest.approx(
        sqrt(squares / 5 / max(0.3, 1 - 2 / max(1.5, 5 * (1 - ratio) / (1 + ratio))))
    )


def test_idle_noise_is_pooled_about_the_means_of_windows_that_have_four_samples():
    one, other = RNG.normal(50, 1, 9), RNG.normal(90, 1, 4)
    squares = sum(np.var(value) * len(value) for value in (one, other))
    assert calm([one, other, np.array([1.0, 99.0, 1.0])]) == (
        pytest.approx(sqrt(squares / (8 + 3))),
        pytest.approx(8 + 3),
    )
    assert calm([other[:3]]) is None


@pytest.mark.parametrize("r", [0.3, 0.8])
def test_idle_noise_of_correlated_samples_is_more_than_their_scatter(r):
    """About its mean, a window of n has n - (sum of all r^|i - j|) / n variances."""
    one, other = RNG.normal(50, 1, 9), RNG.normal(90, 1, 4)
    squares = sum(np.var(value) * len(value) for value in (one, other))
    variances = sum(n - sum(r ** abs(i - j) for i in range(n) for j in range(n)) / n for n in (9, 4))
    deviation, freedom = calm([one, other], r) or (0.0, 0.0)
    assert deviation == pytest.approx(sqrt(squares / variances))
    assert freedom == pytest.approx(max((9 + 4) * (1 - r) / (1 + r) - 2, 1))
