"""Scaling with storage hosts: % of ideal, and the fitted law."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from perjoule.figures.clients import in_units
from perjoule.figures.growth import Growth, growth
from perjoule.figures.vega import Spec
from perjoule.model import Interval
from perjoule.model.format import estimate, percent, with_interval
from perjoule.model.metrics import metric_of
from perjoule.model.units import clients_text
from perjoule.results.table import NAMES, PLACE, Table
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

if TYPE_CHECKING:
    from perjoule.statistics.scaling import Scaling, ScalingLaw


STEPS_COUNT = 40  # of a law's line


def scaling_table(curves: Sequence["Scaling"]) -> Table:
    """Lay out a metric for each number of storage hosts, and its percentage of the ideal."""
    rows: list[tuple[str, ...]] = []
    for curve in curves:
        unit = metric_of(curve.metric).unit
        for n, value in curve.values.items():
            ideal = curve.of_ideal.get(n)
            key = (curve.filesystem, curve.workload, curve.direction, str(curve.clients_count), str(n))
            text = with_interval(value, unit.per, by_median=n in curve.by_median)
            rows.append((*key, text, unit.symbol, _percent(ideal), str(len(value.values))))
    return Table((*PLACE, "servers", "value", "of", "% of ideal", "n"), tuple(rows), (*NAMES, "of"))


def laws_table(curves: Sequence["Scaling"]) -> Table:
    """Lay out the fitted laws with their intervals, and why others were not fitted."""
    rows: list[tuple[str, ...]] = []
    for curve in curves:
        key = (
            curve.filesystem,
            curve.workload,
            curve.direction,
            str(curve.clients_count),
            metric_of(curve.metric).unit.symbol,
        )
        rows += [
            (*key, law_text(law), "; ".join(curve.doubts) if law.kind == "power law" else "")
            for law in curve.laws
        ]
        rows += [(*key, reason, "") for reason in curve.refused]
    return Table((*PLACE, "of", "law", "doubt"), tuple(rows), (*NAMES, "of", "law", "doubt"))


def law_text(law: "ScalingLaw") -> str:
    """Print a law: "grows as n^0.86 (0.83 to 0.89)"."""
    if law.kind == "power law":
        return f"grows as n^{_spread(law.parameters['exponent'], 1)}"
    serial = f"serial share {_spread(law.parameters['serial'], 100)} %"
    if law.kind == "Amdahl":
        return f"Amdahl: {serial}"
    return f"USL: {serial}, crosstalk {_spread(law.parameters['crosstalk'], 100)} %"


def _spread(interval: Interval, factor: float) -> str:
    mean, low, high = (estimate(value * factor) for value in (interval.mean, interval.low, interval.high))
    return f"{mean} ({low} to {high})"


def _percent(ratio: Interval | None) -> str:
    if ratio is None:
        return "100"
    if not isfinite(ratio.high):
        return f"{percent(ratio.mean)} (?)"
    return f"{percent(ratio.mean)} ({percent(ratio.low)} to {percent(ratio.high)})"


def growths(curves: Sequence["Scaling"]) -> list[Growth]:
    """Return the figure's data: the law of speed-ups if there is one, else the power law."""
    return [
        _growth(curve)
        for curve in sorted(curves, key=lambda curve: (curve.workload, curve.direction, curve.clients_count))
    ]


def _growth(curve: "Scaling") -> Growth:
    import numpy as np

    unit, _, per = metric_of(curve.metric).unit
    line = np.linspace(min(curve.values), max(curve.values), STEPS_COUNT).tolist()
    law = curve.laws[-1] if curve.laws else None
    clients = clients_text(curve.clients_count)
    return Growth(
        panel=f"{curve.workload}, {curve.direction}, {clients}: {unit}",
        axis=unit,
        filesystem=curve.filesystem,
        values={n: in_units(value, per) for n, value in curve.values.items()},
        ideal=[(n, curve.ideal(n) / per) for n in line],
        law=[(n, law.at(n) / per) for n in line] if law else [],
        law_text=law_text(law) if law else "; ".join(curve.refused),
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if grown := growths(content.scaling):
        drawn = (
            "dashed: ideal from the smallest number; solid: the fitted law; mean, 95 % interval, a small "
            "mark for each repetition"
        )
        title, axis = "Scaling with storage hosts", "storage hosts"
        yield "scaling", growth(grown, title=title, axis=axis, notes=[drawn, *content.power_notes])


VIEW = View(
    rank=110,
    flag=Flag(
        "scaling",
        help="Scaling with storage hosts: % of ideal, and the fitted law.",
        none="the number of storage hosts was the same in all trials",
        advice="see `perjoule docs scaling`",
    ),
    title="Scaling with storage hosts",
    tables=(
        Shown(lambda content: scaling_table(content.scaling), "Scaling with storage hosts"),
        Shown(
            lambda content: laws_table(content.scaling),
            "Laws of scaling",
            note="The ideal starts from the smallest number of storage hosts: throughput grows in proportion to them, and "
            "work per joule stays the same. Hosts whose number does not grow (metadata, management) let "
            "work per joule rise above the ideal.",
        ),
    ),
    figures=_figures,
)
