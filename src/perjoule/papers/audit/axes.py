"""What the axes of figures bound: the numbers that they show, and what those imply; and the catalogue's fit
to it.

A figure prints no value, but nothing that it shows lies beyond the ends of its axis by a step between ticks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isclose

from perjoule import catalogue
from perjoule.catalogue import Cluster
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.recipe import AuditVerdict, Recipe
from perjoule.papers.published import Axis, Figure, Paper, PrintedNumber

ROUNDED_RATIO = 2e-3  # of what the catalogue states: three digits


@dataclass(frozen=True)
class Bounds:
    """The mean power of the load at which the highest sample was measured, in watts, and the inputs of
    both ends.
    """

    low_w: float
    high_w: float
    low_of: tuple[PrintedNumber, ...]
    high_of: tuple[PrintedNumber, ...]


def recipes(paper: Paper) -> list[Recipe]:
    """List what the axes bound: each number that a figure shows, and each throughput by the efficiency
    that it would need.
    """
    of_figures = [
        recipe for figure in paper.figures if figure.axis for recipe in _shown(figure, figure.axis, paper)
    ]
    return [*of_figures, *(recipe for number in _rates(paper) for recipe in _efficient(number, paper))]


def bounds_text(paper: Paper, quantity: object) -> str:
    """Say how far the axes bound a quantity for which the paper prints no numbers; "" if they don't."""
    ends = [
        f"{figure.place} shows {axis.words}"
        for figure in paper.figures
        if (axis := figure.axis) and figure.quantity == quantity
    ]
    return f"; bounds: {', '.join(ends)}" if ends else ""


def fit(paper: Paper) -> Iterator[AuditVerdict]:
    """Judge the catalogue's fit of each cluster whose load the paper bounds."""
    for peak in paper.find(quantity="power", state="peak"):
        cluster = _fitted(peak)
        bounds = load_bounds(peak, paper) if cluster else None
        if cluster is None or cluster.load_w is None or bounds is None:
            continue
        idle_w = catalogue.idle_w(cluster, switch=False)
        ends = {
            "least": (cluster.load_w.low, bounds.low_w, bounds.low_of),
            "most": (cluster.load_w.high, bounds.high_w, bounds.high_of),
        }
        for end, (own_w, bound_w, inputs) in ends.items():
            holds = own_w is not None and isclose(idle_w + own_w, bound_w, rel_tol=ROUNDED_RATIO)
            yield _verdict(
                holds,
                f"{end} mean power of the load",
                peak,
                "not stated" if own_w is None else f"{idle_w + own_w:.2f} W",
                f"{bound_w:.2f} W",
                inputs,
            )
        if cluster.highest_w is not None:
            most_w = _storage_at_work_w(cluster)
            holds = isclose(cluster.highest_w.value, peak.value)
            yield _verdict(
                holds, "highest sample", peak, f"{cluster.highest_w.value:.2f} W", peak.printed, (peak,)
            )
            holds = most_w >= peak.low
            yield _verdict(
                holds,
                "power with storage nodes fully used, no less than the peak",
                peak,
                f"{most_w:.1f} W",
                peak.printed,
                (peak,),
            )


def load_bounds(peak: PrintedNumber, paper: Paper) -> Bounds | None:
    """Bound the mean power of the load at which a cluster's highest sample was measured; None if nothing
    does.

    At least its throughput over the last tick of the efficiency's axis, and idle power. At most the last tick
    of the power's axis, the highest sample, and what the gain in efficiency over another cluster leaves, if
    that draws no more than its peak.
    """
    facts = {key: peak.facts[key] for key in ("configuration", "direction") if key in peak.facts}
    rates = [number for number in _rates(paper) if len(facts) == 2 and facts.items() <= number.facts.items()]
    idle = named(
        paper.numbers, quantity="power", state="idle", cluster=peak.facts.get("cluster", ""), switch="without"
    )
    if not (rates and idle):
        return None
    rate = max(rates, key=lambda number: number.value)
    lows: list[tuple[float, tuple[PrintedNumber, ...]]] = [(idle[0].value, (idle[0],))]
    highs: list[tuple[float, tuple[PrintedNumber, ...]]] = [(peak.value, (peak,))]
    for figure in paper.figures:
        if figure.axis and figure.quantity == "efficiency":
            lows.append((rate.value / figure.axis.last, (rate, _end(figure, figure.axis, figure.axis.last))))
        if figure.axis and figure.quantity == "power":
            highs.append((figure.axis.last, (_end(figure, figure.axis, figure.axis.last),)))
    for gain in named(
        paper.numbers,
        quantity="gain",
        metric="efficiency",
        better=peak.facts.get("cluster", ""),
        direction=facts["direction"],
    ):
        rates_of_worse = [
            number
            for number in _rates(paper)
            if number.facts.get("cluster") == gain.own["worse"]
            and number.own["direction"] == facts["direction"]
        ]
        peaks = named(paper.numbers, quantity="power", state="peak", cluster=gain.own["worse"])
        if rates_of_worse and peaks:
            rate_of_worse = max(rates_of_worse, key=lambda number: number.value)
            highs.append(
                (
                    rate.value * peaks[0].value / (rate_of_worse.value * (1 + gain.value)),
                    (rate, peaks[0], rate_of_worse, gain),
                )
            )
    (low_w, low_of), (high_w, high_of) = max(lows, key=lambda end: end[0]), min(highs, key=lambda end: end[0])
    return Bounds(low_w, high_w, low_of, high_of)


def _shown(figure: Figure, axis: Axis, paper: Paper) -> Iterator[Recipe]:
    """Require that what a figure shows and the text prints lies on its axis, which ends where the highest
    sample is.
    """
    first, last = (_end(figure, axis, value) for value in (axis.first - axis.step, axis.last + axis.step))
    for number in _on(figure, axis, paper):
        yield Recipe(
            f"at least the first tick of {figure.place}, less a step",
            number,
            (first,),
            lambda v: v(first),
            "at least",
        )
        yield Recipe(
            f"at most the last tick of {figure.place} and a step",
            number,
            (last,),
            lambda v: v(last),
            "at most",
        )
    peaks = [number for number in _on(figure, axis, paper) if number.own.get("state") == "peak"]
    if axis.step and peaks:
        end = _end(figure, axis, axis.last - axis.step)
        highest = max(peaks, key=lambda number: number.value)
        rule = f"no axis continues beyond the highest sample ({figure.place})"
        yield Recipe(rule, highest, (end,), lambda v: v(end), "at least")


def _on(figure: Figure, axis: Axis, paper: Paper) -> list[PrintedNumber]:
    """Return the printed numbers that a figure shows: throughputs of its study, samples of its
    configurations, and the like.
    """
    if axis.quantity != figure.quantity:  # normalized
        return []
    if figure.quantity == "throughput":
        return _rates(paper)
    if figure.quantity == "power":
        return [
            number for number in paper.find(quantity="power", state="peak") if "configuration" in number.own
        ]
    return [number for number in paper.find(quantity=figure.quantity) if "cluster" in number.own]


def _rates(paper: Paper) -> list[PrintedNumber]:
    rates = paper.find(quantity="throughput")
    return [
        number
        for number in rates
        if {"configuration", "direction"} <= number.own.keys()
        and "what" not in number.own
        and "access" not in number.own
    ]


def _efficient(number: PrintedNumber, paper: Paper) -> Iterator[Recipe]:
    """Require that a throughput stays below the axis of efficiency at the cluster's highest power."""
    peaks = named(paper.numbers, quantity="power", state="peak", cluster=number.facts.get("cluster", ""))
    for figure in paper.figures:
        if (axis := figure.axis) and figure.quantity == "efficiency" and peaks:
            end = _end(figure, axis, axis.last)
            rule = f"throughput <= highest power x the last tick of {figure.place}"
            yield Recipe(rule, number, (end, peaks[0]), lambda v, end=end: v(end) * v(peaks[0]), "at most")


def _end(figure: Figure, axis: Axis, value: float) -> PrintedNumber:
    """Return a value on an axis as if it had been printed."""
    text = f"{value / axis.factor:g} {axis.unit}".strip()
    return PrintedNumber(
        f"{figure.place}: {text}",
        axis.quantity,
        text,
        value,
        value,
        value,
        axis.factor,
        figure.place,
        axis.status,
        {},
        {},
    )


def _fitted(peak: PrintedNumber) -> Cluster | None:
    name = str(peak.facts.get("cluster", ""))
    cluster = catalogue.cluster(name) if name in catalogue.names() else None
    return cluster if cluster is not None and cluster.load_w is not None else None


def _storage_at_work_w(cluster: Cluster) -> float:
    """Return the power with CPUs and disks of the storage nodes fully used, and all else idle, without the
    switch.
    """
    storage = replace(cluster, nodes=tuple(node for node in cluster.nodes if node.role == "storage"))
    dynamic_w = catalogue.peak_w(storage, switch=False) - catalogue.idle_w(storage, switch=False)
    return catalogue.idle_w(cluster, switch=False) + dynamic_w


def _verdict(
    holds: bool, quantity: str, peak: PrintedNumber, value: str, bound: str, inputs: Sequence[PrintedNumber]
) -> AuditVerdict:
    of = ", ".join(f"{number.printed} ({number.place})" for number in inputs)
    name = f"{quantity} ({peak.facts['cluster']}, {peak.facts['configuration']}, {peak.facts['direction']})"
    rule = "the catalogue's fit keeps the paper's bounds"
    cause = "" if holds else "the catalogue is not fitted to this paper's numbers"
    return AuditVerdict(
        "agrees" if holds else "disagrees", rule, "catalogue", name, peak.id, value, bound, of, cause
    )
