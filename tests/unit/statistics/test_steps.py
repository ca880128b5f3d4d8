"""Steps over campaigns: found where they are, seldom where none is, with the p that another library
computes.
"""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from perjoule.statistics.steps import FALSE_ALARM_RATIO, LEAST_COUNT, levels, steps


def independently(values: np.ndarray, series_count: int) -> list[tuple[int, float]]:
    """The same definition by scipy's t test, an explicit list of open pieces, and the smallest p instead
    of the largest t.
    """
    pieces, found = [(0, len(values))], []
    while pieces:
        first, end = pieces.pop()
        if end - first >= LEAST_COUNT:
            tried = []
            for at in range(first + 1, end):
                p = stats.ttest_ind(np.log(values[at:end]), np.log(values[first:at]), equal_var=True).pvalue
                tried.append((p * (end - first - 1) * series_count, at))
            p, at = min(tried)
            if p <= 0.05:
                found.append((at, p))
                pieces += [(first, at), (at, end)]
    return sorted(found)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(30))
def test_steps_and_their_p_are_those_of_an_independent_calculation(seed: int) -> None:
    dice = np.random.default_rng(seed)
    count = int(dice.integers(4, 30))
    shifts = np.cumsum(dice.choice([0.0, 0.0, 0.0, 0.4, -0.3], count))
    values = np.exp(shifts + dice.normal(0, 0.03, count))
    found = steps(values.tolist(), 3)
    assert [step.at for step in found] == [at for at, _ in independently(values, 3)]
    assert [step.p for step in found] == pytest.approx([p for _, p in independently(values, 3)], rel=1e-6)
    ends = [0, *(step.at for step in found), count]
    for step, (first, end) in zip(found, zip(ends, ends[2:], strict=False), strict=False):
        sides = np.log(values[step.at : end]), np.log(values[first : step.at])
        if end - first > 2:
            expected = stats.ttest_ind(*sides, equal_var=True).confidence_interval(0.95)
            assert (log(step.ratio.low), log(step.ratio.high)) == pytest.approx(
                (expected.low, expected.high), abs=1e-6
            )
        assert log(step.ratio.mean) == pytest.approx(sides[0].mean() - sides[1].mean())


@pytest.mark.heavy
@pytest.mark.parametrize("count", [4, 8, 25])
def test_pages_without_a_step_show_one_as_seldom_as_stated(count: int) -> None:
    dice, pages_count, series_count = np.random.default_rng(count), 600, 4
    alarms_count = sum(
        any(steps(np.exp(dice.normal(0, 0.1, count)).tolist(), series_count) for _ in range(series_count))
        for _ in range(pages_count)
    )
    at_least_as_many = stats.binom.sf(alarms_count - 1, pages_count, FALSE_ALARM_RATIO)
    assert at_least_as_many > 0.001, f"{alarms_count} of {pages_count} pages"
    # a rule that never finds anything keeps any limit
    assert alarms_count >= 0.2 * FALSE_ALARM_RATIO * pages_count


def test_a_step_of_the_last_campaign_alone_is_found() -> None:
    dice = np.random.default_rng(1)
    for _ in range(50):
        values = np.exp(dice.normal(0, 0.01, 12))
        values[-1] *= exp(-0.25)  # 25 times the scatter
        (step,) = steps(values.tolist(), 4)
        assert step.at == 11 and step.ratio.mean < 0.9


def test_each_of_several_steps_is_found_with_its_levels() -> None:
    values = [100.0, 101, 100, 99, 100, 80, 81, 80, 79, 80, 120, 121, 120, 119]
    found = steps(values, 1)
    assert [step.at for step in found] == [5, 10]
    assert [(one.first, one.last) for one in levels(values, found)] == [(0, 4), (5, 9), (10, 13)]
    assert levels(values, found)[1].mean.mean == pytest.approx(80, rel=1e-3)
    assert found[1].ratio.mean == pytest.approx(1.5, rel=2e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_level_is_a_geometric_mean_with_the_interval_of_students_t(count: int) -> None:
    values = [100.0, 103.0, 98.0, 101.0, 99.5, 104.0, 97.0][:count]
    (level,) = levels(values, ())
    logs = np.log(values)
    assert (level.first, level.last, log(level.mean.mean)) == (0, count - 1, pytest.approx(logs.mean()))
    if count == 1:
        assert (level.mean.low, level.mean.high) == (0.0, np.inf)
    else:
        low, high = stats.t.interval(0.95, count - 1, logs.mean(), stats.sem(logs))
        assert (log(level.mean.low), log(level.mean.high)) == pytest.approx((low, high))


def test_equal_values_have_no_step_and_a_clean_one_has() -> None:
    assert steps([3.3] * 10, 1) == ()
    assert [step.at for step in steps([3.3] * 5 + [3.4] * 5, 100)] == [5]


def test_few_campaigns_tell_nothing_and_the_scatter_between_campaigns_counts() -> None:
    assert steps([1.0, 1.0, 9.0], 1) == ()
    assert steps([], 1) == ()
    assert steps([1.0, 1.3, 0.9, 1.2, 0.8, 1.1], 1) == ()
    with pytest.raises(ValueError, match="positive"):
        steps([1.0, 0.0, 1.0, 1.0], 1)


def test_a_step_is_found_in_as_many_series_as_leave_its_chance_at_five_percent() -> None:
    """By scipy's test between the fourth and the fifth of seven: any of six places could have shown one."""
    values = [100.0, 101.0, 99.0, 100.0, 95.0, 94.0, 96.0]
    sides = np.log(values[4:]), np.log(values[:4])
    test = stats.ttest_ind(*sides, equal_var=True)
    series_count = int(0.05 / (6 * test.pvalue))
    (step,) = steps(values, series_count)
    expected = test.confidence_interval(0.95)
    assert (step.at, step.p) == (4, pytest.approx(6 * test.pvalue * series_count))
    assert step.ratio.mean == pytest.approx(exp(sides[0].mean() - sides[1].mean()))
    assert (step.ratio.low, step.ratio.high) == pytest.approx((exp(expected.low), exp(expected.high)))
    assert series_count > 2 and steps(values, series_count + 1) == ()


def test_four_campaigns_can_show_a_step_and_one_on_either_side_has_no_interval() -> None:
    assert [step.at for step in steps([100.0, 100.1, 80.0, 80.1], 1)] == [2]
    first, second = steps([1000.0, 80.0, 60.0, 60.1, 59.9], 1)
    assert (first.at, first.ratio.low, first.ratio.high) == (1, 0, np.inf)
    assert first.ratio.mean == pytest.approx(0.08)
    assert (second.at, second.ratio.high < np.inf) == (2, True)


def test_levels_without_scatter_are_known_to_a_billionth() -> None:
    """Student's t of four degrees of freedom, of the difference of two means of three."""
    (step,) = steps([100.0, 100.0, 100.0, 80.0, 80.0, 80.0], 1)
    half = stats.t.ppf(0.975, 4) * 1e-9 * (2 / 3) ** 0.5
    assert log(step.ratio.high / step.ratio.mean) == pytest.approx(half, rel=1e-4)
    assert log(step.ratio.mean / step.ratio.low) == pytest.approx(half, rel=1e-4)
