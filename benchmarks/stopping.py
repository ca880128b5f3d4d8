"""Coverage of the final interval of a campaign with `until`, and its cost in bytes compared with a paper's five repetitions.

The coverage is that of simulated campaigns, next to Student's plain interval under the same rule. The bytes are those that each
client writes until the interval of MiB/J is within 5 %, for the scatter of a recorded campaign: MiB/J of the writes of
docs/examples/green-storage.html, until the disks hold them, half widths of five repetitions over their means, at scale 0.1 with
36 MiB for each client. The paper wrote 36 GiB for each client and repetition, five times; at the same scale that is a tenth.

usage: .venv/bin/python benchmarks/stopping.py [RUNS]
"""

import sys
from collections.abc import Callable

import numpy as np

from perjoule.analysis.statistics import half_width_ratio, interval, student_factor
from perjoule.analysis.stopping import narrow_enough, stopped_interval, widening
from perjoule.model.units import MIB

WANTED_RATIO, MOST_COUNT = 0.05, 40
DEMO_WANTED_RATIO, DEMO_MOST_COUNT = 0.10, 8
RECORDED = {  # MiB/J and half its interval, with 1 to 4 clients
    "CephFS": ((2.17, 0.099), (2.99, 0.172), (3.42, 0.120), (3.55, 0.212)),
    "GlusterFS": ((1.87, 0.015), (3.39, 0.015), (4.62, 0.037), (5.62, 0.040)),
    "MooseFS": ((1.83, 0.016), (3.53, 0.042), (5.15, 0.028), (6.60, 0.070)),
}
RECORDED_COUNT, RECORDED_SCALE, RECORDED_BYTES = 5, 0.1, 36 * MIB
PAPER_BYTES, PAPER_COUNT = 36 * 1024 * MIB, 5
Draw = Callable[[np.random.Generator], float]


def _lognormal(scatter: float) -> Draw:
    sigma = np.sqrt(np.log(1 + scatter**2))
    return lambda dice: float(np.exp(dice.normal(-(sigma**2) / 2, sigma)))


def _normal(scatter: float) -> Draw:
    return lambda dice: float(dice.normal(1.0, scatter))


def repeated(draw: Draw, dice: np.random.Generator, least_count: int, wanted_ratio: float, most_count: int) -> list[float]:
    """Repeat until the rule is satisfied."""
    values = [draw(dice) for _ in range(least_count)]
    while not narrow_enough(values, wanted_ratio, least_count) and len(values) < most_count:
        values.append(draw(dice))
    return values


def row(name: str, draw: Draw, runs_count: int, least_count: int, wanted_ratio: float, most_count: int) -> str:
    dice = np.random.default_rng(1)
    covered, plain_covered, repetitions = 0, 0, 0
    for _ in range(runs_count):
        values = repeated(draw, dice, least_count, wanted_ratio, most_count)
        found = stopped_interval(values, widening(least_count))
        covered += found.low <= 1.0 <= found.high
        repetitions += len(values)
        plain = [draw(dice) for _ in range(least_count)]
        while half_width_ratio(interval(plain)) > wanted_ratio and len(plain) < most_count:
            plain.append(draw(dice))
        found = interval(plain)
        plain_covered += found.low <= 1.0 <= found.high
    share = runs_count / 100
    return f"{name:24} {covered / share:7.1f} %  {plain_covered / share:7.1f} %  {repetitions / runs_count:8.1f}"


def coverage(runs_count: int, least_count: int, wanted_ratio: float, most_count: int) -> None:
    rule = f'until = {{ interval = "{wanted_ratio:.0%}", max = {most_count} }}'
    print(f"\n{rule}, {runs_count} simulated campaigns each, at least {least_count} repetitions, factor {widening(least_count)}")
    print(f"{'scatter of one trial':24} {'covers':>9}  {'plain t':>9}  {'repetitions':>8}")
    for scatter in (0.02, 0.04, 0.06, 0.1, 0.15):
        print(row(f"normal {scatter:.0%}", _normal(scatter), runs_count, least_count, wanted_ratio, most_count), flush=True)
    for scatter in (0.05, 0.1):
        print(
            row(f"log-normal {scatter:.0%}", _lognormal(scatter), runs_count, least_count, wanted_ratio, most_count), flush=True
        )


def cost(runs_count: int, least_count: int) -> None:
    size = f"{RECORDED_BYTES / MIB:g} MiB"
    print(f"\nbytes of each client for MiB/J within {WANTED_RATIO:.0%}, at least {least_count} repetitions of {size}")
    print(f"{'':12} {'clients':>7} {'scatter':>8} {'repetitions':>12} {'MiB':>8} {'of the paper':>13}")
    paper_bytes = PAPER_BYTES * PAPER_COUNT * RECORDED_SCALE
    whole_bytes = 0.0
    for system, several in RECORDED.items():
        for clients_count, (mean, half) in enumerate(several, start=1):
            scatter = half / mean * np.sqrt(RECORDED_COUNT) / student_factor(RECORDED_COUNT)
            dice = np.random.default_rng(1)
            counts = [
                len(repeated(_normal(float(scatter)), dice, least_count, WANTED_RATIO, MOST_COUNT)) for _ in range(runs_count)
            ]
            own_bytes = float(np.mean(counts)) * RECORDED_BYTES
            whole_bytes += own_bytes * clients_count
            print(
                f"{system:12} {clients_count:7} {scatter:8.1%} {np.mean(counts):12.1f} {own_bytes / MIB:8.0f} "
                f"{own_bytes / paper_bytes:13.2%}",
                flush=True,
            )
    clients = sum(range(1, 5)) * len(RECORDED)
    print(f"{'all':12} {'':7} {'':8} {'':12} {whole_bytes / MIB:8.0f} {whole_bytes / (paper_bytes * clients):13.2%}")


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    coverage(runs_count, 5, WANTED_RATIO, MOST_COUNT)
    coverage(runs_count, 3, WANTED_RATIO, MOST_COUNT)
    coverage(runs_count, 3, DEMO_WANTED_RATIO, DEMO_MOST_COUNT)
    cost(min(runs_count, 400), 5)
    cost(min(runs_count, 400), 3)


if __name__ == "__main__":
    main()
