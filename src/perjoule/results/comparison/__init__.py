"""Two results folders, or two file systems of one, side by side: what changed, and the effect on the
numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

from perjoule.model import Direction, Interval, Reality
from perjoule.model.doubts import COMPARISON, Doubt
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import BY_LABEL, COMPARED, metric_of
from perjoule.results.comparison.doubts import outlier_lines, side_doubts, trend_doubts
from perjoule.results.limitations import SIMULATED
from perjoule.results.sides import Key, Side, matched
from perjoule.results.table import few
from perjoule.statistics.better import Judge, Verdict, refusal, refused_verdict, verdict
from perjoule.statistics.changes import Difference, undeclared
from perjoule.statistics.instruments import told_apart
from perjoule.statistics.intervals import hedges_g
from perjoule.statistics.modes import summarised_by_median

DEFAULT_LABELS = tuple(metric_of(key).label for key in COMPARED)  # of those that were measured


@dataclass(frozen=True)
class ComparisonRow:
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
    reality: tuple[Reality, Reality] = ("real", "real")  # of both sides
    by_median: tuple[bool, bool] = (False, False)  # whether the repetitions of a side have no useful mean

    @property
    def verdict(self) -> str:
        """The verdict on the second compared with the first."""
        return self.judged.sentence(self.than)


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    names: tuple[str, str]
    rows: tuple[ComparisonRow, ...]
    doubts: tuple[Doubt, ...]
    outliers: tuple[str, ...]
    changes: tuple[Difference, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Which side was simulated, in which rows."""
        simulated = {
            name: sum(row.reality[n] == "simulated" for row in self.rows) for n, name in enumerate(self.names)
        }
        of = len(self.rows)
        return tuple(
            f"{name}: {SIMULATED}{f', in {n} of {of} rows' if n < of else ''}"
            for name, n in simulated.items()
            if n
        )


def checked_label(metric: str) -> str:
    """Check a metric's name. Raises CampaignError."""
    if metric not in BY_LABEL:
        raise CampaignError(f'no metric is called "{metric}"', next=f"known: {', '.join(BY_LABEL)}")
    return metric


def compare(
    first: Side,
    second: Side,
    metrics: Sequence[str] = (),
    *,
    across_grades: bool = False,
    changes: Sequence[Difference] = (),
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
    if first.records is not second.records:
        apart = told_apart(second.cells, second.records, first.records, second.name)
        second = replace(second, cells=apart)
    pairs = matched(first, second)
    rows: list[ComparisonRow] = []
    suspects = [change.name for change in undeclared(changes)]
    doubts = [COMPARISON.undeclared(changes=few(suspects))] if suspects else []
    for metric in metrics or DEFAULT_LABELS:
        pairs_with_metric = [pair for pair in pairs if _measured(first, second, pair, BY_LABEL[metric].key)]
        metric_rows = [
            _row(first, second, pair, metric, len(pairs_with_metric), across_grades=across_grades)
            for pair in pairs_with_metric
        ]
        rows += metric_rows
        if metric_rows:
            doubts += trend_doubts(first, second, metric)
    if not rows:
        raise CampaignError(
            "the two have no workload in common, or no metric was measured in both",
            where=f"{first.name} and {second.name}",
            next="compare results that share a workload, a direction and a number of clients",
        )
    strange = [
        text
        for side in (first, second)
        for metric in metrics or DEFAULT_LABELS
        for text in outlier_lines(side, metric)
    ]
    doubts += side_doubts(first, second, pairs, across_grades)
    return Comparison((first.name, second.name), tuple(rows), tuple(doubts), tuple(strange), tuple(changes))


def _measured(first: Side, second: Side, pair: tuple[Key, Key], key: str) -> bool:
    return key in first.cell(pair[0]).metrics and key in second.cell(pair[1]).metrics


def _row(
    first: Side, second: Side, pair: tuple[Key, Key], metric: str, count: int, *, across_grades: bool
) -> ComparisonRow:
    """Compare one combination: within a campaign by the common rule, of two campaigns together with their
    other combinations.
    """
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
    values = [cell.metrics[key].values for cell in (before, after)]
    effect = nan if judged.refused else hedges_g(*values)
    than = labels[0] if len(labels) > 1 else first.name
    place = (" -> ".join(labels), pair[0][2], pair[0][3], pair[0][4])
    realities: tuple[Reality, Reality] = (before.reality, after.reality)
    by_median = summarised_by_median(before), summarised_by_median(after)
    return ComparisonRow(
        *place, metric, before.metrics[key], after.metrics[key], judged, than, effect, realities, by_median
    )
