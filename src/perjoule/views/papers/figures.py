"""A paper's figures of results, each drawn from our measurements with the paper's numbers in it, and its tables with both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perjoule.figures.clients import INTERVALS
from perjoule.figures.printed import Printed
from perjoule.figures.vega import Spec
from perjoule.model.format import number
from perjoule.model.metrics import PER_JOULE, RATES, metric_of
from perjoule.model.units import listed
from perjoule.papers import published
from perjoule.papers.published import Figure, Number
from perjoule.papers.published.paper import Fact
from perjoule.results.table import Table, with_meter
from perjoule.views.content import Content
from perjoule.views.performance.throughput import throughput
from perjoule.views.power.edp import EDP, edp
from perjoule.views.power.efficiency import efficiency
from perjoule.views.power.power import power, spread
from perjoule.views.view import View

if TYPE_CHECKING:
    from perjoule.papers.claims import Judged
    from perjoule.papers.facts import Pair


PREFIX = "paper-"  # of the names of these figures
NUMBERS = (" there", " here", ", mean here")  # of a quantity: how its columns end
_AGAINST_CLIENTS: Mapping[str, tuple[str, Callable[..., Spec]]] = {  # by quantity: the metric, and what draws it
    "throughput": (RATES[0], throughput),
    "efficiency": (PER_JOULE[0], efficiency),
    "energy-delay product": (EDP.key, edp),
}


@dataclass(frozen=True)
class Reprint:
    """One of the paper's figures, and its claims about the same quantity as judged here."""

    name: str  # of the drawing
    figure: Figure
    claims: tuple["Judged", ...]


def shown(found: Content, drawn: Mapping[str, Spec]) -> tuple[Reprint, ...]:
    """Return the paper's figures that were drawn."""
    return tuple(
        Reprint(name, one, tuple(own for own in found.claims if own.claim.among.get("quantity") == one.quantity))
        for one in _figures(found)
        if (name := _name(one)) in drawn
    )


def summed_up(some: Sequence[Reprint], tables: Sequence[str]) -> str:
    """Name figures and tables: "Figure 2, Figure 3 and Table II"."""
    return listed([*(one.figure.place for one in some), *tables])


def drawings(found: Content) -> Iterator[tuple[str, Spec]]:
    """Draw the paper's figures, as far as the same was measured."""
    for one in _figures(found):
        metric, draw = _AGAINST_CLIENTS.get(one.quantity, ("", power))
        notes = found.power_notes if one.quantity != "throughput" else found.notes
        if found.has(metric):
            printed = [_printed(pair) for pair in found.pairs if pair.measured.metric == metric]
            yield _name(one), draw(found.cells, notes=[f"here: {INTERVALS}", _said(printed), *notes], printed=printed)
        elif one.quantity == "power" and found.power:
            yield _name(one), power(found.power, notes=[f"here: {spread(found)}", _said([]), *notes])


def _said(printed: Sequence[Printed]) -> str:
    """Say what of the paper is in the figure."""
    if not printed:
        return "the paper prints no numbers that were measured here"
    largest = (
        "; largest: the largest repetition with any number of clients" if any(one.own is not None for one in printed) else ""
    )
    return f"bar: printed in the paper{largest}"


def _printed(pair: "Pair") -> Printed:
    of_any = pair.number.statistic.startswith("maximum") and "clients" not in pair.number.facts
    text = f"{pair.number.printed}, {pair.number.place}"
    return Printed(pair.measured.cell, pair.number.value, text, pair.value if of_any else None)


def _figures(found: Content) -> tuple[Figure, ...]:
    return published.paper(found.reproduces).figures if found.reproduces else ()


def _name(figure: Figure) -> str:
    return PREFIX + figure.place.lower().replace(" ", "-")


def tables(found: Content) -> dict[str, Table]:
    """Lay out the paper's tables that have a number of which we measured the same: as printed, and ours beside it."""
    if not found.reproduces:
        return {}
    own = {pair.number.id: pair for pair in found.pairs}
    places: dict[str, list[Number]] = {}
    for one in published.paper(found.reproduces).numbers:
        if one.place.startswith("Table"):
            places.setdefault(one.place, []).append(one)
    return {place: _table(numbers, own) for place, numbers in places.items() if any(one.id in own for one in numbers)}


def _table(printed: Sequence[Number], own: Mapping[str, "Pair"]) -> Table:
    columns = list(dict.fromkeys(map(_column, printed)))
    facts = list(dict.fromkeys(fact for one in printed for fact in _row(one)))
    rows: list[tuple[tuple[str, ...], dict[str, Number]]] = []
    for one in printed:
        names = tuple(str(_row(one).get(fact, "–")) for fact in facts)
        row = next((of for known, of in rows if known == names and _column(one) not in of), None)
        if row is None:
            rows.append((names, row := {}))
        row[_column(one)] = one
    headers = [f"{column}{end}" for column in columns for end in NUMBERS]
    words = tuple("file system" if fact == "filesystem" else fact for fact in facts)
    laid = tuple((*names, *(text for column in columns for text in _texts(of.get(column), own))) for names, of in rows)
    return Table((*words, *headers), laid, words)


def _column(one: Number) -> str:
    return f"{one.quantity} of {one.own['of']}" if "of" in one.own else one.quantity


def _row(one: Number) -> dict[str, Fact]:
    """Return the facts that tell a row from others: its own, and its configuration's file system and cluster."""
    given = {fact: one.facts[fact] for fact in ("filesystem", "cluster") if fact in one.facts}
    return given | {fact: value for fact, value in one.own.items() if fact not in ("configuration", "of")}


def _texts(one: Number | None, own: Mapping[str, "Pair"]) -> tuple[str, str, str]:
    """Print a number as in the paper, the measured one of the same statistic, and the mean with its interval."""
    if one is None:
        return "–", "–", "–"
    if one.id not in own:
        return one.printed, "–", "–"
    pair = own[one.id]
    unit = metric_of(pair.measured.metric).unit
    mean = with_meter(pair.measured.cell, pair.measured.metric)
    return one.printed, f"{number(pair.value / unit.per)} {unit.symbol}", f"{mean} {unit.symbol}"


VIEW = View(rank=20, figures=drawings)
