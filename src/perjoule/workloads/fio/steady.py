"""The steady state of the SNIA's Solid State Storage Performance Test Specification 2.0.2, definition 2.1.24.

https://www.snia.org/technology-communities/solid-state-storage-initiative/sssi-pts
"""

from collections.abc import Sequence
from statistics import fmean, linear_regression

ROUNDS_COUNT = 5  # in a row
RANGE_RATIO = 0.20  # of the mean, from the lowest to the highest round
EXCURSION_RATIO = 0.10  # of the mean, from one end of the fitted line to the other


def spread(rates: Sequence[float]) -> tuple[float, float]:
    """Return range and excursion of the least-squares line over the rounds, both as ratios to their mean.

    Shapes: two or more rates, in any unit, none negative. If all are zero, the ratios are infinite.
    """
    mean = fmean(rates)
    if mean <= 0:
        return float("inf"), float("inf")
    slope = linear_regression(range(len(rates)), rates).slope
    return (max(rates) - min(rates)) / mean, abs(slope) * (len(rates) - 1) / mean


def steady(rates: Sequence[float]) -> bool:
    """Return whether these rounds are steady together."""
    range_ratio, excursion_ratio = spread(rates)
    return range_ratio <= RANGE_RATIO and excursion_ratio <= EXCURSION_RATIO


def first_steady(rates: Sequence[float]) -> int | None:
    """Return the number (from 0) of the first of five steady rounds in a row; None if there are none."""
    starts = range(len(rates) - ROUNDS_COUNT + 1)
    return next((start for start in starts if steady(rates[start : start + ROUNDS_COUNT])), None)
