"""Measurements next to a paper's numbers: a table, lines, and data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from perjoule.model import Cell
from perjoule.model.format import number, p_text, ratio_text
from perjoule.model.metrics import Unit, metric_of
from perjoule.papers.comparison import Held, Ranking, held, rankings
from perjoule.papers.facts import beside, measured
from perjoule.papers.published import Paper
from perjoule.results.limitations import simulated_notes
from perjoule.results.table import NAMES, PLACE, Table, place
from perjoule.store import Results
from perjoule.summary import summary

HEADERS = (*PLACE, "here", "published", "compared", "here / published", "number")


def alongside(results: Results, paper: Paper, metrics: Sequence[str] = ()) -> tuple[Held, ...]:
    """Compare results with a paper.

    Args:
        results: a folder with measurements.
        paper: has numbers of the same kind.
        metrics: keys of `Cell.metrics`; by default all except shares, whose wholes are compared.
    """
    records, cells = results.latest(), summary(results).cells
    pairs = beside(paper, measured(records, cells))
    chosen = [p for p in pairs if (p.measured.metric in metrics if metrics else p.measured.quantity != "share")]
    return held(paper, chosen, records, cells)


def alongside_table(found: Sequence[Held]) -> Table:
    """Lay out measured and published values, a row for each printed number."""
    return Table(HEADERS, tuple(_cells(one) for one in found), (*NAMES, "number", "compared"))


def _cells(one: Held) -> tuple[str, ...]:
    printed = one.pair.number
    ratio = one.ratio if one.kind.startswith("mean") else replace(one.ratio, high=inf)
    values = f"{number(one.pair.value / unit_of(one).per)} {unit_of(one).symbol}", printed.printed
    return (*place(one.pair.measured.cell), *values, one.kind, ratio_text(ratio), f"{printed.place}: {printed.name}")


def unit_of(one: Held) -> Unit:
    """Return the unit in which both values are shown."""
    return metric_of(one.pair.measured.metric).unit


def cells_of(found: Sequence[Held]) -> list[Cell]:
    """Return the cells that were compared, each once."""
    return list({id(cell): cell for cell in (one.pair.measured.cell for one in found)}.values())


def lines(found: Sequence[Held]) -> Iterator[str]:
    """Return lines on what was simulated, how rankings agree, and what differs in the configuration."""
    yield from simulated_notes(cells_of(found))
    yield from map(ranking_line, rankings(found))
    about: dict[str, dict[str, None]] = {}
    for one in found:
        for text in one.differs:
            about.setdefault(text, {})[one.pair.measured.cell.filesystem] = None
    everyone = {one.pair.measured.cell.filesystem for one in found}
    for text, names in about.items():
        yield f"differs, {'all' if set(names) == everyone else ', '.join(names)}: {text}"


def ranking_line(one: Ranking) -> str:
    """Return a line on how two rankings agree."""
    few = "" if one.least_p < 0.05 else f"; {len(one.own)} file systems can't reach 5 %"
    signs = [" > " if apart else " ~ " for apart in one.apart]
    here = "".join(word for pair in zip(one.own, [*signs, ""], strict=True) for word in pair)
    there = " > ".join(one.published)
    agreement = f"Kendall's tau {one.tau:+.2f}, p = {p_text(one.p)}{few}"
    return f"ranking by {one.quantity} ({one.of}): {here} here, {there} there; {agreement}"


def as_data(paper: Paper, found: Sequence[Held]) -> dict[str, object]:
    """Return everything as JSON data, in SI units."""
    rows = [
        {
            "number": one.pair.number.id,
            "printed": one.pair.number.printed,
            "published": one.pair.number.value,
            "own": one.pair.value,
            "metric": one.pair.measured.metric,
            "filesystem": one.pair.measured.cell.filesystem,
            "workload": one.pair.measured.cell.workload,
            "direction": one.pair.measured.cell.direction,
            "clients_count": one.pair.measured.cell.clients_count,
            "reality": one.pair.measured.cell.reality,
            "compared": one.kind,
            "ratio": one.ratio.mean,
            "low": one.ratio.low,
            "high": one.ratio.high,
            "differs": one.differs,
        }
        for one in found
    ]
    return {"paper": paper.name, "rows": rows, "rankings": rankings(found)}
