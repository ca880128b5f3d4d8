"""Whether two meters see the same watts, at the edges of its definition in `energy/alike.py`: series made so that
the shares that are met are known beforehand.
"""

import numpy as np
import pytest

from perjoule.energy.alike import alike
from perjoule.model import Channel, Series, Specification

RNG = np.random.default_rng(7)


def series(values, *, late_s=0.0, resolution=0.1, host="a", period_s=1.0):
    """A sample a second, or as often as is said."""
    t_s = np.asarray(np.arange(len(values)) * period_s + late_s, dtype=np.float64)
    channel = Channel(
        "plug",
        host,
        "all",
        "power",
        "W",
        "average",
        "wall",
        specification=Specification(resolution=resolution),
    )
    return Series(channel, t_s, np.zeros(len(values)), np.asarray(values, dtype=float))


def moving(count):
    """Watts in tenths around 100, of which no two are equal."""
    return 100 + (RNG.permutation(count) - count // 2) / 10


def test_within_half_a_step_and_a_millionth_of_the_median_is_the_same():
    watts = moving(101)
    shown = alike(series(watts), series(watts, host="b"))
    assert shown is not None
    assert shown.moves_count == 100
    assert shown.within_w == pytest.approx(0.05 + 1e-6 * np.median(watts), rel=1e-9)
    parts = alike(series(2 * watts), series(watts), series(watts, host="b"))
    assert parts is not None  # a step of 0.2 W, and two of 0.1 W, which err independently
    assert parts.within_w == pytest.approx(
        np.sqrt(0.1**2 + 0.05**2 + 0.05**2) + 2e-6 * np.median(watts), rel=1e-9
    )


@pytest.mark.parametrize(("first", "last"), [(0, 101), (10, 101), (0, 90), (10, 90)])
def test_samples_count_from_the_first_to_the_last_that_all_parts_have(first, last):
    watts = moving(101)
    part = series(watts[first:last], late_s=first)
    shown = alike(series(2 * watts), part, series(watts, host="b"))
    assert shown is not None
    assert shown.moves_count == last - max(first, 1)  # the first of all has none before it to move from


@pytest.mark.parametrize(("count", "same"), [(21, True), (20, False)])
def test_twenty_moves_show_it(count, same):
    watts = moving(count)
    assert (alike(series(watts), series(watts, host="b")) is not None) is same


@pytest.mark.parametrize(("moves_count", "same"), [(20, True), (19, False)])
def test_samples_that_stay_are_no_moves(moves_count, same):
    watts = np.concatenate((moving(moves_count + 1), [100.0] * 9))
    watts[moves_count] = 100.0
    assert (alike(series(watts), series(watts, host="b")) is not None) is same


@pytest.mark.parametrize(("missed_count", "same"), [(5, True), (6, False)])
def test_one_move_in_twenty_may_be_missed(missed_count, same):
    """The samples of the first are 100 moves and one that began; the other is far away in some."""
    watts = moving(101)
    other = watts.copy()
    other[10 : 10 + 8 * missed_count : 8] += 37.0
    assert (alike(series(watts), series(other, host="b")) is not None) is same


@pytest.mark.parametrize(("resolution", "same"), [(0.98, True), (1.04, False)])
def test_half_a_step_of_a_two_hundredth_of_the_median_is_fine(resolution, same):
    """Of a median of 100 W, 0.5 W."""
    above_w = RNG.uniform(0, 20, 100)
    watts = RNG.permutation(np.concatenate((100 + above_w, 100 - above_w, [100.0])))
    pair = [series(watts, resolution=resolution, host=host) for host in "ab"]
    assert (alike(*pair) is not None) is same


@pytest.mark.parametrize("period_s", [1.0, 0.4])
@pytest.mark.parametrize(
    ("late_periods", "same"), [(1.45, True), (1.55, False), (-1.45, True), (-1.55, False)]
)
def test_it_is_looked_for_one_and_a_half_samples_away(late_periods, same, period_s):
    watts = moving(400)
    late = series(watts, late_s=late_periods * period_s, host="b", period_s=period_s)
    assert (alike(series(watts, period_s=period_s), late) is not None) is same


@pytest.mark.parametrize("period_s", [1.0, 0.4])
@pytest.mark.parametrize(("levels_ratio", "same"), [(0.07, True), (0.13, False)])
def test_two_in_five_moves_may_be_met_at_other_times(levels_ratio, same, period_s):
    """What repeats every 7 samples is met at 2 times of 6, and two levels that take turns at all: 1/3 and 2/3
    of the latter's share, 0.38 or 0.42.
    """
    count = 20_000
    levels_count = round(levels_ratio * count)
    watts = np.concatenate(
        (
            np.tile(moving(400)[:7], count // 7)[: count - levels_count],
            np.tile([140.0, 150.0], levels_count)[:levels_count],
        )
    )
    pair = [series(watts, host=host, period_s=period_s) for host in "ab"]
    assert (alike(*pair) is not None) is same
