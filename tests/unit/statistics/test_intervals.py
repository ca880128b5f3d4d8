from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.model import Campaign
from perjoule.model.campaign import StopRule
from perjoule.statistics.distributions import fisher_p
from perjoule.statistics.intervals import half_width_ratio, interval, ratio_interval, student_factor
from perjoule.statistics.stopping import campaign_widening, narrow_enough, stopped_interval


def test_the_interval_of_a_known_sample():
    found = interval([10.0, 12.0, 14.0])
    assert found.mean == 12
    assert found.high - found.mean == pytest.approx(4.30265 * 2 / 3**0.5, rel=1e-5)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    assert found.values == (10.0, 12.0, 14.0)
    assert found.maximum == 14


def test_an_interval_that_decided_when_to_stop_is_wider_by_its_factor():
    plain, wide = interval([10.0, 12.0, 14.0]), stopped_interval([10.0, 12.0, 14.0], 1.2)
    assert (wide.high - 12, 12 - wide.low) == pytest.approx((1.2 * (plain.high - 12),) * 2)


def test_one_value_has_an_infinite_interval():
    assert (interval([5.0]).low, interval([5.0]).high) == (-inf, inf)
    assert half_width_ratio(interval([5.0])) == inf


def test_no_value_has_no_interval():
    with pytest.raises(ValueError, match="at least one"):
        interval([])


def test_student_factors_are_those_of_the_tables():
    assert [round(student_factor(n), 3) for n in (2, 3, 5, 10)] == [12.706, 4.303, 2.776, 2.262]


def test_the_p_of_a_ratio_of_variances_is_that_of_the_tables():
    assert [fisher_p(*row) for row in ((161.45, 1, 1), (4.1028, 2, 10), (2.9782, 10, 10))] == pytest.approx(
        [0.05] * 3, rel=1e-4
    )


def test_pairs_with_one_ratio_have_no_width_however_much_they_drift():
    found = ratio_interval([2.0, 20.0, 200.0], [1.0, 10.0, 100.0])
    assert (found.low, found.mean, found.high) == pytest.approx((2, 2, 2))


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=2, max_size=10))
def test_a_ratio_and_its_reciprocal_tell_the_same_story(pairs):
    values, references = zip(*pairs, strict=True)
    forth, back = ratio_interval(values, references), ratio_interval(references, values)
    assert back.mean == pytest.approx(1 / forth.mean)
    assert (back.low, back.high) == pytest.approx((1 / forth.high, 1 / forth.low))


def test_one_pair_says_nothing_of_the_ratio_but_its_sign():
    assert (ratio_interval([2.0], [1.0]).low, ratio_interval([2.0], [1.0]).high) == (0, inf)


@pytest.mark.parametrize(("values", "references"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0])])
def test_what_makes_no_ratio_is_refused(values, references):
    with pytest.raises(ValueError, match="ratios need"):
        ratio_interval(values, references)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_95_of_100_intervals_hold_the_true_mean(count):
    draws = np.random.default_rng(1).normal(100, 7, size=(2000, count))
    held = [found.low <= 100 <= found.high for found in map(interval, draws.tolist())]
    assert np.mean(held) == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / 2000) ** 0.5)


@pytest.mark.parametrize("count", [3, 5])
def test_95_of_100_intervals_of_paired_ratios_hold_the_true_ratio(count):
    dice = np.random.default_rng(2)
    shared = dice.lognormal(3, 0.5, size=(2000, count))  # the state of the machine, the same within a pair
    values, references = (shared * scale * dice.lognormal(0, 0.05, size=shared.shape) for scale in (1.3, 1.0))
    found = [ratio_interval(a, b) for a, b in zip(values.tolist(), references.tolist(), strict=True)]
    held = [f.low <= 1.3 <= f.high for f in found]
    assert np.mean(held) == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / 2000) ** 0.5)


def test_an_interval_is_narrow_enough_up_to_the_requested_share_and_by_enough_repetitions():
    values = (99.0, 100.0, 101.0, 99.5, 100.5)
    found = stopped_interval(values, 1.15)
    ratio = (found.high - found.mean) / found.mean
    assert narrow_enough(values, 1.001 * ratio, 5)
    assert not narrow_enough(values, 0.999 * ratio, 5)
    assert not narrow_enough(values, 1.0, 6)


@pytest.mark.parametrize(("least_count", "factor"), [(3, 1.2), (4, 1.2), (5, 1.15), (9, 1.15)])
def test_a_campaign_with_a_stop_rule_has_intervals_as_much_wider_as_it_may_stop_early(least_count, factor):
    asked = Campaign("name", "", 1, (), "", until=StopRule("MiB/s", 0.05, 10), least_count=least_count)
    assert campaign_widening(asked) == factor
    assert campaign_widening(replace(asked, until=None)) == campaign_widening(None) == 1.0
