"""A rule of ruff or basedpyright that is silenced has its reason beside it, as a comment in its line or the one above."""

import re
from collections.abc import Iterator
from pathlib import Path

from places import ROOT

ROOMS = ("src", "tests", "benchmarks", "setup")
SILENCER = re.compile(r"# (?:noqa\b(?:: [A-Z0-9, ]+)?|pyright: ignore(?:\[[^\]]*\])?)")
UNKNOWN = re.compile(r"# pyright: ignore\[(?:reportUnknown\w+(?:, )?)+\]")  # its own reason: input or a library without types


def unexplained(text: str) -> Iterator[int]:
    """The numbers of the lines with a silencer and no reason."""
    above = ""
    for number, line in enumerate(text.splitlines(), start=1):
        silencer = SILENCER.search(UNKNOWN.sub("", line))
        if silencer and "# " not in SILENCER.sub("", line[silencer.start() :]) and not above.startswith("#"):
            yield number
        above = line.strip()


def test_every_silenced_rule_has_its_reason_beside_it() -> None:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path != Path(__file__)]
    assert [f"{path.relative_to(ROOT)}:{n}" for path in paths for n in unexplained(path.read_text())] == []


def test_a_rule_that_is_silenced_without_a_reason_is_found() -> None:
    text = """\
import pysnmp  # noqa: F401
import pysnmp  # noqa: F401  # only to see whether it is there
# only to see whether it is there
import pysnmp  # noqa: F401  # pyright: ignore[reportUnusedImport]
import pysnmp  # noqa: F401  # pyright: ignore[reportUnusedImport]
said = said[step]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
if value < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
"""
    assert list(unexplained(text)) == [1, 5, 7]
