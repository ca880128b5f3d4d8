"""The one rule for "better": contrasts with all their uncertainty, families of comparisons, and the words
for them.
"""

import math
import random
from dataclasses import replace
from itertools import combinations
from math import exp, inf, isnan, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perjoule.model import Cell, Ran, Redundancy
from perjoule.statistics.better import MOST_COUNT, Judge, Verdict, refused_verdict
from perjoule.statistics.contrast import Estimate, Sample, contrast
from perjoule.statistics.contrast import in_turns as measured_in_turns
from perjoule.statistics.drift import TimedValue, Trend, inflation, trend
from perjoule.statistics.intervals import hedges_g, interval
from perjoule.statistics.outliers import outliers
from perjoule.statistics.winners import winners
from tests.oracle import better as oracle

ONE, OTHER = (100.0, 110.0, 120.0, 130.0), (106.0, 116.0, 127.5, 137.0)
RATE, PER_J = "throughput_bytes_per_s", "efficiency_bytes_per_j"
STEEP = Trend(0.05, 0.04, 0.06, 1e-6, 0.0, 1.0, error=0.01, freedom=10, span_s=8.0)
LEVEL = Trend(0.001, -0.01, 0.012, 0.8, 0.0, 1.0, error=0.005, freedom=10, span_s=8.0)


def sample(values, began_s=None, **words):
    began_s = range(len(values)) if began_s is None else began_s
    ran = tuple(Ran(n, float(b), b + 0.4) for n, b in enumerate(began_s, start=1))
    return Sample(tuple(values), ran, **words)


def in_turns(one, other, **words):
    """Repetition by repetition, the one before the other."""
    return (1, sample(other, [n + 0.5 for n in range(len(other))], **words)), (-1, sample(one, **words))


def one_after_the_other(one, other, **words):
    return (1, sample(other, [n + len(one) for n in range(len(other))], **words)), (-1, sample(one, **words))


@pytest.mark.parametrize("count", [1, 6])
def test_a_difference_is_that_of_welch_with_whole_degrees_of_freedom_and_bonferroni(count) -> None:
    found = Verdict(contrast(one_after_the_other(ONE, OTHER)), count)
    reference = stats.ttest_ind(np.log(OTHER), np.log(ONE), equal_var=False)
    freedom = int(reference.df)
    assert found.estimate.method == "Welch"
    assert found.estimate.freedom == freedom == 5
    assert found.p == pytest.approx(min(1.0, count * 2 * stats.t.sf(reference.statistic, freedom)))
    half = stats.t.ppf(1 - 0.025 / count, freedom) * found.estimate.error
    mean = np.mean(np.log(OTHER)) - np.mean(np.log(ONE))
    assert (found.ratio.low, found.ratio.high) == pytest.approx((exp(mean - half), exp(mean + half)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 3])
def test_a_second_calculation_gives_the_same_ratio_and_interval(seed, count) -> None:
    """Of file systems that took turns, of unequal scatter and number of repetitions, under drift."""
    dice = np.random.default_rng(seed)
    ran = [
        [Ran(r, 10.0 * (r * count + k), 10.0 * (r * count + k) + 8) for r in range(4 + k)]
        for k in range(count)
    ]
    drawn = [
        [100 * exp(dice.normal(0.0, 0.02 + 0.04 * k) + 2e-4 * one.began_s) for one in own]
        for k, own in enumerate(ran)
    ]
    cells = [
        cell(str(k), values, ran=tuple(own)) for k, (own, values) in enumerate(zip(ran, drawn, strict=True))
    ]
    tables = {one.filesystem: pd.DataFrame(one.ran).assign(value=one.metrics[RATE].values) for one in cells}
    judge = Judge(cells)
    one_trend = judge.trend(RATE)
    assert one_trend is not None and not one_trend.drifts and not one_trend.correlated
    found = judge.verdict(cells[1], cells[0], RATE).ratio
    assert (found.mean, found.low, found.high) == pytest.approx(oracle.ratio(tables, "1", "0"), rel=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_over_several_pairs_the_ratio_is_the_geometric_mean_of_theirs(count) -> None:
    """And its variance the sum of theirs, by the square of their number."""
    pairs = [
        (cell(f"new {n}", [factor * v for v in OTHER]), cell(f"old {n}", ONE))
        for n, factor in enumerate((1.0, 1.3, 0.8)[:count])
    ]
    judge = Judge([one for pair in pairs for one in pair])
    found = judge.judged(pairs, RATE, 1).estimate
    each = [judge.judged([pair], RATE, 1).estimate for pair in pairs]
    assert found.value == pytest.approx(sum(one.value for one in each) / count)
    assert found.scatter == pytest.approx(sum(one.scatter for one in each) / count**2)


def test_a_drift_that_both_share_hides_no_difference_where_they_took_turns() -> None:
    drifting = contrast(in_turns(ONE, OTHER, trend=replace(STEEP, error=0.0, drift_ratio=0.0)))
    reference = stats.ttest_rel(np.log(OTHER), np.log(ONE))
    assert drifting.method == "paired"
    assert drifting.p == pytest.approx(reference.pvalue)
    assert Verdict(drifting).word == "better"
    assert contrast(in_turns(ONE, OTHER, trend=LEVEL)).method == "Welch"  # blocks cost more than they save
    assert contrast(one_after_the_other(ONE, OTHER, trend=STEEP)).method == "Welch"


def test_a_repetition_that_one_side_lacks_is_in_no_block() -> None:
    (sign, one), other = in_turns(ONE, OTHER, trend=STEEP)
    short = replace(one, values=one.values[1:], ran=one.ran[1:])
    found = contrast([(sign, short), other])
    assert (found.count, found.method) == (3, "paired")


def test_where_a_repetition_has_no_value_nobody_knows_which_and_there_are_no_blocks() -> None:
    (sign, one), other = in_turns(ONE, OTHER, trend=STEEP)
    assert contrast([(sign, replace(one, values=one.values[:3])), other]).method == "Welch"
    assert contrast([other, (sign, replace(one, values=one.values[:3]))]).method == "Welch"


def test_ratios_are_the_same_told_from_either_side() -> None:
    there = contrast(one_after_the_other(ONE, OTHER, trend=STEEP)).ratio
    back = contrast([(-sign, one) for sign, one in one_after_the_other(ONE, OTHER, trend=STEEP)]).ratio
    assert there.mean == pytest.approx(1 / back.mean)
    assert there.low == pytest.approx(1 / back.high)


def test_what_a_drift_may_have_made_is_in_the_interval() -> None:
    """The second four began four of eight seconds later: half of log(1.05), and half of its standard
    error.
    """
    plain, drifting = (contrast(one_after_the_other(ONE, OTHER, trend=one)) for one in (None, STEEP))
    assert drifting.error**2 - plain.error**2 == pytest.approx((log(1.05) / 2) ** 2 + (0.01 / 2) ** 2)
    assert drifting.value == plain.value  # an allowance and no correction
    steady = (100.0, 100.5, 99.5, 100.0), (104.0, 104.5, 103.5, 104.0)
    assert Verdict(contrast(one_after_the_other(*steady))).word == "better"
    hidden = Verdict(contrast(one_after_the_other(*steady, trend=STEEP)))
    assert (hidden.word, hidden.reason) == ("can't tell", "drift over the campaign may explain it")


def test_between_campaigns_a_significant_drift_counts_as_a_whole_unless_they_took_turns() -> None:
    def across(terms, *trends):
        return contrast(
            [(sign, replace(one, trend=own)) for (sign, one), own in zip(terms, trends, strict=True)]
        )

    apart = across(one_after_the_other(ONE, OTHER), STEEP, LEVEL)
    assert apart.drift == pytest.approx(log(1.05) ** 2 + 0.01**2)
    assert across(one_after_the_other(ONE, OTHER), LEVEL, replace(LEVEL)).drift == 0
    assert across(one_after_the_other(ONE, OTHER), LEVEL, None).drift == 0
    assert across(in_turns(ONE, OTHER), STEEP, LEVEL).drift == 0


def test_what_repetitions_share_counts_with_what_it_differs_by() -> None:
    """Two sources: one that both have, of 5 % and 3 %, and one of 4 % that the second has alone."""
    (plus, one), (minus, other) = one_after_the_other(ONE, OTHER)
    plain = contrast([(plus, one), (minus, other)])
    terms = [
        (plus, replace(one, shared={"board": 0.05, "disk": 0.04})),
        (minus, replace(other, shared={"board": 0.03})),
    ]
    found = contrast(terms)
    assert found.error**2 == pytest.approx(plain.error**2 + 0.02**2 + 0.04**2)
    assert found.source == "disk"
    same = contrast(
        [(plus, replace(one, shared={"board": 0.05})), (minus, replace(other, shared={"board": 0.05}))]
    )
    assert same.error == plain.error


def test_what_repetitions_share_in_a_row_alone_never_cancels_against_another_row() -> None:
    """Two rows may stand on the same step of a meter, and be a step apart."""
    (plus, one), (minus, other) = one_after_the_other(ONE, OTHER)
    steps = {"plug: resolution": 0.006, "plug: gain": 0.01}
    first, second = replace(one, shared=steps), replace(other, shared=steps)
    found = contrast([(plus, first), (minus, second)])
    assert found.shared == pytest.approx(2 * 0.006**2)
    assert found.source == "plug: resolution"
    assert contrast([(plus, first), (minus, replace(first, trend=None))]).shared == 0


def test_less_than_the_model_knows_is_not_a_difference_and_says_so() -> None:
    steady = (100.0, 100.5, 99.5, 100.0), (104.0, 104.5, 103.5, 104.0)
    (plus, one), other = one_after_the_other(*steady)
    found = Verdict(contrast([(plus, replace(one, shared={"the board's dynamic power": 0.04})), other]))
    assert found.word == "can't tell"
    said = found.sentence("moosefs")
    assert said == (
        "not significantly different from moosefs: within the uncertainty of the board's dynamic power"
    )


def test_a_difference_that_drift_and_the_model_hide_each_alone_is_reported_and_one_that_scatter_hides_is_not() -> (
    None
):
    steady = (100.0, 100.5, 99.5, 100.0), (104.0, 104.5, 103.5, 104.0)
    wild = (100.0, 150.0, 80.0, 120.0), (140.0, 90.0, 170.0, 150.0)
    reasons = []
    for values in (steady, wild):
        (plus, one), other = one_after_the_other(*values, trend=STEEP)
        reasons.append(Verdict(contrast([(plus, replace(one, shared={"the board": 0.04})), other])).reason)
    assert reasons == ["drift over the campaign and the uncertainty of the board may explain it", ""]


def test_correlated_repetitions_widen_the_interval_as_fewer_would() -> None:
    alike = Trend(0.0, -0.1, 0.1, 1.0, 0.5, 0.001, error=0.0, freedom=10, span_s=8.0)
    plain, grown = (contrast(one_after_the_other(ONE, OTHER, trend=one)) for one in (None, alike))
    assert grown.error == pytest.approx(plain.error * inflation(0.5) ** 0.5)
    assert inflation(0.5) == pytest.approx(3)
    assert grown.freedom < plain.freedom


@pytest.mark.parametrize(("gap", "r"), [(1.0, 0.3), (1.5, 0.3**1.5), (2.0, 0.0), (3.0, 0.0)])
def test_a_correlation_that_is_not_significant_widens_only_repetitions_that_follow_one_another(
    gap: float, r: float
) -> None:
    """By docs/explanations/how-numbers-are-made.md, "The best": each term by (1 + r) / (1 - r)."""
    unsure = Trend(0.0, -0.1, 0.1, 1.0, 0.3, 0.2, error=0.0, freedom=10, span_s=8.0)
    one, other = (np.var(np.log(values), ddof=1) / len(values) * (1 + r) / (1 - r) for values in (ONE, OTHER))
    found = contrast(one_after_the_other(ONE, OTHER, trend=unsure, gap=gap))
    assert found.scatter == pytest.approx(one + other)
    left = [max(4 * (1 - r) / (1 + r) - 1, 1.0)] * 2
    assert found.freedom == math.floor((one + other) ** 2 / (one**2 / left[0] + other**2 / left[1]) + 1e-9)


def test_where_the_interval_decided_when_to_stop_it_is_as_much_wider_in_comparisons() -> None:
    plain, wide = (contrast(one_after_the_other(ONE, OTHER, widening=factor)) for factor in (1.0, 1.2))
    assert wide.error == pytest.approx(1.2 * plain.error)


def test_the_interval_agrees_with_the_verdict() -> None:
    dice = random.Random(1)
    words = set()
    for _ in range(400):
        one, other = (
            [dice.gauss(100 + 3 * side, 2) for _ in range(dice.randint(2, 6))]
            for side in (0, dice.choice((0, 1)))
        )
        (plus, first), second = one_after_the_other(tuple(one), tuple(other))
        terms = [(plus, replace(first, shared={"a": dice.choice((0.0, 0.01, 0.05))})), second]
        found = Verdict(contrast(terms), dice.choice((1, 3, 15)))
        words.add(found.word)
        excludes = found.ratio.low > 1 or found.ratio.high < 1
        assert excludes == (found.p < 0.05)
        assert (found.word in ("better", "worse")) == (excludes and abs(log(found.ratio.mean)) >= log(1.02))
        if found.word == "no relevant difference":
            assert 1 / 1.0200001 <= found.ratio.low <= found.ratio.high <= 1.0200001
    assert {"better", "can't tell"} <= words


def test_a_verdict_needs_relevance_significance_and_repetitions() -> None:
    tiny = Verdict(contrast(one_after_the_other((100.0, 100.01, 100.02), (100.5, 100.51, 100.52))))
    assert tiny.p < 0.001
    assert tiny.sentence("a") == "no relevant difference from a"
    small = Verdict(contrast(one_after_the_other((100.0, 100.5, 101.0), (101.9, 102.4, 102.9))))
    assert small.p < 0.05
    assert small.sentence("a") == "differs from a, but perhaps by less than 2 %"
    wild = Verdict(contrast(one_after_the_other((100.0, 150.0, 80.0), (140.0, 90.0, 170.0))))
    assert (wild.word, wild.sentence("a")) == ("can't tell", "not significantly different from a")
    once = Verdict(contrast(one_after_the_other((100.0,), (200.0, 201.0))))
    assert (once.word, once.p, once.sentence("a")) == (
        "can't tell",
        1.0,
        "one repetition is not enough to distinguish it from a",
    )
    assert (once.ratio.low, once.ratio.high) == (0.0, inf)


def test_less_is_better_of_joules_seconds_and_watts() -> None:
    found = Verdict(
        contrast(one_after_the_other((100.0, 101.0, 99.0), (120.0, 121.0, 119.0))), less_is_better=True
    )
    assert (found.sign, found.word) == (1, "worse")
    fewer = Verdict(
        contrast(one_after_the_other((120.0, 121.0, 119.0), (100.0, 101.0, 99.0))), less_is_better=True
    )
    assert (fewer.sign, fewer.word) == (-1, "better")
    assert replace(fewer, less_is_better=False).word == "worse"


def cell(name, values, *, metric=RATE, **words):
    return Cell(name, "fio", "write", 4, {metric: interval(values)}, **words)


def test_redundancy_that_differs_is_in_the_same_line() -> None:
    cells = [
        cell("moosefs", (120.0, 121.0, 119.0), redundancy=Redundancy(1)),
        cell("cephfs", ONE[:3], redundancy=Redundancy(2)),
    ]
    said = Judge(cells).verdict(cells[0], cells[1], RATE).sentence("cephfs")
    assert said.endswith(f"; redundancy differs: {Redundancy(1).text} against {Redundancy(2).text}")
    alike = [replace(one, redundancy=Redundancy(2)) for one in cells]
    assert "redundancy" not in Judge(alike).verdict(alike[0], alike[1], RATE).sentence("cephfs")


def test_different_grades_are_not_ranked() -> None:
    cells = [cell("a", ONE, metric=PER_J, grade="wall"), cell("b", OTHER, metric=PER_J, grade="modelled")]
    found = Judge(cells).verdict(cells[0], cells[1], PER_J)
    assert found.word == "can't tell"
    assert found.sentence("b") == "not compared with b: power is of different grades (modelled, wall)"
    assert (found.estimate.error, found.p) == (math.inf, 1.0)
    assert Judge(cells, across_grades=True).verdict(cells[0], cells[1], PER_J).refused == ""


@pytest.mark.parametrize(("count", "pairs_count"), [(0, 1), (1, 1), (2, 1), (3, 3), (4, 6)])
def test_what_pools_rows_is_one_of_all_pairs_and_of_one_at_least(count, pairs_count) -> None:
    assert Judge([cell(str(n), ONE) for n in range(count)]).all_count(RATE) == pairs_count


def test_pairs_count_by_holms_rule_over_all_rows_in_a_metric() -> None:
    def values(middle: float) -> tuple[float, ...]:
        return tuple(middle * factor for factor in (0.99, 1.0, 1.005, 1.01))

    rows = {("write", 1): (100, 103, 120), ("write", 4): (300, 303, 303.5), ("read", 1): (100, 100.1)}
    cells = [
        replace(cell(name, values(middle)), direction=direction, clients_count=clients)
        for (direction, clients), row in rows.items()
        for name, middle in zip("abc", row, strict=False)
    ]
    others = [cell("once", (7.0,)), cell("d", ONE, metric=PER_J)]
    judge, pairs = Judge([*cells, *others]), list(combinations(cells, 2))
    alike = [
        (one, other)
        for one, other in pairs
        if (one.direction, one.clients_count) == (other.direction, other.clients_count)
    ]
    assert len(alike) == judge.all_count(RATE) == 7
    logs = [[np.log(side.metrics[RATE].values) for side in pair] for pair in alike]
    # Welch's freedom, truncated, is n - 1 twice
    p = [stats.ttest_ind(*sides, equal_var=True).pvalue for sides in logs]
    expected, highest = dict[int, float](), 0.0
    for rank, n in enumerate(np.argsort(p)):  # Holm's adjusted p, by its definition
        highest = max(highest, (7 - rank) * p[n])
        expected[int(n)] = min(1.0, highest)
    for n, pair in enumerate(alike):
        found = judge.verdict(*pair, RATE)
        assert (found.p <= 0.05) == (expected[n] <= 0.05)
        if expected[n] <= 0.05:
            assert found.p == pytest.approx(expected[n], rel=1e-6)
        assert (found.ratio.low > 1 or found.ratio.high < 1) == (found.p < 0.05)
    assert 1 < sum(value <= 0.05 for value in expected.values()) < 7
    assert judge.verdict(*alike[0], RATE, count=9).count == 9


@pytest.mark.parametrize("count", range(6))
def test_against_a_cell_of_another_campaign_all_pairs_that_did_the_same_work_count(count) -> None:
    """Of those with a scatter in the metric alone: neither another row's, nor one repetition, nor joules."""
    row = [cell(str(n), ONE) for n in range(count)]
    others = [replace(cell("d", ONE), direction="read"), replace(cell("e", ONE), clients_count=9)]
    others += [replace(cell("f", ONE), workload="other"), cell("g", (7.0,)), cell("h", ONE, metric=PER_J)]
    found = Judge([*row, *others]).verdict(cell("new", OTHER), cell("old", ONE), RATE)
    assert found.count == max(1, len(list(combinations(row, 2))))


@pytest.mark.heavy
def test_a_report_of_many_equal_rows_has_a_false_winner_in_one_of_twenty_at_most() -> None:
    dice, runs_count, false_count = np.random.default_rng(5), 300, 0
    for _ in range(runs_count):
        drawn = dice.normal(100, 4, size=(8, 3, 5))
        cells = [
            replace(cell(name, tuple(drawn[row, n])), clients_count=row + 1)
            for row in range(8)
            for n, name in enumerate("abc")
        ]
        found = winners([], cells)
        assert len(found) == 8
        false_count += any(verdict.sign for one in found for verdict in one.verdicts.values())
    assert false_count / runs_count <= 0.05 + 2 * sqrt(0.05 * 0.95 / runs_count)


def test_hedges_g_is_cohens_d_corrected_for_few_values() -> None:
    pooled = np.sqrt((np.var(np.log(ONE), ddof=1) + np.var(np.log(OTHER), ddof=1)) / 2)
    d = np.mean(np.log(OTHER)) - np.mean(np.log(ONE))
    assert hedges_g(ONE, OTHER) == pytest.approx(d / pooled * (1 - 3 / (4 * 6 - 1)))
    assert isnan(hedges_g((1.0,), (2.0, 3.0)))


def test_as_many_more_repetitions_as_it_says_would_settle_it() -> None:
    found = Verdict(contrast(one_after_the_other((100.0, 110.0, 95.0), (108.0, 117.0, 103.0))), count=3)
    assert found.word == "can't tell"
    more = int(found.more_count())
    assert more > 0
    one = found.estimate
    for count, settled in ((3 + more, True), (3 + more - 1, False)):
        error, freedom = one.error * (3 / count) ** 0.5, one.freedom * (count - 1) / 2
        assert bool(2 * stats.t.sf(one.value / error, freedom) < 0.05 / 3) is settled


def test_what_is_settled_needs_no_more_repetitions() -> None:
    settled = Verdict(contrast(one_after_the_other((100.0, 101.0, 99.0), (150.0, 151.0, 149.0))))
    assert settled.word == "better"
    assert settled.more_count() == 0


def test_more_comparisons_need_more_repetitions_and_the_hopeless_are_reported() -> None:
    one = contrast(one_after_the_other((100.0, 110.0, 95.0), (108.0, 117.0, 103.0)))
    assert Verdict(one, 10).more_count() > Verdict(one, 1).more_count()
    assert Verdict(replace(one, shared=0.1)).more_count() == inf  # no repetition helps against what all share
    assert MOST_COUNT == 1000
    assert isnan(Verdict(Estimate(0.5, math.inf, 0.0)).more_count())


def test_outliers_are_found_among_enough_values() -> None:
    assert outliers((100.0, 101.0, 99.0, 100.5, 60.0)) == (4,)
    assert outliers((100.0, 101.0, 99.0, 100.5, 98.0)) == ()
    assert outliers((100.0, 101.0, 10.0)) == ()
    assert outliers((1.0, 1.0, 1.0, 1.0, 5.0)) == ()


def campaign(drift=0.0, correlation=0.0, count=60, cells=3, seed=0):
    dice = np.random.default_rng(seed)
    noise = dice.normal(0, 1, count)
    for t in range(1, count):
        noise[t] = correlation * noise[t - 1] + (1 - correlation**2) ** 0.5 * noise[t]
    return [
        TimedValue(
            t % cells, float(t), exp(log(100 * (1 + t % cells)) + drift * t / (count - 1) + 0.02 * noise[t])
        )
        for t in range(count)
    ]


def test_a_drift_is_found_whatever_the_levels_of_the_cells() -> None:
    found = trend(campaign(drift=0.05, seed=1))
    assert found is not None
    assert found.drifts
    assert not found.correlated
    assert found.drift_low_ratio < exp(0.05) - 1 < found.drift_high_ratio


def test_a_drift_is_found_as_large_as_it_is_although_cells_weigh_by_their_scatter() -> None:
    """Cells that seem to drift more must not weigh less: on average 5 % were found as 4.2 %."""
    found = [trend(campaign(drift=0.05, cells=15, seed=seed)) for seed in range(100)]
    means = [log(1 + one.drift_ratio) for one in found if one]
    assert float(np.mean(means)) == pytest.approx(0.05, abs=3 * float(np.std(means)) / 10)


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
    assert trend([TimedValue(n, float(n), 1.0) for n in range(30)]) is None
    assert trend([TimedValue(n % 3, float(n), 5.0) for n in range(30)]) is None


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (1.0203, "better"),
        (1.0197, "no relevant difference"),
        (1 / 1.0203, "worse"),
        (1 / 1.0197, "no relevant difference"),
    ],
)
def test_a_difference_is_relevant_from_two_percent_on_whichever_is_the_larger(
    ratio: float, word: str
) -> None:
    known = Verdict(Estimate(log(ratio), 1e-12, 10.0))
    assert known.word == word
    assert (known.sentence("a") == "no relevant difference from a") == (word == "no relevant difference")


def test_a_comparison_stands_alone_unless_it_knows_of_others() -> None:
    alone = Estimate(0.1, 0.0025, 10.0)
    assert Verdict(alone).p == pytest.approx(2 * stats.t.sf(2, 10))
    assert (Verdict(alone).ratio.low, Verdict(alone).ratio.high) == (alone.ratio.low, alone.ratio.high)


@pytest.mark.parametrize(
    ("one", "other", "turns"),
    [
        ({1: (0, 1)}, {1: (1, 2)}, False),  # a single block
        ({1: (0, 1), 2: (2, 3)}, {1: (1, 2), 2: (3, 4)}, True),
        # the next block begins before the end of the first
        ({1: (0, 1), 2: (2, 3)}, {1: (1, 2.1), 2: (3, 4)}, False),
        ({1: (0, 1), 2: (2, 3)}, {2: (1, 2), 3: (3, 4)}, False),  # a single one in common
    ],
)
def test_cells_took_turns_where_two_blocks_or_more_have_all_of_them(one, other, turns) -> None:
    cells = [
        cell(str(n), ONE[: len(ran)], ran=tuple(Ran(r, *when) for r, when in ran.items()))
        for n, ran in enumerate((one, other))
    ]
    assert measured_in_turns(cells) is turns


def test_what_is_not_compared_has_no_p_and_no_number_of_repetitions_that_would_settle_it() -> None:
    found = refused_verdict("power is of different grades (PDU, wall)")
    assert (found.p, found.sign, found.word, found.reason) == (1.0, 0, "can't tell", "")
    assert (found.ratio.low, found.ratio.high) == (0.0, inf)
    assert isnan(found.more_count())
