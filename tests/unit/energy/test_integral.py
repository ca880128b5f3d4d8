"""Series as pieces of time: long ones, whose sums are kept by blocks, and pieces that join, overlap or are
not known.
"""

from dataclasses import replace
from itertools import pairwise
from math import nan, sqrt

import numpy as np
import pytest

from oracle.budget import Said
from perjoule.energy import integral as integral_module
from perjoule.energy.amount import amount
from perjoule.energy.integral import CHUNK_COUNT, STEPS_COUNT, Integral
from perjoule.energy.terms import budget
from perjoule.model.doubts import METERS
from typed import present

KINDS = ("counter", "window mean", "instantaneous")


def long(made, semantics, count, seed=1):
    """Irregular samples of an irregular power: a series, and the exact integral at each of its times."""
    dice = np.random.default_rng(seed)
    t_s, power_w = np.cumsum(dice.uniform(0.05, 0.15, count)), dice.uniform(30, 60, count)
    length_s = np.diff(t_s, prepend=0.0)
    if semantics == "instantaneous":
        until_j = np.concatenate(([0.0], np.cumsum((power_w[1:] + power_w[:-1]) / 2 * length_s[1:])))
    else:
        until_j = np.cumsum(power_w * length_s)
    value = until_j if semantics == "counter" else power_w
    return made.stating(semantics, t_s, value, length_s if semantics == "window mean" else 0.0), until_j


@pytest.mark.parametrize(
    "count", [2, 64, 65, 66, 129, CHUNK_COUNT, CHUNK_COUNT + 1, CHUNK_COUNT + 2, 3 * CHUNK_COUNT + 70]
)
@pytest.mark.parametrize("semantics", KINDS)
def test_a_series_of_any_length_adds_up_to_each_of_its_samples(made, semantics, count):
    series, until_j = long(made, semantics, count)
    dice = np.random.default_rng(2)
    index = np.unique(
        np.concatenate((dice.integers(1, count, 200), [count - 1, min(64, count - 1), min(65, count - 1)]))
    )
    found_j, covered_s = Integral(series).until(series.t_s[index])
    from_j, from_s = (
        (0.0, series.t_s[index])
        if semantics == "window mean"
        else (until_j[0], series.t_s[index] - series.t_s[0])
    )
    assert found_j == pytest.approx(until_j[index] - from_j, rel=1e-9)
    assert covered_s == pytest.approx(from_s, rel=1e-9)


@pytest.mark.parametrize("quantity", ["energy", "cpu"])
@pytest.mark.parametrize("semantics", [*KINDS, "average"])
def test_a_window_is_to_the_last_bit_the_difference_of_its_ends(made, semantics, quantity):
    series, _ = long(made, semantics, 300)
    kept = np.r_[:100, 140:300]  # a gap
    series = replace(series.at(kept), channel=replace(series.channel, quantity=quantity))
    series.value[200] = np.nan
    curve, dice = Integral(series), np.random.default_rng(3)
    ends_s = np.concatenate((dice.uniform(-1, series.t_s[-1] + 1, 400), dice.choice(series.t_s, 200)))
    seen_s = set()
    for began_s, ended_s in np.sort(dice.permutation(ends_s).reshape(-1, 2), axis=1).tolist():
        amount_of, covered_s = curve.until(np.array([began_s, ended_s]))
        assert curve.within(began_s, ended_s) == (amount_of[1] - amount_of[0], covered_s[1] - covered_s[0])
        seen_s.add(covered_s[1] - covered_s[0])
    assert len(seen_s) > 250


def test_a_series_of_a_million_samples_is_summed_by_several_threads(made):
    series, until_j = long(made, "instantaneous", 17 * CHUNK_COUNT)
    found_j, _ = Integral(series).until(series.t_s[[5, 1000, -5, -1]])
    assert found_j[2:] - found_j[:2] == pytest.approx(until_j[[-5, -1]] - until_j[[5, 1000]], rel=1e-9)


@pytest.mark.parametrize(
    "place", [1, CHUNK_COUNT - 1, CHUNK_COUNT, CHUNK_COUNT + 1, 2 * CHUNK_COUNT, 2 * CHUNK_COUNT + 9]
)
def test_a_flaw_is_seen_wherever_it_lies_in_a_long_series(made, place):
    series, _ = long(made, "window mean", 2 * CHUNK_COUNT + 10)
    window = (
        float(series.t_s[max(place - 50, 0)]) - 0.01,
        float(series.t_s[min(place + 50, len(series.t_s) - 1)]),
    )
    assert amount(series, *window).doubts == ()
    failed = series.value.copy()
    failed[place] = np.nan
    assert amount(replace(series, value=failed), *window).coverage_ratio < 0.999
    twice, again = series.t_s.copy(), series.value.copy()
    twice[place], again[place] = twice[place - 1], again[place - 1]
    assert "are left out: another has the same timestamp" in " ".join(
        amount(replace(series, t_s=twice, value=again), *window).doubts
    )
    late = series.t_s.copy()
    late[[place - 1, place]] = late[[place, place - 1]]
    assert "1 samples arrived out of order" in " ".join(amount(replace(series, t_s=late), *window).doubts)


@pytest.mark.parametrize("place", [1, CHUNK_COUNT, CHUNK_COUNT + 1, 2 * CHUNK_COUNT + 9])
def test_a_reset_is_seen_wherever_it_lies_in_a_long_series(made, place):
    series, until_j = long(made, "counter", 2 * CHUNK_COUNT + 10)
    fallen = np.where(np.arange(len(until_j)) < place, until_j, until_j - until_j[place])
    began_s, ended_s = series.t_s[max(place - 50, 0)], series.t_s[min(place + 50, len(until_j) - 1)]
    found = amount(replace(series, value=fallen), float(began_s), float(ended_s))
    assert "1 steps of the counter are neither a wrap" in " ".join(found.doubts)
    fast = until_j + 100.0 * (np.arange(len(until_j)) >= place)
    stated = replace(series.channel, specification=replace(series.channel.specification, most_w=500.0))
    found = amount(replace(series, channel=stated, value=fast), float(began_s), float(ended_s))
    assert "1 steps of the counter are neither a wrap" in " ".join(found.doubts)


@pytest.mark.parametrize(("gap_s", "joined"), [(0.0095, True), (0.0105, False)])
def test_windows_join_where_their_gap_is_no_longer_than_the_mean_of_their_requests(made, gap_s, joined):
    """Requests of 5 and 15 ms in turns: their mean is 10 ms."""
    t_s = np.arange(0, 30.05, 0.1)
    series = made.stating("window mean", t_s, 50 + np.sin(t_s), 0.1 - gap_s)
    half_s = np.where(np.arange(len(t_s)) % 2, 0.0025, 0.0075)
    polled = replace(series, asked_s=t_s - half_s, arrived_s=t_s + half_s)
    assert amount(polled, 5, 25).coverage_ratio == pytest.approx(1.0 if joined else 1 - gap_s / 0.1, rel=1e-3)


def test_a_power_steps_only_between_pieces_that_join(made):
    """Means of 40, 50 and 60 W: with neighbours the step is in the middle of the second, without it is
    even.
    """
    t_s, power_w = np.arange(1.0, 9.0), np.array([40.0, 40, 40, 50, 60, 60, 60, 60])
    for missing, quarter_j in ((None, 40 / 4), (2, 50 / 4), (4, 50 / 4)):
        kept = np.arange(8) != missing
        means = Integral(made.stating("window mean", t_s[kept], power_w[kept], 1.0))
        until_j, _ = means.until(np.array([3.0, 3.25, 3.75, 4.0]))
        assert np.diff(until_j) == pytest.approx(
            [quarter_j, 25.0, 100 / 4 - quarter_j] if missing is None else [12.5, 25.0, 12.5]
        )


@pytest.mark.parametrize("apart_s", [1e-8, -1e-8])
def test_neighbours_join_but_for_rounding(made, apart_s):
    t_s, power_w = np.arange(1.0, 9.0), np.array([40.0, 40, 40, 50, 60, 60, 60, 60])
    means = Integral(made.stating("window mean", t_s, power_w, 1.0 - apart_s))
    until_j, _ = means.until(np.array([3.0 + apart_s, 3.25]))
    assert np.diff(until_j)[0] == pytest.approx(10.0 if apart_s < 0 else 12.5, rel=1e-6)


@pytest.mark.parametrize("semantics", ["counter", "window mean"])
@pytest.mark.parametrize("cut", [0, 1, 2, 27, 28, 29])
def test_the_first_and_the_last_pieces_have_no_neighbour_and_are_even(made, semantics, cut):
    t_s = np.arange(30.0)
    power_w = 40.0 + t_s
    value = np.cumsum(power_w) if semantics == "counter" else power_w
    one = Said(semantics, t_s, value, np.full(30, 1.0), np.zeros(30))
    series = made.stating(semantics, t_s, value, 1.0 if semantics == "window mean" else 0.0)
    whole = Integral(series)
    first_s = 0.0 if semantics == "counter" else -1.0
    moments_s = t_s[cut] + np.array([-0.9, -0.7, -0.4, -0.2]) + (semantics == "counter") * (cut == 0)
    until_j, _ = whole.until(moments_s)
    # no sample lies within: the definitions refuse such a window
    before_first = semantics == "window mean" and not cut
    assert until_j == pytest.approx(
        [40 * (m + 1) if before_first else one.joules(first_s, m) for m in moments_s]
    )


@pytest.mark.parametrize(
    ("t_s", "usual_s"), [([], 0.0), ([3.0], 0.0), ([3.0, 5.0], 2.0), ([0.0, 1.0, 2.0, 9.0], 1.0)]
)
def test_the_usual_distance_is_the_median_and_none_without_another_sample(made, t_s, usual_s):
    assert Integral(made.stating("instantaneous", np.array(t_s), 50.0)).usual_s == usual_s


@pytest.mark.parametrize("semantics", KINDS)
@pytest.mark.parametrize("count", [5, 64, 65, 66, 130, STEPS_COUNT + 1, STEPS_COUNT + 33])
def test_after_the_last_sample_nothing_is_added_and_before_the_first_there_is_nothing(made, semantics, count):
    series, until_j = long(made, semantics, count)
    whole = Integral(series)
    last_s = float(series.t_s[-1])
    found_j, covered_s = whole.until(np.array([-1.0, last_s, last_s + 0.5, last_s + 100]))
    assert (found_j[0], covered_s[0]) == (0, 0)
    assert found_j[1:] == pytest.approx(until_j[-1] - (until_j[0] if semantics != "window mean" else 0))
    assert covered_s[1:] == pytest.approx(covered_s[1])


def test_bytes_come_in_bursts_and_not_in_levels(made):
    """A counter of bytes is even between two readings, where one of joules would step."""
    t_s, value = np.arange(8.0), np.array([0.0, 40, 80, 120, 170, 230, 290, 350])
    joules, _ = Integral(made.stating("counter", t_s, value)).until(np.array([3.0, 3.25]))
    of = made.channel("host", "all", "disk_written", "counter", "counter")
    moved, _ = Integral(made.series(of, t_s, value)).until(np.array([3.0, 3.25]))
    assert (np.diff(joules)[0], np.diff(moved)[0]) == pytest.approx((10.0, 12.5))


@pytest.mark.parametrize("failed", [7, 8])
def test_a_failed_read_is_a_gap_between_moments_and_none_between_readings(made, failed):
    t_s = np.arange(0, 20.0, 0.5)
    value = 50.0 + t_s
    value[failed] = np.nan
    assert amount(made.stating("instantaneous", t_s, value), 1, 19).coverage_ratio == pytest.approx(17 / 18)
    assert amount(
        made.stating("counter", t_s, 50 * t_s + value - value), 1, 19
    ).coverage_ratio == pytest.approx(1)


def test_one_mean_that_holds_the_whole_window_may_have_had_anything_around_it(made):
    alone = made.stating("window mean", np.array([30.0]), 50.0, 30.0)
    (term,) = present(budget(alone, 10.0, 30.0)).terms
    assert (term.name, term.standard_j) == ("edges", pytest.approx(50 * 10 / sqrt(12)))
    assert present(budget(alone, 0.0, 30.0)).terms == ()


def test_the_rows_of_a_stamp_are_spread_up_to_the_next_one_whatever_their_number(made):
    """Two, three and one row in seconds 0, 1 and 2, and so on: sample i of k is i / k later."""
    counts = np.tile([2, 3, 1], 12)
    t_s = np.repeat(np.arange(36.0), counts)
    spread_s = np.concatenate([n + np.arange(count) / count for n, count in enumerate(counts)])
    value = 40 + 10 * np.sin(np.arange(len(t_s)))
    stamped, spread = (Integral(made.stating("instantaneous", times_s, value)) for times_s in (t_s, spread_s))
    assert stamped.samples.t_s == pytest.approx(spread.samples.t_s)
    assert stamped.samples.stamp_s == 1
    (fault,) = stamped.samples.faults
    said = "36 samples share a timestamp with another: spread evenly over the 1 s between timestamps"
    assert fault.within(0, 36) == f"{stamped.channel.name}: {said}"


def test_faults_are_counted_in_the_window_alone(made):
    t_s = np.arange(0, 30.05, 0.1)
    value = np.where(np.isin(np.arange(len(t_s)), [50, 120, 121]), 900.0, 50 + np.sin(t_s))
    series = made.stating("instantaneous", t_s, value, most_w=100.0)
    for window, count in (((4.0, 6.0), 1), ((11.0, 14.0), 2), ((4.0, 14.0), 3)):
        assert f"{count} samples exceed the 100 W" in " ".join(amount(series, *window).doubts)
    assert amount(series, 14, 20).doubts == amount(series, 0.5, 4).doubts == ()


def test_a_window_without_length_has_no_amount(made):
    series, _ = long(made, "instantaneous", 3000)
    assert amount(series, 5.0, 25.0).value is not None
    for began_s, ended_s in ((20.0, 20.0), (50.0, 49.0)):
        empty = amount(series, began_s, ended_s)
        assert (empty.value, empty.coverage_ratio) == (None, 0)
        assert empty.doubts == (f"{series.channel.name}: the window has zero length",)


def test_a_moment_within_a_gap_has_what_there_was_before_it(made):
    t_s = np.arange(0, 10.0, 0.5)
    value = np.full(20, 50.0)
    value[8] = np.nan
    until_j, covered_s = Integral(made.stating("instantaneous", t_s, value)).until(
        np.array([3.5, 3.7, 4.0, 4.4, 4.5, 5.0])
    )
    assert until_j == pytest.approx([175, 175, 175, 175, 175, 200])
    assert covered_s == pytest.approx([3.5, 3.5, 3.5, 3.5, 3.5, 4.0])


def test_a_long_series_keeps_one_sum_of_64_pieces(made):
    """So a day of a fast meter is not kept twice."""
    for count, kept_count in ((100_000, 100_000), (100_001, -(-100_000 // 64) + 1)):
        series, until_j = long(made, "instantaneous", count)
        prepared = Integral(series)
        assert len(prepared._blocks) == len(prepared._blocks_s) == kept_count
        assert prepared._blocks[-1] == pytest.approx(until_j[-1])


@pytest.mark.parametrize(("gap_s", "covered"), [(2.9, True), (3.1, False)])
def test_a_distance_of_more_than_three_usual_ones_is_a_gap(made, gap_s, covered):
    """Samples every second, and one that is late."""
    t_s = np.concatenate((np.arange(0.0, 11.0), 10.0 + gap_s + np.arange(11.0)))
    ends_s = np.array([t_s[-1]])
    curve = Integral(made.stating("instantaneous", t_s, 50.0))
    assert curve.usual_s == 1.0
    assert curve.until(ends_s)[1][0] == pytest.approx(20 + (gap_s if covered else 0))
    # of meters that count or average, nothing is missed
    assert Integral(made.stating("counter", t_s, 50 * t_s)).until(ends_s)[1][0] == pytest.approx(20 + gap_s)


@pytest.mark.parametrize(("gap_s", "covered"), [(0.66, True), (0.68, False)])
def test_two_thirds_of_a_second_are_no_gap_however_fast_the_meter(made, gap_s, covered):
    t_s = np.concatenate((np.arange(0.0, 1.05, 0.1), 1.0 + gap_s + np.arange(0.0, 1.05, 0.1)))
    curve = Integral(made.stating("instantaneous", t_s, 50.0))
    assert curve.until(np.array([t_s[-1]]))[1][0] == pytest.approx(2 + (gap_s if covered else 0))


def test_one_sample_has_no_usual_distance(made):
    assert Integral(made.stating("instantaneous", [3.0], [50.0])).usual_s == 0.0
    assert Integral(made.stating("instantaneous", [3.0, 5.0], [50.0, 50.0])).usual_s == 2.0


@pytest.mark.parametrize("unit_j", [1.0, 0.001])
@pytest.mark.parametrize(
    ("wrapped_j", "fastest_j", "accepted"), [(299, 100, True), (301, 100, False), (301, 101, True)]
)
def test_a_wrap_is_believed_up_to_three_times_the_fastest_step_where_no_power_is_stated(
    made, wrapped_j, fastest_j, accepted, unit_j
):
    steps_j = unit_j * np.array([40.0] * 10 + [fastest_j, wrapped_j] + [40.0] * 10)
    range_j = unit_j * 800.0
    value = (unit_j * 150 + np.cumsum([0, *steps_j])) % range_j
    series = made.stating("counter", np.arange(23.0), value, range_value=range_j)
    assert np.flatnonzero(np.diff(series.value) < 0).tolist() == [11]
    found = amount(series, 0.0, 22.0)
    assert ("neither a wrap" in " ".join(found.doubts)) != accepted
    if accepted:
        assert found.value == pytest.approx(steps_j.sum())


@pytest.mark.parametrize(
    ("down_count", "turned"), [(1, False), (4, False), (5, False), (6, True), (10, True)]
)
def test_a_counter_most_of_whose_steps_go_down_has_its_clamp_the_wrong_way_round(made, down_count, turned):
    steps_j = np.where(np.arange(10) < down_count, -40.0, 40.0)
    series = made.stating("counter", np.arange(11.0), 1000 + np.cumsum([0, *steps_j]))
    (doubt, *_) = amount(series, 0.0, 10.0).doubts
    assert (("wrong way round" in doubt), ("a reset, or a failed read" in doubt)) == (turned, not turned)


@pytest.mark.parametrize("quantity", ["energy", "cpu"])
@pytest.mark.parametrize("semantics", [*KINDS, "average"])
@pytest.mark.parametrize("failed", [(), (7, 8, 31)])
def test_a_series_whose_pieces_are_not_kept_is_that_whose_are(made, monkeypatch, semantics, quantity, failed):
    series, _ = long(made, semantics, 60)
    series = replace(series, channel=replace(series.channel, quantity=quantity))
    series.value[list(failed)] = np.nan
    moments_s, count = np.sort(np.random.default_rng(5).uniform(-1, 8, 50)), 60 - len(failed)
    seen = []
    for kept_count in (integral_module.KEPT_COUNT, 20):
        monkeypatch.setattr(integral_module, "KEPT_COUNT", kept_count)
        monkeypatch.setattr(integral_module, "BLOCK_COUNT", 8)
        curve = Integral(series)
        assert (curve._block_count == 1) == (kept_count > 60)
        index = np.arange(1, count)
        seen.append(
            [
                *curve.until(moments_s),
                np.array([curve.within(*span) for span in pairwise(moments_s)]),
                np.array([curve.piece(n) for n in range(1, count)]),
                np.array([curve.step_s(n) for n in range(1, count)]),
                *curve.pieces(index),
                *curve.step(index),
            ]
        )
    for kept, computed in zip(*seen, strict=True):
        assert computed == pytest.approx(kept, rel=1e-9, abs=1e-9, nan_ok=True)
    assert np.isfinite(seen[0][4]).sum() > 5


@pytest.mark.parametrize(
    ("step_j", "each_s", "stated", "judged"),
    [
        (0.3, 1.0, {}, False),
        (0.0, 1.0, {}, False),
        (99.0, 1.0, {"most_w": 100.0}, False),
        (101.0, 1.0, {"most_w": 100.0}, True),
        (40.0, 1.9, {"most_w": 100.0, "range_value": 200.0}, False),
        (40.0, 2.1, {"most_w": 100.0, "range_value": 200.0}, True),
        (-0.3, 1.0, {}, True),
    ],
)
def test_a_counter_that_rises_as_it_can_needs_no_judgement(made, step_j, each_s, stated, judged):
    """It would take several times the memory of a series of days."""
    value = 100 + step_j * np.arange(20)
    curve = Integral(made.stating("counter", each_s * np.arange(20), value, **stated))
    assert (curve._rates is not None) == judged


@pytest.mark.parametrize(("more_j", "possible"), [(-0.01, True), (0.01, False)])
@pytest.mark.parametrize("request_s", [0.0, 0.3])
def test_a_counter_steps_by_no_more_than_its_meter_can_show_since_its_last_update(
    made, request_s, more_j, possible
):
    """100 W over a second, a period of 0.4 s and half of two requests, and a step of 5 J."""
    step_j = 100 * (1 + 0.4 + (request_s + 2 * request_s) / 2) + 5 + more_j
    t_s, value = np.arange(20.0), 50 * np.arange(20.0)
    value[10:] += step_j - 50
    half_s = np.where(t_s == 10, request_s, request_s / 2)
    series = made.stating("counter", t_s, value, most_w=100.0, period_s=0.4, resolution=5.0)
    curve = Integral(replace(series, asked_s=t_s - half_s, arrived_s=t_s + half_s))
    assert [fault.doubt(count=1).id for fault in curve.faults] == [METERS.impossible_steps.id] * (
        not possible
    )
    assert (curve.piece(10)[1] > 0) == possible


@pytest.mark.parametrize(("apart_s", "joined"), [(0.0, True), (0.95e-9, True), (1.05e-9, False)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_pieces_that_are_a_nanosecond_apart_join(made, side, apart_s, joined):
    """Of 10 W before and 30 W after, one of 20 W stepped in its middle."""
    duration_s = np.ones(3)
    duration_s[1 if side == "before" else 2] -= apart_s
    curve = Integral(made.stating("window mean", [1.0, 2.0, 3.0], [10.0, 20.0, 30.0], duration_s))
    assert curve.step_s(1) == pytest.approx(0.5 if joined else nan, nan_ok=True)
