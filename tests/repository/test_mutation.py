"""What `benchmarks/mutation.py` changes is still where it looks for it."""

from benchmarks import mutation
from places import ROOT


def test_all_that_makes_numbers_is_there_and_can_be_changed():
    """A file that moves must not drop out of the sample unnoticed."""
    assert {"energy", "measures", "meters/modelled.py"} < set(mutation.DEFAULT)
    for path in mutation.DEFAULT:
        there = mutation.PACKAGE / path
        files = sorted(there.rglob("*.py")) if there.is_dir() else [there]
        assert any(True for file in files for _ in mutation.sites(file)), path
    assert all((ROOT / suite).is_dir() for suite in mutation.SUITES)


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
