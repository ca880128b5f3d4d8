"""Percentile-t bootstrap of a mean or of a difference of means, for values too skewed for Student's t.

Student's t forgives skewness in large samples, the bootstrap needs samples large enough to draw from: it is used from ten values
on, when their skewness is significant. The studentised form keeps its level for skewed values where others (percentile, BCa)
come out too narrow: T. C. Hesterberg, What teachers should know about the bootstrap, Amer. Statist. 69 (2015),
https://doi.org/10.1080/00031305.2015.1089789
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

LEAST_COUNT = 10
_DRAWS_COUNT, _SEED = 4000, 2015
_NORMAL_QUANTILE = 1.96


@dataclass(frozen=True)
class Bootstrapped:
    """The ends of a 95 % interval, and how likely a mean as far from 0 is by chance alone."""

    low: float
    high: float
    p: float


def skewed(values: Sequence[float]) -> bool:
    """Say whether there are enough values for the bootstrap, and these are significantly skewed at 5 %.

    The sample skewness G1 against its standard error where values are normal.
    """
    n = len(values)
    if n < LEAST_COUNT:
        return False
    centred = np.asarray(values) - np.mean(values)
    square = float(np.mean(centred**2))
    if not square:
        return False
    skewness = float(np.mean(centred**3)) / square**1.5 * sqrt(n * (n - 1)) / (n - 2)
    return abs(skewness) > _NORMAL_QUANTILE * sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))


def difference(values: Sequence[float], references: Sequence[float] = ()) -> Bootstrapped:
    """Bootstrap mean(values) - mean(references), or the mean of values where there are no references; always the same way."""
    dice = np.random.default_rng(_SEED)
    parts = [(1.0, np.asarray(values))] + ([(-1.0, np.asarray(references))] if references else [])
    mean = sum(sign * float(np.mean(own)) for sign, own in parts)
    error = sqrt(sum(float(np.var(own, ddof=1)) / len(own) for _, own in parts))
    drawn_mean: NDArray[np.float64] = np.zeros(_DRAWS_COUNT)
    drawn_square: NDArray[np.float64] = np.zeros(_DRAWS_COUNT)
    for sign, own in parts:
        drawn = own[dice.integers(0, len(own), (_DRAWS_COUNT, len(own)))]
        drawn_mean += sign * drawn.mean(axis=1)
        drawn_square += drawn.var(axis=1, ddof=1) / len(own)
    kept = drawn_square > 0
    t = (drawn_mean[kept] - mean) / np.sqrt(drawn_square[kept])
    low_t, high_t = (float(q) for q in np.quantile(t, (0.025, 0.975)))
    beyond = min(float(np.mean(t >= mean / error)), float(np.mean(t <= mean / error))) if error else 0.0
    return Bootstrapped(mean - high_t * error, mean - low_t * error, min(1.0, 2 * max(beyond, 1 / _DRAWS_COUNT)))
