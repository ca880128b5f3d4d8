"""Two modes: against samples whose groups are known, by the definition computed by trying every division,
and in a row.
"""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.model import Cell, Interval
from perjoule.model.format import with_interval
from perjoule.model.units import MIB
from perjoule.results.table import cell_text, mean
from perjoule.statistics.modes import divided, modes, quantile, summarised_by_median, unseen, unseen_text
from perjoule.statistics.stopping import narrow_enough

MIXED = [218.0, 219, 221, 217, 419, 420, 218, 220]  # MooseFS's reads in a demo, about


def test_two_groups_far_apart_are_two_modes_whatever_their_sizes():
    assert modes(MIXED) == ((217, 218, 218, 219, 220, 221), (419, 420))
    assert modes([1.0, 1.01, 0.99, 1.0, 2.0]) == ((0.99, 1.0, 1.0, 1.01), (2.0,))


@pytest.mark.parametrize(
    "values", [[218.0, 219, 419], [5.0] * 8, [1.0, 1.1, 0.9, 1.05, 0.95], [-1.0, 1, 1, 1, 1], []]
)
def test_too_few_equal_or_evenly_spread_values_have_none(values):
    assert modes(values) == ()


def test_groups_nearer_than_two_percent_are_none_that_matters():
    assert modes([100.0, 100.001, 101.0, 101.001]) == ()
    assert modes([100.0, 100.001, 103.0, 103.001]) != ()


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=7))
def test_the_best_division_is_the_best_of_all_by_its_definition(values):
    ordered = sorted(values)

    def within(side):
        return sum((value - np.mean(side)) ** 2 for value in side)

    whole = within(ordered)
    shares = (
        [(within(ordered[:at]) + within(ordered[at:])) / whole for at in range(1, len(ordered))]
        if whole > 1e-9
        else [1.0]
    )
    share, at = divided(ordered)
    if whole > 1e-9:
        assert share == pytest.approx(min(shares), abs=1e-6)
        assert shares[at - 1] == pytest.approx(min(shares), abs=1e-6)


def test_equal_values_leave_all_of_nothing_within_both_sides():
    assert divided([3.0, 3.0, 3.0]) == (1.0, 1)


@pytest.mark.parametrize("count", [4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 30, 50])
def test_one_in_a_hundred_normal_samples_seems_to_have_two_modes(count):
    draws_count = 1_000_000 // count
    draws = np.sort(np.random.default_rng(count).normal(size=(draws_count, count)))
    centred = draws - draws.mean(axis=1, keepdims=True)
    sums, sizes = np.cumsum(centred, axis=1)[:, :-1], np.arange(1, count)
    share = 1 - (sums**2 / sizes + sums**2 / (count - sizes)).max(axis=1) / (centred**2).sum(axis=1)
    assert np.mean(share < quantile(count)) == pytest.approx(0.01, abs=3.3 * sqrt(0.01 * 0.99 / draws_count))


def test_a_rare_mode_is_unseen_as_often_as_no_draw_meets_it():
    for count in (3, 5):
        met = [any(draw) for draw in product([True, False, False, False], repeat=count)]
        assert unseen(count) == pytest.approx(1 - np.mean(met))
    assert "24 % of such samples" in unseen_text(5)


@pytest.mark.parametrize("count", [3, 5, 8, 20])
def test_a_narrow_row_says_what_its_repetitions_cannot_show(count):
    """By drawing samples, of which none has a straggler, or a repetition of the other mode."""
    draws = np.random.default_rng(count).random((200_000, count))
    said = unseen_text(count)
    mode, stragglers = (100 * float(np.mean((draws >= share).all(axis=1))) for share in (0.25, 0.05))
    shown = [float(part.split(" %")[0]) for part in said.split(" in ") if " %" in part]
    assert shown == pytest.approx([mode, stragglers], abs=0.8)
    assert "have in common is not in the interval" in said
    assert "known" not in said


def test_a_narrow_interval_of_two_modes_is_not_enough():
    values = [100.0] * 5 + [104.0] * 5
    close = [value * factor for value in values for factor in (0.999, 1.001)]
    assert modes(close)
    assert not narrow_enough(close, 0.1, 5)
    assert narrow_enough([value for value in close if value < 102], 0.1, 5)


def row(rate: list[float], joules: list[float]) -> Cell:
    def interval(values: list[float]) -> Interval:
        half = 2 * float(np.std(values, ddof=1)) / len(values) ** 0.5
        return Interval(
            float(np.mean(values)),
            float(np.mean(values)) - half,
            float(np.mean(values)) + half,
            tuple(values),
        )

    metrics = {
        "throughput_bytes_per_s": interval([value * MIB for value in rate]),
        "energy_j": interval(joules),
        "efficiency_bytes_per_j": interval([256 * MIB / value for value in joules]),
    }
    return Cell("MooseFS", "fio", "read", 4, metrics)


def test_a_row_has_one_rule_so_that_work_per_joule_times_joules_is_the_work():
    cell = row([110, 111, 220, 221, 109], [64.0, 65, 32, 31.4, 66])
    assert summarised_by_median(cell)
    shown = (
        float(cell_text(cell, "efficiency_bytes_per_j", with_interval).split()[0]),
        float(cell_text(cell, "energy_j", mean)),
    )
    assert shown[0] * shown[1] == pytest.approx(256, rel=2e-3)
    assert cell_text(cell, "throughput_bytes_per_s", with_interval) == "111 (109–221)"
    even = row([110, 111, 112, 109, 108], [51.0, 50, 50.5, 50, 52])
    assert not summarised_by_median(even)
    assert "±" in cell_text(even, "efficiency_bytes_per_j", with_interval)


@pytest.mark.parametrize(
    ("rate", "by_median"),
    [
        ([100.0, 100.1, 99.9, 100.0, 104.0, 104.1, 103.9, 104.0], True),  # two modes, and a narrow interval
        ([100.0, 100.1, 99.9, 100.0, 101.0, 101.1, 100.9, 101.0], False),  # nearer than 2 %
        ([100.0, 190.0, 20.0], True),  # a wide one, and too few for modes
        ([100.0, 110.0, 90.0], False),
    ],
)
def test_two_modes_or_a_wide_interval_take_the_mean_from_a_row(rate, by_median):
    assert summarised_by_median(row(rate, [50.0] * len(rate))) is by_median


def test_logarithms_decide_so_a_metric_and_its_inverse_have_the_same_modes():
    slow, fast = modes(MIXED)
    inverse = modes([1 / value for value in MIXED])
    assert [len(group) for group in inverse] == [len(fast), len(slow)]
    assert log(fast[0]) > log(slow[-1])
