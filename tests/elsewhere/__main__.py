"""Run the tests that need no machine of their own as on machines that are otherwise, and say what differs
where they fail.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.elsewhere.machines import DIFFERENCES, MACHINES, TESTED

ROOT = Path(__file__).parents[2]
PYTEST = (
    "-m",
    "pytest",
    "-q",
    "--numprocesses",
    "2",
    "--dist",
    "worksteal",
    "--timeout",
    "300",
    "-m",
    "not heavy and not slow",
)
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'


def run(names: tuple[str, ...], tests: list[str]) -> bool:
    """Whether tests pass where all of these are otherwise, and no decoy was run."""
    with tempfile.TemporaryDirectory(prefix="perjoule-elsewhere-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment: dict[str, str | None] = {**os.environ}
        for one in names:
            environment |= DIFFERENCES[one](folder)
        umask = next((int(one.split()[1], 8) for one in names if one.startswith("umask ")), -1)
        argv = [
            sys.executable,
            *PYTEST,
            *(("-p", "no:cacheprovider") if "read-only" in names else ()),
            *tests,
        ]
        if "read-only" in names:
            argv = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(ROOT), *argv]
        values = {key: value for key, value in environment.items() if value is not None}
        passed = subprocess.run(argv, cwd=ROOT, env=values, umask=umask, check=False).returncode == 0
        ran = folder / "ran"
        print(ran.read_text() if ran.exists() else "", end="")
        return passed and not ran.exists()


def main() -> int:
    """Run all machines, or the one whose differences are named."""
    parser = argparse.ArgumentParser(prog="python -m tests.elsewhere", description=__doc__)
    parser.add_argument(
        "--only", metavar="NAME", action="append", choices=DIFFERENCES, help=f"of: {', '.join(DIFFERENCES)}"
    )
    parser.add_argument(
        "tests", nargs="*", default=[f"tests/{part}" for part in TESTED], help="as for pytest"
    )
    asked = parser.parse_args()
    machines = {"this": tuple(asked.only)} if asked.only else MACHINES
    failed = [name for name, differences in machines.items() if not run(differences, asked.tests)]
    for name in failed:
        print(
            f"failed on the {name} machine, which has: {', '.join(machines[name])}; --only NAME tries one "
            "of them",
            file=sys.stderr,
        )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
