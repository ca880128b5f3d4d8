"""Find promises of the threat model that no test holds. Exit code 1 when there is one.

Usage: python setup/threat_model.py [PAGE]. Each row of each table of the page is a promise, and its last
column names the tests that hold it, as `tests/PATH.py::test_name`; every test that the page names must exist,
and must not be skipped for good.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanations" / "threat-model.md"
COLUMN = "held by"
NAMED = re.compile(r"`(tests/[^`]+?\.py)::(\w+)`")
NEVER_RUN = {"skip", "xfail"}  # markers by which a test holds nothing


def faults(page: Path) -> Iterator[str]:
    """Describe each promise without a test and each test that is missing, with its line."""
    heading: list[str] = []
    if not NAMED.search(page.read_text()):
        yield f"{page}:1: the page has no promise with a test"
    for number, line in enumerate(page.read_text().splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and not heading and cells[-1] != COLUMN:
            yield (
                f'{page}:{number}: the last column of a table must be "{COLUMN}", because each row is a '
                "promise"
            )
        elif heading and len(cells) > 1 and set(line) - set("|-: ") and not NAMED.search(cells[-1]):
            yield (
                f'{page}:{number}: "{cells[-2][:60]}" has no test: name the one that holds it as '
                "`tests/PATH.py::test_name`"
            )
        heading = heading or cells if cells else []
        for path, test in NAMED.findall(line):
            if fault := lacking(path, test):
                yield f"{page}:{number}: {path}::{test} {fault}"


def lacking(path: str, test: str) -> str:
    """Return what keeps a test from holding anything; "" if nothing does."""
    if not (ROOT / path).is_file():
        return "is in no file of that name"
    if (markers := _markers(path).get(test)) is None:
        return "does not exist"
    return (
        f"is marked {' and '.join(sorted(markers & NEVER_RUN))}, so it holds nothing"
        if markers & NEVER_RUN
        else ""
    )


@cache
def _markers(path: str) -> dict[str, set[str]]:
    """Give the names of the decorators of each test in a file."""
    tests = (node for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef))
    return {test.name: set(_names(test.decorator_list)) for test in tests}


def _names(tags: list[ast.expr]) -> Iterator[str]:
    yield from (node.attr for tag in tags for node in ast.walk(tag) if isinstance(node, ast.Attribute))


def main(names: list[str]) -> int:
    """Print each fault."""
    lines = [fault for page in map(Path, names or [str(PAGE)]) for fault in faults(page)]
    print(*lines, sep="\n", end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
