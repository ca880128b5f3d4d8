"""Samples that a server has stored, with the times of its own clock."""

import time

LOOK_BACK_S = 120  # for samples that have come since it was asked last
MOST_BEHIND_S = 60.0  # by which a sample's time may precede it; older times are invalid


def monotonic_s(utc_s: float) -> float:
    """Convert a UTC time to our monotonic clock.

    Raises:
        ValueError: it is too far from now to be the time of a new sample.
    """
    ahead_s = utc_s - time.time()
    if -ahead_s > MOST_BEHIND_S + LOOK_BACK_S:
        raise ValueError(f"its clock is {-ahead_s:.0f} s behind, or the sample is that old")
    return time.monotonic() + ahead_s
