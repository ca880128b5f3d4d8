"""What holds for every test: it lies where the package has what it tests, and it can fail."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from places import SOURCES, TESTS

UNIT = TESTS / "unit"
FILES = sorted(TESTS.rglob("test_*.py"))
SHARED = [path for path in TESTS.rglob("*.py") if path not in FILES]  # what several files of tests call
SKIPS = {"skip", "skipif", "importorskip", "xfail"}
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}


class Function(NamedTuple):
    name: str
    asserted: list[ast.expr]
    called: set[str]

    @property
    def checks(self) -> bool:
        return bool(self.asserted) or "raises" in self.called


def where(path: Path) -> str:
    return str(path.relative_to(TESTS))


@cache
def functions(path: Path) -> tuple[Function, ...]:
    tree = ast.parse(path.read_text())
    return tuple(function(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def function(node: ast.FunctionDef) -> Function:
    asserted = [one.test for one in ast.walk(node) if isinstance(one, ast.Assert)]
    return Function(node.name, asserted, called(node))


def called(node: ast.AST) -> set[str]:
    """The last names of what is called."""
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def own(path: Path) -> Iterator[Function]:
    return (one for one in functions(path) if one.name.startswith("test_"))


def unchecked(path: Path) -> list[str]:
    """The tests that neither check anything nor call what does."""
    known = [one for file in (path, *SHARED) for one in functions(file)]
    checking = {one.name for one in known if one.checks}
    while more := {one.name for one in known if one.called & checking} - checking:
        checking |= more
    return [one.name for one in own(path) if one.name not in checking]


@pytest.mark.parametrize("path", [path for path in FILES if path.is_relative_to(UNIT)], ids=where)
def test_unit_tests_lie_in_a_room_that_exists(path: Path) -> None:
    room = path.parent.relative_to(UNIT)
    assert path.parent != UNIT, "move it to the room of the module that it tests"
    assert (SOURCES / room).is_dir(), f"src/perjoule/{room} does not exist; move the test to where its module has moved"


@pytest.mark.parametrize("path", FILES, ids=where)
def test_every_test_checks_something(path: Path) -> None:
    assert unchecked(path) == []


@pytest.mark.parametrize("path", [path for path in FILES if "live" not in path.parts], ids=where)
def test_an_assertion_takes_one_outcome_and_no_clock_decides_it(path: Path) -> None:
    """What real programs do may differ from run to run, so tests/live may take either outcome."""
    asserted = [one for test in own(path) for one in test.asserted]
    either = [one for one in asserted if isinstance(one, ast.BoolOp) and isinstance(one.op, ast.Or)]
    among = [one for one in asserted if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.In)]
    either += [one for one in among if isinstance(one.comparators[0], ast.Tuple | ast.Set | ast.List)]
    assert [ast.unparse(one) for one in either] == []
    assert [ast.unparse(one) for one in asserted if called(one) & CLOCKS] == []


@pytest.mark.parametrize("path", [*FILES, *SHARED], ids=where)
def test_every_skip_has_its_reason_beside_it(path: Path) -> None:
    """It names what is missing, and how to get it."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    skips = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in SKIPS]
    reasons = [call.args if ast.unparse(call.func) == "pytest.skip" else [key.arg for key in call.keywords] for call in skips]
    silent = [call for call, said in zip(skips, reasons, strict=True) if not said]
    assert [ast.unparse(call) for call in silent] == []
