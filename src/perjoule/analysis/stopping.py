"""When to stop repeating: the interval of the mean is narrow enough, between a least and a most number of repetitions.

To look after each repetition, and to stop when the sample happens to look quiet, makes Student's interval too narrow: in
simulation it covers 90 to 94 % (the dip is described by F. J. Anscombe, Sequential estimation, J. R. Statist. Soc. B 15 (1953),
https://doi.org/10.1111/j.2517-6161.1953.tb00120.x). So the half width is widened by a factor, in the rule and in what is printed:
1.15 where no decision falls before the fifth repetition, 1.2 where it may fall at the third or fourth. `benchmarks/stopping.py`
prints the coverage that comes of it, 94 to 98 %.
"""

from collections.abc import Sequence

from perjoule.analysis.statistics import half_width_ratio, interval
from perjoule.model import LEAST_COUNT, Campaign, Interval

WIDENING, WIDENING_COUNT = 1.15, 5  # from so many repetitions at the least
EARLY_WIDENING = 1.2

# What people call a metric -> its key in `Point.metrics`.
METRICS = {
    "MiB/s": "throughput_bytes_per_s",
    "MiB/J": "efficiency_bytes_per_j",
    "gross MiB/J": "gross_efficiency_bytes_per_j",
    "op/s": "operations_per_s",
    "op/J": "operations_per_j",
    "J": "energy_j",
    "W": "mean_w",
    "s": "duration_s",
    "EDP": "edp_js",
}
LESS_IS_BETTER = ("energy_j", "mean_w", "duration_s", "edp_js")


def widening(least_count: int) -> float:
    """Give the factor by which intervals are wider where they decided, after at least so many repetitions, when to stop."""
    return WIDENING if least_count >= WIDENING_COUNT else EARLY_WIDENING


def campaign_widening(asked: Campaign | None) -> float:
    """Give the factor of a campaign: 1 without a stop rule."""
    return widening(asked.least_count) if asked and asked.until else 1.0


def stopped_interval(values: Sequence[float], factor: float) -> Interval:
    """Give the mean with an interval that covers 95 % although its width decided when to stop. Raises ValueError: no values."""
    plain = interval(values)
    half = factor * (plain.high - plain.mean)
    return Interval(plain.mean, plain.mean - half, plain.mean + half, plain.values)


def narrow_enough(values: Sequence[float], wanted_ratio: float, least_count: int) -> bool:
    """Say whether the half width of the interval is at most this share of the mean, with enough repetitions."""
    enough = len(values) >= max(least_count, LEAST_COUNT)
    return enough and half_width_ratio(stopped_interval(values, widening(least_count))) <= wanted_ratio
