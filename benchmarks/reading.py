"""The cost of reading: CPU time of each command that only reads, divided by that of importing numpy and
pyarrow, and its memory.

usage: .venv/bin/python benchmarks/reading.py [--runs 5] [--many 10000]

First a simulated demo of 54 trials is measured (some 3 minutes). Then 10,000 trials are written through the store
(some minutes): two simulated trials, kept again and again under other names, and computed when kept, as
`perjoule run` does. All ratios are of pairs in this run, with compiled bytecode, as an installed package has it.
Exit code 1 when a goal is missed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PERJOULE = str(Path(sys.executable).with_name("perjoule"))
BARE = (sys.executable, "-c", "import numpy, pyarrow")
MIB = 2**20

MANY = """
name = "many"
seed = 1
repetitions = {repetitions}
clients = [1, 2, 4, 8, 16]
settle = "20 ms"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = [{throughputs}]
[[workload]]
kind = "simulated"
operation = ["write", "read"]
size = "2 MiB"
[[meter]]
kind = "simulated"
rate = "100 Hz"
"""


@dataclass(frozen=True)
class Used:
    """What a command used."""

    cpu_s: float
    memory_bytes: int


def used(argv: Sequence[str], environment: Mapping[str, str], codes: Sequence[int] = (0,)) -> Used:
    """Run a command, which must end with one of these codes.

    Its memory is at least that of this process, which imports nothing large.
    """
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, resources = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"{' '.join(argv)} failed with exit code {process.returncode}")
    return Used(resources.ru_utime + resources.ru_stime, resources.ru_maxrss * 1024)


def pairs(one: Callable[[], Used], other: Callable[[], Used], runs_count: int) -> tuple[list[float], int]:
    """Return the sorted ratios of the CPU time of two commands that take turns, and the most memory of the
    first.
    """
    found = [(one(), other()) for _ in range(runs_count)]
    return sorted(a.cpu_s / b.cpu_s for a, b in found), max(a.memory_bytes for a, _ in found)


class Verdicts:
    """The rows of the table, and whether all goals were met."""

    def __init__(self) -> None:
        self.met = True
        print(f"{'':34} {'ratio':>6}  {'from':>6} {'to':>6}  {'memory':>8}  goal")

    def row(
        self,
        name: str,
        ratios: Sequence[float],
        memory_bytes: int,
        goal: float | None = None,
        most_mib: float = 0,
    ) -> None:
        """Print a row."""
        median = statistics.median(ratios)
        met = (goal is None or median <= goal) and (not most_mib or memory_bytes <= most_mib * MIB)
        self.met &= met
        asked = (
            ""
            if goal is None
            else f"<= {goal:g}"
            + (f", {most_mib:g} MiB" if most_mib else "")
            + (": met" if met else ": MISSED")
        )
        spread = f"{median:6.2f}  {ratios[0]:6.2f} {ratios[-1]:6.2f}"
        print(f"{name:34} {spread}  {memory_bytes / MIB:4.0f} MiB  {asked}", flush=True)


def write_many(folder: Path, count: int) -> None:
    """Write a results folder of this many trials (a multiple of 100) through the store."""
    from perjoule import campaign, store
    from perjoule.execution import runner
    from perjoule.summary.computing import of_trial

    os.fsync = lambda descriptor: None  # nothing here has to survive a power cut
    throughputs = ", ".join(f'"{30 + n} MiB/s"' for n in range(10))
    template = campaign.parse(MANY.format(repetitions=1, throughputs='"60 MiB/s"'), overrides=["clients=1"])
    measured = store.create(folder.with_name("template"), template.text, template.name, template.overrides)
    runner.run(template, measured, lambda event: None)
    seen = {record.trial.workload.label: (record, measured.series(record)) for record in measured.latest()}
    asked = campaign.parse(MANY.format(repetitions=count // 100, throughputs=throughputs))
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    for number, trial in enumerate(asked.trials):
        record, series = seen[trial.workload.label]
        assert record.outcome is not None
        took = [
            replace(r, ended_s=r.ended_s - (r.ended_s - r.began_s) * (number % 17) / 1000)
            for r in record.outcome.results
        ]
        with results.attempt(trial) as attempt:
            for one in series:
                attempt.sink.extend(one)
            kept = replace(
                record,
                trial=trial,
                attempt=attempt.number,
                outcome=replace(record.outcome, results=tuple(took)),
            )
            attempt.keep(kept)
        of_trial(results, kept)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--many", type=int, default=10_000, help="trials of the large folder; 0 leaves it out"
    )
    parser.add_argument("--write-many", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write_many:
        write_many(asked.write_many, asked.many)
        return 0
    with tempfile.TemporaryDirectory(prefix="perjoule-reading-") as made:
        return measure(Path(made), asked.runs, asked.many)


def measure(made: Path, runs_count: int, many_count: int) -> int:
    """Make the results folders, and print what reading them costs."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(made / "bytecode"), "XDG_CACHE_HOME": str(made / "cache")}
    folder, many = made / "results", made / "many"
    argv = [
        sys.executable,
        "-m",
        "perjoule",
        "demo",
        "--simulate",
        "--set",
        "repetitions=3",
        "--set",
        "clients=[1, 2, 4]",
        "--into",
        str(folder),
    ]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment)
    if many_count:
        subprocess.run(
            [sys.executable, __file__, "--write-many", str(many), "--many", str(many_count)],
            check=True,
            env=environment,
        )

    def bare() -> Used:
        return used(BARE, environment)

    def perjoule(*words: str) -> Callable[[], Used]:
        return lambda: used([PERJOULE, *words], environment)

    bare()
    found = Verdicts()

    def row(name: str, goal: float | None, *words: str, runs: int = runs_count, most_mib: float = 0) -> None:
        found.row(name, *pairs(perjoule(*words), bare, runs), goal, most_mib)

    campaign, trials_count = (
        str(TOP / "examples" / "green-storage.toml"),
        len(list((folder / "trials").iterdir())),
    )
    perjoule("--help")()
    row("--help", 0.5, "--help")
    row("check", 3, "check", campaign, "--shrink", "64")
    row(f"first show of {trials_count} trials", None, "show", str(folder), runs=1)
    row(f"show of {trials_count} trials", 2, "show", str(folder))
    row("first report", None, "report", str(folder), runs=1)
    row(f"report of {trials_count} trials", 6, "report", str(folder))
    row("resume with nothing missing", 6, "resume", str(folder))
    if many_count:
        row(f"first show of {many_count} trials", None, "show", str(many), runs=1)
        row(f"show of {many_count} trials", 8, "show", str(many), most_mib=100)
    row(f"verify of {trials_count} trials", 15, "verify", str(folder), runs=min(3, runs_count))
    return 0 if found.met else 1


if __name__ == "__main__":
    sys.exit(main())
