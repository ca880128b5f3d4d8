"""Drift and autocorrelation of a whole campaign by metric, and the resulting doubts."""

from collections.abc import Iterator, Sequence
from math import copysign

from perjoule.model import Cell, Record
from perjoule.model.doubts import CHANGE, Doubt
from perjoule.model.metrics import DEFAULT, metric_of
from perjoule.statistics.drift import DOUBTED_FREEDOM, Timed, Trend, trend


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


def campaign_doubts(cells: Sequence[Cell]) -> tuple[Doubt, ...]:
    """Return doubts that a campaign drifted, or that its trials are not independent: each once, with all metrics that show it."""
    trends = [(metric_of(key).label, trend) for key in DEFAULT if (trend := campaign_trend(cells, key))]
    lines_of: dict[tuple[str, float], list[tuple[str, str]]] = {}  # MiB/J drift as MiB/s do where the power is steady
    for label, trend in trends:
        for line in doubts(label, trend):
            kind = line.removeprefix(label).split()[0]
            lines_of.setdefault((kind, copysign(1, trend.drift_ratio) if kind == "drifts" else 1), []).append((label, line))
    return tuple(CHANGE.doubt(_together(lines)) for lines in lines_of.values())


def _together(lines: Sequence[tuple[str, str]]) -> str:
    """Say the first metric's line, and which others show the same."""
    labels = ", ".join(label for label, _ in lines[1:])
    return lines[0][1] + (f"; so {'do' if len(lines) > 2 else 'does'} {labels}" if labels else "")


def doubts(label: str, trend: Trend) -> Iterator[str]:
    """Return the significant findings of a trend; empty if they could be chance in few repetitions."""
    if trend.freedom < DOUBTED_FREEDOM:
        return
    if trend.drifts:
        drift, low, high = (
            f"{100 * ratio:+.1f} %" for ratio in (trend.drift_ratio, trend.drift_low_ratio, trend.drift_high_ratio)
        )
        yield f"{label} drifts by {drift} from the first trial to the last ({low} to {high}, p = {trend.drift_p:.2g})"
    if trend.correlated:
        yield (
            f"{label} of neighbouring trials is correlated (r = {trend.correlation_ratio:.2f}, "
            f"p = {trend.correlation_p:.2g}): they carry less information than their number suggests"
        )
