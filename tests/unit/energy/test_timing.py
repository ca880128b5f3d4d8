"""What timing makes uncertain, by hand: a meter that is read every second, 10 W of idle power, and a load of 100 W
from 10 to 20 s.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from perjoule.energy.integral import Integral
from perjoule.energy.timing import (
    Edge,
    beside_idle_j,
    edges,
    edges_j,
    readings_j,
    requests_j,
    shifted_j,
)

QUIET = [(0.0, 10.0)]
T_S = np.arange(31.0)
# samples 0 to 10 are of idle time, and those from 21 on
LOADED = np.where((T_S > 10) & (T_S <= 20), 100.0, 10.0)
IDLE = (Edge(10.3, False, 10, 10.0), Edge(20.2, True, 21, 10.0))


def moments(made, value=LOADED, t_s=None, **stated):
    return Integral(made.stating("instantaneous", T_S[: len(value)] if t_s is None else t_s, value, **stated))


def means(made, *watts, period_s=1.0):
    """Window means, the first of which ends after a period."""
    t_s = period_s * np.arange(1, len(watts) + 1)
    return Integral(made.stating("window mean", t_s, watts, period_s))


def counted(made, watts):
    """A counter that is read from 0 s on, with these watts before each second."""
    return Integral(made.stating("counter", T_S[: len(watts) + 1], np.concatenate(([0.0], np.cumsum(watts)))))


def test_edges_are_beside_idle_time_where_power_is_that_of_idle_time(made):
    assert edges(moments(made), 10.3, 20.2, QUIET) == IDLE
    assert edges(moments(made), 10.3, 20.2, QUIET, loose_s=0.9) == (
        Edge(10.3, False, 9, 10.0),
        Edge(20.2, True, 22, 10.0),
    )
    assert IDLE[0].is_idle
    assert Edge(10.3, False, 0, 10.0).is_idle
    assert not Edge(10.3, False).is_idle


@pytest.mark.parametrize(("quiet_s", "touches"), [(8.35, True), (8.25, False), (10.3, True), (10.35, False)])
def test_a_load_begins_at_most_two_seconds_after_idle_time(made, quiet_s, touches):
    began, _ = edges(moments(made), 10.3, 20.2, [(0.0, quiet_s)])
    assert began.is_idle is touches


def test_averages_models_and_counts_of_other_things_have_no_idle_edges(made):
    plain = (Edge(10.3, False), Edge(20.2, True))
    series = made.stating("instantaneous", T_S, LOADED)
    for change in (
        {"semantics": "average"},
        {"grade": "modelled"},
        {"grade": "nameplate"},
        {"quantity": "cpu"},
    ):
        other = replace(series, channel=replace(series.channel, **change))
        assert edges(Integral(other), 10.3, 20.2, QUIET) == plain
    assert edges(moments(made), 10.3, 20.2, []) == plain
    # nothing between the edges
    assert edges(moments(made), 10.3, 10.7, QUIET) == (Edge(10.3, False), Edge(10.7, True))


def test_three_samples_before_and_one_after_show_that_it_is_idle(made):
    early = np.roll(LOADED, -8)  # a load from 2 to 12 s
    assert edges(moments(made, early), 2.3, 12.2, [(0.0, 2.0)])[0] == Edge(2.3, False, 2, 10.0)
    earlier = np.roll(LOADED, -9)
    assert not edges(moments(made, earlier), 1.3, 11.2, [(0.0, 1.0)])[0].is_idle
    assert edges(moments(made, LOADED[:23]), 10.3, 20.2, QUIET) == IDLE
    assert not edges(moments(made, LOADED[:22]), 10.3, 20.2, QUIET)[0].is_idle


@pytest.mark.parametrize("gap", [8, 9, 10, 21, 22])
def test_a_gap_beside_an_edge_leaves_none(made, gap):
    lacking = LOADED.copy()
    lacking[gap] = np.nan
    assert not edges(moments(made, lacking), 10.3, 20.2, QUIET)[0].is_idle


@pytest.mark.parametrize(
    ("more_w", "reading_j", "rested"),
    [
        (8.1, None, True),
        (8.3, None, False),
        (13.0, lambda watts: watts / 10, True),
        (13.2, lambda watts: watts / 10, False),
    ],
)
def test_power_is_that_of_idle_time_to_a_tenth_of_what_the_load_adds_and_twice_its_noise(
    made, more_w, reading_j, rested
):
    """Rates in the window are 10 W once and 100 W ten times: 900 / 11 W more, of which a tenth is 8.18 W.
    Twice sqrt(6) times 1 J in 1 s are 4.90 W.
    """
    after = LOADED + np.where(T_S >= 21, more_w, 0.0)
    began, ended = edges(moments(made, after), 10.3, 20.2, QUIET, 0.0, reading_j)
    assert (began.is_idle, ended.is_idle) == (True, rested)
    before = LOADED + np.where(T_S == 8, more_w, 0.0)
    began, ended = edges(moments(made, before), 10.3, 20.2, QUIET, 0.0, reading_j)
    assert (began.is_idle, ended.is_idle) == (rested, rested)


def test_one_window_mean_that_holds_all_may_have_had_anything_alike_outside(made):
    one = means(made, 100.0, period_s=60.0)
    assert edges_j(one, (Edge(10.0, False), Edge(55.0, True)), 3.0) == pytest.approx(100 * 15 / sqrt(12))
    assert edges_j(one, (Edge(-10.0, False), Edge(55.0, True)), 3.0) == 0.0


def test_beside_idle_time_noise_of_both_sides_counts_for_the_time_outside(made):
    """0.3 s before, and 0.8 s after the load; a counter's readings count elsewhere."""
    assert edges_j(moments(made), IDLE, 2.0) == pytest.approx(2 * sqrt(2 * (0.3**2 + 0.8**2)))
    assert edges_j(counted(made, LOADED[1:]), IDLE, 2.0) == 0.0


@pytest.mark.parametrize(
    ("watts", "period_s", "cut_s", "noise_w", "expected_j"),
    [
        # in one step from 10 to 100 W: half of the differences, x 0.3 x 0.7
        ((10, 40, 100), 1.0, 1.3, 0.0, sqrt(30**2 + 60**2) * 0.5 * 0.21),
        ((10, 40, 100), 1.0, 1.3, 5.0, sqrt(30**2 + 60**2 - 4 * 25) * 0.5 * 0.21),
        ((10, 40, 100), 1.0, 1.3, 50.0, 0.0),
        # a burst on either side, evenly distributed
        ((10, 100, 40), 1.0, 1.3, 0.0, sqrt(((0.3 * 90) ** 2 + (0.7 * 60) ** 2) / 3)),
        ((10, 100, 40), 1.0, 1.3, 20.0, sqrt((1 - 1600 / 11700) * ((0.3 * 90) ** 2 + (0.7 * 60) ** 2) / 3)),
        # no less than the differences x 0.7 x 0.3
        ((40, 39, 100), 1.0, 1.7, 0.0, sqrt(1 + 61**2) * 0.21),
        # a Brownian bridge: half of the differences, x 4 s x sqrt(0.25 x 0.75)
        ((10, 40, 100), 4.0, 5.0, 0.0, sqrt(30**2 + 60**2) / 2 * 4 * sqrt(0.25 * 0.75)),
        ((10, 100, 40), 2.0, 3.0, 0.0, sqrt(90**2 + 60**2) / 2 * 2 * 0.5),
        ((10, 100, 40), 1.9, 2.85, 0.0, 1.9 * sqrt((45**2 + 30**2) / 3)),
        # at the ends of a piece nothing is cut
        ((10, 100, 40), 1.0, 2.0, 0.0, 0.0),
        ((10, 100, 40), 1.0, 1.0, 0.0, 0.0),
        ((40, 40, 40), 1.0, 1.3, 0.0, 0.0),
    ],
)
def test_a_piece_that_an_edge_cuts_may_have_its_power_on_either_side(
    made, watts, period_s, cut_s, noise_w, expected_j
):
    curve = means(made, watts[0], *watts, watts[-1], watts[-1], period_s=period_s)
    cut_s, whole_s = cut_s + period_s, 5 * period_s
    assert edges_j(curve, (Edge(cut_s, False), Edge(whole_s, True)), noise_w) == pytest.approx(expected_j)
    assert edges_j(curve, (Edge(0.0, False), Edge(cut_s, True)), noise_w) == pytest.approx(expected_j)


def test_between_moments_power_jumped_at_the_edge(made):
    """Lines from 10 to 100 W and back: 0.7^2 and 0.2^2 of half of 90 J are missing inside."""
    assert beside_idle_j(moments(made), IDLE) == pytest.approx(45 * (0.7**2 + 0.2**2))
    assert beside_idle_j(moments(made), (IDLE[0], Edge(20.2, True))) == pytest.approx(45 * 0.7**2)
    assert beside_idle_j(moments(made), (Edge(10.3, False), Edge(20.2, True))) == 0.0
    # every 2 s: lines from 10 to 12 and from 20 to 22 s
    slow = moments(made, LOADED[::2], T_S[::2])
    both = (Edge(10.3, False, 5, 10.0), Edge(20.2, True, 11, 10.0))
    assert beside_idle_j(slow, both) == pytest.approx(90 * (1.7**2 + 0.2**2) / 2 / 2)


@pytest.mark.parametrize("kind", ["counter", "window mean"])
def test_of_pieces_up_to_idle_time_all_but_idle_power_was_inside(made, kind):
    watts = LOADED[1:].copy()
    watts[10], watts[20] = 73.0, 31.0  # from 10 to 11 s, and from 20 to 21 s
    curve = counted(made, watts) if kind == "counter" else means(made, *watts)
    both = IDLE if kind == "counter" else (replace(IDLE[0], sample=9), replace(IDLE[1], sample=20))
    (before_j, after_j), _ = curve.until(np.array([10.3, 20.2]))
    inside_j = 73 + 900 + 31 - 10 * (0.3 + 0.8)
    assert after_j - before_j + beside_idle_j(curve, both) == pytest.approx(inside_j)


def test_readings_in_idle_time_continue_to_the_edges(made):
    """1.3 times the last before, less 0.3 times the one before it; 1.8 and 0.8 times behind the load."""
    curve, squares = counted(made, LOADED[1:]), 1.3**2 + 0.3**2 + 1.8**2 + 0.8**2
    assert readings_j(curve, IDLE, None, 2.0) == pytest.approx(2 * sqrt(squares / 12))
    late_s = np.full(31, 0.1)
    assert readings_j(curve, IDLE, late_s) == pytest.approx(10 * 0.1 * sqrt(squares / 12))
    assert readings_j(curve, IDLE, late_s, 2.0) == pytest.approx(sqrt((4 + 1) * squares / 12))


@pytest.mark.parametrize(
    ("cut_s", "weights"),
    [
        (5.3, {5: 0.7, 6: 0.3}),  # even power
        # the first piece and the last, and what lies beyond
        (0.3, {0: 0.7, 1: 0.3}),
        (-1.0, {0: 1.0}),
        (29.7, {29: 0.3, 30: 0.7}),
        (31.0, {30: 1.0}),
        (10.3, {9: 0.3, 10: 1.3}),  # 40 W between 10 and 100: a step at 10.67 s
        (10.9, {11: 1.1, 12: 0.1}),
    ],
)
def test_an_edge_in_a_load_weighs_the_readings_on_its_side_of_a_step(made, cut_s, weights):
    watts = [10.0] * 10 + [40.0] + [100.0] * 19
    curve = counted(made, watts)
    both = (Edge(cut_s, False), Edge(25.0, True))
    squares = sum(weight**2 for weight in weights.values()) + 1
    assert readings_j(curve, both, None, 2.0) == pytest.approx(2 * sqrt(squares / 12))
    # a reading's time counts with the power before and after it
    before_w, after_w = [watts[0], *watts], [*watts, watts[-1]]
    squares = sum(
        weight**2 * (before_w[index] ** 2 + after_w[index] ** 2) / 2 for index, weight in weights.items()
    )
    late_s = np.full(31, 0.1)
    assert readings_j(curve, both, late_s) == pytest.approx(0.1 * sqrt((squares + 100**2) / 12))


@pytest.mark.parametrize(
    ("cut_s", "weights"),
    [
        (10.5, {4: 0.75, 5: 0.25}),  # even power, a quarter of 6 s
        # 40 W between 10 and 100 over 4 s: a step 2.67 s into it
        (5.0, {1: -1 / 2, 2: 1 + 1 / 2}),  # 1 s beyond a piece of 2 s
        (7.6, {3: 1 + 0.4 / 1, 4: -0.4 / 1}),  # 0.4 s before one of 1 s
    ],
)
def test_readings_weigh_by_shares_of_pieces_of_any_length(made, cut_s, weights):
    t_s, watts = np.array([0.0, 2, 4, 8, 9, 15, 18, 20]), np.array([10.0, 10, 40, 100, 100, 100, 100])
    curve = Integral(made.stating("counter", t_s, np.concatenate(([0.0], np.cumsum(watts * np.diff(t_s))))))
    squares = sum(weight**2 for weight in weights.values()) + 1  # of an end at a reading
    found_j = readings_j(curve, (Edge(cut_s, False), Edge(18.0, True)), None, 2.0)
    assert found_j == pytest.approx(2 * sqrt(squares / 12))


def asked(series, request_s):
    half_s = np.full(len(series.t_s), request_s / 2)
    return Integral(replace(series, asked_s=series.t_s - half_s, arrived_s=series.t_s + half_s))


def test_a_moment_anywhere_in_its_request_moves_a_joint(made):
    """A step between 4 and 5 s: samples 4 and 5 move (100 - 10) / 2 W each, of 0.2 s."""
    value = np.where(np.arange(11) > 4, 100.0, 10.0)
    curve = asked(made.stating("instantaneous", np.arange(11.0), value), 0.2)
    assert requests_j(curve, 2.5, 6.5, 0.0) == pytest.approx(0.2 * sqrt(2 * 45**2 / 12))
    # noise has half of its variance in each of the samples 3 to 7
    assert requests_j(curve, 2.5, 6.5, 4.0) == pytest.approx(0.2 * sqrt((2 * 45**2 - 5 * 8) / 12))
    assert requests_j(curve, 2.5, 6.5, 400.0) == 0.0
    assert requests_j(curve, 2.5, 3.5, 0.0) == pytest.approx(0.2 * sqrt(45**2 / 12))  # samples 3 and 4
    assert requests_j(curve, 5.0, 6.0, 0.0) == pytest.approx(0.2 * sqrt(45**2 / 12))  # 5 and 6
    assert requests_j(curve, -1.0, 99.0, 4.0) == pytest.approx(0.2 * sqrt((2 * 45**2 - 9 * 8) / 12))
    mean = asked(made.stating("window mean", np.arange(1.0, 12.0), value, 1.0), 0.2)
    # of window means, the one before the step (at 5 s) moves all of it; samples 2 to 6 are noisy
    assert requests_j(mean, 2.5, 6.5, 4.0) == pytest.approx(0.2 * sqrt((90**2 - 5 * 32) / 12))


def test_exact_moments_and_two_samples_say_nothing(made):
    assert requests_j(moments(made), 2.5, 20.5, 0.0) == 0.0
    two = asked(made.stating("instantaneous", np.arange(2.0), np.array([10.0, 100.0])), 0.2)
    assert requests_j(two, 0.0, 1.0, 0.0) == 0.0
    three = asked(made.stating("instantaneous", np.arange(3.0), np.array([10.0, 50.0, 100.0])), 0.2)
    assert requests_j(three, 0.0, 2.0, 0.0) == pytest.approx(0.2 * sqrt(45**2 / 12))


@pytest.mark.parametrize(
    ("both", "expected_j"),
    [
        # later by 0.5 s: 455 J, as much as earlier; both are less, and neither direction is
        ((Edge(10.0, False), Edge(20.0, True)), 45.0),
        ((Edge(10.0, False), Edge(15.0, True)), sqrt(45**2 / 2)),  # less only if it is earlier
        ((Edge(15.0, False), Edge(20.0, True)), -sqrt(45**2 / 2)),
        ((Edge(10.0, False, 9, 10.0), Edge(20.0, True, 20, 10.0)), 0.0),
        # idle power goes, and load comes: 90 W, for 0.5 s
        ((Edge(10.0, False, 9, 10.0), Edge(15.0, True)), 45.0),
        ((Edge(15.0, False), Edge(20.0, True, 20, 10.0)), -45.0),
    ],
)
def test_a_window_that_is_shifted_has_other_energy_but_beside_idle_time(made, both, expected_j):
    curve = means(made, *LOADED[1:])
    assert shifted_j(curve, both, np.array([0.5, -0.5])) == pytest.approx(expected_j, abs=1e-9)


def test_time_that_is_not_covered_counts_like_the_rest(made):
    """Samples end at 21 s: of a window from 11 to 21 s, half a second later, 9.5 s are known, of 905 J."""
    curve = means(made, *LOADED[1:22])
    both = (Edge(11.0, False), Edge(21.0, True))
    assert shifted_j(curve, both, np.array([0.5])) == pytest.approx(-(910 - (910 - 50) * 10 / 9.5))
