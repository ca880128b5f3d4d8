"""What time did to a whole campaign: its drift and autocorrelation by metric, and the doubts that they are."""

from collections.abc import Iterator, Sequence
from math import inf

from perjoule.analysis.drift import Timed, Trend, trend
from perjoule.analysis.stopping import METRICS
from perjoule.model import Point, Record

TOLD = ("MiB/s", "MiB/J", "op/s", "op/J")  # in reports


def utc_s(record: Record, monotonic_s: float) -> float:
    """Put a moment of a record on the clock that campaigns have in common."""
    return record.clock.utc_s + monotonic_s - record.clock.monotonic_s


def window(record: Record) -> tuple[float, float]:
    """Say from when to when a valid trial was measured (UTC)."""
    assert record.outcome is not None
    return utc_s(record, record.outcome.began_s), utc_s(record, record.outcome.ended_s)


def campaign_trend(records: Sequence[Record], points: Sequence[Point], metric: str) -> Trend | None:
    """Find what time did to a metric, as people call it; None where too few repetitions can tell."""
    of = {record.trial.id: record for record in records}
    told = [(point, value) for point in points if 0 < (value := point.metrics.get(METRICS[metric], 0.0)) < inf]
    return trend([Timed(_cell(point), window(of[point.trial.id])[0], value) for point, value in told])


def campaign_doubts(records: Sequence[Record], points: Sequence[Point]) -> tuple[str, ...]:
    """Say where a campaign drifted, and where its trials are not independent."""
    found = ((metric, campaign_trend(records, points, metric)) for metric in TOLD)
    return tuple(line for metric, one in found if one for line in doubts(metric, one))


def doubts(metric: str, found: Trend) -> Iterator[str]:
    """Say what is significant of a trend."""
    if found.drifts:
        ends = f"{found.drift_low_ratio:+.1%} to {found.drift_high_ratio:+.1%}"
        yield f"{metric} drifts by {found.drift_ratio:+.1%} from the first trial to the last ({ends}, p = {found.drift_p:.2g})"
    if found.correlated:
        yield (
            f"{metric} of neighbouring trials is alike (correlation {found.correlation_ratio:.2f}, "
            f"p = {found.correlation_p:.2g}): they tell less than their number"
        )


def _cell(point: Point) -> object:
    asked = point.trial
    return asked.testbed.label, asked.filesystem.label, asked.workload.label, point.direction, asked.clients_count
