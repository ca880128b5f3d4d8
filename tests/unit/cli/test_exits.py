"""Signals end a command once, wherever they find it."""

import re
import subprocess
import sys

import click
import pytest

from perjoule.cli import exits
from places import SOURCES

PROGRAM = """
import os, signal, sys, time, weakref
from perjoule.cli import exits

def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

class Deleted:
    if sys.argv[1] == "destructor":
        __del__ = interrupted

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
exits.listen()
try:
    one = Deleted()
    reference = weakref.ref(one, interrupted) if sys.argv[1] == "weak reference" else None
    del one
except KeyboardInterrupt:
    raise SystemExit("too early")
try:
    time.sleep(20)
except KeyboardInterrupt:
    raise SystemExit(5 if exits.stopping() else 6)
"""


@pytest.mark.parametrize("where", ["destructor", "weak reference"])
def test_a_signal_that_comes_where_python_drops_what_is_raised_is_not_lost(where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, where], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 5, done.stderr
    assert "Exception ignored" not in done.stderr


@click.command()
def damaged() -> None:
    raise EOFError("marshal data too short")


def test_an_end_of_file_in_a_module_is_not_an_interrupt() -> None:
    with pytest.raises(EOFError, match="marshal"):
        exits.exit_code(lambda: damaged.main([], standalone_mode=False))


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), ImportError("numpy's core failed to import"), SystemError("no reason")],
    ids=repr,
)
def test_after_a_signal_whatever_an_import_or_a_library_makes_of_it_is_an_interrupt(
    error, monkeypatch, capsys
):
    monkeypatch.setattr(exits, "stopping", lambda: True)

    def stopped():
        with exits.interruptible("continue with: perjoule resume x"):
            raise error

    assert exits.exit_code(stopped) == 5
    assert "everything was taken down; continue with: perjoule resume x" in " ".join(
        capsys.readouterr().err.split()
    )

    def bare():
        raise error

    assert exits.exit_code(bare) == 5


def test_without_a_signal_an_unexpected_error_keeps_its_traceback():
    def broken():
        with exits.interruptible("again"):
            raise SystemError("no reason")

    with pytest.raises(SystemError):
        exits.exit_code(broken)


def test_no_command_to_copy_has_a_name_that_a_shell_would_take_apart() -> None:
    verbs = "check|ledger|plan|report|resume|run|show|verify"
    bare = re.compile(rf"perjoule ({verbs}) \{{(?!shlex\.quote\(|CAMPAIGN\}}|BUNDLE\}})")
    texts = {path.name: path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    assert [f"{name}: {match[0]}" for name, text in texts.items() for match in bare.finditer(text)] == []
