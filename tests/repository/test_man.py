"""The man page: that of the commands as they are, in a form that troff takes without a warning."""

import subprocess
import sys

from places import ROOT

PAGE = ROOT / "docs" / "reference" / "perjoule.1"
PRINT = "import man; print(man.page(), end='')"


def test_the_man_page_is_that_of_the_commands() -> None:
    """In a process of its own: click remembers how a command's help was requested first."""
    argv = [sys.executable, "-c", PRINT]
    made = subprocess.run(
        argv, cwd=ROOT / "setup", capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert PAGE.read_text(encoding="utf-8") == made, "run: .venv/bin/python setup/man.py"


def test_it_is_printed_without_a_warning_and_as_the_help_is() -> None:
    argv = ["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-P-c", PAGE]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert 'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"' in done.stdout
    assert "perjoule compare results/1 results/2 --fail-if" in done.stdout.replace("−", "-").replace("‐", "-")
