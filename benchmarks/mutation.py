"""Change one constant or operator at a time in the code that computes numbers, and count the changes that a
test detects.

A test suite that stays green on wrong code proves nothing. A mutant is the package with one change: a number
made 10 % larger (an integer by 1), an operator replaced by its opposite, a comparison or condition inverted.
Comparisons are inverted rather than changed from < to <=, because no value of a continuous quantity
distinguishes those. Tests that are slow, or need root or real daemons (`tests/live`), are excluded.

First, each mutant meets the tests near it: its own file's, those of files with its name, and those that import
the file and name most of what it defines, for 12 s of CPU time, heavy ones last. They are imported once; a fork
of that process puts the changed code into the functions. What no fork can change (constants, fields, defaults)
runs them on a copy of the package, without the heavy ones. What fails on the code as it is, is named and left out.

What they don't notice meets the files that follow in the same way, for 60 s. What these don't notice meets, on
a copy, all tests that run the changed line, or a line which names the changed constant or field, or the function
whose default is changed. Coverage.py finds these once; they are kept in `build/mutation`, room by room, so what
is interrupted goes on. After a change of the package, or of what tests share, all tests run again; after one of
tests, these alone.

A mutant that hangs is caught by its time, and named. One whose tests would take longer than --each runs the
first of them only. When --minutes are over, what runs has survived so far, and what has met no test yet is left
out.

usage: .venv/bin/python benchmarks/mutation.py [--count N] [--seed N] [--jobs N] [--near | --further]
       [--each SECONDS] [--minutes N] [--list] [PATH...]
PATH: files or folders below src/perjoule; by default what makes numbers (energy, trial, measures, statistics,
papers), modelled watts, and what virtual hosts are capped to and count. What starts, finds and removes
virtual hosts makes none.
"""

import argparse
import ast
import difflib
import importlib
import math
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

import pytest

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # instead of this folder, whose coverage.py is another one
from benchmarks._covering import EVERY, PACKAGE, ROOT, Covered, covering, test_files
from benchmarks._swapping import loaded

VIRTUAL = tuple(
    f"testbeds/virtual/{name}.py"
    for name in ("__init__", "cgroup/v1", "cgroup/v2", "cpu", "network", "topology")
)
DEFAULT = ("energy", "trial", "measures", "statistics", "papers", "meters/modelled.py", *VIRTUAL)
# times as long as its tests took before, and STARTING_S, may a mutant take; one that hangs them is caught
SLACK = 10.0
STARTING_S = 60.0
# how pytest runs on a copy of the package
ON_COPY = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-m",
    EVERY,
)
# tests near a mutant that also run on a copy of the package
QUICK = f"{EVERY} and not heavy"
# What a mutant's process finds imported, though pytest can't rewrite what it finds so.
READY = (
    "hypothesis",
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "pydantic",
    "rich.console",
    "scipy.special",
    "scipy.stats",
    "click",
)

OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutant:
    """One change: in which file (below the package), at which line, and the whole file with it."""

    path: str
    line: int
    change: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


@dataclass(frozen=True)
class Reach:
    """Which of the files of tests that are near a file, nearest first, and how much CPU time a mutant has for
    them.
    """

    name: str
    files: slice
    limit_s: float


NEAR = Reach("near it", slice(12), 12.0)
FURTHER = Reach("further off", slice(12, 48), 60.0)

Site = tuple[Path, int, int]  # a file, a node of its tree, one of the node's changes


def sites(path: Path) -> Iterator[Site]:
    """List what can be changed in a file. Annotations, docstrings and texts are left alone."""
    for number, node in enumerate(_nodes(ast.parse(path.read_text()))):
        yield from ((path, number, n) for n, _ in enumerate(_changes(node)))


def mutant(site: Site) -> Mutant:
    """Make one change."""
    path, number, n = site
    tree = ast.parse(path.read_text())
    before = ast.unparse(tree).splitlines()
    node = _nodes(tree)[number]
    field, replacement = list(_changes(node))[n]
    if isinstance(field, tuple):
        getattr(node, field[0])[field[1]] = replacement
    else:
        setattr(node, field, replacement)
    text = ast.unparse(ast.fix_missing_locations(tree))
    lines = [
        line
        for line in difflib.unified_diff(before, text.splitlines(), n=0, lineterm="")
        if line[:3] not in ("---", "+++")
    ]
    change = " => ".join(line[1:].strip() for line in lines if line[0] in "-+")
    return Mutant(str(path.relative_to(PACKAGE)), getattr(node, "lineno", 0), change, text)


def _nodes(tree: ast.AST) -> list[ast.AST]:
    passed = {id(node) for one in ast.walk(tree) for node in _annotations(one)}
    return [node for node in ast.walk(tree) if id(node) not in passed]


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if isinstance(found := getattr(node, name, None), ast.AST):
            yield from ast.walk(found)


def _changes(node: ast.AST) -> Iterator[tuple[str | tuple[str, int], object]]:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        yield "value", node.value + 1 if isinstance(node.value, int) else (node.value * 1.1 or 1.0)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPPOSITE:
        yield "op", OPPOSITE[type(node.op)]()
    elif isinstance(node, ast.Compare):
        yield from ((("ops", n), OPPOSITE[type(op)]()) for n, op in enumerate(node.ops))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "op", ast.UAdd()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("min", "max", "any", "all")
    ):
        other = {"min": "max", "max": "min", "any": "all", "all": "any"}[node.func.id]
        yield "func", ast.Name(other, ast.Load())


@dataclass(frozen=True)
class Plan:
    """Which tests a mutant is to run, of how many, and for how long at most."""

    mutant: Mutant
    tests: Sequence[str]
    tests_count: int
    longest_s: float


@dataclass(frozen=True)
class Ran(Covered):
    """Which tests may notice a change, and in which order they run."""

    def tests(self, changed: Mutant) -> list[str]:
        """Name the tests that may notice a change: those of the file's own place first, then those that
        take least.
        """
        there = self.lines.get(changed.path, {})
        names = there.get(changed.line, set()) | self._naming(changed) | self._defaulting(changed)
        names = names or set[str]().union(*there.values())
        by_file: dict[str, list[str]] = {}
        for name in sorted(names):
            by_file.setdefault(name.partition("::")[0], []).append(name)
        groups = {file: [file] if file in own else own for file, own in by_file.items()}
        module = Path(changed.path.removesuffix("/__init__.py")).with_suffix("")
        own_file = str(Path("tests/unit", module.parent, f"test_{module.name.strip('_')}.py"))
        ordered = sorted(groups, key=lambda file: (file != own_file, sum(map(self.seconds, groups[file]))))
        return [name for file in ordered for name in groups[file]]

    def plan(self, changed: Mutant, each_s: float) -> Plan:
        """Which tests a change is held against."""
        tests = self.tests(changed)
        chosen = self.within(tests, each_s)
        return Plan(changed, chosen, len(tests), STARTING_S + SLACK * sum(map(self.seconds, chosen)))

    def seconds(self, test: str) -> float:
        """How long a test took, or all tests of a file."""
        return self.took_s.get(test, 0.0) or self._files_s.get(test, 0.0)

    def within(self, tests: Sequence[str], limit_s: float) -> Sequence[str]:
        """The first of these tests that take no longer, and at least one."""
        total_s = list(accumulate(map(self.seconds, tests)))
        return tests[: max(1, bisect(total_s, limit_s))]

    @cached_property
    def _files_s(self) -> dict[str, float]:
        total_s: dict[str, float] = {}
        for test, took_s in self.took_s.items():
            file = test.partition("::")[0]
            total_s[file] = total_s.get(file, 0.0) + took_s
        return total_s

    def _naming(self, changed: Mutant) -> set[str]:
        """The tests that run a line which names a constant, or a field of a class, that is set in the
        changed line.
        """
        tree = ast.parse((PACKAGE / changed.path).read_text())
        bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
        made = [node for body in bodies for node in body if isinstance(node, ast.Assign | ast.AnnAssign)]
        own = [node for node in made if node.lineno <= changed.line <= (node.end_lineno or 0)]
        names = {
            n.id
            for one in own
            for n in ast.walk(one)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        where = {path: _naming_lines(PACKAGE / path) for path in self.lines} if names else {}
        return {
            t
            for path, lines in where.items()
            for name in names
            for n in lines.get(name, ())
            for t in self.lines[path].get(n, ())
        }

    def _defaulting(self, changed: Mutant) -> set[str]:
        """The tests that run a function of which a default is in the changed line: that line itself runs
        on import alone.
        """
        tree, there = ast.parse((PACKAGE / changed.path).read_text()), self.lines.get(changed.path, {})
        functions = [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        own = [one for one in functions if one.lineno <= changed.line < one.body[0].lineno]
        lines = {n for one in own for n in range(one.body[0].lineno, (one.end_lineno or 0) + 1)}
        return {test for n in lines for test in there.get(n, ())}


@cache
def _naming_lines(path: Path) -> dict[str, list[int]]:
    """The lines of a file in which each name is read."""
    found: dict[str, list[int]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node.lineno)
    return found


@dataclass(frozen=True)
class Verdict:
    """By what a mutant was noticed, if at all."""

    plan: Plan
    by: Literal["", "a test", "its time"]


Run = Callable[[Plan, Path], None]
"""What the process of a mutant does, with a folder of its own: it ends with 0 unless a test failed."""


def verdicts(plans: Sequence[Plan], run: Run, jobs: int, until_s: float = math.inf) -> Iterator[Verdict]:
    """Run each mutant's tests in a process of its own, this many at a time, and yield what became of it.

    What runs at `until_s` (of the monotonic clock) was not noticed, and what waits is left out.
    """
    fork = multiprocessing.get_context("fork")
    running: dict[int, tuple[Plan, BaseProcess, float, Callable[[], None]]] = {}
    waiting = list(reversed(plans))
    while (waiting and time.monotonic() < until_s) or running:
        while waiting and len(running) < jobs and time.monotonic() < until_s:
            plan = waiting.pop()
            if not plan.tests:
                yield Verdict(plan, "")
                continue
            made = tempfile.TemporaryDirectory(prefix="perjoule-mutant-", ignore_cleanup_errors=True)
            process = fork.Process(target=_apart, args=(run, plan, Path(made.name)))
            process.start()
            running[process.sentinel] = (plan, process, time.monotonic() + plan.longest_s, made.cleanup)
        connection.wait(list(running), timeout=max(0.0, min(5.0, until_s - time.monotonic())))
        for sentinel, (plan, process, late_s, cleanup) in list(running.items()):
            hangs, over = time.monotonic() >= late_s, time.monotonic() >= until_s
            alive = process.is_alive()
            if alive and not (hangs or over):
                continue
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)  # with all that its tests started
            process.join()
            del running[sentinel]
            cleanup()
            if alive:
                yield Verdict(plan, "its time" if hangs else "")
            else:
                yield Verdict(plan, "a test" if process.exitcode else "")


def _apart(run: Run, plan: Plan, folder: Path) -> None:
    """In a process of its own: run a mutant's tests, and print nothing."""
    os.setpgrp()
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    os.chdir(ROOT)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)  # for `tmp_path`
    run(plan, folder)
    os._exit(0)


def copied(plan: Plan, folder: Path) -> None:
    """Run tests on a copy of the package with a change."""
    sys.path[0] = os.environ["PYTHONPATH"] = str(_copy(folder, plan.mutant))
    os._exit(int(pytest.main([*ON_COPY, *plan.tests])))


def _anew(plan: Plan, folder: Path, left_out: Sequence[str] = ()) -> None:
    """Run the files of a mutant's tests but for some tests on a copy of the package, in place of this process."""
    files = dict.fromkeys(name.partition("::")[0] for name in plan.tests)
    environment = {**os.environ, "PYTHONPATH": str(_copy(folder, plan.mutant))}
    options = [*ON_COPY, "-m", QUICK, *_without(left_out)]
    os.execve(sys.executable, [sys.executable, "-m", "pytest", *options, *files], environment)


def failing(files: Sequence[str]) -> dict[str, list[str]]:
    """Name the quick tests of each of these files that fail on a copy of the code as it is."""
    options = [option for option in ON_COPY if option != "-x"]
    with tempfile.TemporaryDirectory(prefix="perjoule-mutant-") as made:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-m", QUICK, *files],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(_copy(Path(made)))},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode not in (0, 1):  # passed, some failed
        sys.exit(f"the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    summary = done.stdout.partition("short test summary info")[2]
    names = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", summary, re.MULTILINE)
    return {file: [name for name in names if name.partition("::")[0] == file] for file in files}


def _without(tests: Sequence[str]) -> list[str]:
    return [f"--deselect={name}" for name in tests]


def _copy(folder: Path, changed: Mutant | None = None) -> Path:
    """Put a copy of the package, with a change or none, into a folder, and return the folder."""
    shutil.copytree(PACKAGE, folder / "perjoule")  # with what is compiled already
    if changed is not None:
        (folder / "perjoule" / changed.path).write_text(changed.text)
    return folder


class Near:
    """A plugin of pytest that runs, in place of what it collected, mutants in forks of its process.

    What fails on the code as it is, file by file, is added to `known`.
    """

    def __init__(
        self,
        drawn: Sequence[Mutant],
        jobs: int,
        reach: Reach,
        until_s: float,
        known: dict[str, list[str]],
    ) -> None:
        self.verdicts: list[Verdict] = []
        self._drawn, self._jobs, self._reach, self._until_s = drawn, jobs, reach, until_s
        self._files = {changed.path: near(changed.path)[reach.files] for changed in drawn}
        self._every_file = sorted({file for files in self._files.values() for file in files})
        self._known, self._left_out = known, list[str]()

    def run(self) -> list[Verdict]:
        """Collect what is near, and run it, in a process of its own: the package stays unloaded in this one."""
        if not self._every_file:
            return [Verdict(Plan(changed, (), 0, 0.0), "") for changed in self._drawn]
        if fresh := [file for file in self._every_file if file not in self._known]:
            self._known |= failing(fresh)
        self._left_out = [name for file in self._every_file for name in self._known[file]]
        for name in self._left_out:
            _progress(f"left out, fails on the code as it is: {name}")
        fork = multiprocessing.get_context("fork")
        results, here = fork.Pipe(duplex=False)
        process = fork.Process(target=self._collect, args=(here,))
        process.start()
        here.close()
        try:
            return results.recv()
        except EOFError:
            sys.exit("the tests could not be collected")
        finally:
            process.join()

    def _collect(self, results: connection.Connection) -> None:
        options = ["-q", "-p", "no:cacheprovider", "--capture=sys", "-m", EVERY, *_without(self._left_out)]
        if not pytest.main([*options, *self._every_file], plugins=[self]):
            results.send(self.verdicts)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run mutants."""
        functions = loaded([PACKAGE / path for path in self._files])
        items = {item.nodeid: item for item in session.items}
        by_file: dict[str, list[str]] = {}
        for name in items:
            by_file.setdefault(name.partition("::")[0], []).append(name)

        def swapped(plan: Plan, folder: Path) -> None:
            if not functions.swap(PACKAGE / plan.mutant.path, plan.mutant.text):
                _anew(plan, folder, self._left_out)
            tests = [items[name] for name in plan.tests]
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                if session.testsfailed:
                    os._exit(1)
                if time.process_time() > self._reach.limit_s:
                    return

        plans: list[Plan] = []
        for changed in self._drawn:
            tests = [name for file in self._files[changed.path] for name in by_file.get(file, ())]
            tests.sort(key=lambda name: "heavy" in items[name].keywords)
            plans.append(Plan(changed, tests, len(tests), STARTING_S + SLACK * self._reach.limit_s))
        began_s = time.monotonic()
        for number, verdict in enumerate(verdicts(plans, swapped, self._jobs, self._until_s), 1):
            self.verdicts.append(verdict)
            if verdict.by != "a test":
                noticed = "caught by its time" if verdict.by else "not caught by tests"
                _progress(f"{noticed} {self._reach.name}: {verdict.plan.mutant}")
            if number % 10 == 0:
                caught_count = sum(bool(each.by) for each in self.verdicts)
                minutes = (time.monotonic() - began_s) / 60
                _progress(
                    f"{self._reach.name}: {number} of {len(plans)} run, {caught_count} caught, "
                    f"{minutes / number * (len(plans) - number):.0f} min for the others"
                )
        return True


def _progress(line: str) -> None:
    """Print past what pytest captures."""
    print(line, file=sys.__stderr__, flush=True)


def near(path: str) -> list[str]:
    """The files of tests that import a file, and name most of what it defines and of its keys: its own place's
    first, then those with its name.
    """
    module = Path(path.removesuffix("/__init__.py")).with_suffix("")
    own_file = str(Path("tests/unit", module.parent, f"test_{module.name.strip('_')}.py"))
    tree = ast.parse((PACKAGE / path).read_text())
    made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, made) and node.name[0] != "_"}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    names |= {
        text for text in texts if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", text)
    }  # keys of what is measured
    room = f"tests/unit/{module.parts[0]}/"
    above, name = re.escape(".".join(("perjoule", *module.parts[:-1]))), module.name
    imported = re.compile(rf"{above}(\.| import .*\b){name}\b")
    ranks: dict[str, tuple[bool, bool, bool, int, bool]] = {}
    for file, text in _texts().items():
        count, its_name = len(names & _mentions(text)), Path(file).name == Path(own_file).name
        if its_name or count:
            imports = bool(imported.search(text))
            ranks[file] = (file == own_file, its_name, imports, count, file.startswith(room))
    return sorted(ranks, key=lambda file: ranks[file], reverse=True)


@cache
def _texts() -> dict[str, str]:
    return {str(file.relative_to(ROOT)): file.read_text() for file in test_files()}


@cache
def _mentions(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def interval(caught_count: int, count: int) -> str:
    """The share that was caught, and its 95 % interval (Wilson)."""
    from scipy import stats  # which takes a second that every process of the tests would wait for

    share = stats.binomtest(caught_count, count).proportion_ci(method="wilson")
    return (
        f"caught {caught_count} of {count}: {caught_count / count:.1%} ({share.low:.1%} to {share.high:.1%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--each", type=float, default=300.0, help="seconds of tests for a mutant, at most")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no mutant is begun")
    reaching = parser.add_mutually_exclusive_group()
    reaching.add_argument("--near", action="store_true", help="run the tests near each mutant, and no others")
    reaching.add_argument("--further", action="store_true", help="and those further off, and no others")
    parser.add_argument("--list", action="store_true", help="list the mutants drawn, and run nothing")
    parser.add_argument("paths", nargs="*", default=DEFAULT)
    asked = parser.parse_args()
    wanted = [PACKAGE / path for path in asked.paths]
    files = sorted({file for path in wanted for file in (path.rglob("*.py") if path.is_dir() else [path])})
    every = [site for file in files for site in sites(file)]
    drawn = [mutant(site) for site in random.Random(asked.seed).sample(every, min(asked.count, len(every)))]
    print(f"{len(drawn)} of {len(every)} mutants of {len(files)} files, seed {asked.seed}", flush=True)
    if asked.list:
        print("\n".join(map(str, drawn)))
        return
    until_s = time.monotonic() + asked.minutes * 60
    known: dict[str, list[str]] = {}
    close = Near(drawn, asked.jobs, NEAR, until_s, known).run()
    remaining, count = [verdict.plan.mutant for verdict in close if not verdict.by], len(close)
    print(f"by tests near them: {interval(count - len(remaining), count)}", flush=True)
    if asked.near:
        return
    off = Near(remaining, asked.jobs, FURTHER, until_s, known).run()
    noticed = [verdict.plan.mutant for verdict in off if verdict.by]
    remaining = [changed for changed in remaining if changed not in noticed]
    print(f"by those and tests further off: {interval(count - len(remaining), count)}", flush=True)
    if asked.further:
        return
    noticed_count = 0
    covered = covering(files, asked.jobs)
    ran = Ran(covered.lines, covered.took_s)
    for name in READY:
        with suppress(ImportError):
            importlib.import_module(name)
    unchanged = Mutant(drawn[0].path, drawn[0].line, "", (PACKAGE / drawn[0].path).read_text())
    if any(verdict.by for verdict in verdicts([ran.plan(unchanged, asked.each)], copied, 1)):
        sys.exit("tests fail on a copy of the code as it is")
    plans = [ran.plan(changed, asked.each) for changed in remaining]
    for number, verdict in enumerate(verdicts(plans, copied, asked.jobs, until_s), 1):
        plan = verdict.plan
        noticed_count += bool(verdict.by)
        if not verdict.by:
            print(f"survived {len(plan.tests)} of {plan.tests_count}: {plan.mutant}", flush=True)
        elif verdict.by == "its time":
            print(f"caught by its time: {plan.mutant}", flush=True)
        if number % 10 == 0:
            print(
                f"{number} of {len(plans)} run, {noticed_count} caught",
                file=sys.stderr,
                flush=True,
            )
    print(interval(count - len(remaining) + noticed_count, count))


if __name__ == "__main__":
    main()
