"""Which channels make up each boundary of a trial, and of which grade: chosen once, by the headline window.

Every other window of the trial, its timeline, its parts and what is shown of it while it runs add up the same
channels. Grades are never mixed within the boundary of one side. While a trial runs there is no headline
window yet: then what channels cover decides alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perjoule.energy.choosing import GRADES, Chooser, ChosenChannels, Headline, Roles
from perjoule.energy.coverage import items
from perjoule.energy.power import BoundaryParts
from perjoule.model import Channel


@dataclass(frozen=True)
class Metering:
    """The choice of a trial's channels."""

    roles: Roles
    servers: ChosenChannels
    clients: ChosenChannels  # that loaded and are not servers
    spanning: BoundaryParts | None  # channels of both sides, if these count instead of their sum
    by_role: Mapping[str, ChosenChannels]
    disks: BoundaryParts | None  # of all hosts that hold data
    single: tuple[Channel, ...]  # parts of hosts, one quantity of each
    comparable: tuple[Channel, ...]  # that say something about these hosts, one quantity of each

    @classmethod
    def of(cls, roles: Roles, channels: Collection[Channel], headline: Headline | None = None) -> "Metering":
        """Choose, by the headline window if there is one."""
        chooser = Chooser(
            roles, [channel for channel in channels if channel.quantity in ("power", "energy")], headline
        )
        servers = chooser.best(roles.servers)
        counted = counting(chooser.powers, roles, roles.clients)
        clients = chooser.best(roles.clients) if counted else ChosenChannels()
        spanning = None
        if any(hosts & roles.servers for _, hosts in counted):
            both = chooser.best(roles.servers | roles.clients)
            spanning = both.parts if _rank(both) <= max(_rank(servers), _rank(clients)) else None
        grades = {"client": clients.grade if clients.has_net else servers.grade}
        return cls(
            roles=roles,
            servers=servers,
            clients=clients,
            spanning=spanning,
            by_role={
                role: chooser.best(hosts, grades.get(role, servers.grade)) for role, hosts in roles.by_role
            },
            disks=chooser.disks(),
            single=tuple(chooser.single()),
            comparable=tuple(chooser.comparable()),
        )

    @property
    def both(self) -> BoundaryParts | None:
        """The channels of servers and hosts that load, each host once; None if those of a side are
        unknown, or nobody loads.
        """
        if self.spanning is not None:
            return self.spanning
        sides = (self.servers, *([self.clients] if self.roles.clients else []))
        parts = [side.parts for side in sides if side.parts is not None and side.has_net]
        loaded = self.roles.clients or self.roles.shared
        return together(parts) if loaded and len(parts) == len(sides) else None


def together(several: Sequence[BoundaryParts]) -> BoundaryParts:
    """Add up the channels of boundaries without a common host; the sum has the worst of their grades."""
    if len(several) == 1:
        return several[0]
    meter = "+".join(dict.fromkeys(parts.meter for parts in several))
    grade = max((parts.grade for parts in several), key=GRADES.index)
    return BoundaryParts(meter, grade, tuple(channel for parts in several for channel in parts.net))


def counting(
    powers: Sequence[Channel], roles: Roles, targets: frozenset[str]
) -> list[tuple[Channel, frozenset[str]]]:
    """List the channels of whole hosts that count any of these, each with all hosts that it counts."""
    covering = (
        items([channel for channel in powers if channel.grade in GRADES], roles.cluster, switch=True)
        if targets
        else ()
    )
    reach = (
        (channel, frozenset(device.partition("/")[0] for device in item.devices) & roles.hosts)
        for item in covering
        for channel in item.channels
    )
    return [(channel, hosts) for channel, hosts in reach if hosts & targets]


def _rank(side: ChosenChannels) -> int:
    """Return the place of its grade, the best first; the last one without an energy of the hosts alone."""
    return GRADES.index(side.grade) if side.has_net else len(GRADES)
