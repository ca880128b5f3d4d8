"""Both sides' joules: of the clients that ran the load, and of clients and servers together, each host once.

    clients   the hosts that ran the load, unless one of them is a server: its joules can't be divided between
    the two all       the servers (the boundary of the headline) and the hosts that ran the load, without the
    switch

All is the sum of both sides; the worse of their grades is that of the sum. If a channel counts hosts of both
sides and its grade is no worse, all is the exact cover of all hosts, in which that channel counts once. What
is refused has its reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from perjoule.energy.amount import amount
from perjoule.energy.choosing import DILATED
from perjoule.energy.metering import counting, together
from perjoule.energy.power import Boundaries
from perjoule.model import Channel
from perjoule.trial.reading import Reading

CLIENTS, ALL = "clients", "all"  # as `metrics.BOUNDARIES` name them
NAMED_COUNT = 3  # hosts in a reason; the others are counted


@dataclass(frozen=True)
class Sides:
    """Energy in wall time of hosts that only ran the load, and of all; `refused` has the reason for a
    boundary without one.
    """

    # of the hosts that ran the load and are not servers
    loading: Boundaries = field(default_factory=Boundaries)
    all: Boundaries = field(default_factory=Boundaries)
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def by_name(self) -> dict[str, Boundaries]:
        """Return the boundaries that have an energy, by name."""
        both = {CLIENTS: self.loading, ALL: self.all}
        return {
            name: boundary
            for name, boundary in both.items()
            if boundary.net is not None and name not in self.refused
        }


def sides(reading: Reading, servers: Boundaries, began_s: float, ended_s: float) -> Sides:
    """Return the energy of the clients and of all in a window, next to that of the servers; empty if no
    power was recorded.
    """
    metering = reading.metering
    only, shared = metering.roles.clients, metering.roles.shared
    if not reading.powers or not (only or shared):
        return Sides()
    clients = reading.energy(metering.clients, began_s, ended_s)
    if metering.spanning is not None:
        everything = reading.added(metering.spanning, began_s, ended_s)
    else:
        everything = _all(reading, (servers, clients) if only else (servers,), began_s, ended_s)
    refused: dict[str, str] = {}
    if shared:
        who = f"of them {_few(shared)}" if only else "they"
        refused[CLIENTS] = (
            f"energy of the clients omitted: {who} served the load, too, so it counts once, in all"
        )
    elif clients.net is None:
        refused[CLIENTS] = f"energy of the clients omitted: {_why(reading, began_s, ended_s)}"
    if everything.net is None and clients.net is None and only:
        why = _why(reading, began_s, ended_s)
        refused[ALL] = f"energy of the clients and of all omitted: {why}"
        refused[CLIENTS] = refused[CLIENTS] if shared else refused[ALL]
    elif everything.net is None:
        why = (
            "that of the servers is unknown"
            if metering.spanning is None
            else "; ".join(dict.fromkeys(map(str, everything.doubts)))
        )
        refused[ALL] = f"energy of all omitted: {why}"
    return Sides(clients, everything, refused)


def _all(reading: Reading, several: Sequence[Boundaries], began_s: float, ended_s: float) -> Boundaries:
    """Add up the sides; empty if one is unknown. An uncertainty that one side lacks, their sum lacks, too."""
    summands = [
        (side, side.parts, side.net) for side in several if side.parts is not None and side.net is not None
    ]
    if len(summands) < len(several):
        return Boundaries()
    if len(summands) == 1:
        return summands[0][0]
    total = reading.added(together([parts for _, parts, _ in summands]), began_s, ended_s)
    if total.net is not None and not all(net.terms for *_, net in summands):
        return replace(total, net=replace(total.net, terms=()))
    return total


def _why(reading: Reading, began_s: float, ended_s: float) -> str:
    """Say why the energy of the clients is unknown."""
    roles = reading.metering.roles
    counted = counting(reading.powers, roles, roles.clients)
    real = sorted({channel.meter for channel, _ in counted if channel.grade not in DILATED})
    counted_hosts = frozenset[str]().union(*(hosts for _, hosts in counted))
    if not counted:
        return "no meter covers the clients"
    if missing := roles.clients - counted_hosts:
        return f"no power of {_few(missing)}"
    if roles.at_scale and len(real) == len({channel.meter for channel, _ in counted}):
        return (
            f"{', '.join(real)}: power of the real machine is not that of a cluster emulated at "
            f"{roles.at_scale}"
        )
    if faults := list(dict.fromkeys(_faults(reading, began_s, ended_s))):
        return "; ".join(faults)
    if other_hosts := counted_hosts - roles.clients:
        meters = sorted({channel.meter for channel, hosts in counted if hosts - roles.clients})
        return f"{', '.join(meters)}: counts them together with {_few(other_hosts)}"
    return (
        f"{', '.join(sorted({channel.meter for channel, _ in counted}))}: no sum or difference of channels "
        "covers them alone"
    )


def _faults(reading: Reading, began_s: float, ended_s: float) -> Iterator[str]:
    """Return what is wrong with samples that make up the energy of the clients, or would."""
    clients = reading.metering.clients
    channels: list[Channel] = [
        channel for parts in (clients.parts, *clients.refused) if parts for _, channel in parts.net
    ]
    for channel in channels:
        yield from amount(reading.series_of(channel), began_s, ended_s).doubts


def _few(hosts: frozenset[str]) -> str:
    names = sorted(hosts)
    more_count = len(names) - NAMED_COUNT
    return ", ".join(names[:NAMED_COUNT]) + (f" and {more_count} more" if more_count > 0 else "")
