"""False positives, coverage and power of the one rule for "better".

Simulates campaigns of file systems that run 1 or 6 combinations each, interleaved or one file system after
the other, with a normal scatter of 3 % on logarithms, a linear drift over the campaign or one that restarts
with each file system, neighbours in time correlated as AR(1), and file systems of unequal scatter.
`statistics.better.Judge` judges one combination, as everywhere.

- false: share of campaigns in which any two file systems of the same speed are declared different
  (family-wise).
- holds: share of campaigns in which all intervals contain the true ratios.
- finds: how often a file system that is faster by 5, 10, 20 % is declared better than another one.

A row fails if its false positives exceed 5 % significantly (one-sided, at 2.5 %).

usage: .venv/bin/python benchmarks/better.py [RUNS [ROWS]]

ROWS is a regular expression; it is searched in "TITLE, CONDITION, K file systems, n = N", as in "three
times.*, n = 5".
"""

import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import stats

from perjoule.model import Cell, Ran
from perjoule.statistics.better import Judge, verdict
from perjoule.statistics.intervals import interval
from perjoule.statistics.stopping import narrow_enough, stopped_interval, widening

SCATTER, DRIFT, CORRELATION = 0.03, 0.05, 0.2
DIFFERENCES = (0.05, 0.10, 0.20)
METRIC = "efficiency_bytes_per_j"


@dataclass(frozen=True)
class Case:
    """What is simulated."""

    order: str = "interleaved"  # or "grouped"
    systems_count: int = 3
    repetitions: int = 5
    combinations_count: int = 1
    drift: float = 0.0
    fresh: bool = False  # the drift starts again with each deployment
    correlation: float = 0.0
    unequal: bool = False  # scatter of every other file system is three times larger
    shared: float = 0.0  # standard uncertainty of what each file system's repetitions share
    difference: float = 0.0  # of the first from all others


def campaign(case: Case, dice: np.random.Generator) -> list[Cell]:
    """Simulate a campaign; the first combination of each file system is judged."""
    k, n, c = case.systems_count, case.repetitions, case.combinations_count
    order = _order(case, random.Random(int(dice.integers(2**31))))
    noise = dice.normal(0, 1, len(order))
    for t in range(1, len(order)):
        noise[t] = case.correlation * noise[t - 1] + np.sqrt(1 - case.correlation**2) * noise[t]
    wrong = dice.normal(0, case.shared, k) if case.shared else np.zeros(k)
    values: dict[tuple[int, int], list[tuple[Ran, float]]] = {}
    for t, (system, combination, repetition) in enumerate(order):
        time = t / (len(order) - 1)
        moved = case.drift * (time * k % 1.0 if case.fresh else time)
        scatter = SCATTER * (3 if case.unequal and system % 2 else 1)
        level = np.log(1 + case.difference) if system == 0 else 0.0
        value = float(np.exp(level + wrong[system] + moved + scatter * noise[t]))
        values.setdefault((system, combination), []).append((Ran(repetition, float(t), t + 0.9), value))
    found: list[Cell] = []
    for (system, combination), own in sorted(values.items()):
        own.sort(key=lambda pair: pair[0].repetition)
        shared = {METRIC: {f"model of {system}": case.shared}} if case.shared else {}
        metrics = {METRIC: interval([value for _, value in own])}
        ran = tuple(one for one, _ in own)
        found.append(Cell(f"fs{system}", f"w{combination}", "write", n, metrics, shared=shared, ran=ran))
    assert len(found) == k * c
    return found


def _order(case: Case, dice: random.Random) -> list[tuple[int, int, int]]:
    """(file system, combination, repetition) in the order of running, as `perjoule.campaign.order` does."""
    blocks = [
        [
            [(system, combination, r) for combination in range(case.combinations_count)]
            for r in range(case.repetitions)
        ]
        for system in range(case.systems_count)
    ]
    for of_one in blocks:
        for block in of_one:
            dice.shuffle(block)
    if case.order == "grouped":
        return [trial for of_one in blocks for block in of_one for trial in block]
    found: list[tuple[int, int, int]] = []
    for several in zip(*blocks, strict=True):
        turns = list(several)
        dice.shuffle(turns)
        found += [trial for block in turns for trial in block]
    return found


def false_and_holds(case: Case, runs_count: int) -> tuple[float, float]:
    """The share of campaigns with a false difference, and of those whose intervals all hold."""
    dice = np.random.default_rng(1)
    false, holds = 0, 0
    for _ in range(runs_count):
        cells = campaign(case, dice)
        judge = Judge(cells)
        verdicts = [judge.verdict(one, other, METRIC) for one, other in combinations(_judged(cells), 2)]
        false += any(one.sign for one in verdicts)
        holds += all(one.ratio.low <= 1 <= one.ratio.high for one in verdicts)
    return false / runs_count, holds / runs_count


def finds(case: Case, runs_count: int) -> float:
    """How often the first is said to be better than the second."""
    dice = np.random.default_rng(2)
    found = 0
    for _ in range(runs_count):
        cells = campaign(case, dice)
        one, other, *_ = _judged(cells)
        found += Judge(cells).verdict(one, other, METRIC).word == "better"
    return found / runs_count


def _judged(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.workload == "w0"]


def stopped(difference: float, runs_count: int) -> tuple[float, float]:
    """Repeat two file systems 3 to 8 times, until their intervals are within 10 %: differences said, and
    intervals that hold.
    """
    dice = np.random.default_rng(3)
    said, holds = 0, 0
    for _ in range(runs_count):
        cells: list[Cell] = []
        for system, level in enumerate((1 + difference, 1.0)):
            values = [level * float(np.exp(dice.normal(0, 0.08))) for _ in range(3)]
            while not narrow_enough(values, 0.1, 3) and len(values) < 8:
                values.append(level * float(np.exp(dice.normal(0, 0.08))))
            metrics = {METRIC: stopped_interval(values, widening(3))}
            cells.append(Cell(f"fs{system}", "w0", "write", 1, metrics, widening=widening(3)))
        verdict = Judge(cells).verdict(cells[0], cells[1], METRIC)
        said += verdict.sign != 0
        holds += verdict.ratio.low <= 1 + difference <= verdict.ratio.high
    return said / runs_count, holds / runs_count


def folders(case: Case, runs_count: int) -> float:
    """How often two campaigns of one combination each, repetition after repetition, are said to differ."""
    dice = np.random.default_rng(5)
    said = 0
    for _ in range(runs_count):
        (one,), (other,) = campaign(case, dice), campaign(replace(case, difference=0.0), dice)
        terms = [(1.0, Judge([one]).sample(one, METRIC)), (-1.0, Judge([other]).sample(other, METRIC))]
        said += verdict(terms, METRIC, 1, (one, other)).sign != 0
    return said / runs_count


Options = Mapping[str, object]  # of a Case
CONDITIONS: tuple[tuple[str, Options], ...] = (
    ("nothing", {}),
    (f"drift {DRIFT:.0%}", {"drift": DRIFT}),
    (f"AR(1) {CORRELATION}", {"correlation": CORRELATION}),
    ("both", {"drift": DRIFT, "correlation": CORRELATION}),
)


FRESH = ("drift from each deployment", {"drift": DRIFT, "fresh": True})
SIX = {"order": "grouped", "combinations_count": 6}
TABLES: tuple[tuple[str, Options, Sequence[tuple[str, Options]]], ...] = (
    ("interleaved, one combination", {}, CONDITIONS),
    ("one file system after the other, one combination", {"order": "grouped"}, CONDITIONS),
    ("one file system after the other, six combinations", SIX, (*CONDITIONS[:2], FRESH)),
    ("interleaved, every other file system scatters three times as much", {"unequal": True}, CONDITIONS[:1]),
    ("each file system's model is wrong by 4 % (standard uncertainty)", {"shared": 0.04}, CONDITIONS[:1]),
)
FOLDERS = "two folders of one combination each, compared with one another"
STOPPED = "repeated 3 to 8 times until the interval is within 10 %, scatter 8 %, two file systems"


def table(
    runs_count: int, rows: str, title: str, extra: Options, conditions: Sequence[tuple[str, Options]]
) -> int:
    """Print the chosen rows of a table; how many of them fail."""
    cases = [
        (name, Case(systems_count=systems_count, repetitions=repetitions), words)
        for name, words in conditions
        for repetitions in (3, 5, 10)
        for systems_count in range(2, 7)
        if re.search(rows, f"{title}, {name}, {systems_count} file systems, n = {repetitions}")
    ]
    wrong = 0
    powers = "".join(f"{f'finds {one:.0%}':>11}" for one in DIFFERENCES)
    if cases:
        print(f"\n{title}\n{'':14} {'file systems':>12} {'n':>3} {'false':>7} {'holds':>7}{powers}")
    for name, plain, words in cases:
        case = replace(plain, **extra, **words)
        false, holds = false_and_holds(case, runs_count)
        power = [finds(replace(case, difference=one), runs_count // 4) for one in DIFFERENCES]
        shown = "".join(f"{one:11.0%}" for one in power)
        high = too_many(false, runs_count)
        wrong += high
        more = "  <-- more than 5 %" if high else ""
        print(
            f"{name:14} {case.systems_count:12} {case.repetitions:3} {false:7.2%} {holds:7.2%}{shown}{more}",
            flush=True,
        )
    return wrong


def too_many(share: float, count: int) -> bool:
    """Say whether a share of this many runs is above 5 % by more than chance."""
    return stats.binomtest(round(share * count), count, 0.05, alternative="greater").pvalue < 0.025


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rows = sys.argv[2] if len(sys.argv) > 2 else ""
    print(
        f"{runs_count} simulated campaigns a row, scatter {SCATTER:.0%}; standard error of a share of 5 %: ",
        end="",
    )
    print(f"{np.sqrt(0.05 * 0.95 / runs_count):.2%}")
    wrong = sum(table(runs_count, rows, *one) for one in TABLES)
    if re.search(rows, FOLDERS):
        print(f"\n{FOLDERS}")
        for repetitions in (5, 10):
            for correlation in (0.0, CORRELATION, 2 * CORRELATION):
                case = Case("grouped", 1, repetitions, correlation=correlation)
                false = folders(case, runs_count)
                wrong += not correlation and too_many(false, runs_count)
                power = folders(replace(case, difference=DIFFERENCES[0]), runs_count // 4)
                found = f"finds {DIFFERENCES[0]:.0%} {power:4.0%}"
                print(f"n = {repetitions:2}, AR(1) {correlation:g}: false {false:6.2%}, {found}", flush=True)
    if re.search(rows, STOPPED):
        print(f"\n{STOPPED}")
        for difference in (0.0, *DIFFERENCES):
            said, holds = stopped(difference, runs_count)
            wrong += not difference and too_many(said, runs_count)
            print(
                f"true difference {difference:4.0%}: said to differ {said:6.2%}, interval holds {holds:6.2%}",
                flush=True,
            )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
