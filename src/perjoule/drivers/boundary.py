"""The boundary of a meter: a host, the switch, a group, or the total."""

from dataclasses import dataclass
from typing import Literal

from perjoule.drivers.protocols import Hosts, Outlet
from perjoule.model import Channel, Grade, Semantics, Specification
from perjoule.model.errors import CampaignError

SWITCH = "switch"
GROUPS = ("servers", "clients")  # words for several hosts


@dataclass(frozen=True)
class Boundary:
    """What a meter covers, in the fields of a Channel."""

    meter: str
    host: str
    component: str
    covers: tuple[str, ...] = ()

    def channel(
        self,
        quantity: Literal["power", "energy"],
        semantics: Semantics,
        grade: Grade,
        specification: Specification | None = None,
        *,
        component: str = "",
    ) -> Channel:
        """Return the channel of a quantity in this boundary, in watts or joules, or of a `component`
        inside it.
        """
        unit = "J" if quantity == "energy" else "W"
        part, spec = component or self.component, specification or Specification()
        return Channel(self.meter, self.host, part, quantity, unit, semantics, grade, self.covers, spec)

    def outlet(self, option: str, part: str = "", quantity: str = "") -> Outlet:
        """Return the part of a meter that feeds this, as an option says."""
        named = "+".join(sorted(self.covers))  # in whichever order they are named
        channel = f"{self.meter}:{self.host or named}/{self.component}"
        return Outlet(option, channel, _words(self), part, quantity)


def _words(where: Boundary) -> str:
    part = "" if where.component in ("all", "group", "total", SWITCH) else where.component
    hosts = (
        where.host or ", ".join(where.covers) or ("switch" if where.component == SWITCH else "all servers")
    )
    return " of ".join(filter(None, (part, hosts)))


def boundary(meter: str, covers: tuple[str, ...], hosts: Hosts, component: str = "") -> Boundary:
    """Return what a meter covers: all servers and the switch are the "total", one host is itself, others are
    a "group".

    Without hosts (a meter that is only watched) the names are taken literally. A host alone has no switch, if no
    meter reads it.

    Raises:
        CampaignError: the testbed has no host of such a name.
    """
    covered = names(meter, covers, hosts)
    if len(hosts.all) == 1 and not hosts.switch and set(covered) == {hosts.all[0].name, SWITCH}:
        covered = (hosts.all[0].name,)
    if set(covered) == {*([host.name for host in hosts.servers or hosts.all] or ["servers"]), SWITCH}:
        return Boundary(meter, "", component or "total")
    if len(covered) == 1:
        host = "" if covered[0] == SWITCH else covered[0]
        return Boundary(meter, host, component or (SWITCH if not host else "all"))
    return Boundary(meter, "", component or "group", covered)


def members(hosts: Hosts) -> dict[str, list[str]]:
    """Return the names of the hosts that each word for several of them stands for."""
    # One machine is client and server; without servers, other clients do not count as servers.
    servers = hosts.servers or (hosts.all if len(hosts.all) == 1 else ())
    return {
        group: [host.name for host in of] for group, of in zip(GROUPS, (servers, hosts.clients), strict=True)
    }


def names(meter: str, places: tuple[str, ...], hosts: Hosts) -> tuple[str, ...]:
    """Return the names that words like "servers" stand for, each once.

    Raises CampaignError: there is no host of such a name.
    """
    groups = members(hosts)
    host_names = {host.name for host in hosts.all}
    covered = tuple(dict.fromkeys(name for place in places for name in (groups.get(place) or [place])))
    if host_names and (strange := [name for name in covered if name not in host_names and name != SWITCH]):
        choices = ", ".join([*groups, *sorted(host_names), SWITCH])
        raise CampaignError(
            f'no host is called "{strange[0]}"', where=f"meter {meter}", next=f"known: {choices}"
        )
    return covered
