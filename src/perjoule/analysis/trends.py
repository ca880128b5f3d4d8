"""Drift and autocorrelation of a whole campaign by metric, and the resulting doubts."""

from collections.abc import Iterator, Sequence

from perjoule.analysis.drift import DOUBTED_FREEDOM, Timed, Trend, trend
from perjoule.model import Cell, Record
from perjoule.model.metrics import DEFAULT, metric_of


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
        cells: all of a campaign; those in which a repetition lacks the metric are left out, because it is unknown which.
        metric: a key of `Cell.metrics`.
    """
    timed: list[Timed] = []
    for n, cell in enumerate(cells):
        values = cell.metrics[metric].values if metric in cell.metrics else ()
        if values and len(values) == len(cell.ran) and min(values) > 0:
            timed += [Timed(n, ran.began_s, value) for ran, value in zip(cell.ran, values, strict=True)]
    return trend(timed)


def campaign_doubts(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return doubts that a campaign drifted, or that its trials are not independent."""
    found = ((metric_of(key).label, campaign_trend(cells, key)) for key in DEFAULT)
    return tuple(line for label, one in found if one for line in doubts(label, one))


def doubts(label: str, found: Trend) -> Iterator[str]:
    """Return the significant findings of a trend; empty if they could be chance in few repetitions."""
    if found.freedom < DOUBTED_FREEDOM:
        return
    if found.drifts:
        ends = f"{found.drift_low_ratio:+.1%} to {found.drift_high_ratio:+.1%}"
        yield f"{label} drifts by {found.drift_ratio:+.1%} from the first trial to the last ({ends}, p = {found.drift_p:.2g})"
    if found.correlated:
        yield (
            f"{label} of neighbouring trials is correlated (r = {found.correlation_ratio:.2f}, "
            f"p = {found.correlation_p:.2g}): they carry less information than their number suggests"
        )
