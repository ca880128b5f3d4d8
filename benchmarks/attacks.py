"""Attack the promises of the threat model, and print which of them held.

usage: sudo .venv/bin/python benchmarks/attacks.py [--only bundle] [--seconds 3600]      (all of it takes some
20 minutes)

Each attack builds its own input in a folder of its own. Those on files, pages and campaigns go through the
installed command; those on hosts, disks and daemons are the tests that make them (tests/live,
tests/unit/testbeds), which need root. Nothing leaves loopback and the namespaces that tests make. Exit code 1
if a promise was broken or an attack was not tried.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the tests are no package of the environment
from attacks.table import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], (__doc__ or "").partition("\n")[0]))
