"""What a printed number is in SI units, by the definitions of these; and words about numbers and claims."""

from math import inf
from typing import Any

import pytest

from perjoule.papers import published
from perjoule.papers.published import QUANTITIES, Axis, Claim

PAPER = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[[table]]
place = "Table I"
number = [{{ id = "x", quantity = "{quantity}", printed = "{printed}", statistic = "{statistic}" }}]
"""


def number(quantity: str, printed: str, statistic: str = "nominal"):
    text = PAPER.format(quantity=quantity, printed=printed, statistic=statistic)
    return published.read(text, "invented").number("x")


NUMBERS = [
    ("throughput", "2 MiB/s", 2 * 1024**2),
    ("power", "3 W", 3.0),
    ("energy", "3 J", 3.0),
    ("efficiency", "2 MiB/J", 2 * 1024**2),
    ("energy-delay product", "7 J s", 7.0),
    ("capacity", "2 TB", 2e12),
    ("capacity per watt", "2 TiB/W", 2 * 1024**4),
    ("size", "64 kB", 64e3),
    ("memory", "2 GiB", 2 * 1024**3),
    ("duration", "5 s", 5.0),
    ("frequency", "2 GHz", 2e9),
    ("rotation", "7200 rpm", 120.0),
    ("voltage", "12 V", 12.0),
    ("current", "2 A", 2.0),
    ("cost", "100 EUR", 100.0),
    ("count", "4", 4.0),
    ("share", "40 %", 0.4),
    ("gain", "174 %", 1.74),
    ("saving", "40 %", 0.4),
    ("ratio", "2.68 times", 2.68),
    ("length", "3.5 inch", 0.0889),
    ("network received", "2", 2.0),
    ("network sent", "2", 2.0),
    ("disk read", "2", 2.0),
    ("disk written", "2", 2.0),
    ("disk use", "40 %", 0.4),
]


@pytest.mark.parametrize(("quantity", "printed", "value"), NUMBERS)
def test_a_number_of_any_quantity_is_in_si_units(quantity, printed, value):
    assert number(quantity, printed).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("printed", "low", "high"), [("< 50 kW", 0.0, 50e3), ("> 50 kW", 50e3, inf), ("50 kW", 49.5e3, 50.5e3)]
)
def test_a_limit_is_anything_up_to_it_or_above(printed, low, high):
    found = number("power", printed, "mean")
    assert (found.low, found.high) == (low, high)


def test_these_are_all_quantities():
    assert [quantity for quantity, *_ in NUMBERS] == list(QUANTITIES)


@pytest.mark.parametrize(
    ("statistic", "extreme"),
    [
        ("maximum", "maximum"),
        ("minimum of all iterations", "minimum"),
        ("mean", ""),
        ("mean of maximum and minimum", ""),
        ("unknown", ""),
    ],
)
def test_an_extreme_is_the_largest_or_the_smallest_of_whatever_it_is(statistic, extreme):
    assert number("power", "3 W", statistic).extreme == extreme


@pytest.mark.parametrize(
    ("cases", "allowed"),
    [
        ("all", (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        ("nearly all", (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2)),
        ("most", (0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4)),
    ],
)
def test_one_in_five_or_fewer_than_half_may_be_reversed(cases: Any, allowed):
    claim = Claim("section 1", "so it is", "above", cases=cases)
    assert tuple(claim.allowed_count(count) for count in range(11)) == allowed


@pytest.mark.parametrize(
    ("quantity", "unit", "ends", "words"),
    [
        ("power", "W", (40.0, 62.0), "40 to 62 W"),
        ("throughput", "MiB/s", (0.0, 400 * 1024**2), "0 to 400 MiB/s"),
        ("share", "%", (0.1, 0.9), "10 to 90 %"),
        ("ratio", "", (0.5, 2.0), "0.5 to 2"),
    ],
)
def test_an_axis_is_told_in_the_unit_that_its_figure_prints(quantity, unit, ends, words):
    assert Axis(quantity, ends[0], ends[1], 0.0, unit, "linear", "bound").words == words
