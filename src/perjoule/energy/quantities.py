"""The choice between an energy counter and power of one meter and boundary: the one whose energy is more
certain in a window.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

from perjoule.energy.integral import integral
from perjoule.energy.once import once
from perjoule.energy.terms import budget
from perjoule.model import Channel, Series

SHOWN = ("wall", "PDU", "BMC")  # grades of meters that show both of the same
GOOD_RATIO = 0.01  # uncertainty at which a counter is good enough in any case


def _boundary(channel: Channel) -> tuple[object, ...]:
    """Return boundary and meter: a counter and power with the same are of the same energy."""
    return channel.meter, channel.host, channel.component, channel.covers


def one_quantity(channels: Sequence[Channel], wrong_ratio: Callable[[Channel], float]) -> list[Channel]:
    """Keep only the more certain of a counter and power of the same boundary.

    That is the counter, which misses no burst, unless it is refused, or its uncertainty is more than 1 % and
    more than twice that of the power. The decision depends on how often the counter steps in a window of this
    length, so repetitions are judged alike.

    Args:
        channels: of power and energy.
        wrong_ratio: as below, of a channel in the window that decides.
    """
    of_boundary: dict[object, dict[str, list[Channel]]] = {}
    for channel in channels:
        of_boundary.setdefault(_boundary(channel), {}).setdefault(channel.quantity, []).append(channel)
    certain: set[Channel] = set()
    for by_quantity in of_boundary.values():
        counters, powers = by_quantity.get("energy", []), by_quantity.get("power", [])
        if counters and powers:
            counted, sampled = (min(map(wrong_ratio, which)) for which in (counters, powers))
            if counted > GOOD_RATIO and sampled < counted / 2:
                counters = []
            else:
                powers = []
        certain |= {*counters, *powers}
    return [channel for channel in channels if channel in certain]


def both_quantities(channels: Sequence[Channel]) -> Iterator[tuple[Channel, Channel]]:
    """List the counters of real hosts' energy, each with the power of the same meter and boundary."""
    powers = {
        _boundary(channel): channel
        for channel in channels
        if channel.quantity == "power" and channel.semantics != "state"
    }
    for channel in channels:
        if (
            channel.quantity == "energy"
            and (power := powers.get(_boundary(channel))) is not None
            and channel.grade in SHOWN
        ):
            yield channel, power


def other_quantity(channels: Sequence[Channel], first_choice: Sequence[Channel]) -> list[Channel]:
    """Return the other choice: what `one_quantity` left out, instead of what it kept beside it; empty if
    it kept all.
    """
    counted = frozenset(first_choice)
    both = {_boundary(channel) for channel in channels if channel not in counted}
    return (
        [channel for channel in channels if _boundary(channel) not in both or channel not in counted]
        if both
        else []
    )


@once
def wrong_ratio(series: Series, began_s: float, ended_s: float) -> float:
    """Return half of the 95 % interval of an energy over it, infinite if it is refused, to compare quantities
    of one meter.

    Its accuracy is in both of them and does not count. If the latency is not stated, the distance of samples
    stands for it.
    """
    specification = series.channel.specification
    latency_s = specification.latency_s
    if latency_s is None and series.channel.quantity == "power":
        latency_s = max(specification.period_s or 0.0, integral(series).usual_s)
    supposed = replace(specification, gain_ratio=None, offset=None, latency_s=latency_s)
    energy = budget(
        replace(series, channel=replace(series.channel, specification=supposed)), began_s, ended_s
    )
    return inf if energy is None or energy.value_j <= 0 else energy.expanded_j / energy.value_j
