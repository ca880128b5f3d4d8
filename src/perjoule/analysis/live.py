"""The watts and rates of this moment, for those who watch a run.

The watts are of the boundary that a trial's energy has, but not yet its energy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise

import numpy as np

from perjoule.analysis.power import DILATED, GRADES, Parts, parts_of
from perjoule.model import SAMPLE, Channel, Series

LEAST_S = 1e-3  # between two samples that give a rate
Moment = Mapping[Channel, tuple[float, float]]  # the last sample of each channel: t_s, value


@dataclass(frozen=True)
class Boundary:
    """The channels whose powers add up to that of a boundary, with their signs, and their grade."""

    parts: tuple[tuple[float, Channel], ...]
    grade: str

    def watts(self, values: Mapping[Channel, float]) -> float | None:
        """Return the sum; None if a channel has no value."""
        if any(channel not in values for _, channel in self.parts):
            return None
        return sum(sign * values[channel] for sign, channel in self.parts)


def boundaries(
    channels: Iterable[Channel], servers: frozenset[str], clients: frozenset[str], scale: float
) -> Mapping[str, Boundary]:
    """Choose power channels for each boundary by its name in `BOUNDARIES`: net, gross, clients and all, as far as they are known.

    Args:
        channels: those that have a value.
        servers: names of the hosts inside the net boundary; none if they are outside the testbed.
        clients: that load. One that also is a server has no boundary apart.
        scale: of the testbed; of an emulated one only modelled and simulated watts count.

    Returns:
        Each part once, by the best grade that covers all of a boundary.
    """
    powers = frozenset(channel for channel in channels if channel.quantity == "power")
    return _boundaries(powers, servers, clients, scale)


@lru_cache(maxsize=64)  # the channels of a campaign hardly change, and 64 hosts take 20 ms
def _boundaries(
    powers: frozenset[Channel], servers: frozenset[str], clients: frozenset[str], scale: float
) -> Mapping[str, Boundary]:
    own = _parts(powers, servers, servers, scale) if servers else None
    found = {"net": own and own.net, "gross": own and own.gross}
    grades = dict.fromkeys(found, own.grade if own else "")
    if clients and not clients & servers:
        sides = {"clients": clients, "all": servers | clients} if servers else {"clients": clients}
        for name, hosts in sides.items():
            if parts := _parts(powers, servers or clients, hosts, scale):
                found[name], grades[name] = parts.net, parts.grade
    return {
        name: Boundary(tuple((sign, one.channel) for sign, one in signed), grades[name])
        for name, signed in found.items()
        if signed
    }


def _parts(powers: frozenset[Channel], cluster: frozenset[str], hosts: frozenset[str], scale: float) -> Parts | None:
    """Return the parts of the best grade that covers these hosts without the switch."""
    for grade in GRADES if scale == 1 else [grade for grade in GRADES if grade in DILATED]:
        own = sorted((channel for channel in powers if channel.grade == grade), key=lambda channel: (channel.meter, channel.name))
        meters = [list(of_meter) for _, of_meter in groupby(own, key=lambda channel: channel.meter)]
        for chosen in (*meters, *([own] if len(meters) > 1 else [])):
            series = [Series.of_rows(channel, np.empty((0, len(SAMPLE)))) for channel in chosen]
            if (parts := parts_of(grade, series, cluster, hosts)).net:
                return parts
    return None


def servers_w(latest: Mapping[Channel, float], servers: frozenset[str], scale: float) -> tuple[float, str] | None:
    """Add up the last power samples of the servers: the watts with their grade; None if no grade covers them."""
    if found := boundaries(latest, servers, frozenset(), scale).get("net"):
        watts = found.watts(latest)
        return None if watts is None else (watts, found.grade)
    return None


def rates(moments: Sequence[Moment]) -> list[Mapping[Channel, float]]:
    """Return powers as they are and counters as rates since the moment before, in their unit per second of wall time.

    Joules become watts, under a channel of power. A counter that fell back, or has nothing new, has no rate at that moment.
    """
    found: list[Mapping[Channel, float]] = []
    for before, now in pairwise(({}, *moments)):
        values: dict[Channel, float] = {}
        for channel, (t_s, value) in now.items():
            if channel.quantity == "power":
                values[channel] = value
                continue
            earlier_s, earlier = before.get(channel, (t_s, value))
            if t_s - earlier_s >= LEAST_S and value >= earlier:
                values[_rate_of(channel)] = (value - earlier) / (t_s - earlier_s)
        found.append(values)
    return found


def _rate_of(channel: Channel) -> Channel:
    return replace(channel, quantity="power", unit="W") if channel.quantity == "energy" else channel


def totals(values: Mapping[Channel, float]) -> Mapping[tuple[str, str], float]:
    """Add up values by host and quantity."""
    found: dict[tuple[str, str], float] = {}
    for channel, value in values.items():
        key = (channel.host, channel.quantity)
        found[key] = found.get(key, 0.0) + value
    return found


def client_rate(totals: Mapping[tuple[str, str], float], client: str, scale: float) -> float | None:
    """Return the bytes per (emulated) second on a client's network: one way is the load, the other its acknowledgements."""
    ways = (totals.get((client, way)) for way in ("network_sent", "network_received"))
    known = [way for way in ways if way is not None]
    return max(known) / scale if known else None
