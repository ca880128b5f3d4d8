"""Signals end a command once, wherever they find it."""

import subprocess
import sys

PROGRAM = """
import os, signal, time
from perjoule.cli import exits

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
exits.listen()
try:
    Deleted()
except KeyboardInterrupt:
    raise SystemExit("too early")
try:
    time.sleep(20)
except KeyboardInterrupt:
    raise SystemExit(5 if exits.stopping() else 6)
"""


def test_a_signal_that_comes_while_an_object_is_deleted_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 5, done.stderr
    assert "Exception ignored" not in done.stderr
