"""The watts and rates of this moment, for those who watch a run.

The watts are of the boundaries that a trial's energies have, from the channels that `metering` chooses, but
not yet energies.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from perjoule.energy.choosing import Roles
from perjoule.energy.coverage import Signed
from perjoule.energy.metering import Metering
from perjoule.model import Channel
from perjoule.trial.reading import Dilation

LEAST_S = 1e-3  # between two samples that give a rate
Moment = Mapping[Channel, tuple[float, float]]  # the last sample of each channel: t_s, value


@dataclass(frozen=True)
class LiveBoundary:
    """The channels whose powers add up to that of a boundary, with their signs, and their grade."""

    parts: Signed
    grade: str

    def watts(self, values: Mapping[Channel, float]) -> float | None:
        """Return the sum; None if a channel has no value."""
        if any(channel not in values for _, channel in self.parts):
            return None
        return sum(sign * values[channel] for sign, channel in self.parts)


def roles(
    servers: Collection[str], clients: Collection[str], role_of: Mapping[str, str], dilation: Dilation
) -> Roles:
    """Return the hosts of a trial under way, as its record will have them.

    Args:
        servers: names of the hosts inside the net boundary; none if they are outside the testbed.
        clients: those that load.
        role_of: the role of each host.
        dilation: of the testbed.
    """
    holders, loading = frozenset(servers), frozenset(clients)
    every, named_clients = (
        frozenset(role_of),
        frozenset(name for name, role in role_of.items() if role == "client"),
    )
    return Roles(
        servers=holders,
        clients=loading - holders,
        shared=loading & holders,
        cluster=every - named_clients or holders or every,
        hosts=every,
        storing=named_clients & holders if named_clients != every else frozenset(),
        at_scale=dilation.text,
    )


def boundaries(channels: Iterable[Channel], of: Roles) -> Mapping[str, LiveBoundary]:
    """Choose power channels for each boundary by its name in `BOUNDARIES`: net, gross, clients and all, as
    far as they are known.

    `channels` are those that had a value since the trial began: one choice holds for all its moments.
    """
    return _boundaries(frozenset(channel for channel in channels if channel.quantity == "power"), of)


@lru_cache  # the channels of a campaign hardly change, and 64 hosts take 20 ms
def _boundaries(powers: frozenset[Channel], of: Roles) -> Mapping[str, LiveBoundary]:
    metering = Metering.of(of, sorted(powers, key=lambda channel: (channel.meter, channel.name)))
    servers, clients, both = metering.servers.parts, metering.clients.parts, metering.both
    sums = {"net": servers and servers.net, "gross": servers and servers.gross}
    sums |= {"clients": None if of.shared else clients and clients.net, "all": both and both.net}
    grades = {"clients": metering.clients.grade, "all": both.grade if both else ""}
    return {
        name: LiveBoundary(signed, grades.get(name, metering.servers.grade))
        for name, signed in sums.items()
        if signed
    }


def servers_w(latest: Mapping[Channel, float], of: Roles) -> tuple[float, str] | None:
    """Add up the servers' last power samples: the watts with their grade; None if no grade covers them."""
    if net := boundaries(latest, of).get("net"):
        watts = net.watts(latest)
        return None if watts is None else (watts, net.grade)
    return None


def rates(moments: Sequence[Moment]) -> list[Mapping[Channel, float]]:
    """Return powers as they are and counters as rates since the moment before, in their unit per second of
    wall time.

    Joules become watts, under a channel of power. A counter that fell back, or has nothing new, has no rate
    at that moment.
    """
    all_values: list[Mapping[Channel, float]] = []
    for before, latest in pairwise(({}, *moments)):
        values: dict[Channel, float] = {}
        for channel, (t_s, value) in latest.items():
            if channel.quantity == "power":
                values[channel] = value
                continue
            earlier_s, earlier = before.get(channel, (t_s, value))
            if t_s - earlier_s >= LEAST_S and value >= earlier:
                values[_rate_of(channel)] = (value - earlier) / (t_s - earlier_s)
        all_values.append(values)
    return all_values


def _rate_of(channel: Channel) -> Channel:
    return replace(channel, quantity="power", unit="W") if channel.quantity == "energy" else channel


def totals(values: Mapping[Channel, float]) -> Mapping[tuple[str, str], float]:
    """Add up values by host and quantity."""
    sums: dict[tuple[str, str], float] = {}
    for channel, value in values.items():
        key = (channel.host, channel.quantity)
        sums[key] = sums.get(key, 0.0) + value
    return sums


def client_rate(totals: Mapping[tuple[str, str], float], client: str, dilation: Dilation) -> float | None:
    """Return the bytes per (emulated) second on a client's network: one way is the load, the other its
    acknowledgements.
    """
    ways = (totals.get((client, quantity)) for quantity in ("network_sent", "network_received"))
    bytes_per_s = [rate for rate in ways if rate is not None]
    return dilation.wall(max(bytes_per_s)) if bytes_per_s else None
