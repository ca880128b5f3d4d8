"""Whether one quantity scatters more than another that was measured in the same repetitions.

Both vary together, so an F test of their variances would be wrong. In one group, with F the ratio of the variances,
r the correlation of both and f its degrees of freedom, the interval of F is F (K -+ sqrt(K^2 - 1)),
K = 1 + 2 (1 - r^2) t^2 / f, with t Student's quantile at f.

    W. A. Morgan, A test for the significance of the difference between two variances in a sample from a normal
    bivariate population, Biometrika 31 (1939), https://doi.org/10.1093/biomet/31.1-2.13

Groups scatter unequally, and squares added up over them would be those of the few that scatter most, which are known
less well than the number of all says. So of several groups the logarithms of their ratios count alike, with Student's
t over groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

from perjoule.model import Interval
from perjoule.statistics.distributions import CONFIDENCE_RATIO, student_p, student_quantile


@dataclass(frozen=True)
class Spreads:
    """Repetitions of one group: the two quantities of each."""

    pairs: Sequence[tuple[float, float]]

    def deviations(self) -> Sequence[tuple[float, float]]:
        """Return how far both are from their means."""
        means = [fmean(pair[side] for pair in self.pairs) for side in (0, 1)]
        return [(first - means[0], second - means[1]) for first, second in self.pairs]


def spread_ratio(groups: Sequence[Spreads]) -> tuple[Interval | None, float | None]:
    """Return the standard deviation of the second over that of the first within groups, with its 95 % interval,
    and p; of several groups the geometric mean of their ratios.

    None if one group has fewer than three repetitions or one of both does not scatter in it, and if fewer than two
    of several groups have a ratio.
    """
    each = [group.deviations() for group in groups]
    return _of_one(each[0]) if len(each) == 1 else _of_several(each)


def _squares(deviations: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(first**2 for first, _ in deviations), sum(second**2 for _, second in deviations)


def _of_one(deviations: Sequence[tuple[float, float]]) -> tuple[Interval | None, float | None]:
    freedom = len(deviations) - 2  # one less for the correlation
    squares = _squares(deviations)
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


def _of_several(groups: Sequence[Sequence[tuple[float, float]]]) -> tuple[Interval | None, float | None]:
    scattering = [squares for squares in map(_squares, groups) if all(squares)]
    logs = [log(second / first) / 2 for first, second in scattering]
    if len(logs) < 2:
        return None, None
    mean, error = fmean(logs), stdev(logs) / sqrt(len(logs))
    half = error * student_quantile(len(logs) - 1, 1 - CONFIDENCE_RATIO)
    interval = Interval(exp(mean), exp(mean - half), exp(mean + half), tuple(map(exp, logs)))
    return interval, student_p(abs(mean) / error, len(logs) - 1) if error else 0.0
