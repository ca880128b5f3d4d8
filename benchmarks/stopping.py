"""Coverage of the interval that a campaign with `until` ends with, beside Student's plain interval under the same rule.

usage: .venv/bin/python benchmarks/stopping.py [RUNS]
"""

import sys
from collections.abc import Callable

import numpy as np

from perjoule.analysis.statistics import half_width_ratio, interval
from perjoule.analysis.stopping import narrow_enough, stopped_interval
from perjoule.model import LEAST_COUNT

WANTED_RATIO = 0.05
MOST_COUNT = 40
Draw = Callable[[np.random.Generator], float]


def _lognormal(scatter: float) -> Draw:
    sigma = np.sqrt(np.log(1 + scatter**2))
    return lambda dice: float(np.exp(dice.normal(-(sigma**2) / 2, sigma)))


def _normal(scatter: float) -> Draw:
    return lambda dice: float(dice.normal(1.0, scatter))


def row(name: str, draw: Draw, runs_count: int) -> str:
    dice = np.random.default_rng(1)
    covered, plain_covered, repetitions = 0, 0, 0
    for _ in range(runs_count):
        values = [draw(dice) for _ in range(LEAST_COUNT)]
        while not narrow_enough(values, WANTED_RATIO) and len(values) < MOST_COUNT:
            values.append(draw(dice))
        found = stopped_interval(values)
        covered += found.low <= 1.0 <= found.high
        repetitions += len(values)
        plain = [draw(dice) for _ in range(LEAST_COUNT)]
        while (half_width_ratio(interval(plain)) > WANTED_RATIO) and len(plain) < MOST_COUNT:
            plain.append(draw(dice))
        found = interval(plain)
        plain_covered += found.low <= 1.0 <= found.high
    share = runs_count / 100
    return f"{name:24} {covered / share:7.1f} %  {plain_covered / share:7.1f} %  {repetitions / runs_count:8.1f}"


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rule = f'until = {{ interval = "{WANTED_RATIO:.0%}", max = {MOST_COUNT} }}'
    print(f"{rule}, {runs_count} simulated campaigns each, at least {LEAST_COUNT} repetitions")
    print(f"{'scatter of one trial':24} {'covers':>9}  {'plain t':>9}  {'repetitions':>8}")
    for scatter in (0.02, 0.04, 0.06, 0.1, 0.15):
        print(row(f"normal {scatter:.0%}", _normal(scatter), runs_count))
    for scatter in (0.05, 0.1):
        print(row(f"log-normal {scatter:.0%}", _lognormal(scatter), runs_count))


if __name__ == "__main__":
    main()
