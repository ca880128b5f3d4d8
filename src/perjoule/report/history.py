"""A history as a page that works offline."""

from perjoule.figures import history as figure
from perjoule.figures.vega import Spec
from perjoule.model.metrics import metric_of
from perjoule.model.units import clients_text
from perjoule.report.document import document, headline
from perjoule.results.history import VERDICTS, History, HistoryRow, Verdict
from perjoule.results.history.table import history_table
from perjoule.results.table import load_text
from perjoule.statistics.better import RELEVANT_RATIO
from perjoule.statistics.steps import FALSE_ALARM_RATIO, LEAST_COUNT

NOTES = (
    "Points: means with 95 % intervals over repetitions; lines: levels; dashed: steps; arrows: the "
    "interval is wider.",
    "Campaigns are numbered as in the list.",
)
_WORDS: dict[Verdict, str] = {
    "no relevant step": "with no relevant step",
    "no step": "without a step",
    "too few campaigns": "in too few campaigns",
}
_SAID = {verdict: _WORDS.get(verdict, verdict) for verdict in VERDICTS}


def page(history: History) -> str:
    """Lay the page out as HTML."""
    keys = list(dict.fromkeys(row.metric for row in history.rows))
    figures = {f"history-{n}": _figure(history, key) for n, key in enumerate(keys, start=1)}
    return document(
        "history.html",
        f"{history.name}: history",
        figures,
        headline=headline((row.verdict for row in history.rows), _SAID),
        laid=history_table(history),
        campaigns=[
            (f"{moment.day} UTC: {moment.name}", history.changes.get(at, ()))
            for at, moment in enumerate(history.moments)
        ],
        false_alarm_ratio=FALSE_ALARM_RATIO,
        relevant_ratio=RELEVANT_RATIO,
        least_count=LEAST_COUNT,
    )


def _figure(history: History, key: str) -> Spec:
    metric = metric_of(key)
    rows = [row for row in history.rows if row.metric == key]
    panels = [_panel(history, row, metric.unit.per) for row in rows]
    return figure.history(
        panels, metric.unit.symbol, len(history.moments), f"{metric.label} over campaigns", NOTES
    )


def _panel(history: History, row: HistoryRow, per: float) -> figure.Panel:
    means = [
        figure.CampaignMean(
            at + 1,
            f"{history.moments[at].name}, {history.moments[at].day}",
            interval.mean / per,
            interval.low / per,
            interval.high / per,
        )
        for at, interval in zip(row.moments, row.values, strict=True)
    ]
    levels = [
        figure.Flat(row.moments[level.first] + 1, row.moments[level.last] + 1, level.mean.mean / per)
        for level in (row.levels if len(row.values) >= LEAST_COUNT else ())
    ]
    grade = f" ({row.grade})" if row.grade else ""
    heading = (
        f"{row.filesystem}, {load_text(row.workload, row.direction)}, "
        f"{clients_text(row.clients_count)}{grade}"
    )
    return figure.Panel(heading, means, levels)
