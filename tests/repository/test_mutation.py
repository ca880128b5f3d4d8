"""What `benchmarks/mutation.py` changes is still where it looks for it."""

import importlib
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from benchmarks import _covering, _swapping, mutation
from places import ROOT


def test_all_that_makes_numbers_is_there_and_can_be_changed():
    """A file that moves must not drop out of the sample unnoticed."""
    assert {"energy", "measures", "meters/modelled.py"} < set(mutation.DEFAULT)
    for path in mutation.DEFAULT:
        there = mutation.PACKAGE / path
        files = sorted(there.rglob("*.py")) if there.is_dir() else [there]
        assert any(True for file in files for _ in mutation.sites(file)), path
    assert all((ROOT / suite).is_dir() for suite in _covering.SUITES)


def test_a_change_is_one_number_or_operator(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "PACKAGE", tmp_path)
    file = tmp_path / "one.py"
    file.write_text(
        '"""Says 3."""\n\nLEAST: int = 2\n\n\ndef few(a: float) -> bool:\n    return not a < 0.5 + LEAST\n'
    )
    found = [mutation.mutant(site) for site in mutation.sites(file)]
    assert sorted(one.change for one in found) == [
        "LEAST: int = 2 => LEAST: int = 3",
        "return not a < 0.5 + LEAST => return not a < 0.5 - LEAST",
        "return not a < 0.5 + LEAST => return not a < 0.55 + LEAST",
        "return not a < 0.5 + LEAST => return not a >= 0.5 + LEAST",
        "return not a < 0.5 + LEAST => return not not a < 0.5 + LEAST",
    ]
    assert {one.path for one in found} == {"one.py"}


def test_what_runs_on_import_alone_is_held_against_the_tests_that_use_it(tmp_path, monkeypatch):
    """Else a wrong default is run by tests that have no business with it, such as those that start a
    command.
    """
    monkeypatch.setattr(mutation, "PACKAGE", tmp_path)
    (tmp_path / "one.py").write_text(
        "class Disk:\n    size = 8\n\n\ndef few(a, most=3):\n    return a < most\n\n\nLEAST = 2\n"
    )
    (tmp_path / "two.py").write_text(
        "def half(disk):\n    return disk.size / 2\n\n\ndef least():\n    return LEAST\n"
    )
    lines = {
        "one.py": {2: {"command"}, 5: {"command"}, 6: {"few"}, 9: {"command"}},
        "two.py": {2: {"half"}, 6: {"least"}},
    }
    ran = mutation.Ran(lines, {})
    for line, test in ((2, "half"), (5, "few"), (9, "least")):
        assert test in ran.tests(mutation.Mutant("one.py", line, "", ""))


def test_tests_near_a_file_are_its_own_and_those_that_have_its_name_import_it_or_name_its_keys(
    tmp_path, monkeypatch
):
    package, tests = tmp_path / "src" / "perjoule", tmp_path / "tests" / "unit"
    for folder in (package / "sums", tests / "sums", tests / "other", tmp_path / "tests" / "pipeline"):
        folder.mkdir(parents=True)
    (package / "sums" / "few.py").write_text(
        'LEAST = "few_s"\n\n\ndef read():\n    ...\n\n\ndef few():\n    ...\n'
    )
    texts = {
        "sums/test_few.py": "",
        "other/test_few.py": "",
        "other/test_import.py": "from perjoule.sums import few\n\nfew.few()\n",
        "sums/test_key.py": "few_s = read(few)\n",
        "sums/test_name.py": "few = read()\n",
        "other/test_name.py": "few = read()\n",
        "other/test_nothing.py": "from perjoule.sums import fewer\n",
    }
    for name, text in texts.items():
        (tests / name).write_text(text)
    for module in (mutation, _covering):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(mutation, "PACKAGE", package)
    mutation._texts.cache_clear()
    try:
        assert mutation.near("sums/few.py") == [f"tests/unit/{name}" for name in texts][:-1]
    finally:
        mutation._texts.cache_clear()


def test_what_near_tests_miss_meets_those_further_off_and_what_then_meets_none_has_survived(
    monkeypatch, capsys
):
    """Else a run that ends early says that all were caught which it did not come to."""
    met: list[tuple[str, int]] = []

    class Tests:
        def __init__(self, drawn, jobs, reach, until_s, known):
            met.append((reach.name, len(drawn)))
            self.drawn = drawn

        def run(self):
            plans = [mutation.Plan(changed, ["test_a"], 1, 60.0) for changed in self.drawn]
            by = ("", "a test", "", "its time")
            return [mutation.Verdict(plan, by[n % 4]) for n, plan in enumerate(plans)]

    monkeypatch.setattr(mutation, "Near", Tests)
    monkeypatch.setattr(mutation, "READY", ())
    monkeypatch.setattr(mutation, "covering", lambda files, jobs: _covering.Covered({}, {}))
    monkeypatch.setattr(mutation, "verdicts", lambda plans, *arguments: ())
    shares: dict[str, list[str]] = {}
    for option in ("--near", "--further", ""):
        argv = ["mutation.py", "--count", "8", *filter(None, [option]), "statistics/ranks.py"]
        monkeypatch.setattr(sys, "argv", argv)
        mutation.main()
        shares[option] = re.findall(r"caught \d+ of \d+", capsys.readouterr().out)
    assert shares == {
        "--near": ["caught 4 of 8"],
        "--further": ["caught 4 of 8", "caught 6 of 8"],
        "": ["caught 4 of 8", "caught 6 of 8", "caught 6 of 8"],
    }
    assert met == [("near it", 8)] + 2 * [("near it", 8), ("further off", 4)]


def test_a_constant_meets_its_tests_on_a_copy_of_the_package(tmp_path, monkeypatch):
    package, copies = tmp_path / "src" / "perjoule", tmp_path / "copies"
    package.mkdir(parents=True)
    copies.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("LEAST = 2\n")
    test = tmp_path / "test_one.py"
    test.write_text("from perjoule.one import LEAST\n\n\ndef test_least():\n    assert LEAST == 2\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    monkeypatch.setattr(mutation, "PACKAGE", package)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    plans = [
        mutation.Plan(mutation.Mutant("one.py", 1, text, text), [f"{test.name}::test_least"], 1, 60.0)
        for text in ("LEAST = 2", "LEAST = 3")
    ]
    found = {v.plan.mutant.change: v.by for v in mutation.verdicts(plans, mutation._anew, 2)}
    assert found == {"LEAST = 2": "", "LEAST = 3": "a test"}
    assert (package / "one.py").read_text() == "LEAST = 2\n"


def test_what_fails_on_the_code_as_it_is_notices_nothing(tmp_path, monkeypatch):
    package, test = tmp_path / "src" / "perjoule", tmp_path / "test_one.py"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "one.py").write_text("LEAST = 2\n")
    test.write_text(
        "import pytest\n\nfrom perjoule.one import LEAST\n\n\n"
        "@pytest.fixture\ndef broken():\n    raise ValueError\n\n\n"
        "def test_least():\n    assert LEAST == 2\n\n\n"
        "@pytest.mark.parametrize('words', ['a b', 'c d'])\n"
        "def test_words(words):\n    assert words == 'a b'\n\n\n"
        "@pytest.mark.heavy\ndef test_heavy():\n    raise ValueError\n\n\n"
        "def test_broken(broken):\n    ...\n"
    )
    other = tmp_path / "test_two.py"
    other.write_text("def test_two():\n    ...\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -rfE\nmarkers =\n    slow\n    heavy\n")
    monkeypatch.setattr(mutation, "PACKAGE", package)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    names = [f"{test.name}::test_words[c d]", f"{test.name}::test_broken"]
    assert mutation.failing([test.name, other.name]) == {test.name: names, other.name: []}
    assert mutation._without(names[1:]) == [f"--deselect={names[1]}"]


def test_tests_are_run_until_a_mutant_has_had_its_time():
    ran = mutation.Ran({}, {"test_a.py::a": 2.0, "test_a.py::b": 3.0, "test_b.py::c": 4.0})
    assert ran.seconds("test_a.py") == 5.0
    for limit_s, names in ((1.0, ["test_a.py"]), (8.9, ["test_a.py"]), (9.0, ["test_a.py", "test_b.py::c"])):
        assert ran.within(["test_a.py", "test_b.py::c"], limit_s) == names


def test_a_mutant_is_caught_by_a_test_or_by_its_time_and_by_nothing_when_time_is_over():
    """One that hangs must not hold up the others."""

    def run(plan: mutation.Plan, _: Path) -> None:
        if plan.mutant.change == "noticed":
            os._exit(1)
        elif plan.mutant.change == "hangs":
            time.sleep(60)

    def outcomes(*changes: str, longest_s: float = 60.0, until_s: float = 60.0) -> list[tuple[str, str]]:
        plans = [
            mutation.Plan(mutation.Mutant("one.py", 1, change, ""), ["test_a"], 1, longest_s)
            for change in changes
        ]
        verdicts = mutation.verdicts(plans, run, 2, time.monotonic() + until_s)
        return sorted((verdict.plan.mutant.change, verdict.by) for verdict in verdicts)

    assert outcomes("noticed", "unnoticed") == [("noticed", "a test"), ("unnoticed", "")]
    assert outcomes("hangs", longest_s=0.3) == [("hangs", "its time")]
    assert outcomes("hangs", "hangs", "noticed", until_s=0.6) == [("hangs", ""), ("hangs", "")]


@pytest.mark.slow  # by day: what mutants meet, above
def test_which_test_runs_which_line_is_kept_until_one_of_them_changes(tmp_path, monkeypatch, capsys):
    package, tests = tmp_path / "src" / "perjoule", tmp_path / "tests" / "unit" / "room"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    (tmp_path / "tests" / "pipeline").mkdir()
    shutil.copy(ROOT / "tests" / "contexts.py", tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\npythonpath = src\n")
    (package / "__init__.py").touch()
    file, first, second = package / "two.py", tests / "test_first.py", tests / "test_second.py"
    file.write_text("def half(a):\n    return a / 2\n\n\ndef twice(a):\n    return a * 2\n")
    halves = "from perjoule import two\n\n\ndef test_half():\n    assert two.half(2) == {}\n"
    first.write_text(halves.format(1) + "\n\ndef test_wrong():\n    assert two.twice(1) == 3\n")
    second.write_text("from perjoule import two\n\n\ndef test_twice():\n    assert two.twice(2) == 4\n")
    for name, place in (("ROOT", tmp_path), ("PACKAGE", package), ("KEPT", tmp_path / "build")):
        monkeypatch.setattr(_covering, name, place)

    names = {
        "half": "tests/unit/room/test_first.py::test_half",
        "twice": "tests/unit/room/test_second.py::test_twice",
    }
    covered = _covering.covering([file], 1)
    assert covered.took_s.keys() == {*names.values()}
    assert covered.lines["two.py"][2] == {names["half"]}
    assert covered.lines["two.py"][6] == {names["twice"]}
    assert "left out, fails on the code as it is: tests/unit/room/test_first.py::test_wrong" in (
        capsys.readouterr().err
    )

    second.write_text(second.read_text().replace("twice(2) == 4", "half(4) == 2"))
    covered = _covering.covering([file], 1)
    assert names["twice"] in covered.lines["two.py"][2]
    assert "1 of 1 files" in capsys.readouterr().err

    asked: list[list[str]] = []

    def run(*arguments: object) -> tuple[dict[str, float], list[str]]:
        asked.append(cast("list[str]", arguments[2]))
        return {}, []

    monkeypatch.setattr(_covering, "_run", run)
    _covering.covering([file], 1)
    assert not asked
    file.write_text(file.read_text() + "\n# changed\n")
    _covering.covering([file], 1)
    assert asked == [["tests/unit/room/test_first.py", "tests/unit/room/test_second.py"]]


def test_functions_that_are_loaded_are_swapped_for_changed_ones(tmp_path, monkeypatch):
    """What is made on import isn't, and says so."""
    file = tmp_path / "mutated_sums.py"
    file.write_text(
        "LEAST = 2\n\n\ndef total(values, most=9):\n    # a comment, so that lines move\n"
        "    return sum(v * 2 for v in values)\n\n\nclass Pair:\n    count = 2\n\n    def half(self):\n"
        "        return self.count / 2\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    mutated = importlib.import_module("mutated_sums")
    monkeypatch.setattr(mutation, "PACKAGE", tmp_path)
    outcomes: dict[str, tuple[bool, float, float]] = {}
    functions = _swapping.loaded([file])
    as_loaded = mutated.total.__code__, mutated.Pair.half.__code__
    for site in mutation.sites(file):
        changed = mutation.mutant(site)
        swapped = functions.swap(file, changed.text)
        outcomes[changed.change.rpartition(" => ")[2]] = (
            swapped,
            mutated.total([1, 2]),
            mutated.Pair().half(),
        )
        mutated.total.__code__, mutated.Pair.half.__code__ = as_loaded
    assert outcomes == {
        "LEAST = 3": (False, 6, 1),
        "def total(values, most=10):": (False, 6, 1),
        "count = 3": (False, 6, 1),
        "return sum((v / 2 for v in values))": (True, 1.5, 1),
        "return sum((v * 3 for v in values))": (True, 9, 1),
        "return self.count * 2": (True, 6, 4),
        "return self.count / 3": (True, 6, 2 / 3),
    }
