"""Change one constant or operator at a time in the code that computes numbers, and count the changes that a
test detects.

A test suite that stays green on wrong code proves nothing. Each mutant is a copy of the package with one
change: a number made 10 % larger (an integer by 1), an operator replaced by its opposite, a comparison or
condition inverted. The tests that run the changed line (found once, with coverage.py, in processes that tests
start, too), or a line which names the changed constant or field, or the function whose default is changed,
run against the mutant until one fails. Comparisons are inverted rather than changed from < to <=, because no
value of a continuous quantity distinguishes those. Tests that need root or real daemons (`tests/live`) are
excluded.

usage: .venv/bin/python benchmarks/mutation.py [--count N] [--seed N] [--jobs N] [--list] [PATH...]
PATH: files or folders below src/perjoule; by default what makes numbers (energy, trial, measures, statistics,
papers), modelled watts, and what virtual hosts are capped to and count. What starts, finds and removes
virtual hosts makes none.
"""

import argparse
import ast
import difflib
import importlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "perjoule"
VIRTUAL = tuple(
    f"testbeds/virtual/{name}.py"
    for name in ("__init__", "cgroup/v1", "cgroup/v2", "cpu", "network", "topology")
)
DEFAULT = ("energy", "trial", "measures", "statistics", "papers", "meters/modelled.py", *VIRTUAL)
SUITES = ("tests/unit", "tests/pipeline")
# times as long as its tests took before, and STARTING_S, may a mutant take; one that hangs them is caught
SLACK = 10.0
STARTING_S = 60.0
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
class Ran:
    """Which tests run which line of a file (relative to the package), and how long each takes."""

    lines: dict[str, dict[int, set[str]]]
    took_s: dict[str, float]

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

    def seconds(self, test: str) -> float:
        """How long a test took, or all tests of a file."""
        return sum(
            took_s for name, took_s in self.took_s.items() if name == test or name.startswith(f"{test}::")
        )

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


def covering(folder: Path, files: Sequence[Path]) -> Ran:
    """Run all suites once, and remember which test ran which line, and for how long."""
    settings, timed = folder / "coveragerc", folder / "took.json"
    include = "\n    ".join(map(str, files))
    settings.write_text(
        f"[run]\nparallel = true\ndata_file = {folder / 'coverage'}\ninclude =\n    {include}\ncontext = "
        f"${{MUTATION_TEST-}}\n"
    )
    (folder / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n")
    environment = {**os.environ, "MUTATION_SETTINGS": str(settings), "MUTATION_TOOK": str(timed)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT / "tests")])

    def coverage(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "coverage", words[0], f"--rcfile={settings}", *words[1:]]
        return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    done = coverage("run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "contexts", *SUITES)
    if done.returncode:
        sys.exit(f"the tests fail on the code as it is:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    report = folder / "coverage.json"
    coverage("combine", "-q", str(folder))
    coverage("json", "--show-contexts", "-q", "-o", str(report))
    lines: dict[str, dict[int, set[str]]] = {}
    for name, found in json.loads(report.read_text())["files"].items():
        own = {
            int(line): {one.strip("|") for one in contexts} - {""}
            for line, contexts in found["contexts"].items()
        }
        lines[str((ROOT / name).relative_to(PACKAGE))] = own
    return Ran(lines, json.loads(timed.read_text()))


def verdicts(drawn: Sequence[Mutant], ran: Ran, jobs: int, folder: Path) -> Iterator[tuple[Mutant, bool]]:
    """Run each mutant's tests in a process of its own, this many at a time; yield it and whether one of
    them failed.
    """
    for name in READY:
        with suppress(ImportError):
            importlib.import_module(name)
    fork = multiprocessing.get_context("fork")
    running: dict[int, tuple[Mutant, BaseProcess, float, Callable[[], None]]] = {}
    waiting = list(reversed(drawn))
    while waiting or running:
        while waiting and len(running) < jobs:
            one = waiting.pop()
            if not (tests := ran.tests(one)):
                yield one, False
                continue
            made = tempfile.TemporaryDirectory(dir=folder)
            process = fork.Process(target=_run, args=(one, tests, Path(made.name)))
            process.start()
            until_s = time.monotonic() + STARTING_S + SLACK * sum(map(ran.seconds, tests))
            running[process.sentinel] = (one, process, until_s, made.cleanup)
        connection.wait(list(running), timeout=5.0)
        for sentinel, (one, process, until_s, cleanup) in list(running.items()):
            if process.is_alive() and time.monotonic() < until_s:
                continue
            process.kill()
            process.join()
            del running[sentinel]
            cleanup()
            yield one, process.exitcode != 0


def _run(changed: Mutant, tests: Sequence[str], folder: Path) -> None:
    """In a process of its own: run tests on a copy of the package with a change."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    os.chdir(ROOT)
    copied = folder / "perjoule"
    shutil.copytree(PACKAGE, copied)  # with what is compiled already
    (copied / changed.path).write_text(changed.text)
    sys.path[0] = str(folder)  # instead of this script's
    os.environ["PYTHONPATH"] = str(folder)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    os._exit(int(pytest.main([*options, *tests])))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="list the mutants drawn, and run nothing")
    parser.add_argument("paths", nargs="*", default=DEFAULT)
    asked = parser.parse_args()
    wanted = [PACKAGE / path for path in asked.paths]
    files = sorted({file for path in wanted for file in (path.rglob("*.py") if path.is_dir() else [path])})
    every = [site for file in files for site in sites(file)]
    drawn = [mutant(site) for site in random.Random(asked.seed).sample(every, min(asked.count, len(every)))]
    print(f"{len(drawn)} of {len(every)} mutants of {len(files)} files, seed {asked.seed}", flush=True)
    if asked.list:
        print("\n".join(f"{one.path}:{one.line}: {one.change}" for one in drawn))
        return
    with tempfile.TemporaryDirectory(prefix="perjoule-mutation-") as made:
        folder = Path(made)
        ran = covering(folder, files)
        unchanged = Mutant(drawn[0].path, drawn[0].line, "", (PACKAGE / drawn[0].path).read_text())
        if any(noticed for _, noticed in verdicts([unchanged], ran, 1, folder)):
            sys.exit("tests fail on a copy of the code as it is")
        survivors: list[Mutant] = []
        for number, (one, noticed) in enumerate(verdicts(drawn, ran, asked.jobs, folder), 1):
            if not noticed:
                survivors.append(one)
                print(f"survived: {one.path}:{one.line}: {one.change}", flush=True)
            if number % 20 == 0:
                print(f"{number} run, {number - len(survivors)} caught", flush=True)
    caught_count = len(drawn) - len(survivors)
    share = stats.binomtest(caught_count, len(drawn)).proportion_ci(method="wilson")
    print(
        f"caught {caught_count} of {len(drawn)}: {caught_count / len(drawn):.1%} ({share.low:.1%} to "
        f"{share.high:.1%})"
    )


if __name__ == "__main__":
    main()
