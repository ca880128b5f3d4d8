"""Samples that look wrong, held against a second reading of docs/explanations/uncertainty.md ("Samples
that look wrong").
"""

import re
from dataclasses import replace
from itertools import pairwise
from math import ceil

import numpy as np
import pytest

from perjoule.energy.amount import amount
from perjoule.energy.samples import SENTINEL, in_order, lowest
from perjoule.model.doubts import METERS


@pytest.mark.parametrize("places", [(1, 0), (2, 1, 0), (0, 2, 1)])
def test_samples_that_arrive_out_of_order_are_placed_by_their_time(made, places):
    t_s = np.array(places, dtype=float)
    found = in_order(made.stating("instantaneous", t_s, 40 + t_s))
    assert found.t_s.tolist() == sorted(places)
    assert found.value.tolist() == [40.0 + place for place in sorted(places)]
    assert [one.doubt(count=1).id for one in found.faults] == [METERS.out_of_order.id]


def test_samples_in_order_are_not_copied(made):
    """A campaign of days is read by many numbers."""
    series = made.stating("instantaneous", [0.0, 1.0, 2.0], [40.0, 41.0, 42.0])
    found = in_order(series)
    assert found.t_s is series.t_s
    assert found.value is series.value


@pytest.mark.parametrize(
    ("quantity", "values"),
    [
        ("power", [0.0, 0.0, 0.0]),
        ("power", [0.5, 0.0, 0.5]),
        ("power", [65533.95, 40.0, 40.0]),  # a watt below what may be "not known"
        ("power", [40.0]),
        ("power", []),
        ("cpu", [-5.0, 0.0, 65535.0]),
    ],
)
def test_samples_without_a_fault_are_not_copied_whatever_they_show(made, quantity, values):
    series = made.series(made.channel(quantity=quantity), np.arange(float(len(values))), values)
    found = in_order(series)
    assert found.t_s is series.t_s
    assert found.value is series.value


@pytest.mark.parametrize(
    ("stamps_s", "t_s", "stamp_s"),
    [
        ((3.0, 3.0, 3.0), (3.0,), 0.0),  # nobody knows how coarse the stamps are: the first one counts
        ((3.0, 3.0, 5.0, 5.0), (3.0, 4.0, 5.0, 6.0), 2.0),
        ((3.0, 5.0, 5.0, 6.0), (3.0, 5.0, 5.5, 6.0), 1.0),
    ],
)
def test_samples_of_one_timestamp_are_spread_over_the_least_distance_of_two(made, stamps_s, t_s, stamp_s):
    value = np.arange(40.0, 40.0 + len(stamps_s))
    found = in_order(made.stating("instantaneous", np.array(stamps_s), value))
    assert (found.t_s.tolist(), found.stamp_s) == (list(t_s), stamp_s)
    assert found.value.tolist() == value[: len(t_s)].tolist()
    (fault,) = found.faults
    expected = METERS.spread_evenly if stamp_s else METERS.same_timestamp
    assert fault.doubt(count=1).id == expected.id


def runs(value):
    """First and last sample of each run of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(value)) + 1), len(value)]
    return [(low, high - 1) for low, high in pairwise(edges)]


def improbable(value, steps):
    """n equal steps among N: N p^n < 1e-6, p how often a sample equals the one before elsewhere, one more
    of each kind.
    """
    equal, count = int(np.sum(np.diff(value) == 0)), len(value) - 1
    return steps >= 3 and count * ((equal - steps + 1) / (count - steps + 2)) ** steps < 1e-6


def far_longest(t_s, value, window, run_s, rest):
    """One value far longer than all others of a window in which they changed often, and by much."""
    low, high = np.searchsorted(t_s, window)
    here = value[max(low - 1, 0) : high + 1]
    changes, length_s = int(np.sum(np.diff(here) != 0)), window[1] - window[0]
    rest_s = length_s - run_s
    differs = np.percentile(here, 95) - np.percentile(here, 5) > 0.05 * np.median(here)
    enough = changes >= 2 and rest_s >= max(5, 0.16 * length_s)
    long = high - low - changes >= 8 and run_s >= max(5, length_s / 4)
    return differs and enough and long and run_s > 6 * rest and run_s > 8 * rest_s / (changes + 1)


def stood(t_s, value, window, semantics):
    """What is reported about samples that stand still: "all", "stood", "before" or nothing."""
    if len(set(value)) == 1:
        return "all" if len(value) >= 20 else ""
    inside_s = [
        min(t_s[last], window[1]) - max(t_s[first], window[0]) for first, last in runs(value) if last > first
    ]
    held = [run for run in runs(value) if run[1] > run[0]]
    if not held or max(inside_s) <= 0:
        return ""
    longest = int(np.argmax(inside_s))
    first, last = held[longest]
    others_s = max([0.0, *(s for n, s in enumerate(inside_s) if n != longest)])
    lone = semantics != "average" and far_longest(t_s, value, window, inside_s[longest], others_s)
    if improbable(value, last - first) or lone:
        return "stood"
    long = last - first >= 8 and inside_s[longest] >= max(5, (window[1] - window[0]) / 4)
    if semantics != "counter" and long and first + 2 < len(t_s) and t_s[first + 2] <= window[0]:
        return "before"
    return ""


def said(made, t_s, value, window, semantics="window mean"):
    words = " ".join(
        amount(made.stating(semantics, t_s, value, np.diff(t_s, prepend=t_s[0] - 0.5)), *window).doubts
    )
    known = {"samples are equal": "all", "was frozen for": "stood", "beginning before the load": "before"}
    return next((word for text, word in known.items() if text in words), "")


def levels(dice, hold, count, among=(40.0, 50.0, 60.0)):
    """A coarse meter: each value for up to `hold` samples."""
    places = np.cumsum(dice.integers(1, len(among), count)) % len(among)  # never the same twice
    return np.repeat(np.array(among)[places], dice.integers(1, hold + 1, count))[:count]


@pytest.mark.heavy
@pytest.mark.parametrize("hold", [1, 2, 3, 5])
@pytest.mark.parametrize("semantics", ["window mean", "average"])
def test_a_value_that_stands_still_is_doubted_as_defined(made, hold, semantics):
    """Runs of all lengths in windows of all lengths."""
    seen = set()
    for seed in range(120):
        dice = np.random.default_rng(seed)
        value, t_s = levels(dice, hold, 200), np.arange(200) * 0.5
        length, window = int(dice.integers(2, 60)), (30.0, 30.0 + dice.uniform(8, 60))
        first = int(dice.integers(56, ceil(2 * window[1]) - 4))
        value[first : first + length] = 45.0
        expected = stood(t_s, value, window, semantics)
        seen.add(expected)
        assert said(made, t_s, value, window, semantics) == expected, seed
    assert {"", "stood"} <= seen


@pytest.mark.heavy
def test_a_value_from_before_the_load_is_doubted_as_defined(made):
    """Idle on one step of a coarse meter until some seconds of the window are over."""
    seen = set()
    for seed in range(300):
        dice = np.random.default_rng(seed)
        t_s, value = np.arange(160) * 0.5, levels(dice, 12, 160)
        window = (20.0, 20.0 + dice.uniform(10, 50))
        first, last = int(dice.integers(20, 43)), int(dice.integers(44, 80))
        value[first:last] = 45.0
        expected = stood(t_s, value, window, "window mean")
        seen.add(expected)
        assert said(made, t_s, value, window) == expected, seed
    assert seen == {"", "stood", "before"}


def far_run(hold_s, length_s, window_s, *, rest_w=20.0, at_s=10.0):
    """At 0.5 s: two values in turns, each for so long, but one that lasts for `length_s` from 30 s and
    `at_s` on.
    """
    t_s = np.arange(0, 30 + window_s + 30, 0.5)
    value = 40.0 + rest_w * (np.floor(t_s / hold_s + 1e-9) % 2)
    value[(t_s >= 30 + at_s) & (t_s <= 30 + at_s + length_s)] = 40.0 + rest_w / 2
    return t_s, value, (30.0, 30.0 + window_s)


@pytest.mark.heavy
@pytest.mark.parametrize("hold_s", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("window_s", [16.0, 20.0, 30.0, 40.0, 60.0, 90.0])
def test_one_value_far_longer_than_all_others_is_doubted_as_defined(made, hold_s, window_s):
    for length_s in np.arange(3.0, window_s - 10, 0.5):
        t_s, value, window = far_run(hold_s, length_s, window_s)
        assert said(made, t_s, value, window) == stood(t_s, value, window, "window mean"), length_s


@pytest.mark.parametrize(("rest_w", "told"), [(2.02, False), (2.14, True)])
def test_one_value_is_wrong_where_power_differs_by_five_percent(made, rest_w, told):
    t_s, value, window = far_run(1.0, 12.5, 40.0, rest_w=rest_w)
    assert (said(made, t_s, value, window) == "stood") == told
    assert stood(t_s, value, window, "window mean") == ("stood" if told else "")


@pytest.mark.parametrize(("count", "told"), [(999, ""), (1003, "stood")])
def test_three_equal_steps_are_improbable_where_no_other_is_in_a_thousand(made, count, told):
    """N p^3 with p = 1 / (N - 1): 1.003e-6 of 999 steps, and 0.995e-6 of 1003."""
    t_s, value = np.arange(count + 1) * 0.5, 40.0 + np.arange(count + 1) % 7
    value[100:104] = 45.5
    assert improbable(value, 3) == bool(told)
    assert said(made, t_s, value, (40.0, 60.0)) == told


@pytest.mark.parametrize(("count", "told"), [(19, ""), (20, "all")])
def test_a_meter_that_never_moves_is_doubted_from_twenty_samples_on(made, count, told):
    assert said(made, np.arange(count) * 0.5, np.full(count, 50.0), (1.0, 8.0)) == told


def far(value, here):
    """Which samples are far above all others, or else far above those around them; none that is not in the
    window.
    """
    low, median, high = np.percentile(value, [25, 50, 75])
    limit = high + max(10 * (high - low), median)
    above = value > limit
    if (above & here).any() and above.sum() <= max(1, 0.02 * len(value)):
        return "all", int((above & here).sum())
    spikes = value > max(limit, 3 * high)
    if spikes.sum() > 0.05 * len(value):
        high_runs, group = [], []
        for run in [*runs(value), (len(value), len(value))]:
            if run[0] < len(value) and spikes[run[0]]:
                group.append(run)
            else:
                high_runs += group if len(group) <= 2 else []
                group = []
        spikes = np.zeros(len(value), dtype=bool)
        for first, last in high_runs:
            spikes[first : last + 1] = True
    return ("around", int((spikes & here).sum())) if (spikes & here).any() else ("", 0)


@pytest.mark.heavy
@pytest.mark.parametrize("factor", [1.9, 2.2, 2.9, 3.2, 4.0, 12.0])
@pytest.mark.parametrize("width_w", [0.5, 3.0, 8.0])
def test_samples_far_above_others_are_doubted_as_defined(made, factor, width_w):
    for seed, share in enumerate(np.repeat([0.004, 0.018, 0.022, 0.045, 0.055, 0.1], 6)):
        dice = np.random.default_rng(seed)
        t_s, value = np.arange(400) * 0.1, 40 + width_w * dice.uniform(-1, 1, 400)
        left = int(share * 400)
        while left > 0:
            length = min(int(dice.integers(1, 5)), left)
            first = int(dice.integers(0, 395))
            value[first : first + length] = factor * 40 * dice.uniform(0.95, 1.05, length)
            left -= length
        window = (10.0, 30.0)
        expected, count = far(value, (t_s >= 10) & (t_s <= 30))
        words = " ".join(amount(made.stating("instantaneous", t_s, value), *window).doubts)
        told = {"all": "far above all others", "around": "far above those around them"}
        assert [word for word, text in told.items() if text in words] == ([expected] if expected else [])
        assert re.findall(r"(\d+) samples? (?:is|are) far above", words) == ([str(count)] if expected else [])


@pytest.mark.parametrize(("ratio", "told"), [(0.98, False), (1.02, True)])
@pytest.mark.parametrize(("width_w", "reach_w"), [(1.0, 40.0), (16.0, 80.0)])
def test_far_is_ten_times_the_middle_half_or_the_median_above_the_upper_quartile(
    made, width_w, reach_w, ratio, told
):
    """Values evenly from 40 - w/2 to 40 + w/2: the middle half is w/2 wide, and ends at 40 + w/4."""
    t_s, value = np.arange(401) * 0.1, 40 + width_w * ((np.arange(401) * 157) % 401 / 400 - 0.5)
    value[200] = 40 + width_w / 4 + ratio * reach_w
    words = " ".join(amount(made.stating("instantaneous", t_s, value), 10, 30).doubts)
    assert ("1 sample is far above all others" in words) == told


@pytest.mark.parametrize(("shown_w", "told"), [(0.0, True), (-0.1, True), (0.5, False)])
def test_no_power_at_all_in_a_load_is_doubted(made, shown_w, told):
    t_s = np.arange(401) * 0.1
    value = 40 + np.sin(7 * t_s)
    value[200:202] = shown_w, shown_w - 0.001 * (shown_w > 0)
    words = " ".join(amount(made.stating("instantaneous", t_s, value), 10, 30).doubts)
    assert ("2 samples are at 0 W or below" in words) == told


@pytest.mark.parametrize("place", [0, -1])
def test_a_sample_without_a_time_is_left_out_at_either_end_too(made, place):
    t_s = np.arange(5.0)
    t_s[place] = -np.inf if place == 0 else np.inf
    series = replace(made.stating("instantaneous", t_s, 40.0), asked_s=None, arrived_s=None)
    assert in_order(series).t_s.tolist() == [t for t in t_s if np.isfinite(t)]


def test_watts_of_a_reversed_clamp_are_never_an_energy(made):
    t_s = np.arange(0.0, 30.25, 0.5)
    for semantics, duration_s in (("instantaneous", 0.0), ("window mean", 0.5), ("average", 0.0)):
        reversed_ = made.stating(semantics, t_s, -620.0, duration_s)
        found = amount(reversed_, 10, 20)
        assert found.value is None
        assert found.doubts[0].startswith("meter:host/all/power: 21 samples are below zero, down to -620 W")
        assert "its clamp or its wires are the wrong way round" in found.doubts[0]


@pytest.mark.parametrize(
    ("shown_w", "fault"),
    [
        *((failed, None) for failed in (np.nan, np.inf, -np.inf, 9.91e37, -9.91e37, 9.9e37, -9.9e37)),
        *((watts, METERS.beyond_range) for watts in (110.1, 65535.0, 9.8e37)),
        *((watts, METERS.below_zero) for watts in (-0.6, -620.0, -9.8e37)),
    ],
)
def test_a_sample_is_left_out_for_one_reason_and_a_failed_read_without_any(made, shown_w, fault):
    """Of a meter of at most 100 W, which a tenth more may be; its zero is 0.5 W wide."""
    t_s = np.arange(0.0, 60.0, 0.5)
    for watts, kept_count in ((shown_w, 119), (110.0, 120), (-0.4, 120)):
        found = in_order(made.stating("instantaneous", t_s, np.where(t_s == 30, watts, 50.0), most_w=100.0))
        assert len(found.t_s) == kept_count
        doubts = [each.doubt(count=1).id for each in found.faults]
        assert doubts == ([fault.id] if fault and kept_count == 119 else [])


@pytest.mark.parametrize(
    ("quantity", "grade"), [("goodput", "wall"), ("power", "modelled"), ("power", "nameplate")]
)
def test_what_is_no_measured_power_may_be_below_zero(made, quantity, grade):
    assert lowest(made.series(made.channel(grade=grade), np.arange(9.0), 50.0)) == pytest.approx(
        -0.5 if grade == "wall" else -SENTINEL
    )
    assert (
        lowest(made.series(made.channel(quantity=quantity, grade=grade), np.arange(9.0), 50.0)) == -SENTINEL
    )


@pytest.mark.parametrize("negative_count", [1, 40])
def test_negative_samples_are_gaps_and_not_subtracted(made, negative_count):
    t_s = np.arange(0.0, 60.0)
    value = np.where((t_s >= 10) & (t_s < 10 + negative_count), -50.0, 50.0)
    found = amount(made.stating("window mean", t_s, value, 1.0, gain_ratio=0.01), 0, 59)
    assert found.value == (pytest.approx(50 * 59) if negative_count == 1 else None)
    assert any("below zero, down to -50 W" in words for words in found.doubts)


@pytest.mark.parametrize(
    ("stated", "least_w"), [({}, -0.5), ({"offset": 0.3}, -0.8), ({"offset": 0.3, "resolution": 0.1}, -0.9)]
)
@pytest.mark.parametrize(("ratio", "counts"), [(0.95, True), (1.05, False)])
def test_a_meter_may_be_wrong_around_zero_by_its_offset_one_step_and_a_hundredth(
    made, stated, least_w, ratio, counts
):
    t_s = np.arange(0.0, 60.0, 0.5)
    value = np.where(t_s == 30, ratio * least_w, 50.0)
    found = in_order(made.stating("instantaneous", t_s, value, **stated))
    assert (len(found.t_s) == len(t_s)) == counts
    assert any(fault.doubt(count=1).id == METERS.below_zero.id for fault in found.faults) != counts


def test_a_counter_that_runs_down_gives_no_energy_though_its_range_is_known(made):
    t_s = np.arange(0.0, 30.25, 0.5)
    found = amount(made.stating("counter", t_s, 1e6 - 50 * t_s, range_value=2e6), 10, 20)
    assert found.value is None
    assert "it runs down: its clamp or its wires are the wrong way round" in found.doubts[0]


@pytest.mark.parametrize("shown_w", [65535.0, 4294967.295, 4294967.2, 4294967295.0, 2147483.647])
@pytest.mark.parametrize("share", [1, 60])
def test_numbers_whose_bits_are_all_set_are_failed_reads(made, shown_w, share):
    t_s = np.arange(60.0)
    value = np.where(t_s < share, shown_w, 50.0)
    found = amount(made.stating("window mean", t_s, value, 1.0), 0, 59)
    assert found.value == (pytest.approx(50 * 59) if share == 1 else None)
    assert any("stands for a power that is not known" in words for words in found.doubts)


@pytest.mark.parametrize("shown_w", [65534.0, 65536.0, 4294960.0])
def test_other_high_numbers_are_watts(made, shown_w):
    t_s = np.arange(60.0)
    assert amount(made.stating("window mean", t_s, shown_w, 1.0), 0, 59).value == pytest.approx(shown_w * 59)


def test_a_counter_may_stand_at_any_number(made):
    t_s = np.arange(60.0)
    assert amount(made.stating("counter", t_s, 65475.0 + 10 * t_s), 0, 59).value == pytest.approx(590)


@pytest.mark.parametrize(("behind_s", "told"), [(1.0, False), (100.0, True)])
def test_a_clock_that_is_behind_is_named(made, behind_s, told):
    t_s = np.arange(0.0, 200.0)
    plain = made.stating("window mean", t_s - behind_s, 50.0, 1.0)
    series = replace(plain, asked_s=np.full(len(t_s), np.nan), arrived_s=t_s)
    words = " ".join(amount(series, 110, 190).doubts)
    assert ("dated 100 s or more before they arrived: the meter's clock is behind" in words) == told


@pytest.mark.parametrize(
    ("late_s", "least_s"),
    [
        ((4.99, 4.99, 4.99), None),
        ((5.01, 5.3, 7.0), 5.01),
        ((4.9, 8.0, 8.0), None),
        ((np.nan, 6.0, 6.5), 6.0),
    ],
)
def test_a_clock_is_behind_if_all_samples_arrive_more_than_five_seconds_after_their_dates(
    made, late_s, least_s
):
    series = made.stating("window mean", np.arange(3.0), 50.0, 1.0)
    arrived_s = series.t_s + np.array(late_s)
    found = in_order(replace(series, asked_s=arrived_s, arrived_s=arrived_s))
    (words,) = [str(fault.doubt(count=1)) for fault in found.faults] or [""]
    assert ("meter's clock is behind" in words) == (least_s is not None)
    if least_s is not None:
        assert f"dated {least_s:.3g} s or more before" in words
        assert len(found.faults[0].began_s) == np.isfinite(late_s).sum()


@pytest.mark.parametrize(("early_s", "ahead_s"), [(0.0, 0.0), (0.0099, 0.0), (0.0101, 0.0101), (0.2, 0.2)])
def test_a_clock_is_ahead_by_the_most_that_is_over_a_hundredth_of_a_second(made, early_s, ahead_s):
    series = made.stating("window mean", np.arange(4.0), 50.0, 1.0)
    arrived_s = series.t_s + np.array([0.5, -early_s, -early_s / 2, np.nan])
    found = in_order(replace(series, asked_s=arrived_s, arrived_s=arrived_s))
    assert found.ahead_s == pytest.approx(ahead_s)
    assert len(found.faults) == (ahead_s > 0)
    assert in_order(replace(series, asked_s=None, arrived_s=None)).ahead_s == 0.0


@pytest.mark.parametrize(("apart_ratio", "known"), [(0.98e-7, False), (1.05e-7, True), (-1.05e-7, True)])
def test_all_bits_are_set_to_a_ten_millionth(made, apart_ratio, known):
    """As a program may have multiplied it, in single precision."""
    value = np.array([50.0, 4294967295.0 * (1 + apart_ratio), 50.0])
    found = in_order(made.stating("instantaneous", np.arange(3.0), value))
    assert (len(found.value) == 3) is known


def test_a_request_that_took_no_time_says_nothing_of_when(made):
    series = made.stating("instantaneous", np.arange(3.0), 50.0)
    asked_s, arrived_s = np.arange(3.0) - 0.1, np.arange(3.0) + np.array([0.1, 0.2, np.nan])
    found = in_order(replace(series, asked_s=asked_s, arrived_s=arrived_s))
    assert found.request_s is not None
    assert list(found.request_s) == pytest.approx([0.2, 0.3, 0.0])
    assert in_order(series).request_s is None
    assert in_order(replace(series, asked_s=None)).request_s is None
