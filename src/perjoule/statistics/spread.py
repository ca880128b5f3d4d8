"""Whether one quantity scatters more than another that was measured in the same repetitions.

Both vary together, so an F test of their variances would be wrong. With F the ratio of the variances within
groups, r the correlation of both within groups and f its degrees of freedom, the interval of F is
F (K -+ sqrt(K^2 - 1)), K = 1 + 2 (1 - r^2) t^2 / f, with t Student's quantile at f.

    W. A. Morgan, A test for the significance of the difference between two variances in a sample from a normal
    bivariate population, Biometrika 31 (1939), https://doi.org/10.1093/biomet/31.1-2.13
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from perjoule.model import Interval
from perjoule.statistics.distributions import CONFIDENCE_RATIO, student_p, student_quantile


@dataclass(frozen=True)
class Spreads:
    """Repetitions of one group: the two quantities of each."""

    pairs: Sequence[tuple[float, float]]


def spread_ratio(groups: Sequence[Spreads]) -> tuple[Interval | None, float | None]:
    """Return the standard deviation of the second over that of the first within groups, with its 95 % interval,
    and p.

    None if there are fewer than three repetitions beyond one for each group, or one of both does not scatter.
    """
    deviations = [
        (first - fmean(a for a, _ in group.pairs), second - fmean(b for _, b in group.pairs))
        for group in groups
        for first, second in group.pairs
    ]
    freedom = len(deviations) - len(groups) - 1  # one less for the correlation
    squares = [sum(pair[side] ** 2 for pair in deviations) for side in (0, 1)]
    if freedom < 1 or not all(squares):
        return None, None
    ratio = squares[1] / squares[0]
    together = sum(a * b for a, b in deviations) ** 2 / (squares[0] * squares[1])
    apart = max(0.0, 1 - together)
    t = student_quantile(freedom, 1 - CONFIDENCE_RATIO)
    k = 1 + 2 * apart * t**2 / freedom
    half = sqrt(k**2 - 1)
    interval = Interval(sqrt(ratio), sqrt(ratio * (k - half)), sqrt(ratio * (k + half)), (sqrt(ratio),))
    # the t at which the interval ends at 1
    of_p = sqrt(freedom * (ratio - 1) ** 2 / (4 * ratio * apart)) if apart else float("inf")
    return interval, student_p(of_p, freedom) if of_p < float("inf") else 0.0
