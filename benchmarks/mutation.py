"""Change one constant or operator at a time in what makes numbers, and count the changes that a test notices.

A test suite that stays green on wrong code proves nothing. Each mutant is a copy of the package with one change: a number made
10 % larger (an integer by 1), an operator replaced by its opposite, a comparison or condition turned round. The tests that run
the changed line (found once, with coverage.py) run against it until one fails. A comparison is turned round rather than moved
by equality (< to <=), which no value of a continuous quantity tells apart.

usage: .venv/bin/python benchmarks/mutation.py [--count N] [--seed N] [--jobs N] [--list] [PATH...]
PATH: files or folders below src/perjoule; analysis, meters/modelled.py and testbeds/virtual.py by default.
"""

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "perjoule"
DEFAULT = ("analysis", "meters/modelled.py", "testbeds/virtual.py")
SUITES = tuple(name for name in ("tests/unit", "tests/pipeline", "tests/oracle") if (ROOT / name).is_dir())
TIMEOUT_S = 300.0  # of all tests of one mutant; one that makes them hang is caught

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
    lines = [line for line in difflib.unified_diff(before, text.splitlines(), n=0, lineterm="") if line[:3] not in ("---", "+++")]
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
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield "value", node.value + 1 if isinstance(node.value, int) else (node.value * 1.1 or 1.0)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPPOSITE:
        yield "op", OPPOSITE[type(node.op)]()
    elif isinstance(node, ast.Compare):
        yield from ((("ops", n), OPPOSITE[type(op)]()) for n, op in enumerate(node.ops))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "op", ast.UAdd()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "any", "all"):
        other = {"min": "max", "max": "min", "any": "all", "all": "any"}[node.func.id]
        yield "func", ast.Name(other, ast.Load())


Contexts = dict[str, dict[str, list[str]]]  # file below the package -> line -> names of the tests that ran it


def covering(folder: Path) -> Contexts:
    """Run all suites once, and remember which test ran which line."""
    settings = folder / "coveragerc"
    settings.write_text(f"[run]\ndynamic_context = test_function\nsource = {PACKAGE}\ndata_file = {folder / 'coverage'}\n")
    argv = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*argv, *SUITES], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the tests fail on the code as it is:\n{done.stdout[-2000:]}")
    report = folder / "coverage.json"
    argv = [sys.executable, "-m", "coverage", "json", f"--rcfile={settings}", "--show-contexts", "-q", "-o", str(report)]
    subprocess.run(argv, cwd=ROOT, check=True)
    files = json.loads(report.read_text())["files"]
    return {str(Path(ROOT / name).relative_to(PACKAGE)): found["contexts"] for name, found in files.items()}


def tests_of(found: Contexts, changed: Mutant) -> Sequence[str]:
    """Name the tests that run a line; of a line that runs at import, those that run any line of its file."""
    lines = found.get(changed.path, {})
    names = {name for name in lines.get(str(changed.line), []) if name}
    return sorted(filter(None, map(_node, names or {name for own in lines.values() for name in own if name})))


def _node(context: str) -> str:
    """Turn "unit.test_cells.test_x" into what pytest calls it."""
    parts = context.split(".")
    for n in range(len(parts) - 1, 0, -1):
        for top in ("", "tests/"):
            path = Path(top + "/".join(parts[:n]) + ".py")
            if (ROOT / path).is_file():
                return f"{path}::{'::'.join(parts[n:])}"
        if there := sorted((ROOT / "tests").glob(f"*/{parts[n - 1]}.py")):
            return f"{there[0].relative_to(ROOT)}::{'::'.join(parts[n:])}"
    return ""


def caught(changed: Mutant, tests: Sequence[str], folder: Path) -> bool:
    """Run the tests against the mutant; True when one fails."""
    if not tests:
        return False
    with tempfile.TemporaryDirectory(dir=folder) as made:
        copied = Path(made) / "perjoule"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        (copied / changed.path).write_text(changed.text)
        given = Path(made) / "tests.txt"
        given.write_text("\n".join(tests))
        argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"@{given}"]
        environment = {**os.environ, "PYTHONPATH": made, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        found = covering(folder)
        with ThreadPoolExecutor(asked.jobs) as pool:
            verdicts = pool.map(lambda one: caught(one, tests_of(found, one), folder), drawn)
            survivors: list[Mutant] = []
            for number, (one, noticed) in enumerate(zip(drawn, verdicts, strict=True), 1):
                if not noticed:
                    survivors.append(one)
                    print(f"survived: {one.path}:{one.line}: {one.change}", flush=True)
                if number % 20 == 0:
                    print(f"{number} run, {number - len(survivors)} caught", flush=True)
    print(f"caught {len(drawn) - len(survivors)} of {len(drawn)}: {1 - len(survivors) / max(1, len(drawn)):.1%}")


if __name__ == "__main__":
    main()
