"""Throughput against clients, with the theoretical peak performance as a rule (Fig. 2 of "Green Storage")."""

from collections.abc import Iterator, Sequence

from perjoule.figures.clients import INTERVALS, against_clients
from perjoule.figures.printed import PaperNumber
from perjoule.figures.vega import Spec
from perjoule.model import Cell
from perjoule.model.format import number
from perjoule.model.metrics import PEAK, RATES, THROUGHPUT, metric_of
from perjoule.statistics.modes import by_median
from perjoule.views.content import Content
from perjoule.views.now import Now
from perjoule.views.view import Live, View

_LEAST_RATIO = 0.1  # of the highest peak, below which a peak has no rule


def throughput(
    cells: Sequence[Cell], *, notes: Sequence[str] = (), printed: Sequence[PaperNumber] = ()
) -> Spec:
    """Draw `throughput_bytes_per_s` of the cells, all clients together, below the peak of the data hosts."""
    whose: dict[float, dict[str, None]] = {}
    for cell in cells:
        for peak in cell.metrics[PEAK].values if PEAK in cell.metrics else ():
            whose.setdefault(peak, {})[cell.filesystem] = None
    # what is far below the highest peak lies among marks and labels, and is told by the table's % TPP
    highest = max(whose, default=0.0)
    whose = {peak: names for peak, names in whose.items() if peak >= _LEAST_RATIO * highest}
    unit = metric_of(PEAK).unit
    apart = len({frozenset(names) for names in whose.values()}) > 1
    of = {peak: f" of {', '.join(names)}" if apart else "" for peak, names in whose.items()}
    return against_clients(
        cells,
        THROUGHPUT,
        axis="all clients together",
        title="Throughput",
        notes=notes,
        by_median=by_median(cells),
        printed=printed,
        bounds=[(peak, f"TPP{names} {number(peak / unit.per)} {unit.symbol}") for peak, names in of.items()],
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.has(RATES[0]):
        yield "throughput", throughput(content.cells, notes=[INTERVALS, *content.notes])


def _now(moment: Now) -> dict[str, float]:
    from perjoule.trial.live import client_rate

    rates = {client: client_rate(moment.totals, client, moment.dilation) for client in moment.load.clients}
    return {client: rate / metric_of(RATES[0]).unit.per for client, rate in rates.items() if rate is not None}


VIEW = View(
    rank=30,
    figures=_figures,
    live=Live("Network of each client", metric_of(RATES[0]).unit.symbol, _now),
    lead=2,
)
