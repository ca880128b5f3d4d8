"""One module prints numbers (perjoule/model/format.py), so that a quantity has the same digits wherever it stands."""

import ast
import re
from collections.abc import Iterator

import pytest

from places import SOURCES

PRINTING = ("cli", "figures", "monitoring", "planning", "publishing", "report", "results", "tuning", "views")
DIGITS = re.compile(r"\.(\d+|\{.*\})[gfe%]$")
# What has digits of its own, and why.
ALLOWED = {
    "cli/machine.py": "a duration to a tenth of a second",
    "cli/meters/_plot.py": "a duration in whole seconds",
    "cli/meters/quality.py": "milliseconds; two meters' ratio, whose error is a few tenths of a percent",
    "cli/meters/recording.py": "a clock's offset and drift, as its tool prints them",
    "cli/terminal/progress.py": "a line that is drawn again, and must keep its width",
    "monitoring/drawing.py": "data of a figure: fewer bytes in a page",
    "planning/enumeration.py": "a limit as the user wrote it",
    "planning/measuring.py": "options of a campaign, with as many digits as their values are known to",
    "planning/texts.py": "losses a year, of which not even the first digit is sure",
    "results/comparison/table.py": "an effect size, which has no unit",
    "results/table.py": "a share that is known to a few percent only",
    "views/performance/muons.py": "masses of particles with the digits that physics gives them, and watt-hours of a small job",
    "results/paper_comparison.py": "Kendall's tau, which has no unit",
    "results/scores.py": "a skill and Kendall's tau, which have no unit",
    "views/performance/amplification.py": "bytes per byte, in a column with what redundancy explains",
    "tuning/outcome.py": "a gain, of which the third decimal counts",
}


def printed(text: str) -> Iterator[str]:
    """What a module prints with a number of digits that it chooses itself."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            spec = ast.unparse(node.format_spec)[2:-1]
            if DIGITS.search(spec):
                yield f"{ast.unparse(node.value)}:{spec}"


FOUND = {
    str(path.relative_to(SOURCES)): own
    for room in PRINTING
    for path in sorted((SOURCES / room).rglob("*.py"))
    if (own := sorted(printed(path.read_text())))
}


@pytest.mark.parametrize("name", FOUND)
def test_numbers_are_printed_by_the_module_for_it(name: str) -> None:
    advice = "print them by perjoule.model.format (number, percent, ...), or say above why their digits are others"
    assert name in ALLOWED, f"{name} has digits of its own in {FOUND[name]}: {advice}"


def test_each_exception_is_needed() -> None:
    assert not ALLOWED.keys() - FOUND.keys(), "these print no digits of their own any more: take them out of ALLOWED"


@pytest.mark.parametrize("text", ['f"{watts:.2f} W"', 'f"{watts:{width}.{digits}g} W"', 'f"{share:+.1%}"', 'f"{watts:,.0f}"'])
def test_digits_that_a_module_chooses_itself_are_found(text: str) -> None:
    assert len(list(printed(text))) == 1


@pytest.mark.parametrize("text", ['f"{number(watts)} W"', 'f"{scale:g}"', 'f"{name:>12}"', 'f"{count:,}"', 'f"{at:%H:%M}"'])
def test_other_formats_are_not_taken_for_digits(text: str) -> None:
    assert list(printed(text)) == []
