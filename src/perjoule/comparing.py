"""Two results folders, or two file systems of one, side by side: what changed, and what came of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Literal

from perjoule.analysis.changes import Change, undeclared
from perjoule.analysis.comparison import Difference, Sample, compared, outliers
from perjoule.analysis.drift import Trend
from perjoule.analysis.statistics import interval
from perjoule.analysis.stopping import METRICS, WIDENING
from perjoule.analysis.trends import doubts as told
from perjoule.analysis.trends import window
from perjoule.analysis.winners import holm
from perjoule.errors import CampaignError
from perjoule.model import Direction, Interval, Point
from perjoule.sides import Key, Side, matched
from perjoule.table import number
from perjoule.units import MIB

DEFAULT = ("MiB/s", "MiB/J", "op/s", "op/J")  # those of them that were measured
PER: Mapping[str, float] = {"MiB/s": MIB, "MiB/J": MIB, "gross MiB/J": MIB}  # what one unit is in SI
_LIMIT = re.compile(r"\s*(?P<metric>.+?)\s*(?P<sense>[<>])\s*(?P<percent>[+-]?\d+(?:\.\d+)?)\s*%\s*")
_ENERGY = ("_per_j", "_j", "_w", "_js")


@dataclass(frozen=True)
class Row:
    """A metric of one combination on both sides."""

    filesystem: str  # "moosefs", or "moosefs -> cephfs" where it is what changed
    workload: str
    direction: Direction
    clients_count: int
    metric: str  # as people call it
    before: Interval
    after: Interval
    difference: Difference | None  # None: not compared, and why
    p: float = 1.0  # after Holm
    why: str = ""

    @property
    def verdict(self) -> str:
        """What may be said of the second against the first."""
        return self.why if self.difference is None else self.difference.verdict(self.p)


@dataclass(frozen=True)
class Comparison:
    """All that a comparison says."""

    names: tuple[str, str]
    rows: tuple[Row, ...]
    doubts: tuple[str, ...]
    outliers: tuple[str, ...]
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Limit:
    """A change that a user does not want: "MiB/J < -5 %"."""

    text: str
    metric: str
    sense: Literal["<", ">"]
    ratio: float

    def judge(self, row: Row) -> Literal["broken", "kept", "can't tell"]:
        """Say on which side of it the whole 95 % interval of a row's change is."""
        if row.difference is None or not row.difference.freedom:
            return "can't tell"
        low, high = row.difference.ratio.low - 1, row.difference.ratio.high - 1
        if self.sense == "<":
            return "broken" if high < self.ratio else "kept" if low >= self.ratio else "can't tell"
        return "broken" if low > self.ratio else "kept" if high <= self.ratio else "can't tell"


def limit(text: str) -> Limit:
    """Read "MiB/J < -5 %". Raises CampaignError."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise CampaignError(f'"{text}" is no limit', next='write it as in "MiB/J < -5 %"')
    return Limit(text, known(match["metric"]), "<" if match["sense"] == "<" else ">", float(match["percent"]) / 100)


def known(metric: str) -> str:
    """Check a metric's name. Raises CampaignError."""
    if metric not in METRICS:
        raise CampaignError(f'no metric is called "{metric}"', next=f"there are {', '.join(METRICS)}")
    return metric


def few(names: Sequence[str], separator: str = ", ", most_count: int = 4) -> str:
    """Name the first ones, and count the others."""
    more = f" and {len(names) - most_count} more" if len(names) > most_count else ""
    return separator.join(names[:most_count]) + more


def compare(
    first: Side, second: Side, metrics: Sequence[str] = (), *, across_grades: bool = False, changes: Sequence[Change] = ()
) -> Comparison:
    """Compare two sides, the second over the first.

    Args:
        first: what it was before.
        second: what it is now.
        metrics: as people call them; by default `DEFAULT`.
        across_grades: whether energies of different grades are compared.
        changes: what changed; what of it was not declared is a doubt.

    Raises:
        CampaignError: the two have nothing in common.
    """
    pairs = matched(first, second)
    rows: list[Row] = []
    left = [one.name for one in undeclared(changes)]
    doubts = [f"{few(left)}: not declared to differ, and may be the cause"] if left else []
    for metric in metrics or DEFAULT:
        trends = first.trend(metric), second.trend(metric)
        own = [_row(first, second, pair, metric, trends, across_grades) for pair in pairs]
        rows += [row for row in own if row]
        if any(own):
            doubts += _trend_doubts(first, second, metric, trends)
    if not rows:
        raise CampaignError(
            "nothing of one is in the other, or none of the metrics was measured in both",
            where=f"{first.name} and {second.name}",
            next="compare what has a workload, a direction and a number of clients in common",
        )
    corrected = holm({str(n): row.difference.p for n, row in enumerate(rows) if row.difference})
    rows = [replace(row, p=corrected.get(str(n), 1.0)) for n, row in enumerate(rows)]
    strange = [text for one in (first, second) for metric in metrics or DEFAULT for text in _outliers(one, metric)]
    doubts += _doubts(first, second, pairs, rows, across_grades)
    return Comparison((first.name, second.name), tuple(rows), tuple(doubts), tuple(strange), tuple(changes))


def _row(
    first: Side, second: Side, pair: tuple[Key, Key], metric: str, trends: tuple[Trend | None, Trend | None], across: bool
) -> Row | None:
    key = METRICS[metric]
    both = first.found[pair[0]], second.found[pair[1]]
    values = [[p.metrics[key] for _, p in own if _has(p, key)] for own in both]
    if not all(values):
        return None
    labels = list(dict.fromkeys(of[1] for of in pair))
    row = Row(" -> ".join(labels), pair[0][2], pair[0][3], pair[0][4], metric, interval(values[0]), interval(values[1]), None)
    if min(map(min, values)) <= 0:
        return replace(row, why="not compared: not all values are positive")
    grades = [{p.grade for _, p in own if p.grade} for own in both]
    if key.endswith(_ENERGY) and grades[0] != grades[1] and not across:
        told = " and ".join("+".join(sorted(one)) or "none" for one in grades)
        return replace(row, why=f"not compared: power of different grades ({told})")
    drifts = _drifts(first, second, pair, trends)
    samples = [
        _sample(side, of, key, found, drift) for side, of, found, drift in zip((first, second), pair, trends, drifts, strict=True)
    ]
    return replace(row, difference=compared(*samples))


def _sample(side: Side, of: Key, key: str, found: Trend | None, drift_ratio: float) -> Sample:
    told = [(record, point) for record, point in side.found[of] if _has(point, key)]
    times = [window(record) for record, _ in told]
    return Sample(
        tuple(point.metrics[key] for _, point in told),
        tuple(point.trial.repetition for _, point in told),
        tuple(began_s for began_s, _ in times),
        tuple(ended_s for _, ended_s in times),
        found.between(side.gap(of)) if found else 0.0,
        drift_ratio,
        WIDENING if side.asked and side.asked.until else 1.0,
    )


def _drifts(first: Side, second: Side, pair: tuple[Key, Key], trends: tuple[Trend | None, Trend | None]) -> tuple[float, float]:
    """Say up to which difference either side may have drifted.

    Within one campaign that is all that can't be excluded between the one and the other; of two campaigns what is significant
    in either, for what lies between them neither knows.
    """
    if first.records is second.records and first.span_s:
        share = abs(second.middle_s(pair[1]) - first.middle_s(pair[0])) / first.span_s
        one, other = (found.reach_ratio(share) if found else 0.0 for found in trends)
    else:
        one, other = (found.reach_ratio() if found and found.drifts else 0.0 for found in trends)
    return one, other


def _trend_doubts(first: Side, second: Side, metric: str, trends: Sequence[Trend | None]) -> Iterator[str]:
    for side, found in list(zip((first, second), trends, strict=True))[: 1 if first.records is second.records else 2]:
        whose = "the campaign" if first.records is second.records else side.name
        if found:
            yield from (f"{whose}: {line}" for line in told(metric, found))


def _doubts(first: Side, second: Side, pairs: Sequence[tuple[Key, Key]], rows: Sequence[Row], across: bool) -> Iterator[str]:
    if any(row.difference and "paired" not in row.difference.method for row in rows):
        yield f"{first.name} and {second.name} were not measured in turns: what changed with time looks like a difference"
    if across:
        yield "energies are compared whatever the grade of their power"
    for side, n in ((first, 0), (second, 1)):
        alone = [key for key in side.found if key not in {pair[n] for pair in pairs}]
        failed_count = sum(record.status == "failed" for record in side.records)
        if failed_count and not (n and first.records is second.records):
            yield f"{failed_count} of {len(side.records)} trials failed in {side.name}"
        if alone:
            yield f"only in {side.name}: {few([', '.join(map(str, key[1:])) + ' clients' for key in alone], '; ')}"
    against = [{doubt for own in side.found.values() for _, p in own for doubt in p.doubts} for side in (first, second)]
    for side, own, other in ((first, *against), (second, *reversed(against))):
        if alone := sorted(own - other):
            yield f"{side.name} alone is doubted: {few(alone, '; ', 2)}"


def _has(point: Point, key: str) -> bool:
    return isfinite(point.metrics.get(key, nan))


def _outliers(side: Side, metric: str) -> Iterator[str]:
    for key, measured in side.found.items():
        told = [point for _, point in measured if _has(point, METRICS[metric])]
        values = [point.metrics[METRICS[metric]] / PER.get(metric, 1.0) for point in told]
        for n in outliers(values):
            others = sorted(values)[len(values) // 2]
            yield (
                f"{side.name}: {key[1]}, {key[2]}, {key[3]}, {key[4]} clients, repetition {told[n].trial.repetition}: "
                f"{number(values[n])} {metric} where {number(others)} is usual"
            )
