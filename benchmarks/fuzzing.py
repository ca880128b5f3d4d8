"""Change recorded inputs of every parser at random, and count what perjoule makes of them.

usage: .venv/bin/python benchmarks/fuzzing.py [1000000] [--seed 1] [--seconds 3600] [--only need]      (some
200 inputs a second)

Each input is drawn by the seed and its number alone: `--first NUMBER 1` with the same seed (and `--only`)
repeats one. No parser gets less than 0.5 % of the inputs. Their files are in memory (/dev/shm), unless TMPDIR
names another place. For each parser: inputs, how many were refused with an error of perjoule's own and how
many accepted, the slowest, and the most memory. A traceback, more than 5 s or more than 500 MiB is a finding.
CI runs the first 150, and those of two minutes (tests/command).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests are no package of the environment

from tests.fuzzing.drawing import main

if __name__ == "__main__":
    sys.exit(main((__doc__ or "").partition("\n")[0]))
