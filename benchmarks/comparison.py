"""How often the interval of a comparison covers, and how often it alarms falsely, where nothing differs but order and time.

Two samples of the same level among trials of a campaign: normal scatter of 3 % on logarithms, a linear drift over the campaign,
neighbours in the order of running correlated as AR(1).

usage: .venv/bin/python benchmarks/comparison.py [RUNS]
"""

import random
import sys
from dataclasses import dataclass

import numpy as np

from perjoule.analysis.comparison import Sample, compared
from perjoule.analysis.drift import Timed, Trend, trend

SCATTER, DRIFT, CORRELATION = 0.03, 0.05, 0.2
TRUE_RATIO = 1.05  # of the coverage; that of the false alarms is 1
KINDS = ("interleaved", "grouped", "two folders")


@dataclass(frozen=True)
class Run:
    """One simulated comparison."""

    covers: bool
    alarms: bool
    doubted: bool


def once(dice: np.random.Generator, kind: str, repetitions: int, cells_count: int, drift: float, correlation: float) -> Run:
    """Two file systems of `cells_count` cells each; the first cells are compared."""
    order = _order(kind, repetitions, cells_count, random.Random(int(dice.integers(2**31))))
    noise = _autoregressive(dice, len(order), correlation)
    if kind == "two folders":  # the second drifts as the first did, from the start again
        half = len(order) // 2
        moved = np.concatenate([np.linspace(0, drift, half)] * 2)
        noise[half:] = _autoregressive(dice, half, correlation)
    else:
        moved = np.linspace(0, drift, len(order))
    logs = moved + SCATTER * noise
    logs += [np.log(TRUE_RATIO) if side else 0.0 for side, _, _ in order]
    timed = [Timed((side, cell), float(t), float(np.exp(logs[t]))) for t, (side, cell, _) in enumerate(order)]
    sides = [[one for one in timed if one.cell[0] == side] for side in (0, 1)]
    trends = [trend(timed)] * 2 if kind != "two folders" else [trend(own) for own in sides]
    middles = [float(np.mean([one.t_s for one in own if one.cell[1] == 0])) for own in sides]
    share = abs(middles[1] - middles[0]) / (len(order) - 1)
    samples: list[Sample] = []
    for side, found in enumerate(trends):
        places = sorted(t for t, place in enumerate(order) if place[:2] == (side, 0))
        gap = float(np.median(np.diff(places)))
        samples.append(
            Sample(
                tuple(timed[t].value for t in places),
                tuple(order[t][2] for t in places),
                tuple(float(t) for t in places),
                tuple(t + 0.9 for t in places),
                found.between(gap) if found else 0.0,
                _drift(found, kind, share),
            )
        )
    found = compared(*samples)
    null = compared(samples[0], _scaled(samples[1], 1 / TRUE_RATIO))
    return Run(
        found.ratio.low <= TRUE_RATIO <= found.ratio.high,
        null.verdict(null.p) in ("higher", "lower", "may be drift"),
        null.verdict(null.p) == "may be drift",
    )


def _drift(found: Trend | None, kind: str, share: float) -> float:
    """As `perjoule.comparing` takes it: what can't be excluded within a campaign, what is significant across two."""
    if found is None:
        return 0.0
    return (found.reach_ratio() if found.drifts else 0.0) if kind == "two folders" else found.reach_ratio(share)


def _order(kind: str, repetitions: int, cells_count: int, dice: random.Random) -> list[tuple[int, int, int]]:
    """(side, cell, repetition) in the order of running, as `perjoule.campaign.order` does."""
    blocks = [[[(side, cell, r) for cell in range(cells_count)] for r in range(repetitions)] for side in (0, 1)]
    for of_one in blocks:
        for block in of_one:
            dice.shuffle(block)
    if kind != "interleaved":
        return [trial for of_one in blocks for block in of_one for trial in block]
    found: list[tuple[int, int, int]] = []
    for both in zip(*blocks, strict=True):
        sides = list(both)
        dice.shuffle(sides)
        found += [trial for block in sides for trial in block]
    return found


def _scaled(sample: Sample, factor: float) -> Sample:
    values = tuple(v * factor for v in sample.values)
    return Sample(
        values, sample.repetitions, sample.began_s, sample.ended_s, sample.correlation_ratio, sample.drift_ratio, sample.widening
    )


def _autoregressive(dice: np.random.Generator, count: int, correlation: float) -> np.ndarray:
    noise = dice.normal(0, 1, count)
    for t in range(1, count):
        noise[t] = correlation * noise[t - 1] + np.sqrt(1 - correlation**2) * noise[t]
    return noise


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{runs_count} simulated comparisons a row, scatter {SCATTER:.0%}; alarm: relevant and significant, true ratio 1")
    print(f"{'order':12} {'cells x n':>9} {'drift':>6} {'AR(1)':>6} {'covers':>8} {'alarms':>8} {'as drift':>9} {'false':>7}")
    for kind in KINDS:
        for cells_count, repetitions in ((6, 5), (6, 10), (1, 10), (1, 20)):
            for drift, correlation in ((0.0, 0.0), (DRIFT, 0.0), (0.0, CORRELATION), (DRIFT, CORRELATION)):
                dice = np.random.default_rng(1)
                runs = [once(dice, kind, repetitions, cells_count, drift, correlation) for _ in range(runs_count)]
                covers, alarms, doubted = (
                    sum(getattr(r, name) for r in runs) / runs_count for name in ("covers", "alarms", "doubted")
                )
                print(
                    f"{kind:12} {cells_count:>4} x {repetitions:<2} {drift:6.0%} {correlation:6.1f} {covers:8.1%} {alarms:8.1%} "
                    f"{doubted:9.1%} {alarms - doubted:7.1%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
