"""`make test` and `.ci/run` run all their parts, and then fail where one failed; what shares a fixture
shares a process.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from places import ROOT, TESTS
from together import groups, in_turns, without_group

# Instead of pytest: it prints the tests that it gets, and fails where it should.
PYTEST = """#!/bin/sh
report=${*##*--junit-xml }
report=${report%% *}
case "$*" in
*--last-failed*) report=${*##*cache_dir=}; report=${report%% *}-again;;
esac
echo "ran ${report##*/}"
case " $FAILING " in *" ${report##*/} "*) exit 1;; esac
"""
MAKE = """#!/bin/sh
echo "made $*"
case " $FAILING " in *" $1 "*) exit 2;; esac
"""
# A file of tests that says which process made what they share.
SHARED = """
import os
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def made():
    with Path(__file__).with_name("makers").open("a") as makers:
        makers.write(f"{os.getpid()}\\n")

@pytest.mark.parametrize("number", range(6))
def test_it(made, number):
    pass
"""
# Of its tests, one case and one whole test run by night.
LONG = """
import pytest

@pytest.mark.parametrize("case", ["a", pytest.param("b c", marks=pytest.mark.slow)])
def test_it(case):
    pass

@pytest.mark.slow
def test_long():
    pass
"""
PARTS = ["unit", "beside", "alone"]


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def done(argv: list[str | Path], failing: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "FAILING": failing, **environment}
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("failing", "again", "summary"),
    [
        ("", "", ""),
        ("unit.xml", "", "failed parts: unit\n"),
        ("alone.xml", "alone", ""),
        ("beside.xml beside-again alone.xml", "beside alone", "failed parts: beside\n"),
        ("beside.xml beside-again alone.xml alone-again", "beside alone", "failed parts: beside alone\n"),
    ],
)
def test_every_part_runs_live_tests_that_fail_once_more_and_those_that_fail_again_are_named_at_the_end(
    tmp_path: Path, failing: str, again: str, summary: str
) -> None:
    program(tmp_path / "pytest", PYTEST)
    old = ["--old-file=.venv/ready-for-development", "--old-file=.venv/ready"]
    made = done(["make", *old, f"BIN={tmp_path}", "AS_ROOT=", "INSTALL=:", "test"], failing)
    assert made.returncode == (2 if summary else 0), made.stderr
    assert [line for line in made.stdout.splitlines() if line.startswith("ran ")] == [
        f"ran {part}{run}"
        for part in PARTS
        for run in (".xml", *(["-again"] if part in again.split() else []))
    ]
    assert made.stderr.partition("make")[0] == summary


@pytest.mark.parametrize(
    ("failing", "code", "summary"),
    [
        ("", 0, ""),
        ("check", 1, "failed: check\n"),
        ("test", 1, "failed: test\n"),
        ("check test", 1, "failed: check test\n"),
    ],
)
def test_ci_runs_both_commands_and_names_those_that_fail(
    tmp_path: Path, failing: str, code: int, summary: str
) -> None:
    program(tmp_path / "make", MAKE)
    ran = done([ROOT / ".ci" / "run"], failing, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("made check\nmade test\n", summary, code)


def test_tests_that_a_chain_of_fixtures_joins_run_in_one_process() -> None:
    folder, site, browser = ("folder", 0), ("site", 0), ("browser", 0)
    wanted = [
        {folder},
        set[tuple[str, int]](),
        {browser},
        {site},
        {("browser", 1)},
        {folder, site},
        {browser},
    ]
    assert sorted(sorted(places) for places in groups(wanted)) == [[0, 3, 5], [1], [2, 6], [4]]


def test_what_a_fixture_of_a_file_made_is_made_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(SHARED)
    ran = done(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-n", "2", "--dist", "loadgroup", tmp_path],
        "",
        PYTHONPATH=str(ROOT / "tests"),
    )
    assert ran.returncode == 0, ran.stdout
    assert len((tmp_path / "makers").read_text().split()) == 1


@pytest.mark.parametrize(
    ("asked", "left"), [("not slow", ["1 test_long.py::test_it", "1 test_long.py::test_long"]), ("slow", [])]
)
def test_what_is_left_to_the_night_is_listed(tmp_path: Path, asked: str, left: list[str]) -> None:
    (tmp_path / "test_long.py").write_text(LONG)
    argv = [sys.executable, "-m", "pytest", "-p", "conftest", "-m", asked, tmp_path]
    ran = done(argv, "", PYTHONPATH=str(ROOT / "tests"))
    assert ran.returncode == 0, ran.stdout
    begins = "not run here, but by `make slow`: "
    listed = [line.removeprefix(begins) for line in ran.stdout.splitlines() if line.startswith(begins)]
    assert [re.sub(r" \S*/", " ", line) for line in listed] == left


class Placed(NamedTuple):
    """A test by its file alone."""

    path: Path


def test_what_waits_and_what_computes_begin_in_turns_and_what_is_short_at_the_end() -> None:
    counts = {"command": 2, "live": 4, "meters": 1}
    among = [Placed(Path(folder) / f"test_{n}.py") for folder, count in counts.items() for n in range(count)]
    ordered = in_turns(cast(list[pytest.Item], among))
    assert [test.path.parent.name for test in ordered] == [
        *("live", "command", "live") * 2,
        "meters",
    ]
    assert [test.path for test in ordered if test.path.parent.name == "live"] == [
        Path("live") / f"test_{n}.py" for n in range(4)
    ]


def test_files_of_tests_that_run_alone_have_the_word_by_which_make_finds_them() -> None:
    helpers = (path for path in TESTS.rglob("*.py") if not path.name.startswith("test_"))
    assert [path for path in helpers if re.search(r"mark\.alone", path.read_text())] == []


def test_by_day_each_driver_and_each_kind_of_event_is_tried_for_real() -> None:
    """What a driver promises is held for every one, and none of these tests is left to `make slow`: only how
    daemons fail to come up is held by one driver of several with the same daemons.
    """
    for part in ("filesystem", "workload", "event"):
        text = (ROOT / "tests" / "live" / f"test_{part}_contract.py").read_text()
        assert "drivers.kinds(" in text
        assert "slow" not in set(re.findall(r"mark\.(\w+)", text))


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("tests/a.py::test_b[c]@live-a-0", "tests/a.py::test_b[c]"),
        ("tests/a.py::test_b@live-a-0", "tests/a.py::test_b"),
        ("tests/a.py::test_b[root@host]", "tests/a.py::test_b[root@host]"),
        ("tests/a.py::test_b", "tests/a.py::test_b"),
    ],
)
def test_a_test_is_named_as_its_file_names_it(name: str, without: str) -> None:
    assert without_group(name) == without
