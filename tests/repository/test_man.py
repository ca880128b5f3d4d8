"""The man page: that of the commands as they are, in a form that troff takes without a warning."""

import re
import subprocess
import sys

import click

from perjoule.cli import cli
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


def test_it_is_printed_without_a_warning_with_sections_for_commands_and_their_options() -> None:
    argv = ["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-P-c", PAGE]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    shown = re.sub(".\b", "", done.stdout).replace("−", "-").replace("‐", "-")  # bold is struck twice
    assert 'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"' in shown
    assert "perjoule compare results/1 results/2 --fail-if" in shown
    for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert f"\n{title}\n" in shown
    for name, command in cli.commands.items():
        assert f"\n   perjoule {name} " in shown, name
        options = [
            one for one in command.params if isinstance(one, click.Option) and one.help and not one.hidden
        ]
        assert [one.name for one in options if one.opts[0] not in PAGE.read_text().replace("\\-", "-")] == []
