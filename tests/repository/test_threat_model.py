"""A promise of the threat model without a test, or with one that holds nothing, fails `make check`."""

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT
from setup import threat_model

HELD = "`tests/repository/test_threat_model.py::test_each_promise_of_the_page_has_a_test_that_exists`"
LIST = f"- trusted\n\n{threat_model.BEGINS}\n\nAnyone may not:\n\n- read: {HELD},\n  {HELD}\n"


def test_each_promise_of_the_page_has_a_test_that_exists() -> None:
    program = ROOT / "setup" / "threat_model.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("Nothing is promised.\n", 1, "the page has no promise"),
        (f"{LIST}- lie\n", 9, '"lie" has no test'),
        (f"{LIST}- lie: a test of ours\n- read: {HELD}\n", 9, '"lie: a test of ours" has no test'),
        (f"{LIST}- lie: `tests/command/test_cli.py`\n", 9, '"lie: `tests/command/test_cli.py`" has no test'),
        (f"{LIST}\n| who | where |\n", 10, "write a promise as an item of a list"),
        (f"{LIST}- lie:\n  `tests/nowhere.py::test_it`\n", 10, "tests/nowhere.py::test_it is in no file"),
        (
            "Held by `tests/command/test_cli.py::test_no_such`.\n",
            1,
            "tests/command/test_cli.py::test_no_such does not exist",
        ),
    ],
)
def test_a_promise_that_no_test_holds_is_found_with_its_line(
    text: str, line: int, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(LIST)
    assert threat_model.main([str(page)]) == 0
    page.write_text(text)
    assert threat_model.main([str(page)]) == 1
    sentence = capsys.readouterr().out.splitlines()[0]
    assert sentence.startswith(f"{page}:{line}: {fault}")


@pytest.mark.parametrize("marker", ["skip", "xfail(reason='later')"])
def test_a_test_that_never_runs_holds_nothing(
    marker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(
        f"@pytest.mark.{marker}\ndef test_it(): ...\n\ndef test_other(): ...\n"
    )
    monkeypatch.setattr(threat_model, "ROOT", tmp_path)
    assert "holds nothing" in threat_model.lacking("tests/test_it.py", "test_it")
    assert threat_model.lacking("tests/test_it.py", "test_other") == ""
