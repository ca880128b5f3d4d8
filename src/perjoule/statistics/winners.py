"""The best file system for each workload, its lead over the average of the others, and which of them it
significantly beats.

The best has the highest mean logarithm; `statistics.better` judges it against each other one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from perjoule.model import Cell, Direction, Interval, Record
from perjoule.model.metrics import DEFAULT, RANKED, RATES
from perjoule.model.units import MIB
from perjoule.statistics.better import Judge, Verdict, level, refusal
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.contrast import Term, contrast
from perjoule.statistics.grades import different_grades, differing

# a transfer of this size or more is called large, as in "Benchmarking Storage Access Patterns"
LARGE_BYTES = MIB

Complete = Mapping[str, Mapping[str, Cell]]  # file system -> workload -> its cell


@dataclass(frozen=True)
class Finding:
    """The best file system for a workload, or for a class of them."""

    among: str  # what is compared: "" for all file systems, or the kind whose variants these are
    workload: str
    direction: Direction
    clients_count: int
    metric: str
    best: str
    over_average: Interval  # ratio to the average of the others
    verdicts: Mapping[str, Verdict]  # of the best against each other one, the next best first
    grades: tuple[str, ...] = ()  # of their power, where these differ: then there is no winner

    @property
    def compared(self) -> tuple[str, ...]:
        """All file systems, the best first."""
        return (self.best, *self.verdicts)

    @property
    def rivals(self) -> tuple[str, ...]:
        """Those than which the best is not significantly better, the next best first."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict.word != "better")

    @property
    def verdict(self) -> str:
        """The verdict on it, with redundancies where they differ."""
        return self._said(lambda verdict: verdict.sentence("{}"))

    @property
    def plain_verdict(self) -> str:
        """The verdict on it, without redundancies."""
        return self._said(lambda verdict: verdict.plain("{}"))

    def _said(self, words_of: Callable[[Verdict], str]) -> str:
        if self.grades:
            return (
                f"no winner: {different_grades(self.metric, self.grades)}, which are not ranked against "
                "each other"
            )
        sentences: dict[str, list[str]] = {}
        for name, verdict in self.verdicts.items():
            sentences.setdefault(words_of(verdict), []).append(name)
        return "; ".join(sentence.replace("{}", ", ".join(names)) for sentence, names in sentences.items())


def best(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """Find the best by each metric that ranks file systems: by operations where no bytes are moved."""
    judge = Judge(cells)
    still = [cell for cell in cells if RATES[0] not in cell.metrics]
    cells_of = [(metric, cells if metric in RANKED else still) for metric in DEFAULT]
    return tuple(
        finding
        for metric, metric_cells in cells_of
        for finding in winners(records, metric_cells, metric, judge=judge)
    )


def winners(
    records: Sequence[Record],
    cells: Sequence[Cell],
    metric: str = RATES[0],
    *,
    across_grades: bool = False,
    judge: Judge | None = None,
) -> tuple[Finding, ...]:
    """Find the best by a metric of which more is better: for classes of workloads, then for each workload.

    Args:
        records: they have the kind of each file system, and the transfer size of each workload.
        cells: all of a campaign.
        metric: a key of `Cell.metrics`.
        across_grades: whether joules of different grades (wall, modelled) may be ranked against each other:
            else nobody wins.
        judge: of the same cells, if it exists already.

    Among all file systems and, if a kind has several variants next to other kinds, among those.
    """
    kind_of = {name: r.trial.filesystem.kind for r in records for name in filesystem_names(r.trial)}
    kinds = {cell.filesystem: kind_of.get(cell.filesystem, "") for cell in cells}
    classes = {r.trial.workload.label: _size_class(r) for r in records}
    several = [kind for kind in dict.fromkeys(kinds.values()) if sum(k == kind for k in kinds.values()) > 1]
    judge = judge or Judge(cells, across_grades=across_grades)
    with_metric = [c for c in cells if metric in c.metrics]
    groups = list(_groups(with_metric, classes))
    findings: list[Finding] = []
    for among in ["", *(several if len(set(kinds.values())) > 1 else [])]:
        for workload, members in groups:
            complete = _complete(members, metric)
            competing = {
                name: by_workload for name, by_workload in complete.items() if among in ("", kinds[name])
            }
            if len(competing) > 1:
                findings.append(
                    _finding(among, workload, competing, metric, judge, across_grades=across_grades)
                )
    return tuple(findings)


def _groups(cells: Sequence[Cell], classes: Mapping[str, str]) -> Iterator[tuple[str, Sequence[Cell]]]:
    """Return what is judged together: in each direction and number of clients the classes of workloads,
    then each workload.
    """
    blocks = list(dict.fromkeys((c.direction, c.clients_count) for c in cells))
    of = {block: [c for c in cells if (c.direction, c.clients_count) == block] for block in blocks}
    for members in of.values():
        for name in dict.fromkeys(filter(None, classes.values())):
            of_class = [c for c in members if classes.get(c.workload) == name]
            if len({c.workload for c in of_class}) > 1:
                yield name, of_class
    for members in of.values():
        for workload in dict.fromkeys(c.workload for c in members):
            yield workload, [c for c in members if c.workload == workload]


def _complete(cells: Sequence[Cell], metric: str) -> Complete:
    """Return the file systems that were measured in all workloads, with positive values."""
    by_filesystem: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        by_filesystem.setdefault(cell.filesystem, {})[cell.workload] = cell
    workloads = {cell.workload for cell in cells}
    return {
        name: by_workload
        for name, by_workload in by_filesystem.items()
        if by_workload.keys() == workloads and _positive(by_workload, metric)
    }


def _positive(by_workload: Mapping[str, Cell], metric: str) -> bool:
    return min(min(cell.metrics[metric].values) for cell in by_workload.values()) > 0


def _finding(
    among: str, workload: str, of: Complete, metric: str, judge: Judge, *, across_grades: bool
) -> Finding:
    best, *rivals = sorted(of, key=lambda name: -fmean(level(cell, metric) for cell in of[name].values()))
    cells = [cell for filesystem_cells in of.values() for cell in filesystem_cells.values()]
    first = cells[0]
    refused = refusal(cells, metric, across_grades=across_grades)
    pairs = {rival: [(cell, of[rival][name]) for name, cell in of[best].items()] for rival in rivals}
    return Finding(
        among=among,
        workload=workload,
        direction=first.direction,
        clients_count=first.clients_count,
        metric=metric,
        best=best,
        over_average=over_average(of[best], [of[rival] for rival in rivals], metric, judge),
        verdicts={rival: _judged(judge, cell_pairs, metric) for rival, cell_pairs in pairs.items()},
        grades=differing(cells, metric) if refused else (),
    )


def _judged(judge: Judge, pairs: Sequence[tuple[Cell, Cell]], metric: str) -> Verdict:
    """Judge a row by its place among all rows; what pools rows, as one of all comparisons."""
    return (
        judge.verdict(*pairs[0], metric)
        if len(pairs) == 1
        else judge.judged(pairs, metric, judge.all_count(metric))
    )


def over_average(
    best: Mapping[str, Cell], rivals: Sequence[Mapping[str, Cell]], metric: str, judge: Judge
) -> Interval:
    """Return one file system's geometric mean over the average of the others', over workloads, with its
    interval.

    By the delta method: the derivative of the average's logarithm by each logarithm. Which one is the best was
    told by the same values, so that the interval is one of as many as there are file systems; of two, each lead
    is the other's reciprocal.
    """
    value, terms = 0.0, list[Term]()
    for workload, cell in best.items():
        means = [exp(level(rival[workload], metric)) for rival in rivals]
        value += (level(cell, metric) - log(fmean(means))) / len(best)
        terms.append((1 / len(best), judge.sample(cell, metric)))
        shares = [mean / sum(means) for mean in means]
        terms += [
            (-share / len(best), judge.sample(o[workload], metric))
            for share, o in zip(shares, rivals, strict=True)
        ]
    estimate = contrast(terms)
    shift = exp(value - estimate.value)
    plain = estimate.interval(len(rivals) + 1 if len(rivals) > 1 else 1)
    return Interval(exp(value), plain.low * shift, plain.high * shift, (exp(value),))


def _size_class(record: Record) -> str:
    """Return whether a workload's transfers are large or small; "" if it has none of one size."""
    transfer_bytes = record.traits.pattern.transfer_bytes
    if transfer_bytes is None:
        return ""
    return "large transfers" if transfer_bytes >= LARGE_BYTES else "small transfers"
