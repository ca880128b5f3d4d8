"""The shares of a paced load over time, as a file has them."""

import csv
from typing import NamedTuple

from perjoule.model.units import RATIOS, quantity

DAY_HOURS = 24.0


class LoadStep(NamedTuple):
    """A share of the maximum, for a time."""

    load_ratio: float
    duration_s: float


def profile_steps(text: str, hour_s: float) -> tuple[LoadStep, ...]:
    """Parse a day's profile: lines "hour,load" with the hour from which a share holds.

    Raises ValueError, with the line.
    """
    rows = list(csv.reader(text.splitlines()))
    if not rows or [header.strip() for header in rows[0]] != ["hour", "load"]:
        raise ValueError('line 1: write "hour,load"')
    points: list[tuple[float, float]] = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            hour, load = float(row[0]), quantity(row[1].strip(), RATIOS, bare=True)
            points.append((hour, load))
        except (IndexError, ValueError):
            raise ValueError(f'line {number}: write an hour and a load, such as "8,40 %"') from None
        if not (0 <= hour < DAY_HOURS and 0 <= load <= 1) or (len(points) > 1 and hour <= points[-2][0]):
            raise ValueError(f"line {number}: hours rise from 0 to below 24, and loads are from 0 to 100 %")
    if not points or not any(load for _, load in points):
        raise ValueError("it has no line with a load")
    ends = [*(hour for hour, _ in points[1:]), DAY_HOURS]
    return tuple(
        LoadStep(load, (end - hour) * hour_s) for (hour, load), end in zip(points, ends, strict=True)
    )
