"""The first screen's answers: what differs between file systems is stated once, and each answer says that
it does.
"""

import re

import pytest

from perjoule.model import Cell, Redundancy
from perjoule.report.answers import _sentence, redundancy
from perjoule.statistics.intervals import interval
from perjoule.statistics.winners import Finding, winners

WRITTEN = {
    "a": (100.0, 101.0, 99.0, 100.0, 100.5),
    "b": (50.0, 50.5, 49.5, 50.0, 50.2),
    "c": (99.0, 103.0, 96.0, 101.0, 98.0),
}


def cell(name: str, copies: int) -> Cell:
    rates = [value * 2**20 for value in WRITTEN[name]]
    metrics = {
        "throughput_bytes_per_s": interval(rates),
        "efficiency_bytes_per_j": interval([rate / 40 for rate in rates]),
    }
    return Cell(name, "fio", "write", 1, metrics, grade="modelled", redundancy=Redundancy(copies))


def said(*cells: Cell) -> str:
    keys = ("throughput_bytes_per_s", "efficiency_bytes_per_j")
    found: list[Finding] = [one for key in keys for one in winners([], cells, key)]
    return _sentence(found, cells)


@pytest.mark.parametrize("others", ["b", "c", "bc"])
def test_an_answer_says_once_that_redundancy_differs_and_not_in_what(others: str) -> None:
    cells = [cell("a", 1), *(cell(name, 2) for name in others)]
    assert said(*cells).count("redundancy differs") == 1
    assert said(*cells).endswith("; redundancy differs.")
    assert Redundancy(2).text not in said(*cells)
    words, warning = redundancy(cells)
    assert warning and words.count(Redundancy(2).sentence) == 1


def test_an_answer_about_equals_in_redundancy_says_nothing_of_it() -> None:
    assert "redundancy" not in said(cell("a", 2), cell("b", 2))


def test_what_is_not_clear_puts_the_ratio_next_to_whom_it_is_with() -> None:
    words = said(cell("a", 1), cell("b", 1), cell("c", 1))
    assert re.search(
        r" times c \(p = [\d.]+\): not significantly different from c; significantly better than b", words
    ), words
