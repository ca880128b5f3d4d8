"""Student's t, F, Poisson's and Kendall's distributions, to 12 digits, so that a host that only measures needs no
scipy.

t and F are incomplete beta functions: a continued fraction times a density. Densities are written as
deviances and as what Stirling's formula leaves out, so that no large logarithms cancel.

    C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000)
    NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov/8.17 and https://dlmf.nist.gov/5.11
"""

from functools import cache, lru_cache
from math import comb, erfc, exp, inf, isinf, lgamma, log, log1p, nan, pi, sqrt
from statistics import NormalDist
from sys import float_info

import numpy as np
from numpy.typing import NDArray

CONFIDENCE_RATIO = 0.95
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)  # of z^-1, z^-3, ...
_STIRLING_LEAST = 16.0  # from which these terms are enough: the next one is 1.2e-14
_NORMAL_LEAST = 1e4  # degrees of freedom, from which Student's t is a normal number with corrections
_NEWTON_MOST_COUNT = 100
_STEPS_MOST_COUNT = 100_000  # of a continued fraction: about the root of the larger parameter
_TINY = 1e-300  # instead of 0 in a denominator


def student_p(value: float, freedom: float) -> float:
    """Return the two-sided p of a value of Student's t; NaN without degrees of freedom.

    G. W. Hill, Algorithm 395: Student's t-distribution (1970), https://doi.org/10.1145/355598.355599, for many
    """
    if not freedom > 0:
        return nan
    square = value * value
    if isinf(square):
        return 0.0
    if freedom < _NORMAL_LEAST:
        return _beta_ratio(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))
    if isinf(freedom):
        return erfc(abs(value) / sqrt(2))
    less = freedom - 0.5
    y, b = less * log1p(square / freedom), 48 * less * less
    # without the 85.5 and 100 of the paper, which are beyond 12 digits here
    correction = ((-0.4 * y - 3.3) * y - 24) * y / (0.8 * y * y + b) + y + 3
    return erfc(sqrt(y / 2) * (correction / b + 1))


@lru_cache(maxsize=4096)
def student_quantile(freedom: float, beyond: float = 1 - CONFIDENCE_RATIO) -> float:
    """Return the value of Student's t that leaves this share outside, half on either side; NaN without degrees
    of freedom.

    Newton's method on the logarithms of p and t: one is concave in the other, so it converges from anywhere.
    """
    if not (freedom > 0 and 0 <= beyond <= 1):
        return nan
    if beyond in (0, 1):
        return inf if beyond == 0 else 0.0
    normal = -NormalDist().inv_cdf(beyond / 2)
    if isinf(freedom):
        return normal
    t = normal
    for _ in range(_NEWTON_MOST_COUNT):
        p, square = student_p(t, freedom), t * t
        share = square / (freedom + square)
        step = (
            log(p / beyond) * p / (2 * _beta_density(freedom / 2, 0.5, freedom / (freedom + square), share))
        )
        t *= exp(step)
        if abs(step) < 1e-9:  # the next one would be its square
            break
    return t


def fisher_p(ratio: float, freedom: float, other_freedom: float) -> float:
    """Return the p of a ratio of two variances with these degrees of freedom, F distributed if they are
    the same.
    """
    above, below = freedom * ratio, other_freedom
    return _beta_ratio(other_freedom / 2, freedom / 2, below / (above + below), above / (above + below))


def poisson_densities(first: int, count: int, mean: float) -> NDArray[np.float64]:
    """Return the probabilities of first, first + 1, ... of Poisson's distribution: `count` of them."""
    start = exp(-_left_out(first) - _deviance(first, mean)) / sqrt(2 * pi * first) if first else exp(-mean)
    ratios: NDArray[np.float64] = mean / np.arange(first + 1, first + count, dtype=np.float64)
    return np.asarray(start * np.cumprod(np.append(1.0, ratios)), np.float64)


def kendall_p(concordance: int, count: int) -> float:
    """Return the two-sided p of as many more concordant than discordant pairs of `count` ranks, none of them
    equal.

    D. E. Knuth, The Art of Computer Programming 3, 5.1.1: how many orders have how many inversions.
    """
    orders = np.ones(1, dtype=object)  # whole numbers of any size
    for n in range(2, count + 1):
        orders = np.convolve(orders, np.ones(n, dtype=object))
    below = sum(orders[: (comb(count, 2) - abs(concordance)) // 2 + 1])
    return min(1.0, float(2 * below / sum(orders)))


def _beta_ratio(a: float, b: float, x: float, y: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b), where y is 1 - x without its rounding."""
    if x <= 0 or y <= 0:
        return float(y <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_density(b, a, y, x) * _fraction(b, a, y) / b
    return _beta_density(a, b, x, y) * _fraction(a, b, x) / a


def _beta_density(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / B(a, b), where y is 1 - x without its rounding."""
    total = a + b
    apart = _left_out(total) - _left_out(a) - _left_out(b)
    apart -= _deviance(a, total * x, a * y - b * x) + _deviance(b, total * y, b * x - a * y)
    return exp(apart) * sqrt(a / total * b / (2 * pi))


def _deviance(value: float, mean: float, difference: float | None = None) -> float:
    """Return value ln(value / mean) - value + mean, all digits of which count where they are alike.

    Args:
        value, mean: positive.
        difference: value - mean, if it is known better than as a difference.
    """
    difference = value - mean if difference is None else difference
    if abs(difference) > 0.1 * (value + mean):
        return value * log(value / mean) - difference
    # ln(value / mean) = 2 artanh(v): its series without the first term, of a v up to 0.1
    v = difference / (value + mean)
    return difference * v + 2 * value * sum(v**n / n for n in range(3, 19, 2))


@cache
def _left_out(z: float) -> float:
    """Return what Stirling's formula leaves out: ln z! - ln(sqrt(2 pi z) (z / e)^z)."""
    if z < _STIRLING_LEAST:
        return lgamma(z + 1) - (z + 0.5) * log(z) + z - log(2 * pi) / 2
    return sum(term / z ** (2 * n + 1) for n, term in enumerate(_STIRLING))


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b), by Lentz's method: https://dlmf.nist.gov/8.17.E22."""
    denominator = 1 / _safe(1 - (a + b) * x / (a + 1))
    numerator, value = 1.0, denominator
    for m in range(1, _STEPS_MOST_COUNT):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1 / _safe(1 + factor * denominator)
            numerator = _safe(1 + factor / numerator)
            value *= denominator * numerator
        if abs(denominator * numerator - 1) < float_info.epsilon:
            break
    return value


def _safe(number: float) -> float:
    return number or _TINY
