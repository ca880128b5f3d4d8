"""Find promises of the threat model that no test holds. Exit code 1 when there is one.

Usage: python setup/threat_model.py [PAGE]. Below "What each may not do", each item of a list is a promise
that ends with the tests that hold it, as `tests/PATH.py::test_name`, and there is no table. Every test that
the page names must exist, and must not be skipped for good.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanations" / "threat-model.md"
BEGINS = "## What each may not do"  # the first promises
NAMED = re.compile(r"`(tests/[^`]+?\.py)::(\w+)`")
NEVER_RUN = {"skip", "xfail"}  # markers by which a test holds nothing


def faults(page: Path) -> Iterator[str]:
    """Describe each promise without a test and each test that is missing, with its line."""
    lines = page.read_text().splitlines()
    if not NAMED.search("\n".join(lines)):
        yield f"{page}:1: the page has no promise with a test"
    promises = lines.index(BEGINS) if BEGINS in lines else len(lines)
    for number, line in enumerate(lines, 1):
        if number > promises and line.startswith("|"):
            yield f"{page}:{number}: write a promise as an item of a list, not as a row"
        elif number > promises and line.startswith("- ") and not NAMED.search(_item(lines[number - 1 :])):
            yield (
                f'{page}:{number}: "{line[2:62]}" has no test: name the one that holds it as '
                "`tests/PATH.py::test_name`"
            )
        for path, test in NAMED.findall(line):
            if fault := lacking(path, test):
                yield f"{page}:{number}: {path}::{test} {fault}"
    if BEGINS not in lines:
        yield f'{page}:1: the page has no heading "{BEGINS}"'


def _item(lines: list[str]) -> str:
    """Join the first line with those that continue it."""
    return "\n".join([lines[0], *takewhile(lambda line: line.startswith("  "), lines[1:])])


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
