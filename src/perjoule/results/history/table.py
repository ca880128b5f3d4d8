"""A history as a table, and as data."""

from collections.abc import Sequence

from perjoule.model.format import number, p_text, ratio_text, with_interval
from perjoule.model.metrics import metric_of
from perjoule.results.history import VERDICTS, History, HistoryRow
from perjoule.results.table import NAMES, PLACE, Table
from perjoule.statistics.steps import LEAST_COUNT

HEADERS = (*PLACE, "metric", "verdict", "campaigns", "latest", "level", "last step", "ratio", "p")


def history_table(history: History) -> Table:
    """Lay out a history, a row for each metric of each combination: what became worse first."""
    rows = sorted(history.rows, key=lambda row: VERDICTS.index(row.verdict))
    return Table(
        HEADERS, tuple(_cells(history, row) for row in rows), (*NAMES, "metric", "last step", "verdict")
    )


def _cells(history: History, row: HistoryRow) -> tuple[str, ...]:
    metric = metric_of(row.metric)
    label = f"{metric.label} ({row.grade})" if row.grade else metric.label
    place = (
        row.filesystem,
        row.workload,
        row.direction,
        str(row.clients_count),
        label,
        row.verdict,
        str(len(row.values)),
    )
    level = row.levels[-1].mean if len(row.values) >= LEAST_COUNT else None
    latest = with_interval(row.values[-1], metric.unit.per, by_median=row.by_median)
    values = latest, number(level.mean / metric.unit.per) if level else "–"
    if not row.steps:
        return (*place, *values, "–", "–", "–")
    last = row.steps[-1]
    return (
        *place,
        *values,
        history.moments[row.moments[last.at]].name,
        ratio_text(last.ratio),
        p_text(last.p),
    )


def as_data(history: History) -> dict[str, object]:
    """Return a history as data for JSON."""
    moments = [
        {"results": str(moment.results.folder), "utc_s": moment.utc_s, "changes": history.changes.get(at, ())}
        for at, moment in enumerate(history.moments)
    ]
    return {"campaign": history.name, "campaigns": moments, "rows": [_row_data(row) for row in history.rows]}


def _row_data(row: HistoryRow) -> dict[str, object]:
    def of(positions: Sequence[int]) -> list[int]:
        return [row.moments[at] for at in positions]

    return {
        "filesystem": row.filesystem,
        "workload": row.workload,
        "direction": row.direction,
        "clients_count": row.clients_count,
        "servers_count": row.servers_count,
        "grade": row.grade,
        "metric": row.metric,
        "unit": metric_of(row.metric).unit.si,
        "values": [
            {"campaign": at, "mean": v.mean, "low": v.low, "high": v.high}
            for at, v in zip(row.moments, row.values, strict=True)
        ],
        "levels": [
            dict(zip(("first", "last"), of((level.first, level.last)), strict=True))
            | {"mean": level.mean.mean, "low": level.mean.low, "high": level.mean.high}
            for level in row.levels
        ],
        "steps": [
            {
                "campaign": row.moments[step.at],
                "ratio": step.ratio.mean,
                "low": step.ratio.low,
                "high": step.ratio.high,
                "p": step.p,
            }
            for step in row.steps
        ],
        "verdict": row.verdict,
    }
