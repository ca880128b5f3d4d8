"""The one rule for "better": whether one mean is higher than another by a relevant factor, significantly.

Cards, winners, comparisons, claims and rankings all use it, so a pair has the same ratio, interval, p and
wording everywhere.

- The difference of mean logarithms and its standard error are those of `statistics.contrast`.
- A family of comparisons is made together: in one metric, all pairs of file systems over all rows of a
  campaign (a row is a workload, direction and number of clients). By Holm's rule the pair with the smallest p
  counts as one of m, the next as one of m - 1, and so on, until one is not significant: it and all after it
  count as one of as many as are left then. The interval is that of Student's t at 1 - 5 % / count, and p is
  count times that of the t test, so the interval excludes 1 if p is below 5 %, and the chance of one or more
  false "better" in the whole report, by one metric, is at most 5 %.
- Better (or worse): the interval excludes 1 and the ratio is at least 2 %. No relevant difference: the
  interval lies within 2 %. Everything else, and every single repetition, is undecided.

`benchmarks/better.py` simulates its false positives, coverage and power.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import inf, log, nan
from statistics import fmean, median
from typing import Literal

from perjoule.model import Cell, Interval
from perjoule.model.metrics import metric_of, whole_window
from perjoule.statistics.contrast import Estimate, Sample, Term, contrast
from perjoule.statistics.distributions import CONFIDENCE_RATIO
from perjoule.statistics.drift import Trend
from perjoule.statistics.grades import different_grades, differing
from perjoule.statistics.intervals import holm_counts
from perjoule.statistics.trends import campaign_trend

RELEVANT_RATIO = 0.02
MOST_COUNT = 1000  # more repetitions than this are not proposed
_RELEVANT = log(1 + RELEVANT_RATIO)
Word = Literal["better", "worse", "no relevant difference", "can't tell"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one compared with another."""

    estimate: Estimate
    count: int = 1  # comparisons that are made together
    less_is_better: bool = False
    redundancy: str = ""  # "1 copy against 2 copies", where that differs
    refused: str = ""  # why they are not compared

    @property
    def ratio(self) -> Interval:
        """The ratio of the two, with an interval that agrees with the verdict."""
        return self.estimate.interval(self.count)

    @property
    def p(self) -> float:
        """The probability of a difference at least as large by chance alone, in any of the comparisons."""
        return min(1.0, self.count * self.estimate.p)

    @property
    def sign(self) -> Literal[-1, 0, 1]:
        """1 if the first is higher than the second by a relevant factor, significantly; -1 if it is lower;
        else 0.
        """
        if self.refused or not _excludes(self.ratio) or abs(self.estimate.value) < _RELEVANT:
            return 0
        return 1 if self.estimate.value > 0 else -1

    @property
    def word(self) -> Word:
        """The verdict as a word."""
        if self.sign:
            return "better" if self.sign == (-1 if self.less_is_better else 1) else "worse"
        return "no relevant difference" if not self.refused and self._within else "can't tell"

    @property
    def _within(self) -> bool:
        return (
            log(self.ratio.high) <= _RELEVANT and -log(self.ratio.low) <= _RELEVANT
            if self.ratio.low
            else False
        )

    def sentence(self, than: str) -> str:
        """Return the verdict in words, with redundancy, so 1 copy is not ranked above 2 unnoticed."""
        return self.plain(than) + (
            f"; redundancy differs: {self.redundancy}" if self.redundancy and not self.refused else ""
        )

    def plain(self, than: str) -> str:
        """Return the verdict in words, for those who say elsewhere what the redundancy is."""
        if self.refused:
            return f"not compared with {than}: {self.refused}"
        if self.sign:
            return f"significantly {self.word} than {than}"
        if not self.estimate.freedom:
            return f"one repetition is not enough to distinguish it from {than}"
        if self.word == "no relevant difference":
            return f"no relevant difference from {than}"
        if _excludes(self.ratio):
            return f"differs from {than}, but perhaps by less than {100 * RELEVANT_RATIO:.0f} %"
        return f"not significantly different from {than}" + (f": {self.reason}" if self.reason else "")

    @property
    def reason(self) -> str:
        """What hides a difference that the scatter of repetitions alone would show; "" if nothing does."""
        estimate = self.estimate
        if not estimate.freedom or _excludes(self.ratio) or abs(estimate.value) < _RELEVANT:
            return ""
        if _excludes(replace(estimate, drift=0.0).interval(self.count)):
            return "drift over the campaign may explain it"
        if _excludes(replace(estimate, shared=0.0).interval(self.count)):
            return f"within the uncertainty of {estimate.source}"
        if _excludes(replace(estimate, drift=0.0, shared=0.0).interval(self.count)):
            return f"drift over the campaign and the uncertainty of {estimate.source} may explain it"
        return ""

    def more_count(self) -> float:
        """Return how many more repetitions of each would settle it, if mean and scatter stay the same: 0 if it
        is settled, infinite above MOST_COUNT.

        It is settled if the interval excludes 1 for a relevant difference, or lies within the irrelevant
        range otherwise. Drift and shared errors stay as they are.
        """
        estimate = self.estimate
        if not estimate.freedom:
            return nan
        size = abs(estimate.value)
        needed = size if size >= _RELEVANT else _RELEVANT - size
        level = (1 - CONFIDENCE_RATIO) / self.count
        for count in range(estimate.count, MOST_COUNT + 1):
            freedom = estimate.freedom * (count - 1) / max(estimate.count - 1, 1)
            more = replace(estimate, scatter=estimate.scatter * estimate.count / count, freedom=freedom)
            if more.half(level) < needed:
                return count - estimate.count
        return inf


class Judge:
    """Compares the cells of one campaign."""

    def __init__(self, cells: Sequence[Cell], *, across_grades: bool = False) -> None:
        """Take all cells of a campaign; `across_grades`: whether energies of different grades are ranked."""
        self._cells, self._across = tuple(cells), across_grades
        self._trends: dict[str, Trend | None] = {}
        self._counts: dict[str, Mapping[frozenset[int], int]] = {}

    def verdict(self, over: Cell, under: Cell, metric: str, count: int | None = None) -> Verdict:
        """Judge one cell against another in a metric that both have.

        Args:
            one: over the other.
            other: a cell of the same campaign.
            metric: a key of `Cell.metrics`.
            count: comparisons made together; by default those of the campaign in the metric, by Holm's rule,
                or, if not both are its cells, all pairs that did the same work.
        """
        if count is None:
            count = self._holm(metric).get(frozenset((id(over), id(under)))) or self._pairs_count(
                over, metric
            )
        return self.judged([(over, under)], metric, count)

    def all_count(self, metric: str) -> int:
        """Return the number of pairs of file systems over all rows, at least 1: for a comparison that
        pools rows.
        """
        return max(1, len(self._holm(metric)))

    def _holm(self, metric: str) -> Mapping[frozenset[int], int]:
        """Return of each pair that did the same work as how many comparisons it counts."""
        if metric not in self._counts:
            rows: dict[object, list[Cell]] = {}
            for cell in self._cells:
                if metric in cell.metrics and len(cell.metrics[metric].values) > 1:
                    rows.setdefault(work(cell), []).append(cell)
            p_of: dict[frozenset[int], float] = {}  # cells by their ids
            for first, second in (pair for cells in rows.values() for pair in combinations(cells, 2)):
                if not refusal((first, second), metric, across_grades=self._across):
                    p_of[frozenset((id(first), id(second)))] = self.judged([(first, second)], metric, 1).p
            self._counts[metric] = dict(zip(p_of, holm_counts(list(p_of.values())), strict=True))
        return self._counts[metric]

    def judged(self, pairs: Sequence[tuple[Cell, Cell]], metric: str, count: int) -> Verdict:
        """Judge one against another over several pairs of cells with equal weights."""
        if refused := refusal([cell for pair in pairs for cell in pair], metric, across_grades=self._across):
            return refused_verdict(refused)
        weight = 1 / len(pairs)
        signed = [side for over, under in pairs for side in ((weight, over), (-weight, under))]
        terms = [(sign, self.sample(cell, metric)) for sign, cell in signed]
        return verdict(terms, metric, count, pairs[0])

    def sample(self, cell: Cell, metric: str) -> Sample:
        """Return the repetitions of a cell with their times and shared errors."""
        return sample(cell, metric, self.trend(metric), self._gap(cell))

    def trend(self, metric: str) -> Trend | None:
        """Find the drift of a metric over the campaign."""
        if metric not in self._trends:
            self._trends[metric] = campaign_trend(self._cells, metric)
        return self._trends[metric]

    def _pairs_count(self, of: Cell, metric: str) -> int:
        same = [c.metrics[metric] for c in self._cells if work(c) == work(of) and metric in c.metrics]
        return pairs_count(sum(len(interval.values) > 1 for interval in same))

    @cached_property
    def _places(self) -> Mapping[float, int]:
        return {
            t_s: n for n, t_s in enumerate(sorted({ran.began_s for cell in self._cells for ran in cell.ran}))
        }

    def _gap(self, cell: Cell) -> float:
        places = sorted(self._places[ran.began_s] for ran in cell.ran if ran.began_s in self._places)
        return median(b - a for a, b in pairwise(places)) if len(places) > 1 else 1.0


def verdict(terms: Sequence[Term], metric: str, count: int, pair: tuple[Cell, Cell]) -> Verdict:
    """Judge a contrast of samples; `pair` has the names and the redundancy."""
    redundancies = [cell.redundancy for cell in pair]
    differs = (
        redundancies[0] is not None and redundancies[1] is not None and redundancies[0] != redundancies[1]
    )
    redundancy = " against ".join(kind.text for kind in redundancies if kind) if differs else ""
    return Verdict(contrast(terms), count, metric_of(metric).better == "lower", redundancy)


def refused_verdict(why: str) -> Verdict:
    """Return the verdict that two are not compared, and why."""
    return Verdict(Estimate(nan, inf, 0.0), refused=why)


def refusal(cells: Sequence[Cell], metric: str, *, across_grades: bool = False) -> str:
    """Return why cells are not compared in a metric; "" if they are."""
    if grades := (() if across_grades else differing(cells, metric)):
        return different_grades(metric, grades)
    return (
        "" if all(min(cell.metrics[metric].values) > 0 for cell in cells) else "not all values are positive"
    )


def sample(cell: Cell, metric: str, trend: Trend | None = None, gap: float = 1.0) -> Sample:
    """Return the repetitions of a cell; a burst shares the errors of the whole window."""
    shared = cell.shared.get(metric) or cell.shared.get(whole_window(metric), {})
    return Sample(cell.metrics[metric].values, cell.ran, shared, cell.widening, trend, gap)


def level(cell: Cell, metric: str) -> float:
    """Return the mean logarithm, by which cells are ordered."""
    return fmean(log(v) for v in cell.metrics[metric].values)


def pairs_count(count: int) -> int:
    """Return the number of pairs of this many; at least 1."""
    return max(1, count * (count - 1) // 2)


def work(cell: Cell) -> tuple[str, str, int]:
    """Return the key of the work: workload, direction, clients."""
    return cell.workload, cell.direction, cell.clients_count


def _excludes(ratio: Interval) -> bool:
    return ratio.low > 1 or ratio.high < 1
