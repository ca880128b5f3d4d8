"""Numbers as text: the digits that tables, figures, pages and messages share."""

from math import inf

import pytest

from perjoule.model import Interval
from perjoule.model.format import (
    above_text,
    any_number,
    estimate,
    like,
    number,
    percent,
    ratio_text,
    span_text,
    uncertainty_text,
    with_band,
    with_half,
    with_repetitions,
)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1.0, "1.00"),
        (0.9999999, "1.00"),
        (0.9996, "1.00"),
        (0.9994, "0.999"),
        (0.994, "0.994"),
        (99.994, "99.99"),
        (99.996, "100.0"),
        (999.94, "999.9"),
        (999.96, "1000"),
        (-0.9999999, "-1.00"),
        (0.0, "0"),
        (-0.0, "0"),
        (-2.2e-16, "0"),
        (4e-4, "0.000"),
        (-4e-4, "0.000"),
    ],
)
def test_what_rounds_to_one_is_printed_as_one_is(value, printed):
    assert number(value) == printed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9, "0.900"),
        (0.0123, "0.0123"),
        (0.00123456, "0.00123"),
        (0.000123456, "0.000123"),
        (8, "8.00"),
        (325.2, "325.2"),
        (0, "0"),
    ],
)
def test_a_number_of_any_size_has_digits_that_count(value: float, text: str) -> None:
    assert any_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(5.3624, "5.36"), (5.0, "5"), (999.6, "1 000"), (13_371, "13 400"), (1_234_567, "1 230 000")],
)
def test_an_estimate_has_three_digits_in_groups(value: float, text: str) -> None:
    assert estimate(value) == text


@pytest.mark.parametrize(
    ("band", "text"),
    [
        ((103.7, 25.55, 111.3), "104 (26–111)"),
        ((2.02, 0.585, 2.46), "2.02 (0.58–2.46)"),
        ((809.0, 625.0, 1084.0), "809 (625–1 084)"),
        ((5083.0, 1127.0, 11_932.0), "5 080 (1 130–11 900)"),
        ((0.0, 0.0, 3.0), "0 (0–3)"),
    ],
)
def test_an_estimate_and_its_band_have_the_same_decimals(band: tuple[float, float, float], text: str) -> None:
    assert with_band(*band) == text


def test_an_interval_is_printed_with_the_digits_of_its_numbers_and_left_out_if_unknown() -> None:
    assert span_text(Interval(2.5, 2.0, 3.0, (2.4, 2.6))) == "2.50 (2.00 to 3.00)"
    assert span_text(Interval(2500, 2000, 3000, (2400, 2600)), per=1000) == "2.50 (2.00 to 3.00)"
    assert span_text(Interval(2.5, -inf, inf, (2.5,))) == "2.50"


def test_a_small_mean_has_three_digits_or_those_that_its_interval_carries() -> None:
    """40 MiB/s at 20.5 kW: "0.002 MiB/J" could be anything from 0.0015 to 0.0025."""
    assert with_half(40.07 / 20_482, inf) == "0.00196 ± ?"
    assert with_half(0.001934, 0.00007) == "0.00193 ± 0.00007"
    assert with_half(0.04239, 0.0021) == "0.0424 ± 0.0021"
    assert with_half(0.001934, 0.0004) == "0.00193 ± 0.00040"
    assert with_half(0.0, 0.0) == "0 ± 0"
    assert (
        with_repetitions(Interval(0.0024, 0.0, 1.0, (0.0019, 0.0021, 0.0034))) == "0.00210 (0.00190–0.00340)"
    )


def test_a_ratio_has_a_third_decimal_where_its_interval_is_narrow() -> None:
    assert ratio_text(Interval(1.25, 1.2, 1.3, ())) == "1.25 (1.20 to 1.30)"
    assert ratio_text(Interval(1.01, 1.0, 1.02, ())) == "1.010 (1.000 to 1.020)"
    assert ratio_text(Interval(1.01, -inf, inf, ())) == "1.01"
    assert above_text(Interval(1.12, 1.091, 1.15, ())) == "+12 % (+9.1 to +15)"


def test_a_share_in_percent_has_the_requested_decimals() -> None:
    assert [
        percent(0.12345),
        percent(0.12345, 1),
        percent(0.05, sign=True),
        percent(-0.05, 1, sign=True),
    ] == [
        "12",
        "12.3",
        "+5",
        "-5.0",
    ]


def test_a_relative_uncertainty_has_two_digits_that_count() -> None:
    found = {1: "100", 0.123: "12", 0.0996: "10", 0.0994: "9.9", 0.0297: "3.0", 0.000123: "0.012"}
    assert {ratio: uncertainty_text(ratio) for ratio in found} == found


def test_an_uncertainty_has_the_decimals_of_its_mean() -> None:
    assert like(0.123456, "12.34 ± 0.05") == "0.12"
    assert like(0.123456, "1234") == "0"
