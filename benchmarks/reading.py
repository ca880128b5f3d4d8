"""The cost of reading: CPU time of commands that only read, as ratios to that of importing numpy and pyarrow in the same run.

usage: .venv/bin/python benchmarks/reading.py [--runs 5] [RESULTS]

RESULTS is a results folder; without one, the benchmark measures a simulated demo first (54 trials, some 3 minutes). The first
`show` after a change of perjoule or of the folder computes and keeps all numbers, and is printed separately. `verify` always
computes everything.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PERJOULE = str(Path(sys.executable).with_name("perjoule"))
CAMPAIGN = str(Path(__file__).resolve().parent.parent / "examples" / "green-storage.toml")
BARE = (sys.executable, "-c", "import numpy, pyarrow")


def cpu_s(argv: Sequence[str]) -> float:
    """User and system time of a command."""
    with Path(os.devnull).open("w") as nowhere:
        process = subprocess.Popen(argv, stdout=nowhere, stderr=nowhere)
        _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def ratio(argv: Sequence[str], runs_count: int) -> tuple[float, float, float]:
    """The median ratio of a command over the bare import, in pairs, with the least and the highest."""
    found = sorted(cpu_s(argv) / cpu_s(BARE) for _ in range(runs_count))
    return statistics.median(found), found[0], found[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("results", nargs="?", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perjoule-reading-") as made:
        folder = asked.results or Path(made, "results")
        if asked.results is None:
            subprocess.run([PERJOULE, "demo", "--simulate", "--into", str(folder)], check=True, stdout=subprocess.DEVNULL)
        trials_count = len(list((folder / "trials").iterdir()))
        cpu_s(BARE)
        (folder / "campaign.toml").touch()
        print(f"{trials_count} trials; the bare import takes {cpu_s(BARE):.2f} s of CPU time")
        print(f"{'first show':12} {cpu_s([PERJOULE, 'show', str(folder)]) / cpu_s(BARE):6.2f}")
        commands = {
            "--help": ["--help"],
            "check": ["check", CAMPAIGN],
            "show": ["show", str(folder)],
            "report": ["report", str(folder)],
        }
        for name, words in commands.items():
            median, least, most = ratio([PERJOULE, *words], asked.runs)
            print(f"{name:12} {median:6.2f}   ({least:.2f} to {most:.2f})", flush=True)
        print(f"{'verify':12} {cpu_s([PERJOULE, 'verify', str(folder)]) / cpu_s(BARE):6.2f}")


if __name__ == "__main__":
    main()
