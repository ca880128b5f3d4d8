"""Contrasts at their edges: few repetitions, several campaigns, and what no float can hold."""

import math
from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest
from scipy import stats

from perjoule.model import Ran
from perjoule.statistics.contrast import Estimate, Sample, contrast
from perjoule.statistics.drift import Trend

STEEP = Trend(0.05, 0.04, 0.06, 1e-6, 0.0, 1.0, error=0.01, freedom=10, span_s=8.0)
LEVEL = Trend(0.001, -0.01, 0.012, 0.8, 0.0, 1.0, error=0.005, freedom=7, span_s=8.0)
ONE, OTHER = (100.0, 110.0, 130.0), (106.0, 118.0, 135.0)


def pair(count, first, second, later_s=0.5):
    """Samples of two campaigns, or of the same, of which the second is measured later by this."""
    samples = [
        Sample(values[:count], tuple(Ran(n, n + s, n + s + 0.4) for n in range(count)), trend=trend)
        for values, trend, s in ((ONE, first, 0.0), (OTHER, second, later_s))
    ]
    return (-1, samples[0]), (1, samples[1])


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("first", "second"), [(STEEP, STEEP), (STEEP, LEVEL), (LEVEL, STEEP)])
def test_from_two_blocks_on_what_one_campaign_drifts_by_is_that_of_pairs(count, first, second):
    found = contrast(pair(count, first, second))
    reference = stats.ttest_rel(np.log(OTHER[:count]), np.log(ONE[:count]))
    assert (found.method, found.count, found.freedom) == ("paired", count, count - 1)
    assert found.value / math.sqrt(found.scatter) == pytest.approx(reference.statistic)


def test_one_block_is_no_pair():
    (minus, one), (plus, other) = pair(3, STEEP, STEEP)
    other = replace(other, ran=tuple(replace(ran, repetition=ran.repetition + 2) for ran in other.ran))
    assert contrast([(minus, one), (plus, other)]).method == "Welch"


@pytest.mark.parametrize("early", [0, 1, 2])
def test_blocks_of_which_two_overlap_are_none(early):
    """The second of one repetition ended while the next one ran, or its first began before."""
    (minus, one), (plus, other) = pair(3, STEEP, STEEP)
    assert contrast([(minus, one), (plus, other)]).method == "paired"
    ran = list(one.ran)
    ran[early] = replace(ran[early], began_s=early - 0.3) if early else replace(ran[early], ended_s=1.1)
    assert contrast([(minus, replace(one, ran=tuple(ran))), (plus, other)]).method == "Welch"


@pytest.mark.parametrize("lacking", [0, 1])
def test_where_a_sample_has_no_times_the_whole_drift_counts(lacking):
    terms = list(pair(3, STEEP, STEEP, later_s=4.0))
    assert contrast(terms).drift == pytest.approx((4 / 8) ** 2 * (log(1.05) ** 2 + 0.01**2))
    weight, sample = terms[lacking]
    terms[lacking] = weight, replace(sample, ran=())
    assert contrast(terms).drift == pytest.approx(log(1.05) ** 2 + 0.01**2)


def test_of_two_campaigns_that_drift_the_fewest_degrees_of_freedom_count():
    other = replace(STEEP, freedom=4, drift_ratio=-0.02)
    found = contrast(pair(3, STEEP, other, later_s=9.0))
    assert found.drift == pytest.approx(log(1.05) ** 2 + log(0.98) ** 2 + 2 * 0.01**2)
    assert (found.drift_freedom, contrast(pair(3, LEVEL, other, later_s=9.0)).drift_freedom) == (4, 4)
    assert contrast(pair(3, LEVEL, None, later_s=9.0)).drift_freedom == inf


def test_however_alike_neighbours_are_a_sample_has_one_degree_of_freedom():
    alike = Trend(0.0, -0.1, 0.1, 1.0, 0.8, 0.001, error=0.0, freedom=9, span_s=8.0)
    found = contrast(pair(3, alike, alike, later_s=9.0))
    parts = [np.var(np.log(values), ddof=1) / 3 * (1 + 0.8) / (1 - 0.8) for values in (ONE, OTHER)]
    assert found.scatter == pytest.approx(sum(parts))
    assert found.freedom == math.floor(sum(parts) ** 2 / sum(part**2 for part in parts))


def test_one_repetition_is_counted_and_its_error_is_unknown():
    found = contrast(pair(1, None, None))
    assert (found.value, found.count, found.error, found.p) == (pytest.approx(log(1.06)), 1, inf, 1.0)
    assert (found.ratio.low, found.ratio.high) == (0.0, inf)


@pytest.mark.parametrize(("value", "beyond_float"), [(690.0, True), (669.0, False), (-690.0, False)])
def test_a_ratio_that_no_float_holds_is_open_above(value, beyond_float):
    """Half of the interval is 30: 2.57 times a scatter of 11.67 with 5 degrees of freedom."""
    scatter = 30 / stats.t.ppf(0.975, 5)
    ratio = Estimate(value, scatter**2, 5.0).ratio
    assert ratio.high == (inf if beyond_float else pytest.approx(exp(value + 30), rel=1e-6))
    assert ratio.low == pytest.approx(exp(max(value - 30, -700)), rel=1e-6)


@pytest.mark.parametrize("value", [1e-9, 0.01, -0.05, 0.2, 1.0])
@pytest.mark.parametrize(("drift", "shared"), [(1e-4, 0.0), (0.0, 2e-4), (3e-4, 1e-4)])
def test_p_is_the_share_outside_of_the_interval_that_ends_at_no_difference(value, drift, shared):
    found = Estimate(value, 1e-4, 6.0, drift, 9.0, shared)
    quantiles = [dist.isf(found.p / 2) for dist in (stats.t(6), stats.t(9), stats.norm())]
    parts = zip(quantiles, (1e-4, drift, shared), strict=True)
    assert math.sqrt(sum(t**2 * part for t, part in parts)) == pytest.approx(abs(value), rel=1e-6, abs=1e-9)
    assert 0 < found.p <= 1


def test_a_p_below_what_quantiles_can_tell_is_the_least():
    assert Estimate(1e9, 1e-9, 40.0, shared=1e-9).p == pytest.approx(1e-15, rel=1e-3)


def test_the_sample_whose_repetitions_were_decided_by_its_scatter_most_widens_the_sum():
    (minus, one), (plus, other) = pair(3, None, None)
    plain = contrast([(minus, one), (plus, other)])
    for widenings in ((1.5, 1.0), (1.2, 1.5)):
        terms = [
            (w, replace(s, widening=f))
            for w, s, f in zip((minus, plus), (one, other), widenings, strict=True)
        ]
        assert contrast(terms).error == pytest.approx(1.5 * plain.error)


@pytest.mark.parametrize(("lacking", "freedom"), [(0.95e-9, 6), (1.05e-9, 5)])
def test_degrees_of_freedom_are_an_integer_to_a_billionth(lacking, freedom):
    """Two samples of four, of which one scatters by a root of r more: 6 - 3 (1 - r)^2 / (1 + r^2) of Welch's."""
    more = math.sqrt(1 + math.sqrt(2 * lacking / 3))
    logs = np.array([-0.15, -0.05, 0.05, 0.15])
    found = contrast([(1, Sample(tuple(np.exp(logs)))), (-1, Sample(tuple(np.exp(more * logs))))])
    assert found.freedom == freedom
