"""Time and memory from a need to the exact Pareto front of a million candidates, and the front checked
against its definition.

    python benchmarks/planning.py [--candidates 1e6] [--repetitions 3] [--checked 3000]

Each repetition is a process of its own, whose memory is the most that it held. With moocore installed
(perjoule does not depend on it), its front of the same points is timed in the same process and compared.
"""

import argparse
import importlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from perjoule import planning
from perjoule.planning.candidates import Space, space
from perjoule.planning.enumeration import Candidates, all_candidates
from perjoule.planning.front import front

GOAL_S, GOAL_MIB = 2.0, 1024
NEED = Path(__file__).parents[1] / "examples" / "needs" / "archive.toml"
T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    began_s = time.perf_counter()
    found = call()
    return time.perf_counter() - began_s, found


def wide(text: str) -> str:
    """The example without limits, so that all candidates but the small ones are compared."""
    return text[: text.index("[limits]")]


def enlarged(found: Space, candidates_count: int) -> Space:
    """The same space with enough numbers of servers that more candidates than these fit: some redundancies
    need whole groups.
    """
    most_count = int(1.42 * candidates_count / (len(found.machines) * len(found.choices)))
    return replace(found, counts=np.arange(1, 1 + most_count))


def brute(points: np.ndarray) -> list[int]:
    """The front by definition: each point against each other."""
    better = [(points <= own).all(axis=1) & (points < own).any(axis=1) for own in points]
    return [n for n, found in enumerate(better) if not found.any()]


def once(candidates_count: int, checked_count: int) -> None:
    text = wide(NEED.read_text()) + "\n[limits]\nservers = 2000\n"
    read_s, question = timed(lambda: planning.parse(text, "archive.toml"))
    space_s, there = timed(lambda: enlarged(space(question), candidates_count))
    began_cpu_s = time.process_time()
    computed_s, every = timed(lambda: all_candidates(there, question.need))
    points = every.objectives
    front_s, found = timed(lambda: front(points))
    cpu_s = time.process_time() - began_cpu_s
    most_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total_s = computed_s + front_s
    print(
        f"{len(every)} candidates: {computed_s:.2f} s to compute, {front_s:.2f} s for the front of "
        f"{len(found)}, "
        f"{total_s:.2f} s in all, {cpu_s:.2f} s of CPU (goal {GOAL_S:g} s: "
        f"{'met' if total_s <= GOAL_S else 'missed'}; "
        f"{read_s + space_s:.2f} s before to read the need and its parts); "
        f"{most_mib:.0f} MiB (goal {GOAL_MIB} MiB: {'met' if most_mib <= GOAL_MIB else 'missed'})"
    )
    check(every, found, checked_count)
    try:
        moocore = importlib.import_module("moocore")  # beside, for comparison only
    except ImportError:
        print(
            "moocore: not installed here (pip install moocore in an environment of its own, for this "
            "comparison)"
        )
        return
    moocore_s, kept = timed(lambda: np.flatnonzero(moocore.is_nondominated(points, keep_weakly=True)))
    same = "the same" if np.array_equal(kept, found) else "NOT the same"
    print(f"moocore {moocore.__version__}: {moocore_s:.2f} s for the front; {same}")


def check(every: Candidates, found: np.ndarray, count: int) -> None:
    """Hold the front of samples against the definition, and the whole front against every candidate."""
    dice = np.random.default_rng(1)
    wrong = 0
    for _ in range(5):
        some = every.objectives[dice.choice(len(every), count, replace=False)]
        wrong += front(some).tolist() != brute(some)
    points = every.objectives
    worse = [
        bool(((points <= points[n]).all(axis=1) & (points < points[n]).any(axis=1)).any())
        for n in dice.choice(found, min(200, len(found)), replace=False)
    ]
    outside = dice.choice(np.setdiff1d(np.arange(len(every)), found), 2000)
    best = points[found]
    covered = [
        bool(((best <= points[n]).all(axis=1) & (best < points[n]).any(axis=1)).any()) for n in outside
    ]
    print(
        f"exact: {5 - wrong} of 5 fronts of {count} samples are those of comparing all with all; "
        f"of the whole front {worse.count(False)} of {len(worse)} points are dominated by no candidate, "
        f"and {covered.count(True)} of {len(covered)} others by a point of it"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=float, default=1e6)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--checked", type=int, default=3000)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        once(int(asked.candidates), asked.checked)
        return
    print(f"{os.cpu_count()} CPUs, load before {os.getloadavg()[0]:.1f}", flush=True)
    for _ in range(asked.repetitions):
        argv = [
            sys.executable,
            __file__,
            "--once",
            "--candidates",
            str(asked.candidates),
            "--checked",
            str(asked.checked),
        ]
        subprocess.run(argv, check=True)


if __name__ == "__main__":
    main()
