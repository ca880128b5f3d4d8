"""A meter that fails never yields an energy without a word: the menu of faults that
`benchmarks/coverage.py` runs, in small.
"""

from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from benchmarks import coverage as menu
from perjoule.energy import faults
from perjoule.energy.amount import amount
from perjoule.energy.integral import Integral
from perjoule.energy.terms import budget
from perjoule.model.doubts import METERS
from typed import present


@pytest.mark.parametrize("fault", menu.FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("meter", menu.METERS)
def test_no_fault_is_without_a_doubt_or_a_refusal(fault, meter):
    assert menu.told(menu.METERS[meter], fault, 4).silent_count == 0


@pytest.mark.parametrize("meter", ["counter", "window mean", "instantaneous"])
def test_a_meter_that_works_is_not_doubted(meter):
    for run in range(20):
        found, _ = menu.CASES[meter](np.random.default_rng(run))
        assert amount(found, 5.0, 40.0).doubts == ()


@pytest.mark.heavy
@pytest.mark.parametrize("meter", menu.HEALTHY)
def test_a_meter_that_works_is_hardly_ever_doubted_however_coarse(meter):
    assert menu.false_alarms(menu.HEALTHY[meter], 40)[0] <= menu.FALSE_RATIO


def test_a_wrap_that_is_stated_is_right_without_a_word(made):
    t_s = np.arange(0, 30.5, 0.5)
    found = amount(made.stating("counter", t_s, 50 * t_s % 200, range_value=200.0, most_w=100.0), 5, 25)
    assert (found.value, found.doubts) == (pytest.approx(1000), ())


def test_a_reset_is_not_a_wrap_though_the_range_is_known_and_the_highest_power_is_not(made):
    t_s = np.arange(0, 100.5, 0.5)
    found = amount(
        made.stating(
            "counter", t_s, np.where(t_s < 50, 1000 + 50 * t_s, 50 * (t_s - 50)), range_value=262_144
        ),
        0,
        100,
    )
    assert found.value == pytest.approx(5000)
    assert "neither a wrap" in found.doubts[0]


@pytest.mark.parametrize("reading_j", [0.0, 5e5, 4e9])
@pytest.mark.parametrize(("failed", "steps_count"), [([30], 2), ([30, 31, 32], 4), ([20, 40], 4)])
def test_a_counter_that_shows_another_number_for_a_moment_has_not_counted_what_lies_between(
    made, failed, steps_count, reading_j
):
    t_s = np.arange(0.0, 201.0)
    value = 1e6 + 40 * t_s
    value[failed] = reading_j
    found = amount(made.stating("counter", t_s, value), 5, 195)
    assert found.value == pytest.approx(190 * 40)
    assert f"{steps_count} steps of the counter are neither a wrap" in found.doubts[0]


def test_a_counter_that_shows_nothing_for_long_is_not_believed_to_have_counted_all_of_it_since(made):
    """As https://github.com/home-assistant/core/issues/182493: 397.11 kWh, half a day of 0, 413.5 kWh."""
    t_s = np.append(np.arange(0.0, 36_000.0, 300.0), [79_200.0, 79_500.0, 79_800.0])
    value = 3.6e6 * np.append(np.linspace(393.0, 397.11, 119), [0.0, 413.5, 413.61, 413.73])
    found = amount(made.stating("counter", t_s[1:], value[1:]), 3000.0, 79_800.0)
    assert found.value is None  # of half the time, nobody knows
    assert "2 steps of the counter are neither a wrap" in found.doubts[0]


def test_a_counter_that_is_reset_counts_from_there(made):
    t_s = np.arange(0.0, 61.0)
    found = amount(made.stating("counter", t_s, np.where(t_s < 30, 1e6 + 40 * t_s, 100 * (t_s - 30))), 5, 55)
    assert "1 steps of the counter are neither a wrap" in found.doubts[0]
    assert found.value == pytest.approx(24 * 40 + 70 + 25 * 100)


def test_late_samples_are_put_where_they_belong_and_no_moment_counts_twice(made):
    t_s = np.arange(0, 10.05, 0.1)
    order = np.arange(101)
    order[[40, 42]] = order[[42, 40]]
    found = amount(made.stating("instantaneous", t_s[order], (40 + t_s)[order]), 1, 9)
    assert found.value == pytest.approx(8 * 45)
    assert "2 samples arrived out of order" in found.doubts[0]


def test_what_a_meter_cannot_show_is_a_gap(made):
    value = np.full(101, 50.0)
    value[50] = 4.29e6  # what ACPI means by "not known"
    found = amount(made.stating("instantaneous", np.arange(0, 10.05, 0.1), value, most_w=2000.0), 1, 9)
    assert found.value == pytest.approx(400)
    assert "failed reads" in found.doubts[0]


def test_a_constant_meter_is_doubted_where_it_measures_and_not_where_it_models(made):
    t_s = np.arange(0, 30.5, 0.5)
    assert "was frozen" in amount(made.stating("window mean", t_s, 50.0, 0.5), 5, 25).doubts[0]
    assert amount(made.stating("window mean", t_s, 50.0, 0.5, grade="modelled"), 5, 25).doubts == ()


def test_a_fault_elsewhere_is_not_a_doubt_of_this_window(made):
    t_s = np.arange(0, 100.05, 0.1)
    value = 40 + np.sin(t_s) + np.random.default_rng(1).normal(0, 0.1, len(t_s))
    value[900:950] = np.nan
    assert amount(made.stating("instantaneous", t_s, value), 5, 50).doubts == ()


def test_bursts_that_are_rare_are_no_outliers(made):
    t_s = np.arange(0, 100.0, 0.1)
    value = np.where(t_s % 20 < 2, 90.0, 40.0) + np.random.default_rng(1).normal(0, 0.2, len(t_s))
    assert amount(made.stating("instantaneous", t_s, value), 5, 95).doubts == ()


def test_rows_of_one_stamp_are_spread_over_it_and_none_is_lost(made):
    """Two rows a second with stamps of whole seconds: the power went from 30 to 70 W in each."""
    t_s = np.repeat(np.arange(60.0), 2)
    mean = amount(made.stating("window mean", t_s, np.tile([30.0, 70.0], 60), 0.5), 10, 50)
    moments = amount(made.stating("instantaneous", t_s, np.tile([30.0, 70.0], 60)), 10, 50)
    counted = amount(made.stating("counter", t_s, np.arange(120) * 25.0), 10, 50)
    assert [found.value for found in (mean, moments, counted)] == pytest.approx([2000] * 3)
    for found in (mean, moments, counted):
        assert (
            "samples share a timestamp with another: spread evenly over the 1 s between timestamps"
            in found.doubts[0]
        )


def test_what_coarse_stamps_leave_unknown_is_in_the_budget(made):
    """True times lie anywhere in the second that their stamp names; the power steps within the window's
    first second.
    """
    held = 0
    for run in range(200):
        dice = np.random.default_rng(run)
        true_s = np.arange(0, 60, 0.25) + dice.uniform(0, 0.25)
        edge_s, began_s = 10 + dice.uniform(0, 2), 11.0
        found = present(
            budget(
                made.stating(
                    "instantaneous",
                    np.floor(true_s),
                    np.where(true_s < edge_s, 40.0, 60.0) + dice.normal(0, 0.05, 240),
                ),
                began_s,
                40.0,
            )
        )
        true_j = 60 * (40 - began_s) - 20 * max(edge_s - began_s, 0)
        held += abs(found.value_j - true_j) <= found.expanded_j
        assert "clock" in [term.name for term in found.terms]
    assert held >= 0.93 * 200


def test_a_sample_that_comes_twice_counts_once_where_stamps_are_fine(made):
    t_s = np.repeat(np.arange(0, 30, 0.1), 2)
    found = amount(made.stating("window mean", t_s, np.repeat(40 + np.arange(300) % 7, 2), 0.1), 5, 25)
    assert found.value == pytest.approx(20 * 43, rel=0.01)
    assert "left out" in found.doubts[0]


def test_a_frozen_meter_is_doubted_with_its_time_and_its_equal_samples(made):
    """30 samples, half a second apart, are 29 times that."""
    t_s = np.arange(0, 80, 0.5)
    value = 50.0 + np.random.default_rng(4).normal(0, 1, len(t_s))
    value[60:90] = 50.0
    (doubt,) = amount(made.stating("window mean", t_s, value, 0.5), 20, 60).doubts
    assert "was frozen for 14.5 s (30 equal samples)" in doubt


def test_a_meter_that_froze_before_a_steady_load_and_lasts_into_it_is_doubted(made):
    """40 W idle, 60 W from 20 s on, in whole watts: what is shown in the window is 17 % too little."""
    t_s = np.arange(0, 80, 0.5)
    value = np.where((t_s >= 20) & (t_s < 60), 60.0, 40.0)
    assert amount(made.stating("window mean", t_s, value, 0.5), 20, 60).doubts == ()
    frozen = np.where(t_s < 40, 40.0, value)
    assert (
        "beginning before the load" in amount(made.stating("window mean", t_s, frozen, 0.5), 20, 60).doubts[0]
    )


def test_spikes_are_distinguished_from_bursts_by_how_soon_they_are_over(made):
    t_s = np.arange(0, 100.0, 0.1)
    dice = np.random.default_rng(1)
    idle = 40 + dice.normal(0, 0.2, len(t_s))
    spiked = np.where(dice.uniform(0, 1, len(t_s)) < 0.08, 10 * idle, idle)
    assert (
        "far above those around them" in amount(made.stating("instantaneous", t_s, spiked), 5, 95).doubts[0]
    )
    bursting = np.where(t_s % 20 < 2, 4 * idle, idle)
    assert amount(made.stating("instantaneous", t_s, bursting), 5, 95).doubts == ()


def test_a_clock_that_dates_samples_after_their_arrival_is_doubted_and_in_the_budget(made):
    t_s = np.arange(0, 30.05, 0.1)
    true = made.stating("instantaneous", t_s, np.where(t_s > 10, 60.0, 40.0) + t_s % 0.2, latency_s=0.0)
    early = replace(true, t_s=t_s + 0.4, asked_s=None, arrived_s=t_s + 0.03)
    (doubt,) = amount(early, 8, 20).doubts
    assert "dated up to 0.37 s after they arrived" in doubt
    clock = next(term for term in present(budget(early, 8, 20)).terms if term.name == "clock")
    assert clock.standard_j == pytest.approx(20 * 0.37, rel=0.05)  # the power at both ends differs by 20 W


def test_a_clock_of_which_nothing_is_known_is_named_and_no_doubt(made):
    t_s = np.arange(0, 30.05, 0.1)
    polled = made.stating("instantaneous", t_s, 50.0 + t_s % 0.2, latency_s=0.0, offset=0.1)
    dated = replace(polled, asked_s=None, arrived_s=t_s + 0.03)
    assert (amount(dated, 8, 20).doubts, present(budget(dated, 8, 20)).unknown) == ((), ("clock",))
    assert present(budget(polled, 8, 20)).unknown == ()
    known = replace(dated.channel, specification=replace(dated.channel.specification, clock_s=0.02))
    assert present(budget(replace(dated, channel=known), 8, 20)).unknown == ()
    # as series 2 were stored
    assert present(budget(replace(polled, asked_s=None, arrived_s=None), 8, 20)).unknown == ("clock",)


def test_a_counter_that_is_read_twice_within_a_request_is_no_outlier(made):
    asked_s = np.sort(np.concatenate((np.arange(0, 30, 0.5), [10.02])))
    looked_s = np.where(asked_s == 10.0, 10.0, asked_s + 0.3 * (asked_s == 10.02))
    arrived_s = asked_s + np.where(asked_s == 10.02, 0.3, 0.01)
    counted = made.stating("counter", asked_s, 50 * looked_s + np.sin(asked_s), period_s=0.0)
    polled = replace(counted, t_s=(asked_s + arrived_s) / 2, asked_s=asked_s, arrived_s=arrived_s)
    assert amount(polled, 5, 25).doubts == ()


def test_a_counter_that_is_polled_again_before_it_answered_is_no_outlier(made):
    """Of two requests that overlap, the middles are 10 ms apart, but the readings up to 0.3 s."""
    asked_s = np.sort(np.concatenate((np.arange(0, 30, 0.5), [10.05])))
    looked_s = asked_s + 0.2 * (asked_s == 10.05)
    arrived_s = asked_s + 0.01 + 0.29 * (asked_s == 10.0) + 0.21 * (asked_s == 10.05)
    counted = made.stating("counter", asked_s, 50 * looked_s + np.sin(asked_s), period_s=0.0)
    polled = replace(counted, t_s=(asked_s + arrived_s) / 2, asked_s=asked_s, arrived_s=arrived_s)
    assert amount(polled, 5, 25).doubts == ()
    assert any(
        "far above" in doubt for doubt in amount(replace(polled, asked_s=None, arrived_s=None), 5, 25).doubts
    )


def lasting(made, before_s, stood_s, after_s, *, each_s, step_s=0.1, once_s=None, differ_w=10.0):
    """A power that is 50 W for a while, and above or below it before and after, each value for so long;
    one of them longer.
    """
    around = []
    for length_s in (before_s, after_s):
        ends_s = np.arange(each_s, length_s - 1e-9, each_s)
        around.append(np.searchsorted(ends_s, np.arange(0, length_s - 1e-9, step_s) + 1e-9, side="right") % 2)
    signs = np.where(np.concatenate(around), 1.0, -1.0)
    middle = len(around[0])
    stood = np.full(round(stood_s / step_s) + 1, 50.0)
    value = np.concatenate((50 + differ_w * signs[:middle], stood, 50 + differ_w * signs[middle:]))
    if once_s is not None:
        value[: round(once_s / step_s) + 1] = 50 + 0.9 * differ_w
    t_s = 100 + step_s * np.arange(len(value))
    return list(faults.of(Integral(made.stating("window mean", t_s, value, step_s)), 100.0, float(t_s[-1])))


@pytest.mark.parametrize(
    ("words", "stood"),
    [
        ({"before_s": 5, "stood_s": 4.9, "after_s": 5, "each_s": 0.5}, False),  # for 5 s
        ({"before_s": 5, "stood_s": 5.1, "after_s": 5, "each_s": 0.5}, True),
        # and for a quarter of the window
        ({"before_s": 15, "stood_s": 9.7, "after_s": 15, "each_s": 1.0}, False),
        ({"before_s": 15, "stood_s": 10.2, "after_s": 15, "each_s": 1.0}, True),
        # six times the next longest
        ({"before_s": 15, "stood_s": 10.2, "after_s": 14.8, "each_s": 1.0, "once_s": 1.6}, True),
        ({"before_s": 15, "stood_s": 10.2, "after_s": 14.8, "each_s": 1.0, "once_s": 1.8}, False),
        # eight times the rest / (changes + 1)
        ({"before_s": 14.3, "stood_s": 10.5, "after_s": 15.6, "each_s": 1.3}, True),
        ({"before_s": 14.0, "stood_s": 10.5, "after_s": 15.4, "each_s": 1.4}, False),
        # longer than 8 x 10.4 s / 9
        ({"before_s": 5.2, "stood_s": 9.8, "after_s": 5.2, "each_s": 1.3}, True),
        ({"before_s": 5.2, "stood_s": 9.2, "after_s": 5.2, "each_s": 1.3}, False),
        ({"before_s": 2.4, "stood_s": 9.8, "after_s": 2.4, "each_s": 0.8}, False),  # where the rest is 5 s
        ({"before_s": 2.6, "stood_s": 9.8, "after_s": 2.6, "each_s": 0.8}, True),
        # and 16 % of the window
        ({"before_s": 5, "stood_s": 53.5, "after_s": 5, "each_s": 5, "step_s": 0.5}, False),
        ({"before_s": 5, "stood_s": 51.5, "after_s": 5, "each_s": 5, "step_s": 0.5}, True),
        # and the power differs by 5 %
        ({"before_s": 15, "stood_s": 12, "after_s": 15, "each_s": 1.0, "differ_w": 1.2}, False),
        ({"before_s": 15, "stood_s": 12, "after_s": 15, "each_s": 1.0, "differ_w": 1.3}, True),
        # and it has 8 samples
        ({"before_s": 2.5, "stood_s": 15, "after_s": 2.5, "each_s": 2.5, "step_s": 2.5}, False),
        ({"before_s": 2.5, "stood_s": 17.5, "after_s": 2.5, "each_s": 2.5, "step_s": 2.5}, True),
    ],
)
def test_one_value_stands_still_where_it_lasts_far_longer_than_all_others(made, words, stood):
    assert ["was frozen" in said for said in lasting(made, **words)] == [True] * stood


@pytest.mark.parametrize(
    ("count", "equal", "elsewhere", "stood"),
    [
        (83, 9, 9, True),
        (89, 10, 12, False),
        (103, 7, 6, True),
        (62, 10, 8, False),
        (2000, 3, 0, True),
        (2000, 2, 0, False),
    ],
)
def test_equal_steps_stand_still_where_chance_makes_them_once_in_a_million(
    made, count, equal, elsewhere, stood
):
    """This many equal steps in a row, and others by themselves: with one more counted of both kinds, N p^n
    is close to 1e-6.
    """
    p = (elsewhere + 1) / (count - equal + 2)
    assert (equal > 2 and count * p**equal < 1e-6) == stood  # two are too few, whatever their chance
    same = np.zeros(count, dtype=bool)
    same[20 : 20 + equal] = True
    same[22 + equal : 22 + equal + 2 * elsewhere : 2] = True
    value = 40 + np.cumsum(np.concatenate(([True], ~same))) * 0.01
    t_s = 0.1 * np.arange(count + 1)
    told = list(faults.of(Integral(made.stating("instantaneous", t_s, value)), 0.0, float(t_s[-1])))
    assert ["was frozen" in said for said in told] == [True] * stood


@pytest.mark.parametrize(
    ("first", "last", "doubted"),
    [(18, 26, True), (19, 26, False), (18, 24, False), (18, 25, True), (12, 24, False)],
)
def test_a_value_from_before_the_load_is_that_of_three_samples_before_it_and_lasts_for_5_s_of_it(
    made, first, last, doubted
):
    """The window is from 20 to 32 s with a sample each second; others are in pairs."""
    value = 40.0 + np.arange(60) // 2 % 3
    value[first : last + 1] = 50.0
    told = list(faults.of(Integral(made.stating("window mean", np.arange(60.0), value, 1.0)), 20.0, 32.0))
    assert ["beginning before the load" in said for said in told] == [True] * doubted


@pytest.mark.parametrize(("count", "told"), [(0, 0), (1, 0), (2, 0), (19, 0), (20, 1)])
@pytest.mark.parametrize("semantics", ["counter", "window mean"])
def test_twenty_samples_that_are_all_equal_are_doubted(made, semantics, count, told):
    found = list(faults.of(Integral(made.stating(semantics, np.arange(float(count)), 50.0, 1.0)), 0.0, 25.0))
    assert ["all 20 samples are equal" in said for said in found] == [True] * told


def far(made, count, low_w, high_w, places, value_w, semantics="instantaneous"):
    """What is doubted of samples spread evenly, where some of the highest are further up."""
    value = np.linspace(low_w, high_w, count)
    value[count - len(places) :] = value_w
    order = np.argsort(np.random.default_rng(1).permutation(count), kind="stable")
    others = order[order < count - len(places)]
    mixed = np.empty(count)
    mixed[places] = value[count - len(places) :] + 0.01 * np.arange(len(places))
    mixed[np.setdiff1d(np.arange(count), places)] = value[others]
    t_s = 0.1 * np.arange(count)
    return list(faults.of(Integral(made.stating(semantics, t_s, mixed)), 0.0, float(t_s[-1])))


ALL, AROUND = "far above all others", "far above those around them"


@pytest.mark.parametrize(
    ("count", "range_w", "places", "value_w", "told"),
    [
        # ten times the range of the middle half above the upper quartile: 55 + 10 * 10
        (101, (40, 60), [50], 154, ""),
        (101, (40, 60), [50], 156, ALL),
        (101, (40, 44), [50], 84, ""),  # or the median: 43 + 42
        (101, (40, 44), [50], 86, ALL),
        (201, (40, 44), [20, 60, 100, 140], 100, ALL),  # in 2 % of the samples
        (201, (40, 44), [20, 60, 100, 140, 180], 100, ""),
        (501, (40, 44), list(range(20, 220, 20)), 100, ALL),
        (501, (40, 44), list(range(20, 240, 20)), 100, ""),
        (41, (40, 44), [20], 100, ALL),  # one at least
        (41, (40, 44), [10, 30], 100, ""),
        (201, (40, 44), [20, 60, 100, 140, 180], 127, ""),  # three times the upper quartile: 3 * 43
        (201, (40, 44), [20, 60, 100, 140, 180], 131, AROUND),
        # however long, in 5 % of the samples
        (201, (40, 44), [*range(20, 25), *range(100, 105)], 200, AROUND),
        (201, (40, 44), [*range(20, 25), *range(100, 106)], 200, ""),
        # or one or two values
        (201, (40, 44), [n + k for n in range(20, 140, 20) for k in (0, 1)], 200, AROUND),
        (201, (40, 44), [n + k for n in range(20, 140, 20) for k in (0, 1, 2)], 200, ""),
    ],
)
def test_what_is_far_above_is_a_spike_where_it_is_rare_or_soon_over(
    made, count, range_w, places, value_w, told
):
    assert [told in said for said in far(made, count, range_w[0], range_w[1], places, value_w)] == [
        True
    ] * bool(told)


def test_a_step_of_a_counter_is_held_against_its_other_powers(made):
    t_s = np.arange(0, 50.25, 0.5)
    for power_w, told in ((400.0, True), (60.0, False)):
        watts = np.where(np.arange(len(t_s)) == 50, power_w, 40 + np.arange(len(t_s)) % 7)
        found = list(faults.of(Integral(made.stating("counter", t_s, np.cumsum(0.5 * watts))), 0.0, 50.0))
        assert [(one.id, one.values["highest_w"]) for one in found] == [(METERS.far_above.id, 400.0)] * told


def test_how_high_samples_are_is_that_of_the_window(made):
    """A higher one after it is another window's."""
    value = 40 + np.arange(200) % 7.0
    value[[50, 150]] = 400.0, 500.0
    whole = Integral(made.stating("instantaneous", np.arange(200) / 10, value))
    (doubt,) = faults.of(whole, 0.0, 10.0)
    assert (doubt.id, doubt.values["highest_w"]) == (METERS.far_above.id, 400.0)


def test_spikes_are_counted_and_measured_in_the_window(made):
    """Five of 201 are too many to be far above all others; two of them are in the window."""
    value = 40 + np.arange(201) % 5.0
    value[[20, 60, 100, 140, 180]] = 131.0, 132.0, 133.0, 134.0, 135.0
    whole = Integral(made.stating("instantaneous", np.arange(201) / 10, value))
    (doubt,) = faults.of(whole, 5.0, 11.0)
    assert doubt.id == METERS.spikes.id
    assert (doubt.values["count"], doubt.values["highest_w"]) == (2, 133.0)


def test_a_value_that_is_repeated_counts_once_in_a_spike(made):
    """Each value is read three times; spikes of two values are over soon, those of three are not."""
    for length, told in ((2, True), (3, False)):
        value = 40 + np.arange(200) % 7.0
        for first in range(20, 140, 20):
            value[first : first + length] = 200 + np.arange(length)
        polled = np.repeat(value, 3)
        found = list(
            faults.of(Integral(made.stating("instantaneous", np.arange(600) / 10, polled)), 0.0, 60.0)
        )
        assert [AROUND in said for said in found] == [True] * told


@pytest.mark.parametrize(("value_w", "doubted"), [(0.0, True), (-0.1, True), (0.01, False)])
def test_nothing_and_less_is_doubted_where_the_median_is_something(made, value_w, doubted):
    value = np.linspace(40, 46, 100)
    value[30] = value_w
    told = list(faults.of(Integral(made.stating("instantaneous", np.arange(100.0) / 10, value)), 1.0, 9.0))
    assert ["at 0 W or below" in said for said in told] == [True] * doubted
    assert [said.values["median_w"] for said in told] == pytest.approx([median(value)] * doubted)


@pytest.mark.parametrize(("count", "stood"), [(5, False), (6, True)])
@pytest.mark.parametrize("far_w", [40.0, 60.0])
def test_power_differs_from_its_5th_to_its_95th_percentile(made, far_w, count, stood):
    """Of 101 samples, in order, these are numbers 5 and 95 from 0: five that are further out do not count,
    six do.

    The window begins with the value of the second sample, so the first one, which is far out, is never among
    them.
    """
    around = np.where(np.arange(46) // 5 % 2, 50.2, 49.8)
    around[10 : 10 + count] = far_w
    value = np.concatenate(([far_w], around[:23], np.full(55, 50.0), around[23:]))
    t_s = 0.2 * np.arange(len(value))
    told = list(faults.of(Integral(made.stating("window mean", t_s, value, 0.2)), 0.3, float(t_s[-1])))
    assert ["was frozen" in said for said in told] == [True] * stood
