"""Which file system is best for which workload, by how much over the average of the others, and whether that is significant.

A difference counts when it is relevant (2 % at least) and significant: Welch's t test on logarithms, two-sided at 5 %, of the
best against each other one, with Holm's correction for their number. Where the best is not apart from all others there is no
winner, and those that it is not apart from are named. Rank tests can't reach 5 % with three repetitions each: none is used.

    B. L. Welch, The generalization of "Student's" problem, Biometrika 34 (1947), https://doi.org/10.1093/biomet/34.1-2.28
    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979), https://www.jstor.org/stable/4615733
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, sqrt
from statistics import fmean, variance

from pydantic import ValidationError

from perjoule import drivers
from perjoule.analysis.statistics import CONFIDENCE_RATIO, student_p, student_quantile
from perjoule.errors import PerjouleError
from perjoule.model import Cell, Direction, Finding, Interval, Record
from perjoule.units import MIB

RELEVANT_RATIO = 0.02
LARGE_BYTES = MIB  # a transfer of this size or more is called large, as in "Benchmarking Storage Access Patterns"

Values = Mapping[str, Mapping[str, Sequence[float]]]  # file system -> workload -> value of each repetition


@dataclass(frozen=True)
class Estimate:
    """A difference of mean logarithms with its standard error and degrees of freedom (0: no error can be told)."""

    value: float
    error: float
    freedom: float

    @property
    def p(self) -> float:
        """How likely a difference at least as large is by chance alone; 1 where no error can be told."""
        if not self.freedom or self.value == 0:
            return 1.0
        return student_p(self.value / self.error, self.freedom) if self.error else 0.0

    @property
    def ratio(self) -> Interval:
        """The ratio that it is the logarithm of, with its 95 % interval."""
        mean = exp(self.value)
        if not self.freedom:
            return Interval(mean, 0.0, inf, (mean,))
        half = student_quantile(self.freedom) * self.error
        return Interval(mean, exp(self.value - half), exp(min(self.value + half, 700.0)), (mean,))


def winners(
    records: Sequence[Record], cells: Sequence[Cell], metric: str = "throughput_bytes_per_s", *, across_grades: bool = False
) -> tuple[Finding, ...]:
    """Find the best by a metric of which more is better: for classes of workloads, then for each workload.

    Args:
        records: say of which kind each file system is, and how large each workload's transfers are.
        cells: give the repetitions.
        metric: a key of `Cell.metrics`.
        across_grades: whether joules of different grades (wall, modelled) may be ranked against each other: else nobody wins.

    Among all file systems, and where a kind has several variants beside other kinds, among those.
    """
    named = {r.trial.filesystem.label: r.trial.filesystem.kind for r in records}
    named |= {f"{r.trial.filesystem.label} on {r.trial.testbed.label}": r.trial.filesystem.kind for r in records}
    kinds = {cell.filesystem: named.get(cell.filesystem, "") for cell in cells}
    classes = {r.trial.workload.label: _size_class(r) for r in records}
    several = [kind for kind in dict.fromkeys(kinds.values()) if sum(k == kind for k in kinds.values()) > 1]
    found: list[Finding] = []
    for among in ["", *(several if len(set(kinds.values())) > 1 else [])]:
        chosen = [c for c in cells if metric in c.metrics and among in ("", kinds[c.filesystem])]
        found += _findings(among, chosen, metric, classes)
    if across_grades or not metric.endswith(("_per_j", "_j", "_w")):
        return tuple(found)
    of = [cell for cell in cells if metric in cell.metrics]
    return tuple(replace(one, grades=differing([c for c in of if c.filesystem in one.compared])) for one in found)


def differing(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Name the grades of the power of cells, where they differ: then nothing by the joule may be ranked among them."""
    different = sorted({cell.grade for cell in cells if cell.grade})
    return tuple(different) if len(different) > 1 else ()


def _findings(among: str, cells: Sequence[Cell], metric: str, classes: Mapping[str, str]) -> Iterator[Finding]:
    blocks: list[tuple[Direction, int]] = list(dict.fromkeys((c.direction, c.clients_count) for c in cells))
    for direction, clients_count in blocks:
        chosen = [c for c in cells if (c.direction, c.clients_count) == (direction, clients_count)]
        for name in dict.fromkeys(filter(None, classes.values())):
            members = [c for c in chosen if classes.get(c.workload) == name]
            if len({c.workload for c in members}) > 1:
                yield from _finding(among, name, direction, clients_count, members, metric)
    for direction, clients_count in blocks:
        chosen = [c for c in cells if (c.direction, c.clients_count) == (direction, clients_count)]
        for workload in dict.fromkeys(c.workload for c in chosen):
            members = [c for c in chosen if c.workload == workload]
            yield from _finding(among, workload, direction, clients_count, members, metric)


def _finding(
    among: str, workload: str, direction: Direction, clients_count: int, cells: Sequence[Cell], metric: str
) -> Iterator[Finding]:
    values: dict[str, dict[str, Sequence[float]]] = {}
    for cell in cells:
        values.setdefault(cell.filesystem, {})[cell.workload] = cell.metrics[metric].values
    workloads = {cell.workload for cell in cells}
    complete = {name: own for name, own in values.items() if own.keys() == workloads and min(map(min, own.values())) > 0}
    if len(complete) > 1:
        yield judge(complete, among=among, workload=workload, direction=direction, clients_count=clients_count)


def judge(values: Values, *, among: str, workload: str, direction: Direction, clients_count: int) -> Finding:
    """Judge at least two file systems that were measured in the same workloads; all values positive."""
    ordered = sorted(values, key=lambda name: -_level(values[name]))
    best, *others = ordered
    differences = {other: difference(values[best], values[other]) for other in others}
    adjusted = holm({other: d.p for other, d in differences.items()})
    apart = {o for o in others if adjusted[o] < 1 - CONFIDENCE_RATIO and differences[o].value >= log(1 + RELEVANT_RATIO)}
    return Finding(
        among=among,
        workload=workload,
        direction=direction,
        clients_count=clients_count,
        best=best,
        over_average=over_average(values[best], [values[other] for other in others]).ratio,
        rivals=tuple(other for other in others if other not in apart),
        repeated=all(len(v) > 1 for own in values.values() for v in own.values()),
        compared=tuple(ordered),
    )


def holm(p: Mapping[str, float]) -> Mapping[str, float]:
    """Correct p-values for their number, after Holm."""
    adjusted: dict[str, float] = {}
    least = 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        least = max(least, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = least
    return adjusted


def difference(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> Estimate:
    """Give the difference of logarithms of two file systems, averaged over workloads, each of which weighs the same."""
    terms = [(+1.0, [log(v) for v in values]) for values in one.values()]
    terms += [(-1.0, [log(v) for v in values]) for values in other.values()]
    return _combined([(sign / len(one), values) for sign, values in terms])


def over_average(one: Mapping[str, Sequence[float]], others: Sequence[Mapping[str, Sequence[float]]]) -> Estimate:
    """Give the logarithm of one file system's mean over the average of the others' means, averaged over workloads."""
    value, terms = 0.0, list[tuple[float, Sequence[float]]]()
    for workload, own in one.items():
        means = [fmean(other[workload]) for other in others]
        average = fmean(means)
        value += (log(fmean(own)) - log(average)) / len(one)
        # the delta method: what each value moves the logarithm by
        terms.append((1 / (len(one) * fmean(own)), own))
        terms += [(-1 / (len(one) * len(others) * average), other[workload]) for other in others]
    error = _combined(terms)
    return Estimate(value, error.error, error.freedom)


def _combined(terms: Sequence[tuple[float, Sequence[float]]]) -> Estimate:
    """A weighted sum of means, with the degrees of freedom of Welch and Satterthwaite."""
    value = sum(weight * fmean(values) for weight, values in terms)
    if any(len(values) < 2 for _, values in terms):
        return Estimate(value, inf, 0.0)
    parts = [(weight**2 * variance(values) / len(values), len(values) - 1) for weight, values in terms]
    whole = sum(part for part, _ in parts)
    freedom = whole**2 / sum(part**2 / count for part, count in parts) if whole else float(sum(count for _, count in parts))
    return Estimate(value, sqrt(whole), freedom)


def _level(values: Mapping[str, Sequence[float]]) -> float:
    return fmean(log(v) for own in values.values() for v in own)


def _size_class(record: Record) -> str:
    """Whether a workload's transfers are large or small; "" where it has no such option."""
    try:
        transfer_bytes = getattr(drivers.workload(record.trial.workload), "transfer_bytes", None)
    except (KeyError, ValidationError, PerjouleError):  # a driver or an option that this perjoule no longer has
        return ""
    if not isinstance(transfer_bytes, int):
        return ""
    return "large transfers" if transfer_bytes >= LARGE_BYTES else "small transfers"
