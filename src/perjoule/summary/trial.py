"""One trial's record and series to everything that is shown of it: its points, metered data, and data of
figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from perjoule.measures.points import points_of
from perjoule.model import Channel, Point, Record, Series
from perjoule.summary.metered import MeteredTrial, metered
from perjoule.summary.timeline import Timeline, timeline
from perjoule.summary.traffic import Overhead, overhead
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import net_power_w


@dataclass(frozen=True)
class TrialSummary:
    """The numbers of a valid trial; a failed one has none."""

    points: tuple[Point, ...] = ()
    metered: MeteredTrial | None = None
    timeline: Timeline | None = None
    overhead: Overhead | None = None  # where one direction was loaded
    watts: tuple[float, ...] = ()  # of the servers, a value per sample of the window
    periods: tuple[tuple[Channel, float], ...] = ()  # of channels of power or energy: s between samples


def trial_summary(record: Record, series: Sequence[Series]) -> TrialSummary:
    """Compute the numbers of a trial."""
    if record.status != "valid" or record.outcome is None:
        return TrialSummary()
    reading = Reading(record, series)
    points = points_of(reading)
    direction = points[0].direction if len(points) == 1 else "mixed"
    return TrialSummary(
        points=points,
        metered=metered(reading),
        timeline=timeline(reading),
        overhead=overhead(reading, direction) if direction in ("write", "read") else None,
        watts=tuple(_power_samples(reading)),
        periods=tuple((s.channel, _period_s(s)) for s in series if s.channel.quantity in ("power", "energy")),
    )


def _period_s(series: Series) -> float:
    """Return the usual time between two samples; 0 for fewer than two."""
    return float(np.median(np.diff(series.t_s))) if len(series.t_s) > 1 else 0.0


def _power_samples(reading: Reading) -> list[float]:
    watts = net_power_w(reading, reading.span.began_s, reading.span.ended_s)
    return [float(w) for w in watts if isfinite(w)]
