"""Values far from the others of their sample.

B. Iglewicz, D. C. Hoaglin, How to Detect and Handle Outliers (1993): 0.6745 |x - median| / MAD above 3.5
"""

from collections.abc import Sequence
from math import log
from statistics import median

OUTLYING, LEAST_COUNT = 3.5, 5


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Find values far from the others by the median and the median deviation of logarithms; to be shown,
    never dropped.

    None among fewer than five values, or if more than half are equal.
    """
    if len(values) < LEAST_COUNT or min(values) <= 0:
        return ()
    logs = [log(v) for v in values]
    middle = median(logs)
    deviation = median(abs(v - middle) for v in logs)
    return tuple(
        n for n, v in enumerate(logs) if deviation and 0.6745 * abs(v - middle) / deviation > OUTLYING
    )
