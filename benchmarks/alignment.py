"""How well a meter's clock is found from a load that goes on and off at known moments, over simulated runs.

usage: .venv/bin/python benchmarks/alignment.py [RUNS]        (200 by default)

Each run: a pattern of 30 s, a step of 20 W with noise on every sample, a meter whose clock is up to 5 s off.
"""

import sys

import numpy as np

from perjoule.analysis.alignment import offset, pattern
from perjoule.model import Channel, Semantics, Series

CASES: tuple[tuple[str, Semantics, float, float], ...] = (
    ("1 s averaging meter, one sample a second", "window mean", 1.0, 0.5),
    ("0.1 s averaging meter", "window mean", 0.1, 0.5),
    ("moments, five a second", "instantaneous", 0.2, 0.5),
    ("BMC: mean of the last 1 s, one a second, steps of 1 W", "average", 1.0, 0.3),
)


def samples(
    edges_s: np.ndarray, semantics: Semantics, period_s: float, ahead_s: float, noise_w: float, dice: np.random.Generator
) -> Series:
    end_s = np.arange(edges_s[0] - 5 + dice.uniform(0, period_s), edges_s[-1] + 5, period_s)
    fine_s = np.linspace(0, 1, 400, endpoint=False)
    moments_s = end_s[:, None] - (fine_s * period_s if semantics != "instantaneous" else np.zeros(1))
    on = np.searchsorted(edges_s, moments_s, side="right") % 2
    watts = 40 + 20 * on.mean(axis=1) + dice.normal(0, noise_w, len(end_s))
    if semantics == "average":
        watts = np.round(watts)
    width_s = np.full(len(end_s), period_s if semantics == "window mean" else 0.0)
    return Series(Channel("simulated", "", "total", "power", "W", semantics, "simulated"), end_s + ahead_s, width_s, watts)


def main() -> None:
    runs_count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{'meter':54} {'rms':>8} {'95 % within':>12} {'stated u':>9} {'in 2 u':>7} {'not seen':>8}")
    for name, semantics, period_s, noise_w in CASES:
        errors: list[float] = []
        stated: list[float] = []
        unseen = 0
        for run in range(runs_count):
            dice = np.random.default_rng(run)
            edges_s = 1000.0 + np.array(pattern(30.0, seed=run))
            ahead_s = float(dice.uniform(-5, 5))
            found = offset(
                samples(edges_s, semantics, period_s, ahead_s, noise_w, dice),
                edges_s.tolist(),
                window_s=period_s,
            )
            if found is None:
                unseen += 1
                continue
            errors.append(found.offset_s - ahead_s)
            stated.append(found.uncertainty_s)
        wrong_s = np.abs(np.array(errors))
        inside = float((wrong_s <= 2 * np.array(stated)).mean())
        rms_s, most_s = float(np.sqrt((wrong_s**2).mean())), float(np.quantile(wrong_s, 0.95))
        print(
            f"{name:54} {rms_s * 1e3:5.1f} ms {most_s * 1e3:9.1f} ms {np.median(stated) * 1e3:6.1f} ms {inside:7.1%} {unseen:8}"
        )


if __name__ == "__main__":
    main()
