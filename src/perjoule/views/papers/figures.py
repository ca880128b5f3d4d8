"""A paper's figures of results, each drawn from our measurements with the paper's numbers in it, and its
tables with both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perjoule.figures.clients import INTERVALS
from perjoule.figures.printed import PaperNumber
from perjoule.figures.vega import Spec
from perjoule.model.format import number
from perjoule.model.metrics import PER_JOULE, RATES, metric_of
from perjoule.model.units import listed
from perjoule.results.table import Table, with_meter
from perjoule.views.content import Content
from perjoule.views.papers import processors
from perjoule.views.papers.beside import drawing
from perjoule.views.performance.overhead import overhead
from perjoule.views.performance.throughput import throughput
from perjoule.views.power.edp import EDP, edp
from perjoule.views.power.efficiency import efficiency
from perjoule.views.power.power import power, spread
from perjoule.views.view import View

if TYPE_CHECKING:
    from perjoule.papers.claims import Judged
    from perjoule.papers.facts import NumberPair
    from perjoule.papers.published import Figure, PrintedNumber
    from perjoule.papers.published.paper import Fact


PREFIX = "paper-"  # of the names of these figures
NUMBERS = (" there", " here", ", mean here")  # of a quantity: how its columns end
# by quantity: the metric, and what draws it
_AGAINST_CLIENTS: Mapping[str, tuple[str, Callable[..., Spec]]] = {
    "throughput": (RATES[0], throughput),
    "efficiency": (PER_JOULE[0], efficiency),
    "energy-delay product": (EDP.key, edp),
}


# by quantity: the directions of trials over whose time it is drawn, with all else of networks and disks
_OVER_TIME: Mapping[str, tuple[str, ...]] = {
    "network received": ("write",),
    "network sent": ("read",),
    "disk use": ("write", "read"),
    "share": ("write", "read"),  # of processors
}


@dataclass(frozen=True)
class Reprint:
    """One of the paper's figures, and its claims about the same quantity as judged here."""

    name: str  # of the drawing
    figure: "Figure"
    claims: tuple["Judged", ...]


def reprints(content: Content, drawn: Mapping[str, Spec]) -> tuple[Reprint, ...]:
    """Return the paper's figures that were drawn."""
    return tuple(
        Reprint(
            name,
            figure,
            tuple(claim for claim in content.claims if _is_about(claim, figure)),
        )
        for figure in _figures(content)
        if (name := _name(figure)) in drawn
    )


def _is_about(judged: "Judged", figure: "Figure") -> bool:
    """Whether a claim has the figure's quantity, and no fact that contradicts what it shows."""
    among = judged.claim.among
    alike = all(among.get(fact, value) == value for fact, value in figure.shows.items())
    return among.get("quantity") == figure.quantity and alike


def summed_up(reprints: Sequence[Reprint], tables: Sequence[str]) -> str:
    """Name figures and tables: "Figure 2, Figure 3 and Table II"."""
    return listed([*(reprint.figure.place for reprint in reprints), *tables])


def drawings(content: Content) -> Iterator[tuple[str, Spec]]:
    """Draw the paper's figures, as far as the same was measured."""
    for figure in _figures(content):
        if figure.quantity in _OVER_TIME:
            yield from _over_time(content, figure)
            continue
        if figure.shows:
            yield from _shown(content, figure)
            continue
        metric, draw = _AGAINST_CLIENTS.get(figure.quantity, ("", power))
        notes = content.power_notes if figure.quantity != "throughput" else content.notes
        if content.has(metric):
            printed = [_printed(pair) for pair in content.pairs if metric in _keys(pair)]
            yield (
                _name(figure),
                draw(content.cells, notes=[f"here: {INTERVALS}", _said(printed), *notes], printed=printed),
            )
        elif figure.quantity == "power" and content.power:
            yield _name(figure), power(content.power, notes=[f"here: {spread(content)}", _said([]), *notes])


def _over_time(content: Content, figure: "Figure") -> Iterator[tuple[str, Spec]]:
    """Draw a curve of which the paper prints no points: ours alone, of the figure's file system."""
    paper, directions = content.paper, _OVER_TIME[figure.quantity]
    configurations = paper.configurations
    kind = configurations.get(str(figure.shows.get("configuration")), {}).get("filesystem")
    systems = [record.trial.filesystem for record in content.records]
    labels = {system.label for system in systems if kind in (None, system.kind)}
    if figure.quantity == "share":
        title = f"{figure.place}: {figure.caption}"
        for spec in processors.drawing(content, labels, paper.shown(figure), title):
            yield _name(figure), spec
        return
    trials = [trial for trial in content.overheads if trial.direction in directions]
    if trials := [trial for trial in trials if trial.title in labels]:
        notes = [f"{figure.place}: {figure.caption}; {_said([])}", *content.notes]
        yield _name(figure), overhead(trials, notes=notes)


def _shown(content: Content, figure: "Figure") -> Iterator[tuple[str, Spec]]:
    """Draw the printed numbers of a figure beside ours."""
    ids = {number.id for number in content.paper.shown(figure)}
    if comparisons := [of for of in content.comparisons if of.pair.number.id in ids]:
        title = f"{figure.place}: {figure.caption}"
        yield _name(figure), drawing(content.paper, comparisons, title)


def _said(printed: Sequence[PaperNumber]) -> str:
    """Say what of the paper is in the figure."""
    if not printed:
        return "the paper prints no numbers that were measured here"
    largest = (
        "; largest: the largest repetition with any number of clients"
        if any(number.largest is not None for number in printed)
        else ""
    )
    return f"bar: printed in the paper{largest}"


def _printed(pair: "NumberPair") -> PaperNumber:
    of_any = pair.number.extreme == "maximum" and "clients" not in pair.number.facts
    text = f"{pair.number.printed}, {pair.number.place}"
    return PaperNumber(pair.measured.cell, pair.number.value, text, pair.value if of_any else None)


def _keys(pair: "NumberPair") -> tuple[str, str]:
    return pair.measured.metric, pair.measured.durable


def _figures(content: Content) -> "tuple[Figure, ...]":
    return content.paper.figures if content.reproduces else ()


def _name(figure: "Figure") -> str:
    return PREFIX + figure.place.lower().replace(" ", "-")


def tables(content: Content) -> dict[str, Table]:
    """Lay out the paper's tables that have a number of which we measured the same: as printed, and ours
    beside it.
    """
    if not content.reproduces:
        return {}
    pair_of = {pair.number.id: pair for pair in content.pairs}
    places: dict[str, list[PrintedNumber]] = {}
    paper = content.paper
    for entry in paper.numbers:
        if entry.place in paper.tables:
            places.setdefault(entry.place, []).append(entry)
    return {
        place: _table(numbers, pair_of)
        for place, numbers in places.items()
        if any(entry.id in pair_of for entry in numbers)
    }


def _table(printed: "Sequence[PrintedNumber]", pair_of: Mapping[str, "NumberPair"]) -> Table:
    columns = list(dict.fromkeys(map(_column, printed)))
    facts = list(dict.fromkeys(fact for entry in printed for fact in _row(entry)))
    rows: list[tuple[tuple[str, ...], dict[str, PrintedNumber]]] = []
    for entry in printed:
        names = tuple(str(_row(entry).get(fact, "–")) for fact in facts)
        row = next(
            (of for names_of_row, of in rows if names_of_row == names and _column(entry) not in of), None
        )
        if row is None:
            rows.append((names, row := {}))
        row[_column(entry)] = entry
    headers = [f"{column}{end}" for column in columns for end in NUMBERS]
    name_headers = tuple("file system" if fact == "filesystem" else fact for fact in facts)
    laid = tuple(
        (*names, *(text for column in columns for text in _texts(of.get(column), pair_of)))
        for names, of in rows
    )
    return Table((*name_headers, *headers), laid, name_headers)


def _column(entry: "PrintedNumber") -> str:
    return f"{entry.quantity} of {entry.own['of']}" if "of" in entry.own else entry.quantity


def _row(number: "PrintedNumber") -> "dict[str, Fact]":
    """Return a row's facts: its own, and its configuration's file system and cluster."""
    given = {fact: number.facts[fact] for fact in ("filesystem", "cluster") if fact in number.facts}
    return given | {fact: value for fact, value in number.own.items() if fact not in ("configuration", "of")}


def _texts(from_paper: "PrintedNumber | None", pair_of: Mapping[str, "NumberPair"]) -> tuple[str, str, str]:
    """Print a number as in the paper, ours of the same statistic, and the mean with its interval."""
    if from_paper is None:
        return "–", "–", "–"
    if from_paper.id not in pair_of:
        return from_paper.printed, "–", "–"
    pair = pair_of[from_paper.id]
    unit = metric_of(pair.measured.metric).unit
    mean = with_meter(pair.measured.cell, pair.measured.metric)
    return from_paper.printed, f"{number(pair.value / unit.per)} {unit.symbol}", f"{mean} {unit.symbol}"


VIEW = View(rank=20, figures=drawings)
