"""Comparisons of samples: pairs and Welch, drift and autocorrelation, the bootstrap, outliers, and how many more are needed."""

from math import exp, inf, isnan, log

import numpy as np
import pytest
from scipy import stats

from perjoule.analysis import bootstrap
from perjoule.analysis.comparison import Sample, compared, outliers
from perjoule.analysis.drift import Timed, inflation, trend


def sample(values, began_s=None, **words):
    began_s = range(len(values)) if began_s is None else began_s
    count = len(values)
    return Sample(tuple(values), tuple(range(1, count + 1)), tuple(map(float, began_s)), tuple(b + 0.4 for b in began_s), **words)


def in_turns(one, other):
    """Repetition by repetition, the one before the other."""
    return sample(one), sample(other, [n + 0.5 for n in range(len(other))])


def one_after_the_other(one, other):
    return sample(one), sample(other, [n + len(one) for n in range(len(other))])


ONE, OTHER = (100.0, 110.0, 120.0, 130.0), (106.0, 116.0, 127.5, 137.0)


def test_what_was_measured_in_turns_is_compared_in_pairs() -> None:
    found = compared(*in_turns(ONE, OTHER))
    reference = stats.ttest_rel(np.log(OTHER), np.log(ONE))
    assert found.method == "paired"
    assert found.p == pytest.approx(reference.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(reference.confidence_interval()))


def test_what_was_measured_one_after_the_other_is_compared_after_welch() -> None:
    found = compared(*one_after_the_other(ONE, OTHER))
    reference = stats.ttest_ind(np.log(OTHER), np.log(ONE), equal_var=False)
    assert found.method == "Welch"
    assert found.p == pytest.approx(reference.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(reference.confidence_interval()))


def test_a_drift_that_both_share_is_no_difference_and_hides_none_in_pairs() -> None:
    assert compared(*in_turns(ONE, OTHER)).verdict(0.001) == "higher"
    assert compared(*one_after_the_other(ONE, OTHER)).p > 0.05


def test_ratios_are_the_same_told_from_either_side() -> None:
    there, back = compared(*in_turns(ONE, OTHER)).ratio, compared(*reversed(in_turns(ONE, OTHER))).ratio
    assert there.mean == pytest.approx(1 / back.mean)
    assert there.low == pytest.approx(1 / back.high)


def test_a_repetition_that_one_side_lacks_is_in_no_pair() -> None:
    one, other = in_turns(ONE, OTHER)
    short = Sample(other.values[1:], other.repetitions[1:], other.began_s[1:], other.ended_s[1:])
    assert compared(one, short).count == 3
    assert compared(one, short).method == "paired"


def test_a_verdict_needs_relevance_and_significance() -> None:
    tiny = compared(*in_turns((100.0, 101.0, 102.0), (100.5, 101.5, 102.5)))
    assert tiny.p < 0.001
    assert tiny.verdict(tiny.p) == "no relevant difference"
    wild = compared(*one_after_the_other((100.0, 150.0, 80.0), (140.0, 90.0, 170.0)))
    assert wild.verdict(wild.p) == "can't tell"
    assert compared(*one_after_the_other((100.0,), (200.0,))).verdict(0.0) == "one repetition can't tell"


def test_what_a_drift_may_explain_is_no_verdict_unless_in_pairs() -> None:
    one, other = (100.0, 100.5, 99.5, 100.0), (104.0, 104.5, 103.5, 104.0)
    drifting = [sample(one, drift_ratio=0.05), sample(other, range(4, 8))]
    assert compared(*drifting).verdict(1e-6) == "may be drift"
    turns = [sample(one, drift_ratio=0.05), sample(other, [n + 0.5 for n in range(4)])]
    assert compared(*turns).verdict(1e-6) == "higher"


def test_correlated_repetitions_widen_the_interval_as_fewer_would() -> None:
    plain = compared(*one_after_the_other(ONE, OTHER))
    one, other = one_after_the_other(ONE, OTHER)
    alike = compared(*(Sample(s.values, s.repetitions, s.began_s, s.ended_s, 0.5) for s in (one, other)))
    assert alike.error == pytest.approx(plain.error * inflation(0.5) ** 0.5)
    assert inflation(0.5) == pytest.approx(3)
    assert alike.freedom < plain.freedom


def test_hedges_g_is_cohens_d_corrected_for_few_values() -> None:
    one, other = one_after_the_other(ONE, OTHER)
    pooled = np.sqrt((np.var(np.log(ONE), ddof=1) + np.var(np.log(OTHER), ddof=1)) / 2)
    d = np.mean(np.log(OTHER)) - np.mean(np.log(ONE))
    assert compared(one, other).effect == pytest.approx(d / pooled * (1 - 3 / (4 * 6 - 1)))


def test_as_many_more_repetitions_as_it_says_would_settle_it() -> None:
    found = compared(*one_after_the_other((100.0, 110.0, 95.0), (108.0, 117.0, 103.0)))
    assert found.verdict(found.p) == "can't tell"
    more = int(found.more_count(found.p))
    assert more > 0
    for count, settled in ((3 + more, True), (3 + more - 1, False)):
        error, freedom = found.error * (3 / count) ** 0.5, found.freedom * (count - 1) / 2
        assert bool(2 * stats.t.sf(found.value / error, freedom) < 0.05) is settled


def test_more_comparisons_need_more_repetitions_and_the_hopeless_are_told() -> None:
    found = compared(*one_after_the_other((100.0, 110.0, 95.0), (108.0, 117.0, 103.0)))
    assert found.more_count(min(1.0, 10 * found.p)) > found.more_count(found.p)
    wild = compared(*one_after_the_other((100.0, 300.0, 30.0), (102.0, 304.0, 30.5)))
    assert wild.more_count(1.0) == inf
    assert isnan(compared(*one_after_the_other((1.0,), (2.0,))).more_count(1.0))


def test_outliers_are_found_among_enough_values() -> None:
    assert outliers((100.0, 101.0, 99.0, 100.5, 60.0)) == (4,)
    assert outliers((100.0, 101.0, 99.0, 100.5, 98.0)) == ()
    assert outliers((100.0, 101.0, 10.0)) == ()
    assert outliers((1.0, 1.0, 1.0, 1.0, 5.0)) == ()


def test_the_bootstrap_is_for_many_skewed_values_and_always_gives_the_same() -> None:
    dice = np.random.default_rng(1)
    skewed = [float(v) for v in dice.exponential(1.0, 30)]
    assert bootstrap.skewed(skewed)
    assert not bootstrap.skewed([float(v) for v in dice.normal(0, 1, 30)])
    assert not bootstrap.skewed(skewed[:9])
    one, other = (tuple(exp(v) for v in dice.exponential(0.3, 30)) for _ in range(2))
    first, second = one_after_the_other(one, other)
    found = compared(first, second)
    assert found.method == "bootstrap"
    assert found == compared(first, second)
    assert found.low < found.value < found.high


def test_the_percentile_t_interval_leans_to_where_the_skew_is() -> None:
    values = [float(v) for v in np.random.default_rng(3).exponential(1.0, 40)]
    found, mean = bootstrap.difference(values), float(np.mean(values))
    assert found.high - mean > mean - found.low
    assert found.p < 0.01


def campaign(drift=0.0, correlation=0.0, count=60, cells=3, seed=0):
    dice = np.random.default_rng(seed)
    noise = dice.normal(0, 1, count)
    for t in range(1, count):
        noise[t] = correlation * noise[t - 1] + (1 - correlation**2) ** 0.5 * noise[t]
    return [
        Timed(t % cells, float(t), exp(log(100 * (1 + t % cells)) + drift * t / (count - 1) + 0.02 * noise[t]))
        for t in range(count)
    ]


def test_a_drift_is_found_whatever_the_levels_of_the_cells() -> None:
    found = trend(campaign(drift=0.05, seed=1))
    assert found is not None
    assert found.drifts
    assert not found.correlated
    assert found.drift_low_ratio < exp(0.05) - 1 < found.drift_high_ratio
    assert found.reach_ratio(0.5) < found.reach_ratio()


def test_neighbours_that_are_alike_are_found() -> None:
    found = trend(campaign(correlation=0.6))
    assert found is not None
    assert found.correlated
    assert found.correlation_ratio == pytest.approx(0.6, abs=0.25)
    assert found.between(3) == pytest.approx(found.correlation_ratio**3)


def test_nothing_is_found_where_nothing_is_more_often_than_promised() -> None:
    runs = [trend(campaign(seed=seed, count=24)) for seed in range(200)]
    assert sum(run is not None and run.drifts for run in runs) < 20
    assert sum(run is not None and run.correlated for run in runs) < 20


def test_too_few_repetitions_tell_no_trend() -> None:
    assert trend(campaign(count=6)) is None
    assert trend([Timed(n, float(n), 1.0) for n in range(30)]) is None
    assert trend([Timed(n % 3, float(n), 5.0) for n in range(30)]) is None
