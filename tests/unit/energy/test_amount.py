from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from oracle.energy import joules
from perjoule import drivers
from perjoule.energy.amount import amount
from perjoule.energy.integral import Integral
from perjoule.model import Channel, Series, Specification
from perjoule.model.doubts import METERS


def series(semantics, t_s, value, duration_s: ArrayLike = 0.0, **stated):
    kind = ("energy", "J") if semantics == "counter" else ("power", "W")
    channel = Channel("meter", "host", "all", *kind, semantics, "wall", specification=Specification(**stated))
    t_s = np.asarray(t_s, dtype=np.float64)
    spread = (np.broadcast_to(np.asarray(v, dtype=np.float64), t_s.shape).copy() for v in (duration_s, value))
    return Series(channel, t_s, *spread)


def test_a_counter_is_interpolated_to_the_edges_of_the_window():
    found = amount(series("counter", [0, 10, 20], [100, 200, 400]), 5, 15)
    assert found.value == pytest.approx(50 + 100)
    assert found.coverage_ratio == 1
    assert found.doubts == ()


def test_a_counter_that_wraps_continues_counting():
    found = amount(series("counter", [0, 1, 2, 3], [80, 95, 10, 25], range_value=100, most_w=50), 0, 3)
    assert found.value == pytest.approx(45)


def test_a_failed_read_that_became_zero_is_not_a_wrap():
    """One known tool reported 262 243 J for 100 J this way."""
    t_s = np.arange(101.0)
    value = 1000.0 + t_s
    value[50] = 0.0
    found = amount(series("counter", t_s, value, range_value=262_144, most_w=500), 0, 100)
    assert found.value == pytest.approx(100)
    assert "neither a wrap" in found.doubts[0]


@pytest.mark.parametrize("unit_j", [1.0, 1e-4])
def test_what_a_failed_read_is_does_not_depend_on_the_unit_of_the_counter(unit_j):
    t_s = np.arange(101.0)
    value = 1000.0 + t_s
    value[50] = 0.0
    found = amount(series("counter", t_s, unit_j * value), 0, 100)
    assert found.value == pytest.approx(100 * unit_j)
    assert found.coverage_ratio == pytest.approx(0.98)


def test_no_more_than_all_of_a_window_is_covered_however_sums_are_rounded():
    steady = series("window mean", np.arange(1, 101) * 0.1, 10.0, 0.1)
    edges_s = [number / 7 for number in range(1, 70)]
    shares = [
        amount(steady, began_s, ended_s).coverage_ratio
        for began_s in edges_s
        for ended_s in edges_s
        if began_s < ended_s
    ]
    assert max(shares) == 1


def test_a_counter_without_known_range_that_falls_back_is_a_hole_and_not_energy():
    t_s = np.arange(101.0)
    found = amount(series("counter", t_s, np.where(t_s < 50, 1000 + t_s, t_s - 50)), 0, 100)
    assert found.value == pytest.approx(100)
    assert found.coverage_ratio == pytest.approx(0.99)
    assert len(found.doubts) == 2


def test_a_counter_read_too_seldom_to_count_its_wraps_is_refused():
    found = amount(series("counter", [0, 60, 120], [10, 20, 30], range_value=100, most_w=50), 0, 120)
    assert found.value is None
    assert any("too rarely" in doubt for doubt in found.doubts)


def test_a_failed_read_of_a_counter_costs_nothing_since_it_counts_on():
    found = amount(series("counter", [0, 1, 2, 3], [0, 5, np.nan, 15]), 0, 3)
    assert found.value == pytest.approx(15)


def test_window_means_count_by_their_overlap_with_their_own_durations():
    found = amount(series("window mean", [1, 3, 4], [10, 20, 40], [1, 2, 1]), 0.5, 3.5)
    assert found.value == pytest.approx(10 * 0.5 + 20 * 2 + 40 * 0.5)


def test_window_means_that_overlap_count_no_moment_twice():
    found = amount(series("window mean", np.arange(1.0, 11.0), 10.0, 1.1), 0, 10)
    assert found.value == pytest.approx(100)


def test_instantaneous_samples_are_joined_by_the_trapezoid_on_their_own_times():
    found = amount(series("instantaneous", [0, 0.1, 0.25, 0.3], [0, 10, 10, 20]), 0, 0.3)
    assert found.value == pytest.approx(0.5 + 1.5 + 0.75)


def test_the_trapezoid_is_cut_within_a_step():
    found = amount(series("instantaneous", [0, 0.5, 1.0, 1.5], [0, 5, 10, 15]), 0.25, 1.25)
    assert found.value == pytest.approx(7.5)


def test_a_window_between_two_samples_is_refused_for_nobody_saw_what_happened_in_it():
    unseen = series("instantaneous", np.arange(0, 10, 0.5), 40.0)  # 0.2 s of 60 W between two of them
    found = amount(unseen, 4.6, 4.8)
    assert found.value is None
    assert "0 samples, fewer than 2, in a window of 0.2 s" in "".join(found.doubts)


def test_a_window_without_a_window_mean_of_power_is_refused_for_it_would_be_that_of_the_time_around():
    seldom = series("window mean", np.arange(1.0, 11.0), np.arange(40.0, 50.0), 1.0)
    found = amount(seldom, 4.2, 4.8)
    assert found.value is None
    assert "0 samples, fewer than 1, in a window of 0.6 s" in "".join(found.doubts)
    assert amount(seldom, 4.2, 5.2).value is not None


@pytest.mark.parametrize("kind", ["shelly", "kasa", "tasmota", "hwmon"])
def test_meters_of_moments_are_polled_often_enough_by_default(kind):
    fields = drivers.driver_class("meters", kind).__pydantic_fields__
    t_s = np.arange(0.0, 20.0, 1 / fields["rate_hz"].default)
    assert amount(series("instantaneous", t_s, 40 + t_s), 5, 15).value == pytest.approx(500)


def test_moments_of_any_quantity_need_two_in_a_window():
    moments = series("instantaneous", np.arange(0, 10, 0.5), np.arange(20.0))
    rates = replace(moments, channel=replace(moments.channel, quantity="goodput", unit="B/s"))
    assert amount(rates, 4.6, 4.8).value is None
    assert amount(rates, 4.4, 5.1).value is not None


def test_a_gap_is_refused_and_never_a_zero():
    t_s = np.concatenate([np.arange(0, 4, 0.1), np.arange(6, 10.05, 0.1)])
    found = amount(series("instantaneous", t_s, 50.0), 0, 10)
    assert found.value is None
    assert "cover only" in found.doubts[0]


def test_a_small_gap_counts_with_the_mean_of_the_rest_and_is_reported():
    t_s = np.concatenate([np.arange(0, 5, 0.1), np.arange(5.8, 20.05, 0.1)])
    found = amount(series("instantaneous", t_s, 50.0), 0, 20)
    assert found.value == pytest.approx(1000)
    assert (
        found.doubts[0]
        == "meter:host/all/power: 4.5 % of the window has no samples and is counted at the mean of the rest"
    )


def test_failed_reads_of_an_instantaneous_meter_are_gaps():
    value = np.full(101, 50.0)
    value[40:60] = np.nan
    assert amount(series("instantaneous", np.arange(0, 10.05, 0.1), value), 0, 10).value is None


def test_a_window_outside_the_samples_is_refused():
    steady = series("window mean", np.arange(1.0, 11.0), 10.0, 1.0)
    assert amount(steady, 5, 20).value is None
    assert amount(steady, 100, 200).value is None
    assert amount(series("counter", [], []), 0, 1).value is None
    assert amount(series("window mean", [], []), 0, 1).value is None
    assert amount(series("instantaneous", [3.0], [5.0]), 0, 10).value is None


def test_a_window_without_length_is_refused():
    assert amount(series("counter", [0, 1], [0, 1]), 1, 1).value is None


def test_averages_over_an_unknown_time_give_energy_only_when_steady():
    t_s = np.arange(0, 60.5, 0.5)
    assert amount(series("average", t_s, 100 + np.sin(t_s)), 10, 50).value == pytest.approx(4000, rel=0.01)
    unsteady = amount(series("average", t_s, 100 + 30 * np.sin(t_s)), 10, 50)
    assert unsteady.value is None
    assert any("unless they are steady" in doubt for doubt in unsteady.doubts)
    for apart_w, steady in ((19.5, True), (20.5, False)):  # a fifth of the mean
        taking_turns = amount(
            series("average", t_s[:100], 100 + apart_w * (np.arange(100) % 2 - 0.5)), 10, 40
        )
        assert (taking_turns.value is not None) is steady


@pytest.mark.parametrize("period_s", [0.3, 0.64, 0.7, 5.0])
@pytest.mark.parametrize("semantics", ["average", "instantaneous"])
def test_what_is_sampled_seldom_or_unsteadily_is_refused_as_defined(semantics, period_s):
    """Power that is twice as high, and read at a tenth of the rate, far from the window."""
    near_s = np.arange(period_s * 1.5, 60.0, period_s)
    t_s = np.concatenate((near_s, near_s[-1] + 10 * period_s * np.arange(1, 9)))
    level_w = np.where((t_s > 20) & (t_s < 40.2), 50.0 + 4 * np.sin(t_s), 100.0)
    samples = pd.DataFrame(
        {"t_s": t_s, "duration_s": 0.0, "value": level_w, "semantics": semantics, "more": ""}
    )
    amounts = []
    for began_s, ended_s in (
        (20.0, 40.0),
        (20.2, 39.8),
        (21.0, 21.3),
        (25.0, 35.0),
        (40.5, 59.0),
        (50.0, 70.0),
        (0.0, 10.0),
    ):
        found = amount(series(semantics, t_s, level_w), began_s, ended_s).value
        amounts.append(found)
        assert (np.nan if found is None else found) == pytest.approx(
            joules(samples, began_s, ended_s), nan_ok=True
        )
    assert any(found is None for found in amounts)
    assert any(found is not None for found in amounts) == (semantics == "average" or period_s < 2 / 3)


def test_a_state_is_never_energy():
    assert amount(series("state", [0, 1, 2], [5, 5, 5]), 0, 2).value is None


def test_slow_instantaneous_samples_are_refused_and_slow_counters_are_not():
    slow = amount(series("instantaneous", np.arange(0, 100.0, 5), 50.0), 10, 90)
    assert slow.value is None
    said = "undersampled, one sample in 5 s misses bursts shorter than 15 s"
    assert slow.doubts[0] == f"meter:host/all/power: {said}; its amount is refused"
    average = amount(series("average", np.arange(0, 100.0, 5), 50.0), 10, 90)
    assert (average.value, average.doubts[0]) == (pytest.approx(4000), f"meter:host/all/power: {said}")
    assert amount(series("counter", np.arange(0, 100.0, 5), np.arange(0, 100.0, 5)), 10, 90).doubts == ()


def _made(semantics, steps_s, rates):
    t_s = np.concatenate([[0.0], np.cumsum(steps_s)])
    if semantics == "counter":
        return series(semantics, t_s, np.concatenate([[0.0], np.cumsum(np.asarray(steps_s) * rates)]))
    if semantics == "window mean":
        return series(semantics, t_s[1:], rates, steps_s)
    return series(semantics, t_s[1:], rates)


def _joules(series, began_s, ended_s):
    """However short the window is, in which an instantaneous meter may be refused."""
    amount_j, _ = Integral(series).until(np.array([began_s, ended_s]))
    return float(amount_j[1] - amount_j[0])


STEPS = st.lists(st.tuples(st.floats(0.1, 0.25), st.floats(0, 500)), min_size=5, max_size=40)
# a counter never stands
MOVING = st.lists(st.tuples(st.floats(0.1, 0.25), st.floats(0.1, 500)), min_size=5, max_size=40)


@pytest.mark.heavy
@given(st.sampled_from(["counter", "window mean", "instantaneous"]), MOVING, st.floats(0.05, 0.95))
def test_energy_adds_up_over_windows(semantics, pairs, cut_ratio):
    made = _made(semantics, *zip(*pairs, strict=True))
    began_s, ended_s = float(made.t_s[0]), float(made.t_s[-1])
    cut_s = began_s + cut_ratio * (ended_s - began_s)
    left_j, right_j, whole_j = (
        _joules(made, *window) for window in ((began_s, cut_s), (cut_s, ended_s), (began_s, ended_s))
    )
    assert left_j + right_j == pytest.approx(whole_j, rel=1e-9, abs=1e-6)


@pytest.mark.heavy
@given(MOVING, st.floats(10, 1e6))
def test_a_counter_gives_the_same_energy_wherever_it_wraps(pairs, start_j):
    steps_s, rates = zip(*pairs, strict=True)
    plain = _made("counter", steps_s, rates)
    range_j = 400.0  # more than 0.25 s at 500 W, so that every wrap is seen
    stated = replace(plain.channel, specification=Specification(range_value=range_j, most_w=501))
    wrapped = Series(stated, plain.t_s, plain.duration_s, (plain.value + start_j) % range_j)
    span = float(plain.t_s[0]), float(plain.t_s[-1])
    found = amount(wrapped, *span)
    assert found.value == pytest.approx(amount(plain, *span).value, rel=1e-6, abs=1e-5)


@given(STEPS, st.floats(0, 0.5), st.floats(0.5, 1))
def test_energy_lies_between_the_lowest_and_the_highest_power(pairs, from_ratio, to_ratio):
    made = _made("instantaneous", *zip(*pairs, strict=True))
    length_s = float(made.t_s[-1] - made.t_s[0])
    began_s, ended_s = made.t_s[0] + from_ratio * length_s, made.t_s[0] + to_ratio * length_s
    if ended_s > began_s + 1e-6:  # a shorter window is a difference of rounding errors
        mean_w = _joules(made, began_s, ended_s) / (ended_s - began_s)
        assert made.value.min() - 1e-6 <= mean_w <= made.value.max() + 1e-6


def test_bytes_and_seconds_are_amounts_like_joules():
    assert amount(series("counter", [0, 10], [0, 5]), 2, 4).value == pytest.approx(1)


def test_what_is_refused_at_once_is_covered_by_nothing():
    state = series("state", np.arange(0, 11.0), 40.0)
    assert amount(state, 2.0, 8.0).coverage_ratio == amount(state, 8.0, 8.0).coverage_ratio == 0.0


def test_two_readings_of_a_counter_that_fell_are_no_energy():
    found = amount(series("counter", [0, 10], [100, 50]), 0, 10)
    assert found.value is None
    assert "neither a wrap nor a possible rate" in "".join(found.doubts)


def test_a_window_between_two_slow_samples_is_reported_by_their_distance():
    found = amount(series("instantaneous", np.arange(0, 10.0), 40.0), 4.2, 4.8)
    assert found.value is None
    assert "one sample in 1 s misses bursts shorter than 3 s" in "".join(found.doubts)


def test_a_counter_that_is_always_faster_than_possible_is_not_energy():
    found = amount(series("counter", [0, 10, 20, 30], [0, 200, 400, 600], most_w=10), 5, 25)
    assert found.value is None
    assert "3 steps of the counter are neither a wrap nor a possible rate" in "".join(found.doubts)


@pytest.mark.parametrize(("gap_s", "told"), [(2.9, False), (3.1, True), (21.0, True)])
@pytest.mark.parametrize("usual_s", [1.0, 0.1])
def test_a_counter_that_was_not_read_for_three_usual_times_is_doubted_where_that_was(gap_s, told, usual_s):
    t_s = usual_s * np.concatenate((np.arange(0.0, 61.0), 60.0 + gap_s + np.arange(0.0, 41.0)))
    counter = series("counter", t_s, 50 * t_s)
    found = amount(counter, usual_s * 40, usual_s * 90)
    assert found.value == pytest.approx(usual_s * 50 * 50)
    assert [(doubt.id, doubt.values["longest_s"]) for doubt in found.doubts] == [
        (METERS.unread.id, pytest.approx(usual_s * gap_s))
    ] * told
    assert amount(counter, usual_s * 5, usual_s * 55).doubts == ()


@pytest.mark.parametrize(("missing_ratio", "told"), [(0.95e-6, False), (1.05e-6, True)])
def test_a_millionth_of_a_window_may_lack_samples_unsaid(missing_ratio, told):
    """That is how well the length of a window mean is known."""
    duration_s = np.ones(19)
    duration_s[9] -= 10 * missing_ratio
    found = amount(series("window mean", np.arange(1.0, 20.0), 50.0, duration_s), 5.0, 15.0)
    assert found.value == pytest.approx(500.0)
    assert [doubt.id for doubt in found.doubts] == [METERS.gap.id] * told
