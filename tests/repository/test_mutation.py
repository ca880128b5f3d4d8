"""What `benchmarks/mutation.py` changes is still where it looks for it."""

from benchmarks import mutation
from places import ROOT


def test_all_that_makes_numbers_is_there_and_can_be_changed():
    """A file that moves must not drop out of the sample unnoticed."""
    assert {"analysis", "meters/modelled.py"} < set(mutation.DEFAULT)
    for path in mutation.DEFAULT:
        there = mutation.PACKAGE / path
        files = sorted(there.rglob("*.py")) if there.is_dir() else [there]
        assert any(True for file in files for _ in mutation.sites(file)), path
    assert all((ROOT / suite).is_dir() for suite in mutation.SUITES)


def test_a_change_is_one_number_or_operator(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "PACKAGE", tmp_path)
    file = tmp_path / "one.py"
    file.write_text('"""Says 3."""\n\nLEAST: int = 2\n\n\ndef few(a: float) -> bool:\n    return not a < 0.5 + LEAST\n')
    found = [mutation.mutant(site) for site in mutation.sites(file)]
    assert sorted(one.change for one in found) == [
        "LEAST: int = 2 => LEAST: int = 3",
        "return not a < 0.5 + LEAST => return not a < 0.5 - LEAST",
        "return not a < 0.5 + LEAST => return not a < 0.55 + LEAST",
        "return not a < 0.5 + LEAST => return not a >= 0.5 + LEAST",
        "return not a < 0.5 + LEAST => return not not a < 0.5 + LEAST",
    ]
    assert {one.path for one in found} == {"one.py"}
