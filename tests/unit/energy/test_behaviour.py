"""What is said of a meter's own behaviour, by hand."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from perjoule.energy.behaviour import agreement, behaviour, powers, step
from perjoule.model import Channel, Quantity, Semantics, Series


def series(
    t_s,
    value,
    *,
    quantity: Quantity = "power",
    semantics: Semantics = "instantaneous",
    host="a",
    component="all",
):
    unit = "W" if quantity == "power" else "J"
    channel = Channel("plug", host, component, quantity, unit, semantics, "wall")
    return Series(channel, np.array(t_s, float), np.zeros(len(t_s)), np.array(value, float))


def test_period_failures_mean_noise_resolution_and_stillness():
    """Asked every 1 s, it changes at 1, 3, 4, 6 s: 2, 1 and 2 s apart; then it stands still for 3 s, the last
    read of which failed.
    """
    found = behaviour(series(range(10), [10, 12, 12, 18, 14, 14, 16, 16, 16, nan]))
    assert (found.samples_count, found.asked_period_s, found.update_period_s) == (10, 1.0, 2.0)
    assert found.failed_ratio == 0.1
    assert found.mean == pytest.approx(128 / 9)
    # differences of 2, 0, 6, 4, 0, 2, 0, 0 W: their median is 1 W, 0.6745 sigma of a difference
    assert found.noise == pytest.approx(1 / 0.6745 / sqrt(2))
    assert (found.resolution, found.longest_frozen_s) == (2.0, 2.0)


def test_the_longest_stillness_may_be_the_first_or_the_last():
    assert behaviour(series([0, 4, 5, 6, 7], [1, 1, 2, 3, 4])).longest_frozen_s == 5.0
    assert behaviour(series([0, 1, 2, 3, 9], [1, 2, 3, 4, 4])).longest_frozen_s == 6.0


def test_less_than_five_samples_say_nothing_but_what_failed():
    few = behaviour(series(range(5), [1, 2, nan, 4, 7]))
    assert (few.samples_count, few.failed_ratio) == (5, 0.2)
    assert all(map(isnan, (few.asked_period_s, few.update_period_s, few.mean, few.noise, few.resolution)))
    assert behaviour(series(range(5), [1, 2, 3, 4, 7])).mean == 3.4
    assert behaviour(series([], [])).failed_ratio == 0.0
    assert behaviour(series([0], [nan])).failed_ratio == 1.0


def test_a_meter_that_changes_once_has_no_period():
    assert isnan(behaviour(series(range(6), [1, 1, 1, 2, 2, 2])).update_period_s)


def test_a_counter_is_power_between_readings_unless_it_went_back():
    counter = series([0, 2, 4, 4, 5], [10, 30, 20, 21, 26], quantity="energy", semantics="counter")
    t_s, watts = powers(counter)
    assert (list(t_s), list(watts)) == ([2.0, 5.0], [10.0, 5.0])
    slow = series([0, 2, 4], [10, 10.5, 10.5], quantity="energy", semantics="counter")
    assert list(powers(slow)[1]) == [0.25, 0.0]
    assert list(powers(series([0, 2, 4], [7, nan, 5]))[1]) == [7.0, 5.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.5, 2.5, 2.0], 0.5),
        ([1.0, 1.5, 2.25], 0.0),  # 0.5 and 0.75 W
        ([1.0, 1.5, 2.0], 0.0),  # one distance shows no step
        ([1.0, 2.0, 4.018], 1.0),  # 2.018 W are 0.9 % from two steps
        ([1.0, 2.0, 4.022], 0.0),
        ([7.0, 7.0], 0.0),
    ],
)
def test_a_step_is_that_of_which_all_differences_are_multiples(values, expected):
    assert step(np.array(values)) == expected


def counting(t_s, watts, **words):
    """A counter of the energy of these watts before each of these times."""
    value = np.cumsum(np.diff(t_s, prepend=t_s[0]) * watts)
    return series(t_s, value, quantity="energy", semantics="counter", **words)


def test_agreement_is_the_ratio_of_energies_and_the_scatter_of_the_windows():
    """Two windows of 10 s from 100 s on: 20 W against 10 W, then 20 W against 20 W. One began before, with
    90 W, the other ends later, with 70 W.
    """
    first_s, second_s = np.arange(95.0, 121.0), np.arange(100.0, 126.0)
    first = counting(first_s, np.where(first_s <= 100, 90.0, 20.0))
    second_w = np.select([second_s <= 110, second_s <= 120], [10.0, 20.0], 70.0)
    second = counting(second_s, second_w, host="b")
    found = agreement([first], [second], 2)
    assert found is not None
    assert found.windows_count == 2
    assert found.ratio == pytest.approx(400 / 300)
    assert found.scatter_ratio == pytest.approx(np.std([2.0, 1.0], ddof=1))
    usual = agreement([first], [second])
    assert usual is not None
    assert usual.windows_count == 10
    assert usual.ratio == pytest.approx(400 / 300)
    back = agreement([second], [first], 2)
    assert back is not None
    assert back.ratio == pytest.approx(300 / 400)


def test_windows_in_which_the_other_took_nothing_are_left_out():
    """0 J for the first 10 of 30 s, in which the one took 200 J: 400 J against 200 J are left."""
    t_s = np.arange(31.0)
    found = agreement([counting(t_s, 20.0)], [counting(t_s, np.where(t_s <= 10, 0.0, 10.0), host="b")], 3)
    assert found is not None
    assert (found.windows_count, found.ratio) == (2, pytest.approx(2.0))


def test_the_power_of_a_channel_that_also_counts_is_not_added():
    counter = series(range(21), np.arange(21) * 20.0, quantity="energy", semantics="counter")
    power = series(range(21), [20.0] * 21)
    board = series(range(21), np.arange(21) * 5.0, quantity="energy", semantics="counter", component="board")
    found = agreement([counter, power, board], [counter])
    assert found is not None
    assert found.ratio == pytest.approx(25 / 20)


def test_meters_that_share_no_time_or_one_window_do_not_agree():
    early, late = (
        series(t_s, np.array(t_s) * 5.0, quantity="energy", semantics="counter")
        for t_s in (range(10), range(9, 20))
    )
    assert agreement([early], [late]) is None
    assert agreement([early], []) is None
    assert agreement([], [early]) is None
    assert agreement([early], [series([3], [5.0])]) is None
    pair = series([0, 9], [0, 45], quantity="energy", semantics="counter", host="b")
    assert agreement([early], [pair]) is not None
    assert agreement([early], [early], 1) is None
    assert agreement([early], [early], 2) is not None
