"""The SNIA's rule of steady state: what it accepts, what it refuses, and that units and time's direction mean nothing to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.workloads._steady import first_steady, spread, steady

rates = st.lists(st.floats(1.0, 1e9), min_size=5, max_size=5)


def test_range_and_excursion_are_those_of_the_specification() -> None:
    assert spread([90, 95, 100, 105, 110]) == pytest.approx((0.2, 0.2))
    assert spread([100, 120, 100, 120, 100]) == pytest.approx((20 / 108, 0.0))


@pytest.mark.parametrize(
    ("rounds", "is_steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([95, 105, 100, 95, 105], True),
        ([97, 98, 100, 102, 103], True),
        ([94, 97, 100, 103, 106], False),  # the range would do, the slope does not
        ([89, 100, 100, 100, 111], False),  # nor do they here
        ([100, 89, 100, 111, 100], False),  # a range of 22 % on a nearly flat line
        ([0, 0, 0, 0, 0], False),
    ],
)
def test_rounds_are_steady_or_not(rounds: list[float], is_steady: bool) -> None:
    assert steady(rounds) is is_steady


@given(rates, st.floats(1e-3, 1e3))
def test_the_unit_of_a_rate_changes_no_verdict(rounds: list[float], factor: float) -> None:
    assert spread([rate * factor for rate in rounds]) == pytest.approx(spread(rounds), rel=1e-6, abs=1e-6)


@given(rates)
def test_backwards_is_as_steady_as_forwards(rounds: list[float]) -> None:
    assert spread(rounds[::-1]) == pytest.approx(spread(rounds), rel=1e-6, abs=1e-6)


@given(rates)
def test_the_line_never_rises_by_more_than_the_rounds_would_allow(rounds: list[float]) -> None:
    range_ratio, excursion_ratio = spread(rounds)
    assert excursion_ratio <= 1.2 * range_ratio + 1e-9  # two rounds low, two high: the steepest line of five points


@given(st.lists(st.floats(0.0, 1e9), max_size=30))
def test_the_first_steady_rounds_are_found_and_none_before_them(rounds: list[float]) -> None:
    start = first_steady(rounds)
    before = range(len(rounds) - 4 if start is None else start)
    assert not any(steady(rounds[n : n + 5]) for n in before)
    assert start is None or steady(rounds[start : start + 5])


def test_a_drive_that_slows_down_is_steady_only_when_it_has_settled() -> None:
    assert first_steady([400, 300, 200, 150, 120, 101, 100, 100, 99, 100, 100]) == 5
    assert first_steady([100, 100, 100, 100]) is None
