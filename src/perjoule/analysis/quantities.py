"""The choice between an energy counter and power of one meter and boundary: the one whose energy is more certain in a window."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from perjoule.analysis.integral import integral
from perjoule.analysis.once import once
from perjoule.analysis.terms import budget
from perjoule.model import Series

SHOWN = ("wall", "PDU", "BMC")  # grades of meters that show both of the same
GOOD_RATIO = 0.01  # uncertainty at which a counter is good enough in any case


def _boundary(series: Series) -> tuple[object, ...]:
    """Return boundary and meter: a counter and power with the same are of the same energy."""
    of = series.channel
    return of.meter, of.host, of.component, of.covers


def one_quantity(series: Sequence[Series], began_s: float, ended_s: float) -> list[Series]:
    """Keep only the more certain of a counter and power of the same boundary in a window.

    That is the counter, which misses no burst, unless it is refused, or its uncertainty is more than 1 % and more than twice that
    of the power. The decision depends on how often the counter steps in a window of this length, so repetitions are judged alike.
    """
    told: dict[object, dict[str, list[Series]]] = {}
    for one in series:
        told.setdefault(_boundary(one), {}).setdefault(one.channel.quantity, []).append(one)
    kept: set[int] = set()
    for by_quantity in told.values():
        counters, powers = by_quantity.get("energy", []), by_quantity.get("power", [])
        if counters and powers:
            counted, sampled = (min(_wrong_ratio(s, began_s, ended_s) for s in which) for which in (counters, powers))
            if counted > GOOD_RATIO and sampled < counted / 2:
                counters = []
            else:
                powers = []
        kept |= {id(one) for one in (*counters, *powers)}
    return [one for one in series if id(one) in kept]


def both_quantities(series: Sequence[Series]) -> Iterator[tuple[Series, Series]]:
    """List the counters of real hosts' energy, each with the power of the same meter and boundary."""
    powers = {_boundary(one): one for one in series if one.channel.quantity == "power" and one.channel.semantics != "state"}
    for one in series:
        if one.channel.quantity == "energy" and (power := powers.get(_boundary(one))) is not None and one.channel.grade in SHOWN:
            yield one, power


def other_quantity(series: Sequence[Series], others: Sequence[Series]) -> list[Series]:
    """Return the other choice: what `one_quantity` left out, instead of what it kept."""
    left_out = {_boundary(one) for one in others}
    return [one for one in series if _boundary(one) not in left_out or any(one is other for other in others)]


@once
def _wrong_ratio(series: Series, began_s: float, ended_s: float) -> float:
    """Return half of the 95 % interval of an energy over it, infinite if it is refused, to compare quantities of one meter.

    Its accuracy is in both of them and does not count. If the latency is not stated, the distance of samples stands for it.
    """
    stated = series.channel.specification
    latency_s = stated.latency_s
    if latency_s is None and series.channel.quantity == "power":
        latency_s = max(stated.period_s or 0.0, integral(series).usual_s)
    supposed = replace(stated, gain_ratio=None, offset=None, latency_s=latency_s)
    found = budget(replace(series, channel=replace(series.channel, specification=supposed)), began_s, ended_s)
    return inf if found is None or found.value_j <= 0 else found.expanded_j / found.value_j
