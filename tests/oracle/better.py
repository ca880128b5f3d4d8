"""Whether one is better than another: docs/explanations/how-numbers-are-made.md, "The best", of trials that are not paired."""

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
import pandas as pd

from .students import quantile

FAMILY_RATIO = 0.05  # of families, in which any interval may not hold


def ratio(cells: Mapping[str, pd.DataFrame], one: str, other: str, shared: float = 0.0) -> tuple[float, float, float]:
    """The ratio of two file systems of a campaign with its interval; tables of `value`, `began_s`, `ended_s`.

    `shared` is the variance of what all repetitions share, as by `shared.variance`.
    """
    outside = FAMILY_RATIO / (len(cells) * (len(cells) - 1) / 2)
    a, b = cells[one], cells[other]
    means = [np.var(np.log(own["value"]), ddof=1) / len(own) for own in (a, b)]
    scatter = sum(means)
    freedom = int(scatter**2 / sum(v**2 / (len(own) - 1) for v, own in zip(means, (a, b), strict=True)) + 1e-9)
    slope, error, drift_freedom = drift(cells)
    times = [(own["began_s"] + own["ended_s"]).mean() / 2 for own in (a, b)]
    moved = (times[0] - times[1]) ** 2 * (slope**2 + error**2)
    same = NormalDist().inv_cdf(1 - outside / 2) ** 2 * shared
    half = np.sqrt(quantile(freedom, 1 - outside) ** 2 * scatter + quantile(drift_freedom, 1 - outside) ** 2 * moved + same)
    distance = np.log(a["value"]).mean() - np.log(b["value"]).mean()
    return float(np.exp(distance)), float(np.exp(distance - half)), float(np.exp(distance + half))


def drift(cells: Mapping[str, pd.DataFrame]) -> tuple[float, float, int]:
    """The slope of all residuals over time (1/s), its standard error and degrees of freedom."""
    rest = pd.concat([own.assign(cell=name, x=np.log(own["value"])) for name, own in cells.items()], ignore_index=True)
    of = rest.groupby("cell")
    x, t_s = (rest[c] - of[c].transform("mean") for c in ("x", "began_s"))
    count = of["x"].transform("size")
    about = x - t_s * (float(np.dot(x, t_s)) / float(np.dot(t_s, t_s)))
    variance = (about**2).groupby(rest["cell"]).transform("sum") / (count - 1)
    quarter = sorted(variance.groupby(rest["cell"]).first())[len(cells) // 4]
    weight = (count + 1) / (2 * quarter + (count - 1) * variance)
    slope = (weight * t_s) @ x / ((weight * t_s) @ t_s)
    freedom = len(rest) - len(cells) - 1
    left = float(weight @ (x - slope * t_s) ** 2)
    return float(slope), float(np.sqrt(left / freedom / ((weight * t_s) @ t_s))), freedom
