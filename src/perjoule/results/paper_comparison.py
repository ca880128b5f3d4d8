"""Measurements next to a paper's numbers: a table, lines, and data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from perjoule.model import Cell
from perjoule.model.format import number, p_text, ratio_text
from perjoule.model.metrics import EDP_RATIO, PER_JOULE, POWER, RATES, Unit, metric_of
from perjoule.papers.comparison import NumberComparison, Ranking, held, rankings
from perjoule.papers.facts import beside, measured
from perjoule.papers.published import Paper
from perjoule.results.limitations import simulated_notes
from perjoule.results.table import NAMES, PLACE, Table, place
from perjoule.store import Results
from perjoule.summary import summary

# What a figure of each quantity shows.
_DRAWN = {
    "throughput": RATES[0],
    "efficiency": PER_JOULE[0],
    "power": POWER,
    "energy-delay product": EDP_RATIO,
}
HEADERS = (*PLACE, "here", "on disk", "published", "compared", "here / published", "number")


def alongside(results: Results, paper: Paper, metrics: Sequence[str] = ()) -> tuple[NumberComparison, ...]:
    """Compare results with a paper.

    Args:
        results: a folder with measurements.
        paper: has numbers of the same kind.
        metrics: keys of `Cell.metrics`; by default all except shares, whose wholes are compared.
    """
    records, cells = results.latest(), summary(results).cells
    pairs = beside(paper, measured(records, cells))
    pairs_to_compare = [
        p
        for p in pairs
        if (
            {p.measured.metric, p.measured.durable} & {*metrics}
            if metrics
            else p.measured.quantity != "share"
        )
    ]
    return held(paper, pairs_to_compare, records, cells)


def alongside_table(comparisons: Sequence[NumberComparison]) -> Table:
    """Lay out measured and published values, a row for each printed number."""
    return Table(
        HEADERS, tuple(_cells(comparison) for comparison in comparisons), (*NAMES, "number", "compared")
    )


def _cells(comparison: NumberComparison) -> tuple[str, ...]:
    printed = comparison.pair.number
    ratio = comparison.ratio if comparison.kind.startswith("mean") else replace(comparison.ratio, high=inf)
    values = (
        _with_unit(comparison, comparison.pair.value),
        "–" if comparison.pair.durable is None else _with_unit(comparison, comparison.pair.durable),
        printed.printed,
    )
    measured = comparison.pair.measured
    filesystem, workload, direction, clients = place(measured.cell)
    return (
        *(filesystem, workload, direction if measured.window == direction else "–", clients),
        *values,
        comparison.kind,
        ratio_text(ratio),
        f"{printed.place}: {printed.name}",
    )


def _with_unit(comparison: NumberComparison, value: float) -> str:
    unit = unit_of(comparison)
    return f"{number(value / unit.per)} {unit.symbol}"


def unit_of(comparison: NumberComparison) -> Unit:
    """Return the unit in which both values are shown."""
    return metric_of(comparison.pair.measured.metric).unit


def cells_of(comparisons: Sequence[NumberComparison]) -> list[Cell]:
    """Return the cells that were compared, each once."""
    return list(
        {id(cell): cell for cell in (comparison.pair.measured.cell for comparison in comparisons)}.values()
    )


def lines(comparisons: Sequence[NumberComparison]) -> Iterator[str]:
    """Return lines on what was simulated, how rankings agree, and what differs in the configuration."""
    yield from simulated_notes(cells_of(comparisons))
    yield from map(ranking_line, rankings(comparisons))
    about: dict[str, dict[str, None]] = {}
    for comparison in comparisons:
        for text in comparison.differs:
            about.setdefault(text, {})[comparison.pair.measured.cell.filesystem] = None
    everyone = {comparison.pair.measured.cell.filesystem for comparison in comparisons}
    for text, names in about.items():
        yield f"differs, {'all' if set(names) == everyone else ', '.join(names)}: {text}"


def bounds_lines(paper: Paper, cells: Sequence[Cell]) -> Iterator[str]:
    """Return a line for each figure of which only the axis is known: whether our means lie on it too."""
    for figure in paper.figures:
        metric = _DRAWN.get(figure.quantity, "")
        unit = metric_of(metric).unit
        burst = metric_of(metric).burst
        keys = [burst if cell.direction == "write" and burst in cell.metrics else metric for cell in cells]
        means = [cell.metrics[key].mean for key, cell in zip(keys, cells, strict=True) if key in cell.metrics]
        if (axis := figure.axis) is None or not means:
            continue
        beyond = sum(not axis.first - axis.step <= mean <= axis.last + axis.step for mean in means)
        ours = f"{number(min(means) / unit.per)} to {number(max(means) / unit.per)} {unit.symbol}"
        where = f"{beyond} of {len(means)} beyond it" if beyond else "all on it"
        yield f"{figure.place}, axis of {figure.quantity}: {axis.words} there, {ours} here, {where}"


def ranking_line(ranking: Ranking) -> str:
    """Return a line on how two rankings agree."""
    few = "" if ranking.least_p < 0.05 else f"; {len(ranking.own)} file systems can't reach 5 %"
    signs = [" > " if apart else " ~ " for apart in ranking.apart]
    here = "".join(part for pair in zip(ranking.own, [*signs, ""], strict=True) for part in pair)
    published = " > ".join(ranking.published)
    agreement = f"Kendall's tau {ranking.tau:+.2f}, p = {p_text(ranking.p)}{few}"
    return f"ranking by {ranking.quantity} ({ranking.of}): {here} here, {published} there; {agreement}"


def as_data(paper: Paper, comparisons: Sequence[NumberComparison]) -> dict[str, object]:
    """Return everything as JSON data, in SI units."""
    rows = [
        {
            "number": comparison.pair.number.id,
            "printed": comparison.pair.number.printed,
            "published": comparison.pair.number.value,
            "own": comparison.pair.value,
            "own_durable": comparison.pair.durable,
            "metric": comparison.pair.measured.metric,
            "filesystem": comparison.pair.measured.cell.filesystem,
            "workload": comparison.pair.measured.cell.workload,
            "direction": comparison.pair.measured.window,
            "clients_count": comparison.pair.measured.cell.clients_count,
            "reality": comparison.pair.measured.cell.reality,
            "compared": comparison.kind,
            "ratio": comparison.ratio.mean,
            "low": comparison.ratio.low,
            "high": comparison.ratio.high,
            "differs": comparison.differs,
        }
        for comparison in comparisons
    ]
    return {"paper": paper.name, "rows": rows, "rankings": rankings(comparisons)}
