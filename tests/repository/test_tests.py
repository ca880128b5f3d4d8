"""Every test can fail: it checks something, takes one outcome, and no clock decides it."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from places import TESTS

FILES = sorted(TESTS.rglob("test_*.py"))
SHARED = [path for path in TESTS.rglob("*.py") if path not in FILES]  # what several files of tests call
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}
# of what happened, by a clock that the code has read
TOOK = re.compile(r"(?P<event>.+)\.(ended_s - (?P=event)\.began_s|late_s)")


class Function(NamedTuple):
    name: str
    asserted: list[ast.expr]
    called: set[str]
    clocked: tuple[set[str], set[str]]

    @property
    def checks(self) -> bool:
        return bool(self.asserted) or "raises" in self.called


def found(paths: Iterable[Path], faults: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """The faults by file, of files that have any."""
    return {str(path.relative_to(TESTS)): each for path in paths if (each := faults(path))}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def functions(path: Path) -> tuple[Function, ...]:
    return tuple(function(node) for node in statements(tree(path)) if isinstance(node, ast.FunctionDef))


def statements(within: ast.AST) -> Iterator[ast.AST]:
    """All but expressions, which are most of a tree and hold no statement."""
    for node in ast.iter_child_nodes(within):
        if not isinstance(node, ast.expr):
            yield node
            yield from statements(node)


def function(node: ast.FunctionDef) -> Function:
    within = list(ast.walk(node))
    return Function(
        node.name,
        [one.test for one in within if isinstance(one, ast.Assert)],
        called(within),
        clocked(within),
    )


def called(within: Iterable[ast.AST]) -> set[str]:
    """The last names of what is called."""
    calls = [one.func for one in within if isinstance(one, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def own(path: Path) -> Iterator[Function]:
    return (one for one in functions(path) if one.name.startswith("test_"))


def checking(known: Iterable[Function], already: set[str] | frozenset[str]) -> set[str]:
    """The names of functions that check something or call what does."""
    found = {*already, *(one.name for one in known if one.checks)}
    while more := {one.name for one in known if one.called & found} - found:
        found |= more
    return found


@cache
def shared() -> frozenset[str]:
    return frozenset(checking([one for path in SHARED for one in functions(path)], set()))


def unchecked(path: Path) -> list[str]:
    known = checking(functions(path), shared())
    return [one.name for one in own(path) if one.name not in known]


def loose(path: Path) -> list[str]:
    """Assertions that take one outcome or another, or that a clock decides."""
    asserted = [one for test in own(path) for one in test.asserted]
    either = [one for one in asserted if isinstance(one, ast.BoolOp) and isinstance(one.op, ast.Or)]
    among = [one for one in asserted if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.In)]
    either += [one for one in among if isinstance(one.comparators[0], ast.Tuple | ast.Set | ast.List)]
    timed = [
        one
        for test in own(path)
        for one in test.asserted
        if called(ast.walk(one)) & CLOCKS or late(one, test.clocked)
    ]
    return [ast.unparse(one) for one in (*either, *timed)]


def clocked(within: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names of what a clock showed, and of the differences between such times."""
    pairs = [
        pair for one in within if isinstance(one, ast.Assign) for pair in assigned(one.targets[0], one.value)
    ]
    times, durations = set[str](), set[str]()
    for name, value in pairs * 2:  # one may be assigned above the time that it is taken from, in a loop
        if lasting(value, times, durations):
            durations.add(name)
        elif called([value]) & CLOCKS:
            times.add(name)
    return times, durations


def assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from assigned(one, other)


def lasting(value: ast.expr, times: set[str], durations: set[str]) -> bool:
    """Whether it is how long something took, by a clock that the test has read."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        return all(
            called([one]) & CLOCKS or (isinstance(one, ast.Name) and one.id in times)
            for one in (value.left, value.right)
        )
    return isinstance(value, ast.Name) and value.id in durations


def late(asserted: ast.expr, clocked: tuple[set[str], set[str]]) -> bool:
    """Whether it fails where something takes longer, as on a busy machine."""
    for one in (node for node in ast.walk(asserted) if isinstance(node, ast.Compare)):
        sides = [one.left, *one.comparators]
        for left, op, right in zip(sides, one.ops, sides[1:], strict=False):
            lesser = (
                left
                if isinstance(op, ast.Lt | ast.LtE)
                else right
                if isinstance(op, ast.Gt | ast.GtE)
                else None
            )
            if lesser is not None and (lasting(lesser, *clocked) or TOOK.fullmatch(ast.unparse(lesser))):
                return True
    return False


def test_every_test_checks_something() -> None:
    assert found(FILES, unchecked) == {}


def test_an_assertion_takes_one_outcome_and_no_clock_decides_it() -> None:
    """What real programs do may differ from run to run, so tests/live may take either outcome."""
    assert found((path for path in FILES if "live" not in path.parts), loose) == {}


def test_what_is_wrong_with_a_test_is_found(tmp_path: Path) -> None:
    one = tmp_path / "test_one.py"
    one.write_text("""
def test_nothing(): build()
def test_either(): assert a or b
def test_among(): assert a in (1, 2)
def test_late(): assert time.monotonic() < 5
def test_took():
    began_s = time.monotonic()
    took_s, words = time.monotonic() - began_s, run()
    assert took_s < 10
    assert 0.2 < took_s
    assert 5 > time.monotonic() - began_s
def test_event(): assert event.ended_s - event.began_s < 0.2
def test_event_in_time(): assert all(one.late_s < 0.2 for one in events)
def test_order():
    before_s = time.monotonic()
    assert before_s - 0.01 <= read().t_s <= before_s + 1
def helper(): assert a
def test_by_a_helper(): helper()
def test_raised():
    with pytest.raises(OSError): build()
""")
    assert unchecked(one) == ["test_nothing"]
    timed = ["time.monotonic() < 5", "took_s < 10", "5 > time.monotonic() - began_s"]
    timed += ["event.ended_s - event.began_s < 0.2", "all((one.late_s < 0.2 for one in events))"]
    assert loose(one) == ["a or b", "a in (1, 2)", *timed]
