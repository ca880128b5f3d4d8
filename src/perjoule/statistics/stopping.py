"""When to stop repeating: the interval of the mean is narrow enough, between a least and a most number of
repetitions.

Checking after each repetition, and stopping when the sample happens to scatter little, makes Student's
interval too narrow: in simulation it covers 90 to 94 % (the dip is described by F. J. Anscombe, Sequential
estimation, J. R. Statist. Soc. B 15 (1953), https://doi.org/10.1111/j.2517-6161.1953.tb00120.x). So the half
width is widened by a factor, in the rule and in the printed interval: 1.15 if no decision falls before the
fifth repetition, 1.2 if it may fall at the third or fourth. `benchmarks/stopping.py` prints the resulting
coverage, 94 to 98 %.
"""

from collections.abc import Sequence

from perjoule.model import LEAST_COUNT, Campaign, Cell, Interval
from perjoule.statistics.intervals import half_width_ratio, interval
from perjoule.statistics.modes import modes

WIDENING, WIDENING_COUNT = 1.15, 5  # if at least this many repetitions
EARLY_WIDENING = 1.2


def widening(least_count: int) -> float:
    """Return the factor that widens intervals whose width decided, after at least this many repetitions,
    when to stop.
    """
    return WIDENING if least_count >= WIDENING_COUNT else EARLY_WIDENING


def campaign_widening(campaign: Campaign | None) -> float:
    """Return the factor of a campaign: 1 without a stop rule."""
    return widening(campaign.least_count) if campaign and campaign.until else 1.0


def widening_of(cells: Sequence[Cell]) -> float:
    """Return the factor of the campaign whose cells these are."""
    return max((cell.widening for cell in cells), default=1.0)


def stopped_interval(values: Sequence[float], factor: float) -> Interval:
    """Return the mean with an interval that covers 95 % although its width decided when to stop.

    Raises ValueError: no values.
    """
    plain = interval(values)
    half = factor * (plain.high - plain.mean)
    return Interval(plain.mean, plain.mean - half, plain.mean + half, plain.values)


def narrow_enough(values: Sequence[float], wanted_ratio: float, least_count: int) -> bool:
    """Return whether the interval's half width is at most this share of the mean, with enough repetitions
    in one mode.
    """
    enough = len(values) >= max(least_count, LEAST_COUNT)
    narrow = enough and half_width_ratio(stopped_interval(values, widening(least_count))) <= wanted_ratio
    return narrow and not modes(values)
