"""Which tests run which line of the package, kept in `build/mutation`, one folder for each state of the code.

The folder's name is a hash of the package and of what tests share. A test file that was changed, or is new,
runs again; the others are remembered. Rooms of tests are run one by one, and remembered as they end, so what
is interrupted goes on.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "perjoule"
KEPT = ROOT / "build" / "mutation"
SUITES = ("tests/unit", "tests/pipeline")
EVERY = "not slow"
"""The tests of `make test`, as `pytest -m` takes it."""


@dataclass(frozen=True)
class Covered:
    """Which tests run which line of a file (relative to the package), and how long each takes."""

    lines: dict[str, dict[int, set[str]]]
    took_s: dict[str, float]


def covering(files: Sequence[Path], jobs: int) -> Covered:
    """Run the suites, or what changed of them since, and tell which test ran which line of these files.

    A test that fails on the code as it is can notice nothing: it is named, and left out.
    """
    folder = KEPT / _hash(*files, *_shared())[:16]
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "tests.json"
    tests = {str(path.relative_to(ROOT)): _hash(path) for path in test_files()}
    known = json.loads(index.read_text()) if index.exists() else {}
    stale = [name for name, state in tests.items() if known.get(name, {}).get("hash") != state]
    rooms: dict[str, list[str]] = {}
    for name in stale:
        rooms.setdefault(str(Path(*Path(name).parts[:-1][:3])), []).append(name)
    asked = {f"tests/unit/{file.relative_to(PACKAGE).parts[0]}" for file in files}
    began_s, run_count = time.monotonic(), 0
    for room, names in sorted(rooms.items(), key=lambda room: room[0] not in asked):
        took_s, failed = _run(folder, files, names, jobs)
        for name in failed:
            print(f"left out, fails on the code as it is: {name}", file=sys.stderr)
        for name in names:
            passed_s = {test: took for test, took in took_s.items() if test.partition("::")[0] == name}
            known[name] = {"hash": tests[name], "took_s": passed_s}
        index.write_text(json.dumps(known))
        run_count += len(names)
        passed_min = (time.monotonic() - began_s) / 60
        print(
            f"{room}: {run_count} of {len(stale)} files of tests, {passed_min:.1f} min so far",
            file=sys.stderr,
        )
    took_s = {test: took for name in tests for test, took in known[name]["took_s"].items()}
    return Covered(_lines(folder / "coverage", files, took_s), took_s)


def _run(
    folder: Path, files: Sequence[Path], tests: Sequence[str], jobs: int
) -> tuple[dict[str, float], list[str]]:
    """Run files of tests, add what they ran to what is kept, and return how long each test took that passed,
    and which failed.
    """
    with tempfile.TemporaryDirectory(prefix="perjoule-mutation-") as made:
        settings, timed = Path(made, "coveragerc"), Path(made, "took.json")
        settings.write_text(
            f"[run]\nparallel = true\ndata_file = {folder / 'coverage'}\ncontext = ${{MUTATION_TEST-}}\n"
            "include =\n    " + "\n    ".join(map(str, files)) + "\n"
        )
        environment = {
            **os.environ,
            **{"COVERAGE_PROCESS_START": str(settings), "MUTATION_SETTINGS": str(settings)},
            **{"MUTATION_TOOK": str(timed), "PYTHONPATH": str(ROOT / "tests")},
        }
        side_by_side = ("-n", str(jobs), "--dist", "worksteal")
        options = ("-q", "-p", "no:cacheprovider", "-p", "contexts", "-m", EVERY, *side_by_side)
        done = _python(environment, "pytest", *options, *tests)
        if done.returncode not in (0, 1, 5):  # passed, some failed, none there
            sys.exit(f"the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        combined = _python(
            dict(os.environ), "coverage", "combine", "-q", "--append", f"--rcfile={settings}", str(folder)
        )
        if combined.returncode and any(folder.glob("coverage.*")):
            sys.exit(f"coverage.py could not combine what it saw:\n{combined.stdout}{combined.stderr}")
        outcome = json.loads(timed.read_text())
        return outcome["took_s"], outcome["failed"]


def _python(environment: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *argv],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _lines(kept: Path, files: Sequence[Path], took_s: dict[str, float]) -> dict[str, dict[int, set[str]]]:
    """Read what is kept, without tests that are no more."""
    current = {*took_s, *(test.partition("::")[0] for test in took_s)}
    data = CoverageData(str(kept))
    data.read()
    return {
        str(file.relative_to(PACKAGE)): {
            line: current.intersection(contexts)
            for line, contexts in data.contexts_by_lineno(str(file)).items()
        }
        for file in files
    }


def test_files() -> Iterator[Path]:
    """The files of tests that mutants are held against."""
    for suite in SUITES:
        yield from sorted((ROOT / suite).rglob("test_*.py"))


def _shared() -> list[Path]:
    """All that may change which lines a test runs, but the test itself."""
    package = sorted(PACKAGE.rglob("*.py"))
    return package + [file for file in sorted((ROOT / "tests").rglob("*.py")) if file.name[:5] != "test_"]


def _hash(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        text = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {len(text)}\n".encode() + text)
    return digest.hexdigest()
