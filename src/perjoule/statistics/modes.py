"""Repetitions in two modes: a sample that falls into two groups has no useful mean, nor an interval of it.

The sorted logarithms are divided in two where the sum of squares within both sides is least. Of a normal
sample that leaves a share of the whole sum, about 1 - 2 / pi in a large one and less in a small one. A sample
has two modes if its share is below the 1 % quantile of normal samples of its size, and the means of the sides
differ by at least 2 %.

    W. A. Ericson, A note on partitioning for maximum between sum of squares, in: The Detection of Interaction
    Effects (1964); J. A. Hartigan, Asymptotic distributions for clustering criteria, Ann. Statist. 6 (1978),
    https://doi.org/10.1214/aos/1176344071

Three repetitions show no modes, and a mode into which a share q of the repetitions falls is unseen in (1 -
q)^n of all samples.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, fsum, log
from statistics import fmean

from perjoule.model import Cell, Interval
from perjoule.model.doubts import REPETITIONS, Doubt
from perjoule.model.format import number, wide
from perjoule.model.metrics import PER_JOULE, RATES, metric_of

RELEVANT_RATIO = 0.02  # between the means of two modes
# The 1 % quantile of the share in normal samples, by count: 200,000 samples each (benchmarks/stopping.py
# draws them again).
_QUANTILES = {
    4: 0.0028,
    5: 0.0132,
    6: 0.0294,
    7: 0.0463,
    8: 0.0628,
    10: 0.0918,
    12: 0.1137,
    16: 0.1467,
    20: 0.1691,
    30: 0.2058,
    50: 0.2424,
}
LEAST_COUNT = min(_QUANTILES)
RARE_SHARE = 0.25  # of repetitions in a mode, for `unseen`
STRAGGLER_SHARE = 0.05  # of repetitions that something held up
SUMMARISED = (*RATES, *PER_JOULE)  # what decides for all metrics of a row, which follow from these


def modes(values: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Return the lower and the upper group of values, each sorted; empty if one group explains them.

    Args:
        values: of repetitions; those that are not all positive have none.
    """
    return _modes(tuple(values))


@lru_cache(4096)
def _modes(values: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    if len(values) < LEAST_COUNT or min(values) <= 0:
        return ()
    ordered = sorted(values)
    logs = [log(value) for value in ordered]
    share, at = divided(logs)
    if share >= quantile(len(values)) or fmean(logs[at:]) - fmean(logs[:at]) < log(1 + RELEVANT_RATIO):
        return ()
    return tuple(ordered[:at]), tuple(ordered[at:])


def divided(ordered: Sequence[float]) -> tuple[float, int]:
    """Return the least share of the sum of squares within both sides, and where the second begins; (1, 1)
    if all are equal.
    """
    mean, count = fmean(ordered), len(ordered)
    squares = fsum((value - mean) ** 2 for value in ordered)
    if not squares:
        return 1.0, 1
    sums = list(accumulate(value - mean for value in ordered))[:-1]
    between = [total**2 / n + total**2 / (count - n) for n, total in enumerate(sums, start=1)]
    most = max(between)
    return 1 - most / squares, between.index(most) + 1


def quantile(count: int) -> float:
    """Return the share below which a sample of this size has two modes, between the listed sizes in a
    straight line.
    """
    sizes = list(_QUANTILES)
    if count >= sizes[-1]:
        return _QUANTILES[sizes[-1]]
    low, high = next((a, b) for a, b in pairwise(sizes) if a <= count < b)
    return _QUANTILES[low] + (_QUANTILES[high] - _QUANTILES[low]) * (count - low) / (high - low)


def unseen(count: int, share: float = RARE_SHARE) -> float:
    """Return the probability that none of this many repetitions falls into a mode with this share."""
    return (1 - share) ** count


def unseen_text(count: int) -> str:
    """Say what this many repetitions, all of one mode, can't show."""
    mode, stragglers = (f"{100 * unseen(count, share):.0f} %" for share in (RARE_SHARE, STRAGGLER_SHARE))
    return (
        f"a second mode with one in four repetitions would be unseen in {mode} of such samples, stragglers, "
        "one in twenty, in "
        f"{stragglers}, and what repetitions that follow each other have in common is not in the interval"
    )


def centre(group: Sequence[float]) -> float:
    """Return the geometric mean of a mode."""
    return exp(fmean(log(value) for value in group))


def doubts(metrics: Mapping[str, Interval]) -> Iterator[Doubt]:
    """Doubt the mean of a row whose rate has two modes; its other metrics follow from the rate."""
    for key in (key for key in RATES if key in metrics):
        if groups := modes(metrics[key].values):
            unit = metric_of(key).unit
            each = " and ".join(
                f"{number(centre(group) / unit.per)} {unit.symbol} in {len(group)}" for group in groups
            )
            yield REPETITIONS.two_modes(modes=each, count=len(metrics[key].values))


def summarised_by_median(cell: Cell) -> bool:
    """Whether a row's repetitions have no useful mean: two modes, or an interval wider than a third of the
    mean on either side.

    That holds for all its metrics, because the product of medians is the median of a product of what follows
    from one another.
    """
    return in_modes(cell) or any(wide(cell.metrics[key]) for key in SUMMARISED if key in cell.metrics)


def by_median(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the rows whose repetitions have no useful mean."""
    return tuple(filter(summarised_by_median, cells))


def in_modes(cell: Cell) -> bool:
    """Whether a row's repetitions have two modes."""
    return any(modes(cell.metrics[key].values) for key in SUMMARISED if key in cell.metrics)
