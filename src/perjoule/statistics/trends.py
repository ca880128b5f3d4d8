"""Drift and autocorrelation of a whole campaign by metric, and the resulting doubts."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from perjoule.model import Cell, Record
from perjoule.model.doubts import CHANGE, Doubt
from perjoule.model.metrics import DEFAULT, metric_of
from perjoule.statistics.drift import DOUBTED_FREEDOM, TimedValue, Trend, trend

Finding = Callable[..., Doubt]  # of the labels of other metrics that show the same


def utc_s(record: Record, monotonic_s: float) -> float:
    """Convert a moment of a record to UTC, which campaigns share."""
    return record.clock.utc_s + monotonic_s - record.clock.monotonic_s


def window(record: Record) -> tuple[float, float]:
    """Return from when to when a valid trial was measured (UTC)."""
    assert record.outcome is not None
    return utc_s(record, record.outcome.began_s), utc_s(record, record.outcome.ended_s)


def campaign_trend(cells: Sequence[Cell], metric: str) -> Trend | None:
    """Find the drift of a metric over a whole campaign; None with too few repetitions.

    Args:
        cells: all of a campaign; those in which a repetition lacks the metric are left out, because it is
            unknown which.
        metric: a key of `Cell.metrics`.
    """
    timed: list[TimedValue] = []
    for n, cell in enumerate(cells):
        values = cell.metrics[metric].values if metric in cell.metrics else ()
        if values and len(values) == len(cell.ran) and min(values) > 0:
            timed += [TimedValue(n, ran.began_s, value) for ran, value in zip(cell.ran, values, strict=True)]
    return trend(timed)


def campaign_doubts(cells: Sequence[Cell]) -> tuple[Doubt, ...]:
    """Return doubts that a campaign drifted, or that its trials are not independent: each once, with all
    metrics that show it.
    """
    alike: dict[tuple[str, bool], list[Finding]] = {}  # MiB/J drift as MiB/s do where the power is steady
    for key in DEFAULT:
        if trend := campaign_trend(cells, key):
            for finding in findings(metric_of(key).label, trend):
                id = finding().id
                falls = id == CHANGE.drifts.id and trend.drift_ratio < 0
                alike.setdefault((id, falls), []).append(finding)
    return tuple(
        first(others=[str(other().values["metric"]) for other in rest]) for first, *rest in alike.values()
    )


def findings(label: str, trend: Trend) -> Iterator[Finding]:
    """Return the significant findings of a trend, to which other metrics may be added; empty if they may
    be chance.
    """
    if trend.freedom < DOUBTED_FREEDOM:
        return
    if trend.drifts:
        ratios = {"low_ratio": trend.drift_low_ratio, "high_ratio": trend.drift_high_ratio}
        yield partial(CHANGE.drifts, metric=label, drift_ratio=trend.drift_ratio, p=trend.drift_p, **ratios)
    if trend.correlated:
        yield partial(CHANGE.correlated, metric=label, r=trend.correlation_ratio, p=trend.correlation_p)
