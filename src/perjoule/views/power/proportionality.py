"""Power against load: energy proportionality, and energy per byte at each load."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.figures.clients import in_units
from perjoule.figures.growth import Growth, growth
from perjoule.figures.vega import Spec
from perjoule.model.format import number
from perjoule.model.metrics import (
    ASKED_LOAD,
    GAP,
    PER_BYTE,
    POWER,
    PROPORTIONALITY,
    REACHED_LOAD,
    THROUGHPUT,
    metric_of,
)
from perjoule.model.units import clients_text
from perjoule.results.table import NAMES, OF_REPETITIONS, Table, row_text, value_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

if TYPE_CHECKING:
    from perjoule.statistics.proportionality import Proportionality


LOADS = (0, 25, 50, 75, 100)  # %
_WHERE = ("file system", "workload", "clients")


def loads_table(proportionalities: Sequence["Proportionality"]) -> Table:
    """Lay out rate, power, gap to the ideal and energy per byte at each load."""
    columns = tuple(
        metric_of(key).label for key in (ASKED_LOAD, REACHED_LOAD, THROUGHPUT, POWER, GAP, PER_BYTE)
    )
    rows = [
        (
            *_place(curve),
            number(level.asked_ratio / metric_of(ASKED_LOAD).unit.per),
            value_text(level.load, REACHED_LOAD),
            row_text(level.cell, THROUGHPUT),
            row_text(level.cell, POWER),
            value_text(level.gap, GAP),
            value_text(level.energy_per_byte, PER_BYTE),
            str(len(level.cell.metrics[POWER].values)),
        )
        for curve in proportionalities
        for level in curve.levels
    ]
    return Table((*_WHERE, *columns, "n"), tuple(rows))


def proportionality_table(proportionalities: Sequence["Proportionality"]) -> Table:
    """Lay out how proportional each file system's power is, or why that is not known."""
    keys = list(dict.fromkeys(key for curve in proportionalities for key in curve.numbers))
    rows = [
        (
            *_place(curve),
            *(value_text(curve.numbers.get(key), key) for key in keys),
            curve.grade,
            curve.refused,
        )
        for curve in proportionalities
    ]
    headers = (*_WHERE, *(metric_of(key).label for key in keys), "power", "omitted")
    return Table(headers, tuple(rows), (*NAMES, "power", "omitted"))


def curves(proportionalities: Sequence["Proportionality"]) -> list[Growth]:
    """Return the figure's data: power at each load, and the line in proportion to it."""
    per, unit = metric_of(REACHED_LOAD).unit.per, metric_of(POWER).unit
    drawn: list[Growth] = []
    for curve in sorted(proportionalities, key=lambda curve: (curve.workload, curve.clients_count)):
        points = [
            (level.load.mean / per, in_units(level.cell.metrics[POWER], unit.per)) for level in curve.levels
        ]
        top = points[-1]
        ep = curve.numbers.get(PROPORTIONALITY)
        drawn.append(
            Growth(
                panel=(
                    f"{curve.workload}, {clients_text(curve.clients_count)}: {unit.symbol}, servers "
                    "without switch"
                ),
                axis=unit.symbol,
                filesystem=curve.filesystem,
                values=dict(points),
                ideal=[(0.0, 0.0), (top[0], top[1].mean)] if curve.numbers else [],
                law=[(load, power.mean) for load, power in points],
                law_text=f"{metric_of('proportionality_ratio').label} {number(ep.mean)}"
                if ep
                else curve.refused,
            )
        )
    return drawn


def _place(curve: "Proportionality") -> tuple[str, str, str]:
    return curve.filesystem, curve.workload, str(curve.clients_count)


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if loaded := content.proportionality:
        drawn = "dashed: in proportion to load; mean, 95 % interval, a small mark for each repetition"
        title, axis = "Power against load", "load in % of the maximum"
        notes = [drawn, *content.power_notes]
        yield "proportionality", growth(curves(loaded), title=title, axis=axis, ticks=LOADS, notes=notes)


VIEW = View(
    rank=120,
    flag=Flag(
        "duty",
        help="Power against load: energy proportionality, and energy per byte at each load.",
        none="no load here was paced at several shares",
        advice="see `perjoule docs duty`",
    ),
    title="Power against load",
    tables=(
        Shown(lambda content: loads_table(content.proportionality), "Power against load"),
        Shown(
            lambda content: proportionality_table(content.proportionality),
            "Energy proportionality",
            style="last",
            note="100 % is what the file system could just before, in the same trial, or what the campaign states. Gap: "
            "power above that in proportion to load, in % of the power at 100 %. EP: 1 if power is proportional "
            f"to load, 0 if it does not depend on it. {metric_of(PER_BYTE).label} is of the servers, "
            f"without switch and clients. {OF_REPETITIONS}",
        ),
    ),
    figures=_figures,
)
