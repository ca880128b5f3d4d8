"""Runs tests as on a machine that is otherwise: `python -m tests.elsewhere --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it, for what tests share
