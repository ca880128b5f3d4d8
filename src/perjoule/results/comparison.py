"""Two results folders, or two file systems of one, side by side: what changed, and the effect on the numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal

from perjoule.analysis.better import Judge, Verdict, hedges_g, refusal, refused_verdict, verdict
from perjoule.analysis.changes import Change, undeclared
from perjoule.analysis.contrast import in_turns
from perjoule.analysis.outliers import outliers
from perjoule.analysis.trends import doubts as told
from perjoule.model import Direction, Interval, Point
from perjoule.model.errors import CampaignError
from perjoule.model.format import number
from perjoule.model.metrics import BY_LABEL, COMPARED, metric_of
from perjoule.results.sides import Key, Side, matched

DEFAULT_LABELS = tuple(metric_of(key).label for key in COMPARED)  # of those that were measured
_LIMIT = re.compile(r"\s*(?P<metric>.+?)\s*(?P<sense>[<>])\s*(?P<percent>[+-]?\d+(?:\.\d+)?)\s*%\s*")


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
    judged: Verdict
    than: str  # what the second is compared with
    effect: float = nan  # Hedges' g

    @property
    def verdict(self) -> str:
        """The verdict on the second compared with the first."""
        return self.judged.sentence(self.than)


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    names: tuple[str, str]
    rows: tuple[Row, ...]
    doubts: tuple[str, ...]
    outliers: tuple[str, ...]
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Limit:
    """A change that a user does not accept: "MiB/J < -5 %"."""

    text: str
    metric: str
    sense: Literal["<", ">"]
    ratio: float

    def judge(self, row: Row) -> Literal["broken", "kept", "can't tell"]:
        """Return on which side of the limit the whole 95 % interval of a row's change is."""
        if row.judged.refused or not row.judged.estimate.freedom:
            return "can't tell"
        low, high = row.judged.ratio.low - 1, row.judged.ratio.high - 1
        if self.sense == "<":
            return "broken" if high < self.ratio else "kept" if low >= self.ratio else "can't tell"
        return "broken" if low > self.ratio else "kept" if high <= self.ratio else "can't tell"


def limit(text: str) -> Limit:
    """Parse "MiB/J < -5 %". Raises CampaignError."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise CampaignError(f'"{text}" is not a limit', next='write it as in "MiB/J < -5 %"')
    return Limit(text, known(match["metric"]), "<" if match["sense"] == "<" else ">", float(match["percent"]) / 100)


def known(metric: str) -> str:
    """Check a metric's name. Raises CampaignError."""
    if metric not in BY_LABEL:
        raise CampaignError(f'no metric is called "{metric}"', next=f"known: {', '.join(BY_LABEL)}")
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
        first: the side before.
        second: the side after.
        metrics: by their labels; by default `DEFAULT_LABELS`.
        across_grades: whether to compare energies of different grades.
        changes: all differences; undeclared ones are a doubt.

    Raises:
        CampaignError: the two have nothing in common.
    """
    pairs = matched(first, second)
    rows: list[Row] = []
    left = [one.name for one in undeclared(changes)]
    doubts = [f"{few(left)}: undeclared differences that may be the cause"] if left else []
    for metric in metrics or DEFAULT_LABELS:
        chosen = [pair for pair in pairs if _measured(first, second, pair, BY_LABEL[metric].key)]
        own = [_row(first, second, pair, metric, len(chosen), across_grades=across_grades) for pair in chosen]
        rows += own
        if own:
            doubts += _trend_doubts(first, second, metric)
    if not rows:
        raise CampaignError(
            "the two have no workload in common, or no metric was measured in both",
            where=f"{first.name} and {second.name}",
            next="compare results that share a workload, a direction and a number of clients",
        )
    strange = [text for one in (first, second) for metric in metrics or DEFAULT_LABELS for text in _outliers(one, metric)]
    doubts += _doubts(first, second, pairs, across_grades)
    return Comparison((first.name, second.name), tuple(rows), tuple(doubts), tuple(strange), tuple(changes))


def _measured(first: Side, second: Side, pair: tuple[Key, Key], key: str) -> bool:
    return key in first.cell(pair[0]).metrics and key in second.cell(pair[1]).metrics


def _row(first: Side, second: Side, pair: tuple[Key, Key], metric: str, count: int, *, across_grades: bool) -> Row:
    """Compare one combination: within a campaign by the common rule, of two campaigns together with their other combinations."""
    key, labels = BY_LABEL[metric].key, list(dict.fromkeys(of[1] for of in pair))
    before, after = first.cell(pair[0]), second.cell(pair[1])
    if first.records is second.records:
        judge = Judge(first.cells, across_grades=True) if across_grades else first.judge
        judged = judge.verdict(after, before, key)
    elif refused := refusal((before, after), key, across_grades=across_grades):
        judged = refused_verdict(refused)
    else:
        terms = ((1.0, second.judge.sample(after, key)), (-1.0, first.judge.sample(before, key)))
        judged = verdict(terms, key, count, (after, before))
    values = [one.metrics[key].values for one in (before, after)]
    effect = nan if judged.refused else hedges_g(*values)
    than = labels[0] if len(labels) > 1 else first.name
    shown = before.metrics[key], after.metrics[key]
    return Row(" -> ".join(labels), pair[0][2], pair[0][3], pair[0][4], metric, *shown, judged, than, effect)


def _in_turns(first: Side, second: Side, pair: tuple[Key, Key]) -> bool:
    return in_turns([side.cell(key) for side, key in zip((first, second), pair, strict=True)])


def _trend_doubts(first: Side, second: Side, metric: str) -> Iterator[str]:
    for side in (first, second)[: 1 if first.records is second.records else 2]:
        whose = "the campaign" if first.records is second.records else side.name
        if found := side.judge.trend(BY_LABEL[metric].key):
            yield from (f"{whose}: {line}" for line in told(metric, found))


def _doubts(first: Side, second: Side, pairs: Sequence[tuple[Key, Key]], across: bool) -> Iterator[str]:
    if not all(_in_turns(first, second, pair) for pair in pairs):
        yield f"{first.name} and {second.name} were not measured in turns: a change over time would look like a difference"
    if across:
        yield "energies are compared across grades of power"
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
            yield f"{side.name} alone has doubts: {few(alone, '; ', 2)}"


def _has(point: Point, key: str) -> bool:
    return isfinite(point.metrics.get(key, nan))


def _outliers(side: Side, metric: str) -> Iterator[str]:
    of = BY_LABEL[metric]
    for key, measured in side.found.items():
        told = [point for _, point in measured if _has(point, of.key)]
        values = [point.metrics[of.key] / of.unit.per for point in told]
        for n in outliers(values):
            others = sorted(values)[len(values) // 2]
            yield (
                f"{side.name}: {key[1]}, {key[2]}, {key[3]}, {key[4]} clients, repetition {told[n].trial.repetition}: "
                f"{number(values[n])} {metric} where {number(others)} is typical"
            )
