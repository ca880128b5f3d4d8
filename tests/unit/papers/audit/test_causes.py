"""The slip that an audit names for a number that does not follow: each kind planted, and a little less
than it.
"""

import pytest

from perjoule.papers import published
from perjoule.papers.audit import audit

PAPER = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[[table]]
place = "Table I"
common = {{ cluster = "box" }}
number = [
  {{ id = "each", quantity = "throughput", printed = "110.40 MiB/s", what = "each" }},
  {{ id = "nodes", quantity = "count", printed = "4", what = "nodes" }},
  {{ id = "racks", quantity = "count", printed = "3", what = "racks" }},
  {{ id = "lone", quantity = "count", printed = "1", what = "lone" }},
  {{ id = "first", quantity = "power", printed = "50.0 W", state = "idle", row = "first" }},
  {{ id = "second", quantity = "power", printed = "62.0 W", state = "idle", row = "second" }},
  {{ id = "switch", quantity = "power", printed = "15.5 W", state = "idle", component = "switch" }},
  {{ id = "part", quantity = "ratio", printed = "1.740", what = "part" }},
  {{ id = "hours", quantity = "duration", printed = "20.0 s", row = "first" }},
]

[[table]]
place = "Table II"
common = {{ cluster = "box" }}
number = [{{ id = "x", quantity = "{quantity}", printed = "{printed}", what = "x", derived = "{derived}" }}{more}]
"""


def cause(printed, derived="each * nodes", quantity="throughput", more=""):
    """The likely cause, or "agrees"; 441.6 MiB/s would be right of four nodes of 110.40."""
    text = PAPER.format(printed=printed, derived=derived, quantity=quantity, more=more)
    (found,) = [v for v in audit(published.read(text, "invented")) if v.id == "x" and v.rule == "as stated"]
    return "agrees" if found.kind == "agrees" else found.cause


@pytest.mark.parametrize(
    ("printed", "likely"),
    [
        ("441.6 MiB/s", "agrees"),
        ("3532.8 MiB/s", "bits printed as bytes"),
        ("55.2 MiB/s", "bytes printed as bits"),
        ("452.2 MiB/s", "kB printed as KiB"),
        ("431.3 MiB/s", "KiB printed as kB"),
        ("463.1 MiB/s", "MB printed as MiB"),
        ("421.1 MiB/s", "MiB printed as MB"),
        ("474.2 MiB/s", "GB printed as GiB"),
        ("411.3 MiB/s", "GiB printed as GB"),
        ("485.5 MiB/s", "TB printed as TiB"),
        ("401.6 MiB/s", "TiB printed as TB"),
        ("4416.0 MiB/s", "the decimal point one place off"),
        ("44.2 MiB/s", "the decimal point one place off"),
        ("44160.0 MiB/s", "the decimal point two places off"),
        ("4.4 MiB/s", "the decimal point two places off"),
        ("441600.0 MiB/s", "a prefix wrong by 1000"),
        ("0.4 MiB/s", "a prefix wrong by 1000"),
        ("441 MiB/s", "cut off, not rounded"),
        ("440 MiB/s", "cut off, not rounded"),
        ("446.6 MiB/s", "one digit: 446.6 for 441.6"),
        ("444.9 MiB/s", ""),
        ("414.6 MiB/s", "two digits exchanged: 414.6 for 441.6"),
        ("431.7 MiB/s", ""),
        ("110.4 MiB/s", "1 instead of 4 nodes"),
        ("331.2 MiB/s", "3 instead of 4 nodes"),
        ("552.0 MiB/s", "5 instead of 4 nodes"),
        ("662.4 MiB/s", ""),
    ],
)
def test_a_slip_of_units_digits_and_counts_is_named(printed, likely):
    assert cause(printed) == likely


@pytest.mark.parametrize(
    ("printed", "derived", "quantity", "likely"),
    [
        ("1104 W", "first + second", "power", ""),
        ("896 J", "first * 17.5", "energy", ""),  # 1.024 times: no bytes
        ("110.4 MiB/s", "each * nodes * racks", "throughput", "each kind counted once"),
        ("441.6 MiB/s", "each * nodes * racks", "throughput", "1 instead of 3 racks"),
        ("999 MiB/s", "each / lone", "throughput", ""),
        ("490 MiB/s", "each * 4.502", "throughput", "cut off, not rounded"),
        ("497.1 MiB/s", "each * 4.5035", "throughput", "cut off, not rounded"),  # 497.19
        (
            "1240 J",
            "first * hours",
            "energy",
            "computed with 62.0 W (row second) instead of 50.0 W (row first)",
        ),
        ("1310 J", "first * hours", "energy", "50.0 W taken with the switch"),
        ("690 J", "first * hours", "energy", "50.0 W taken without the switch"),
        ("0.806", "second / first", "ratio", "operands exchanged"),
        ("12.0", "first - second", "ratio", "operands exchanged"),
        ("187.0 %", "part / 2", "gain", "the whole counted in"),
        ("74.0 %", "part", "gain", "the whole left out"),
        ("187.0 %", "part / 2", "share", "the whole counted in"),
        ("1.9", "part / 2", "ratio", "the whole counted in"),
        ("1.9 W", "part / 2", "power", ""),
        ("5.2", "part * 3", "ratio", "agrees"),
        ("5.8", "part * 3", "ratio", ""),  # two digits are too easily alike
        ("5.86", "part * 3", "ratio", ""),
        ("5.32", "part * 3", "ratio", "one digit: 5.32 for 5.22"),
    ],
)
def test_a_slip_of_rows_wholes_and_operands_is_named(printed, derived, quantity, likely):
    assert cause(printed, derived, quantity) == likely


def test_a_number_printed_twice_is_named_by_what_the_other_is_of():
    other = ', { id = "y", quantity = "throughput", printed = "777.7 MiB/s", what = "y" }'
    assert cause("777.7 MiB/s", more=other) == "the number of what y printed again"
    assert cause("777.8 MiB/s", more=other) == ""


def test_approximate_numbers_have_no_digits_to_compare():
    assert cause("~700.0 MiB/s") == ""
    assert cause("~440 MiB/s") == "agrees"


def test_a_number_of_too_many_digits_has_no_digits_to_compare():
    """It is infinite in 64 bits."""
    huge = f', {{ id = "huge", quantity = "throughput", printed = "{"9" * 400} MiB/s", what = "huge" }}'
    assert cause("441.6 MiB/s", "huge", more=huge) == ""
