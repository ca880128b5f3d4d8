"""The intervals of campaigns that repeat `until` one is narrow enough, and their bytes compared with a
paper's five repetitions.

For each family of simulated repetitions: the share of rows that end because the interval is narrow enough,
and how many of these hold the mean; the share in two modes, which are printed instead of a mean; how many
intervals of all other rows hold. A narrow interval of few repetitions proves little: a second mode that none
of them met is in no interval, so no row is called known.

The bytes are those that each client writes until the interval of MiB/J is within 5 %, for the scatter of a
recorded campaign: MiB/J of the writes of "Green Storage" repeated whole on 2026-11-26, until the disks hold them, half
widths of five repetitions over their means, at scale 0.1 with 36 MiB for each client. The paper wrote 36 GiB
for each client and repetition, five times; at the same scale that is a tenth.

usage: .venv/bin/python benchmarks/stopping.py [RUNS]
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from perjoule.model.units import MIB
from perjoule.statistics.intervals import student_factor
from perjoule.statistics.modes import divided, modes, quantile, unseen
from perjoule.statistics.stopping import narrow_enough, stopped_interval, widening

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


def repeated(
    draw: Draw, dice: np.random.Generator, least_count: int, wanted_ratio: float, most_count: int
) -> list[float]:
    """Repeat until the rule is satisfied."""
    values = [draw(dice) for _ in range(least_count)]
    while not narrow_enough(values, wanted_ratio, least_count) and len(values) < most_count:
        values.append(draw(dice))
    return values


def _student(scatter: float) -> Draw:
    return lambda dice: float(1 + scatter * dice.standard_t(3) / np.sqrt(3))


def _modes(share: float, ratio: float, scatter: float) -> Draw:
    """Draw one mode at 1 and one at `ratio`, so that the mean of all is 1."""
    mean = 1 + share * (ratio - 1)
    return lambda dice: float(
        (ratio if dice.random() < share else 1.0) * (1 + scatter * dice.normal()) / mean
    )


class _Blocks:
    """Four neighbours share an error: the state of the machine for a while."""

    def __init__(self, shared: float, scatter: float) -> None:
        self._shared, self._scatter, self._count, self._level = shared, scatter, 0, 0.0

    def __call__(self, dice: np.random.Generator) -> float:
        if self._count % 4 == 0:
            self._level = float(dice.normal(0, self._shared))
        self._count += 1
        return 1 + self._level + float(dice.normal(0, self._scatter))


def families() -> dict[str, Callable[[], Draw]]:
    """Return how the repetitions of a row may be distributed, with a mean of 1."""
    normal: dict[str, Callable[[], Draw]] = {
        f"normal {scatter:.0%}": partial(_normal, scatter)
        for scatter in (0.02, 0.04, 0.06, 0.08, 0.12, 0.15, 0.2)
    }
    return normal | {
        "log-normal 5%": partial(_lognormal, 0.05),
        "log-normal 10%": partial(_lognormal, 0.1),
        "Student's t3 5%": partial(_student, 0.05),
        "Student's t3 10%": partial(_student, 0.1),
        "modes 75/25, x2": partial(_modes, 0.25, 2.0, 0.02),
        "modes 75/25, x1.3": partial(_modes, 0.25, 1.3, 0.03),
        "modes 50/50, x1.5": partial(_modes, 0.5, 1.5, 0.05),
        "stragglers 5%, x0.5": partial(_modes, 0.05, 0.5, 0.03),
        "blocks of 4, 5% + 3%": partial(_Blocks, 0.05, 0.03),
    }


def row(
    name: str,
    family: Callable[[], Draw],
    runs_count: int,
    least_count: int,
    wanted_ratio: float,
    most_count: int,
) -> str:
    """Simulate campaigns: those that stop before the most repetitions, those in two modes, and the other
    intervals.
    """
    dice = np.random.default_rng(1)
    early, early_held, bimodal, shown, shown_held, repetitions = 0, 0, 0, 0, 0, 0
    for _ in range(runs_count):
        values = repeated(family(), dice, least_count, wanted_ratio, most_count)
        found = stopped_interval(values, widening(least_count))
        held = found.low <= 1.0 <= found.high
        repetitions += len(values)
        if modes(values):
            bimodal += 1
            continue
        shown, shown_held = shown + 1, shown_held + held
        if narrow_enough(values, wanted_ratio, least_count):
            early, early_held = early + 1, early_held + held

    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:7.1f} %" if whole else f"{'-':>9}"

    return (
        f"{name:24} {share(early, runs_count)} {share(early_held, early)} {share(bimodal, runs_count)} "
        f"{share(shown_held, shown)} {repetitions / runs_count:8.1f}"
    )


def coverage(runs_count: int, least_count: int, wanted_ratio: float, most_count: int) -> None:
    rule = f'until = {{ interval = "{wanted_ratio:.0%}", max = {most_count} }}'
    print(
        f"\n{rule}, {runs_count} simulated campaigns each, at least {least_count} repetitions, factor "
        f"{widening(least_count)}"
    )
    print(
        f"a mode with one in four is unseen in {unseen(least_count):.0%} of samples of {least_count}: no "
        "row is called known"
    )
    print(f"{'repetitions':24} {'narrow':>9} {'hold':>9} {'modes':>9} {'+- holds':>9} {'count':>8}")
    for name, family in families().items():
        print(row(name, family, runs_count, least_count, wanted_ratio, most_count), flush=True)


def quantiles(samples_count: int) -> None:
    """Draw the share that the best division leaves of normal samples again, beside the quantile that
    `modes` uses.
    """
    dice = np.random.default_rng(2)
    print(f"\n1 % quantile of what the best division in two leaves of {samples_count} normal samples")
    for count in (4, 5, 6, 8, 12, 20):
        drawn = [divided(sorted(dice.normal(size=count).tolist()))[0] for _ in range(samples_count)]
        print(
            f"{count:3} repetitions {np.quantile(drawn, 0.01):8.4f}, used {quantile(count):8.4f}", flush=True
        )


def cost(runs_count: int, least_count: int) -> None:
    size = f"{RECORDED_BYTES / MIB:g} MiB"
    print(
        f"\nbytes of each client for MiB/J within {WANTED_RATIO:.0%}, at least {least_count} repetitions of "
        f"{size}"
    )
    print(f"{'':12} {'clients':>7} {'scatter':>8} {'repetitions':>12} {'MiB':>8} {'of the paper':>13}")
    paper_bytes = PAPER_BYTES * PAPER_COUNT * RECORDED_SCALE
    whole_bytes = 0.0
    for system, several in RECORDED.items():
        for clients_count, (mean, half) in enumerate(several, start=1):
            scatter = half / mean * np.sqrt(RECORDED_COUNT) / student_factor(RECORDED_COUNT)
            dice = np.random.default_rng(1)
            counts = [
                len(repeated(_normal(float(scatter)), dice, least_count, WANTED_RATIO, MOST_COUNT))
                for _ in range(runs_count)
            ]
            own_bytes = float(np.mean(counts)) * RECORDED_BYTES
            whole_bytes += own_bytes * clients_count
            print(
                f"{system:12} {clients_count:7} {scatter:8.1%} {np.mean(counts):12.1f} "
                f"{own_bytes / MIB:8.0f} "
                f"{own_bytes / paper_bytes:13.2%}",
                flush=True,
            )
    clients = sum(range(1, 5)) * len(RECORDED)
    print(
        f"{'all':12} {'':7} {'':8} {'':12} {whole_bytes / MIB:8.0f} "
        f"{whole_bytes / (paper_bytes * clients):13.2%}"
    )


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    quantiles(10 * runs_count)
    coverage(runs_count, 5, WANTED_RATIO, MOST_COUNT)
    coverage(runs_count, 3, WANTED_RATIO, MOST_COUNT)
    coverage(runs_count, 3, DEMO_WANTED_RATIO, DEMO_MOST_COUNT)
    cost(min(runs_count, 400), 5)
    cost(min(runs_count, 400), 3)


if __name__ == "__main__":
    main()
