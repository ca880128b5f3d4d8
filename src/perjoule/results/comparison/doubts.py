"""Doubts about a comparison: trends, sides that were not measured in turns, what one side has alone; and
outliers.
"""

from collections.abc import Iterator, Sequence
from math import isfinite, nan

from perjoule.model import Doubt, Point
from perjoule.model.doubts import COMPARISON
from perjoule.model.format import number
from perjoule.model.metrics import BY_LABEL
from perjoule.model.units import clients_text
from perjoule.results.sides import Key, Side
from perjoule.results.table import few, load_text
from perjoule.statistics.contrast import in_turns
from perjoule.statistics.outliers import outliers
from perjoule.statistics.trends import findings


def trend_doubts(first: Side, second: Side, metric: str) -> Iterator[Doubt]:
    """Return what a trend of each campaign may explain."""
    for side in (first, second)[: 1 if first.records is second.records else 2]:
        whose = "the campaign" if first.records is second.records else side.name
        if trend := side.judge.trend(BY_LABEL[metric].key):
            yield from (finding().about(whose) for finding in findings(metric, trend))


def side_doubts(first: Side, second: Side, pairs: Sequence[tuple[Key, Key]], across: bool) -> Iterator[Doubt]:
    """Doubt sides that were not measured alike, and name what one of them has alone."""
    if not all(_in_turns(first, second, pair) for pair in pairs):
        yield COMPARISON.not_in_turns(first=first.name, second=second.name)
    if across:
        yield COMPARISON.across_grades()
    for side, n in ((first, 0), (second, 1)):
        alone = [key for key in side.measured if key not in {pair[n] for pair in pairs}]
        failed_count = sum(record.status == "failed" for record in side.records)
        if failed_count and not (n and first.records is second.records):
            yield COMPARISON.failed(side=side.name, count=failed_count, all_count=len(side.records))
        if alone:
            rows = few([", ".join(map(str, key[1:])) + " clients" for key in alone], "; ")
            yield COMPARISON.only_in(side=side.name, rows=rows)
    against = [
        {
            doubt.likeness: doubt
            for measurements in side.measured.values()
            for _, p in measurements
            for doubt in p.doubts
        }
        for side in (first, second)
    ]
    for side, doubts, other_doubts in ((first, *against), (second, *reversed(against))):
        if alone := sorted(doubts[likeness] for likeness in doubts.keys() - other_doubts.keys()):
            yield COMPARISON.doubted_alone(side=side.name, doubts=few(alone, "; ", 2))


def _in_turns(first: Side, second: Side, pair: tuple[Key, Key]) -> bool:
    return in_turns([side.cell(key) for side, key in zip((first, second), pair, strict=True)])


def _has(point: Point, key: str) -> bool:
    return isfinite(point.metrics.get(key, nan))


def outlier_lines(side: Side, metric: str) -> Iterator[str]:
    """Name the outliers among repetitions, which stay in all numbers."""
    of = BY_LABEL[metric]
    for key, measured in side.measured.items():
        with_metric = [point for _, point in measured if _has(point, of.key)]
        values = [point.metrics[of.key] / of.unit.per for point in with_metric]
        for n in outliers(values):
            typical = sorted(values)[len(values) // 2]
            _, filesystem, workload, direction, clients_count = key
            parts = (*([] if side.name == filesystem else [side.name]), filesystem)
            of_row = f"{': '.join(parts)}, {load_text(workload, direction)}, {clients_text(clients_count)}"
            yield (
                f"{of_row}, repetition {with_metric[n].trial.repetition}: "
                f"{number(values[n])} {metric} where {number(typical)} is typical"
            )
