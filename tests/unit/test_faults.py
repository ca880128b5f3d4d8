"""A meter that fails never yields an energy without a word: the menu of faults that `benchmarks/coverage.py` runs, in small."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perjoule.analysis.energy import amount, energy_j
from perjoule.analysis.terms import budget

_SPEC = importlib.util.spec_from_file_location("coverage_benchmark", Path(__file__).parents[2] / "benchmarks/coverage.py")
menu = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(menu)


@pytest.mark.parametrize("fault", menu.FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("meter", menu.METERS)
def test_no_fault_is_without_a_doubt_or_a_refusal(fault, meter):
    assert menu.told(menu.METERS[meter], fault, 4).silent_count == 0


@pytest.mark.parametrize("meter", ["counter", "window mean", "instantaneous"])
def test_a_meter_that_works_is_not_doubted(meter):
    for run in range(20):
        found, _ = menu.CASES[meter](np.random.default_rng(run))
        assert amount(found, 5.0, 40.0).doubts == ()


@pytest.mark.parametrize("meter", menu.HEALTHY)
def test_a_meter_that_works_is_hardly_ever_doubted_however_coarse(meter):
    assert menu.false_alarms(menu.HEALTHY[meter], 40)[0] <= menu.FALSE_RATIO


def test_a_wrap_that_is_stated_is_right_without_a_word(made):
    t_s = np.arange(0, 30.5, 0.5)
    found = energy_j(made.stating("counter", t_s, 50 * t_s % 200, range_value=200.0, most_w=100.0), 5, 25)
    assert (found.value, found.doubts) == (pytest.approx(1000), ())


def test_a_reset_is_no_wrap_though_the_range_is_known_and_the_highest_power_is_not(made):
    t_s = np.arange(0, 100.5, 0.5)
    found = energy_j(
        made.stating("counter", t_s, np.where(t_s < 50, 1000 + 50 * t_s, 50 * (t_s - 50)), range_value=262_144), 0, 100
    )
    assert found.value == pytest.approx(5000)
    assert "neither a wrap" in found.doubts[0]


def test_late_samples_are_put_where_they_belong_and_no_moment_counts_twice(made):
    t_s = np.arange(0, 10.05, 0.1)
    order = np.arange(101)
    order[[40, 42]] = order[[42, 40]]
    found = energy_j(made.stating("instantaneous", t_s[order], (40 + t_s)[order]), 1, 9)
    assert found.value == pytest.approx(8 * 45)
    assert "1 samples arrived out of order" in found.doubts[0] or "2 samples arrived out of order" in found.doubts[0]


def test_what_a_meter_cannot_show_is_a_gap(made):
    value = np.full(101, 50.0)
    value[50] = 4.29e6  # what ACPI means by "not known"
    found = energy_j(made.stating("instantaneous", np.arange(0, 10.05, 0.1), value, most_w=2000.0), 1, 9)
    assert found.value == pytest.approx(400)
    assert "failed reads" in found.doubts[0]


def test_a_constant_meter_is_doubted_where_it_measures_and_not_where_it_models(made):
    t_s = np.arange(0, 30.5, 0.5)
    assert "stood still" in energy_j(made.stating("window mean", t_s, 50.0, 0.5), 5, 25).doubts[0]
    assert energy_j(made.stating("window mean", t_s, 50.0, 0.5, grade="modelled"), 5, 25).doubts == ()


def test_a_fault_elsewhere_is_no_doubt_of_this_window(made):
    t_s = np.arange(0, 100.05, 0.1)
    value = 40 + np.sin(t_s) + np.random.default_rng(1).normal(0, 0.1, len(t_s))
    value[900:950] = np.nan
    assert energy_j(made.stating("instantaneous", t_s, value), 5, 50).doubts == ()


def test_bursts_that_are_rare_are_no_outliers(made):
    t_s = np.arange(0, 100.0, 0.1)
    value = np.where(t_s % 20 < 2, 90.0, 40.0) + np.random.default_rng(1).normal(0, 0.2, len(t_s))
    assert energy_j(made.stating("instantaneous", t_s, value), 5, 95).doubts == ()


def test_rows_of_one_stamp_are_spread_over_it_and_none_is_lost(made):
    """Two rows a second with stamps of whole seconds: the power went from 30 to 70 W in each."""
    t_s = np.repeat(np.arange(60.0), 2)
    mean = energy_j(made.stating("window mean", t_s, np.tile([30.0, 70.0], 60), 0.5), 10, 50)
    moments = energy_j(made.stating("instantaneous", t_s, np.tile([30.0, 70.0], 60)), 10, 50)
    counted = energy_j(made.stating("counter", t_s, np.arange(120) * 25.0), 10, 50)
    assert [found.value for found in (mean, moments, counted)] == pytest.approx([2000] * 3)
    for found in (mean, moments, counted):
        assert "samples share a timestamp with another: spread evenly over the 1 s between timestamps" in found.doubts[0]


def test_what_coarse_stamps_leave_unknown_is_in_the_budget(made):
    """True times lie anywhere in the second that their stamp names; the power steps within the window's first second."""
    held = 0
    for run in range(200):
        dice = np.random.default_rng(run)
        true_s = np.arange(0, 60, 0.25) + dice.uniform(0, 0.25)
        edge_s, began_s = 10 + dice.uniform(0, 2), 11.0
        found = budget(
            made.stating("instantaneous", np.floor(true_s), np.where(true_s < edge_s, 40.0, 60.0) + dice.normal(0, 0.05, 240)),
            began_s,
            40.0,
        )
        true_j = 60 * (40 - began_s) - 20 * max(edge_s - began_s, 0)
        held += abs(found.value_j - true_j) <= found.expanded_j
        assert "clock" in [term.name for term in found.terms]
    assert held >= 0.93 * 200


def test_a_sample_that_comes_twice_counts_once_where_stamps_are_fine(made):
    t_s = np.repeat(np.arange(0, 30, 0.1), 2)
    found = energy_j(made.stating("window mean", t_s, np.repeat(40 + np.arange(300) % 7, 2), 0.1), 5, 25)
    assert found.value == pytest.approx(20 * 43, rel=0.01)
    assert "left out" in found.doubts[0]


def test_a_meter_that_froze_before_a_steady_load_and_lasts_into_it_is_doubted(made):
    """40 W idle, 60 W from 20 s on, in whole watts: what is shown in the window is 17 % too little."""
    t_s = np.arange(0, 80, 0.5)
    value = np.where((t_s >= 20) & (t_s < 60), 60.0, 40.0)
    assert energy_j(made.stating("window mean", t_s, value, 0.5), 20, 60).doubts == ()
    frozen = np.where(t_s < 40, 40.0, value)
    assert "beginning before the load" in energy_j(made.stating("window mean", t_s, frozen, 0.5), 20, 60).doubts[0]


def test_spikes_are_told_from_bursts_by_how_soon_they_are_over(made):
    t_s = np.arange(0, 100.0, 0.1)
    dice = np.random.default_rng(1)
    idle = 40 + dice.normal(0, 0.2, len(t_s))
    spiked = np.where(dice.uniform(0, 1, len(t_s)) < 0.08, 10 * idle, idle)
    assert "far above those around them" in energy_j(made.stating("instantaneous", t_s, spiked), 5, 95).doubts[0]
    bursting = np.where(t_s % 20 < 2, 4 * idle, idle)
    assert energy_j(made.stating("instantaneous", t_s, bursting), 5, 95).doubts == ()


def test_a_clock_that_dates_samples_after_their_arrival_is_doubted_and_in_the_budget(made):
    t_s = np.arange(0, 30.05, 0.1)
    true = made.stating("instantaneous", t_s, np.where(t_s > 10, 60.0, 40.0) + t_s % 0.2, latency_s=0.0)
    early = replace(true, t_s=t_s + 0.4, asked_s=None, arrived_s=t_s + 0.03)
    (doubt,) = energy_j(early, 8, 20).doubts
    assert "dated up to 0.37 s after they arrived" in doubt
    clock = next(term for term in budget(early, 8, 20).terms if term.name == "clock")
    assert clock.standard_j == pytest.approx(20 * 0.37, rel=0.05)  # the power at both ends differs by 20 W


def test_a_clock_of_which_nothing_is_known_is_named_and_no_doubt(made):
    t_s = np.arange(0, 30.05, 0.1)
    polled = made.stating("instantaneous", t_s, 50.0 + t_s % 0.2, latency_s=0.0, offset=0.1)
    dated = replace(polled, asked_s=None, arrived_s=t_s + 0.03)
    assert (energy_j(dated, 8, 20).doubts, budget(dated, 8, 20).unknown) == ((), ("clock",))
    assert budget(polled, 8, 20).unknown == ()
    known = replace(dated.channel, specification=replace(dated.channel.specification, clock_s=0.02))
    assert budget(replace(dated, channel=known), 8, 20).unknown == ()
    assert budget(replace(polled, asked_s=None, arrived_s=None), 8, 20).unknown == ("clock",)  # as series 2 were stored


def test_a_counter_that_is_read_twice_within_a_request_is_no_outlier(made):
    asked_s = np.sort(np.concatenate((np.arange(0, 30, 0.5), [10.02])))
    looked_s = np.where(asked_s == 10.0, 10.0, asked_s + 0.3 * (asked_s == 10.02))
    arrived_s = asked_s + np.where(asked_s == 10.02, 0.3, 0.01)
    counted = made.stating("counter", asked_s, 50 * looked_s + np.sin(asked_s), period_s=0.0)
    polled = replace(counted, t_s=(asked_s + arrived_s) / 2, asked_s=asked_s, arrived_s=arrived_s)
    assert energy_j(polled, 5, 25).doubts == ()
