"""The same audit on your own results: the numbers of their cells, repetition by repetition, as if a paper
had printed them.
"""

from collections.abc import Collection, Iterator, Sequence

from perjoule import catalogue
from perjoule.measures.plausibility import BOUND_RATIO
from perjoule.model import Cell
from perjoule.model.metrics import OF_PEAK, PEAK, RATES, Metric, metric_of
from perjoule.papers.audit import rules
from perjoule.papers.audit.recipe import AuditVerdict
from perjoule.papers.audit.verdicts import judge
from perjoule.papers.published import PrintedNumber, Uncertainty
from perjoule.papers.published.paper import Fact

ROUNDING_RATIO = 1e-9


def audit_cells(
    cells: Sequence[Cell], cluster: str, implausible: Collection[str] = ()
) -> tuple[AuditVerdict, ...]:
    """Judge the cells of a results folder.

    Args:
        cells: as in the table.
        cluster: the catalogue's cluster on which they were measured; "" if it is unknown.
        implausible: the doubts by which a number may be that of something else; the others are listed as
            unchecked.
    """
    return tuple(
        verdict for cell in cells for verdict in (*_judged(cell, cluster), *_doubts(cell, implausible))
    )


def _judged(cell: Cell, cluster: str) -> tuple[AuditVerdict, ...]:
    numbers = [*_peak(cell, cluster), *_numbers(cell, cluster)]
    return judge(rules.recipes(numbers), numbers)


def _peak(cell: Cell, cluster: str) -> Iterator[PrintedNumber]:
    """Return the peak of the data hosts; an older table without it means the catalogue's peak."""
    tpp_interval = cell.metrics.get(PEAK)
    if tpp_interval is not None or cluster in catalogue.names():
        tpp = (
            tpp_interval.mean
            if tpp_interval is not None
            else catalogue.tpp_bytes_per_s(catalogue.cluster(cluster))
        )
        of = metric_of(RATES[0])
        yield _number("tpp", of, tpp, "catalogue", {"what": "TPP", "cluster": cluster})


def _numbers(cell: Cell, cluster: str) -> Iterator[PrintedNumber]:
    place = _place(cell)
    repetitions = max((len(interval.values) for interval in cell.metrics.values()), default=0)
    for key, interval in cell.metrics.items():
        of = metric_of(key)
        if not of.quantity or len(interval.values) < repetitions:  # it is unknown which repetition lacks it
            continue
        for index, value in enumerate(interval.values, start=1):
            facts: dict[str, Fact] = {
                "cell": place,
                "direction": cell.direction,
                "repetition": index,
                "cluster": cluster,
            }
            facts |= {"boundary": "gross"} if of.boundary == "gross" else {}
            facts |= {"of": "TPP"} if key == OF_PEAK else {}
            yield _number(f"{place}, {key}, {index}", of, value, place, facts)


def _number(id: str, of: Metric, value: float, place: str, facts: dict[str, Fact]) -> PrintedNumber:
    low, high = sorted((value * (1 - ROUNDING_RATIO), value * (1 + ROUNDING_RATIO)))
    margin = value * (BOUND_RATIO - 1)
    allowed = Uncertainty(margin, margin, margin, "caps and timers")
    printed = f"{value / of.unit.per:.6g} {of.unit.symbol}"
    return PrintedNumber(
        id, of.quantity, printed, value, low, high, of.unit.per, place, "measured", facts, facts, (allowed,)
    )


def _doubts(cell: Cell, implausible: Collection[str]) -> Iterator[AuditVerdict]:
    for doubt in cell.doubts:
        if doubt in implausible:
            yield AuditVerdict(
                "disagrees", "physically plausible", _place(cell), "the load", recomputed=doubt
            )
        else:
            yield AuditVerdict("unchecked", "", _place(cell), "all numbers", cause=doubt)


def _place(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.workload}, {cell.direction}, {cell.clients_count} clients"
