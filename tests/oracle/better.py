"""Whether one is better than another: docs/explanations/how-numbers-are-made.md, "The best", and
docs/how-to/compare.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from .students import inside, quantile

FAMILY_RATIO = 0.05  # of families, in which any interval may not hold
SIGNIFICANT = 0.01  # of a drift, or of a correlation of neighbours
MOST_CORRELATION = 0.9
DRAWS_COUNT = 2000

# of a campaign, by file system: `value`, `began_s`, `ended_s`, and `repetition` of blocks
Cells = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Trend:
    """What time does to a campaign's logarithms."""

    slope: float  # 1/s
    error: float  # its standard error
    freedom: int
    correlation: float  # of neighbours in running order
    correlated: bool  # whether that is significant

    @property
    def drifts(self) -> bool:
        """Whether the slope is significant."""
        return 1 - inside(abs(self.slope) / self.error, self.freedom) < SIGNIFICANT

    def apart(self, gap: float) -> float:
        """The correlation of trials at this distance in running order."""
        counts = self.correlation > 0 and (self.correlated or gap < 2)
        return min(self.correlation, MOST_CORRELATION) ** gap if counts else 0.0


def ratio(cells: Cells, one: str, other: str, shared: float = 0.0) -> tuple[float, float, float]:
    """The ratio of two file systems of a campaign with its interval.

    `shared` is the variance of what all repetitions share, as by `shared.variance`.
    """
    outside = FAMILY_RATIO / (len(cells) * (len(cells) - 1) / 2)
    a, b = cells[one], cells[other]
    over_time = trend(cells)
    scatter, freedom = _blocks(a, b) if over_time.drifts or over_time.correlated else (np.nan, 0)
    if not freedom:
        scatter, freedom = _welch(cells, (a, b), over_time)
    times = [(own["began_s"] + own["ended_s"]).mean() / 2 for own in (a, b)]
    moved = (times[0] - times[1]) ** 2 * (over_time.slope**2 + over_time.error**2)
    same = NormalDist().inv_cdf(1 - outside / 2) ** 2 * shared
    t, u = (quantile(of, 1 - outside) for of in (freedom, over_time.freedom))
    half = np.sqrt(t**2 * scatter + u**2 * moved + same)
    distance = np.log(a["value"]).mean() - np.log(b["value"]).mean()
    return float(np.exp(distance)), float(np.exp(distance - half)), float(np.exp(distance + half))


def _welch(cells: Cells, both: tuple[pd.DataFrame, pd.DataFrame], over_time: Trend) -> tuple[float, int]:
    """The scatter of a difference of means, and its degrees of freedom: of as many values as are
    independent.
    """
    order = np.sort(np.concatenate([own["began_s"] for own in cells.values()]))
    variances, counts = list[float](), list[float]()
    for own in both:
        gap = float(np.median(np.diff(np.searchsorted(order, np.sort(own["began_s"])))))
        r = over_time.apart(gap)
        counts.append(max(len(own) * (1 - r) / (1 + r), 2.0))
        variances.append(float(np.var(np.log(own["value"]), ddof=1)) / len(own) * (1 + r) / (1 - r))
    whole = sum(variances)
    return whole, int(whole**2 / sum(v**2 / (n - 1) for v, n in zip(variances, counts, strict=True)) + 1e-9)


def _blocks(a: pd.DataFrame, b: pd.DataFrame) -> tuple[float, int]:
    """The same of the differences within blocks of time; 0 degrees of freedom if repetitions are not such
    blocks.
    """
    both = a.merge(b, on="repetition", suffixes=("_a", "_b"))
    began_s, ended_s = (
        both[["began_s_a", "began_s_b"]].min(axis=1),
        both[["ended_s_a", "ended_s_b"]].max(axis=1),
    )
    order = np.argsort(began_s)
    if len(both) < 2 or (ended_s.to_numpy()[order][:-1] > began_s.to_numpy()[order][1:]).any():
        return np.nan, 0
    return float(np.var(np.log(both["value_a"] / both["value_b"]), ddof=1)) / len(both), len(both) - 1


def trend(cells: Cells) -> Trend:
    """The weighted slope of all residuals over time, and how neighbours are alike without it."""
    rest = pd.concat(
        [own.assign(cell=name, x=np.log(own["value"])) for name, own in cells.items()], ignore_index=True
    )
    rest = rest.sort_values("began_s", ignore_index=True)
    of = rest.groupby("cell")
    x, t_s = (rest[c] - of[c].transform("mean") for c in ("x", "began_s"))
    count = of["x"].transform("size")
    about = x - t_s * (float(np.dot(x, t_s)) / float(np.dot(t_s, t_s)))
    variance = (about**2).groupby(rest["cell"]).transform("sum") / (count - 1)
    quarter = sorted(variance.groupby(rest["cell"]).first())[len(cells) // 4]
    weight = (count + 1) / (2 * quarter + (count - 1) * variance)
    slope = float((weight * t_s) @ x / ((weight * t_s) @ t_s))
    freedom = len(rest) - len(cells) - 1
    left = (np.sqrt(weight) * (x - slope * t_s)).to_numpy()
    correlation, correlated = _neighbours(left, rest["cell"].to_numpy())
    error = float(np.sqrt(left @ left / freedom / ((weight * t_s) @ t_s)))
    r = min(correlation, MOST_CORRELATION) if correlated else 0.0
    return Trend(slope, error * float(np.sqrt((1 + r) / (1 - r))), freedom, correlation, correlated)


def _neighbours(left: np.ndarray, cell: np.ndarray) -> tuple[float, bool]:
    """The correlation of lag 1 beyond what residuals have that add up to 0 in each cell, and whether it is
    significant.
    """
    expected = 0.0  # of the sum of products, if the values of each cell come in any order
    for name in np.unique(cell):
        own, beside = left[cell == name], int(np.sum((cell[1:] == name) & (cell[:-1] == name)))
        expected += beside * (own.sum() ** 2 - own @ own) / (len(own) * (len(own) - 1))
    correlation = float((left[1:] @ left[:-1] - expected) / (left @ left))
    draw, lower_count = np.random.default_rng(0), 0
    for _ in range(DRAWS_COUNT):
        exchanged = left.copy()
        for name in np.unique(cell):
            exchanged[cell == name] = draw.permutation(left[cell == name])
        lower_count += bool(np.sum(np.diff(exchanged) ** 2) <= np.sum(np.diff(left) ** 2))
    return correlation, correlation > 0 and (lower_count + 1) / (DRAWS_COUNT + 1) < SIGNIFICANT
