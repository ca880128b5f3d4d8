"""Student's t for a whole number of degrees of freedom, by its finite series (Abramowitz and Stegun
26.7.3, 26.7.4).
"""

import numpy as np


def inside(t: float, freedom: int) -> float:
    """The probability that |T| < t."""
    angle = np.arctan(t / np.sqrt(freedom))
    cosine, sine = np.cos(angle), np.sin(angle)
    term, total = (1.0, 1.0) if freedom % 2 == 0 else (cosine, cosine)
    if freedom % 2 == 0:
        for n in range(2, freedom, 2):
            term *= cosine**2 * (n - 1) / n
            total += term
        return float(sine * total)
    if freedom == 1:
        return float(2 * angle / np.pi)
    for n in range(3, freedom, 2):
        term *= cosine**2 * (n - 1) / n
        total += term
    return float(2 / np.pi * (angle + sine * total))


def quantile(freedom: int, probability: float = 0.95) -> float:
    """The t with P(|T| < t) = probability, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def interval(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", widening: float = 1.0
) -> tuple[float, float, float]:
    """The mean and the ends of its 95 % interval, wider under a stop rule; infinite for a single value."""
    mean, n = float(np.mean(values)), len(values)
    if n == 1:
        return mean, -np.inf, np.inf
    half = widening * quantile(n - 1) * float(np.std(values, ddof=1)) / np.sqrt(n)
    return mean, mean - half, mean + half
