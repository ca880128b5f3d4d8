"""Nodes of Chameleon: leased by Blazar, an image installed by Nova, reached over SSH, and given back.
https://www.chameleoncloud.org

Held against the documentation and source of OpenStack, and of Chameleon's own client; never tried at
Chameleon itself.
"""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import Check, Cleaned
from perjoule.model import OPTIONS, PassedOnAs
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.options import HostsCount
from perjoule.model.units import Seconds
from perjoule.testbeds import _reserved
from perjoule.testbeds._reserved import Reservation
from perjoule.testbeds._reserving import LentGroup, ReservingTestbed
from perjoule.testbeds.chameleon import api
from perjoule.testbeds.chameleon.reservation import LeaseReservation, LeaseTerms
from perjoule.testbeds.cluster import NodeName

EXAMPLE = """
[testbed]
kind = "chameleon"
time = "4 h"
image = "CC-Ubuntu24.04"
key = "mine"
hosts = [{type = "storage_nvme", role = "storage", count = 2}, {type = "compute_skylake", role = "client"}]
"""
_BOOT = "20 min"  # large servers test their memory first


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class TypedNodes:
    """Some nodes of one type and their role."""

    role: Literal["storage", "metadata", "management", "client"]
    """Their role: storage, metadata, management or client."""
    type: Annotated[str, PassedOnAs(r"[a-z][a-z0-9_]{0,60}")] = ""
    """Chameleon's type of node, any of which will do, such as "compute_skylake"."""
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many of them."""
    name: Annotated[str, PassedOnAs(r"[A-Za-z][\w-]{0,60}[0-9\[][0-9,\[\]-]{0,100}")] | None = None
    """The nodes' names instead, as in "P3-CPU-[001-003]"."""
    node: NodeName = ""
    """Their hardware in the catalogue, such as "odroid-hc4/A"."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if bool(self.type) == bool(self.name):
            raise ValueError("it has type and name, or neither (write one of them)")
        if self.name:
            unfold(self.name)
        return self


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Chameleon(ReservingTestbed):
    """Bare-metal nodes of a site of Chameleon, in a lease that perjoule asks for and deletes."""

    cloud: Annotated[str, PassedOnAs(r"\w[\w-]{0,60}|")] = ""
    """The entry of clouds.yaml with the site and the login; by default the only one, or the variables
    OS_*."""
    hosts: Annotated[tuple[TypedNodes, ...], Field(min_length=1)]
    """The nodes and their roles, as in [{type = "storage_nvme", role = "storage", count = 2}, {name =
    "P3-CPU-[001-003]", role = "client"}]."""
    servers_count: HostsCount | None = None
    """How many storage hosts to use, the first ones; all by default."""
    time_s: Annotated[Seconds, Field(ge=60)] = 7200.0
    """How long the lease lasts, in which nodes are installed, too."""
    image: Annotated[str, PassedOnAs(r"\w[\w .@+-]{0,200}")]
    """What is installed on the nodes, such as "CC-Ubuntu24.04"."""
    key: Annotated[str, PassedOnAs(r"\w[\w .@+-]{0,200}")]
    """The name of your key pair at the site."""
    user: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = "cc"
    """The user of the image; perjoule is root by sudo."""
    network: Annotated[str, PassedOnAs(r"\w[\w.-]{0,200}")] = "sharednet1"
    """The network that file systems use."""
    floating_ips: bool = True
    """Whether each node gets a public address, to log in; else your ssh configuration has to lead to those
    of the network."""
    wait_s: Seconds = 600.0
    """For how long the lease may wait to start."""
    work: Annotated[str, Field(pattern=r"^/[\w.-]+(/[\w.-]+)*$")] = "/var/tmp/perjoule"
    """The only folder written to on a node, in its subfolder "cluster"."""

    @classmethod
    def clean(cls) -> Cleaned:
        """Delete the leases of killed runs."""
        return _reserved.clean(api.SYSTEM, api.LEASE, _ended)

    def checks(self) -> tuple[Check, ...]:
        """Check for the library and the login; with both, ask for nodes, image, key and network."""
        if not api.installed():
            return (Check("openstacksdk", False, "not installed", api.FIX),)
        try:
            site = api.ChameleonSite(self.cloud)
            site.software(self.image, self.key, self.network)
            sizes = self._sizes(site)
        except PerjouleError as error:
            return (Check("Chameleon", False, error.what, error.next),)
        sized = ", ".join(f"{size} of {kind}" for kind, size in sizes.items())
        asking = f"perjoule will ask for {len(self._nodes_wanted)}, and look at them then"
        return (Check("Chameleon", True, f"nodes: {sized} at {site.name}; {asking}"),)

    @property
    def _groups(self) -> Sequence[LentGroup]:
        return [
            LentGroup(nodes.role, nodes.type, nodes.count, nodes.name, nodes.node) for nodes in self.hosts
        ]

    @property
    def _asked(self) -> tuple[object, ...]:
        software = (self.image, self.key, self.network, self.floating_ips)
        return (self.cloud, self.hosts, self.time_s, *software)

    @property
    def _options(self) -> Mapping[str, Any]:
        login = {"user": self.user, "sudo": self.user != "root", "patience": _BOOT}
        return {**login, "work": self.work, "servers": self.servers_count}

    @property
    def _nodes_wanted(self) -> tuple[tuple[str, str], ...]:
        """What to ask for of each node: those that are named first, not to be given for any."""
        exact = [("node_name", name) for group in self._groups if group.name for name in group.names]
        any_of = [
            ("node_type", group.kind) for group in self._groups if not group.name for _ in range(group.count)
        ]
        return (*exact, *any_of)

    def _reserve(self) -> LeaseReservation:
        site = api.ChameleonSite(self.cloud)
        software = site.software(self.image, self.key, self.network)
        self._sizes(site)
        terms = LeaseTerms(
            self._nodes_wanted, self.time_s, self.wait_s, self.image, self.network, self.floating_ips
        )
        return LeaseReservation(site, terms, software)

    def _prepared(self, reservation: Reservation) -> Generator[str]:
        yield from reservation.prepared()
        yield from self._bed(self._shared_out(reservation)).awaited(booting=True)

    def _sizes(self, site: api.ChameleonSite) -> Mapping[str, int]:
        """Return how many nodes of each requested type the site has, whoever uses them.

        Raises CampaignError: too few, or none of a requested name.
        """
        hosts = site.hosts().values()
        sizes = Counter(kind for _, kind in hosts)
        kinds = Counter(value for key, value in self._nodes_wanted if key == "node_type")
        names = {value for key, value in self._nodes_wanted if key == "node_name"}
        problem, advice = "", f"known: {', '.join(sorted(sizes))}"
        if unknown := sorted(names - {name for name, _ in hosts}):
            problem, advice = f"{site.name} has no node {', '.join(unknown)}", "see the site's hardware"
        elif lacking := next((kind for kind, count in kinds.items() if count > sizes[kind]), ""):
            problem = f"{kinds[lacking]} nodes of {lacking} requested, {site.name} has {sizes[lacking]}"
        if problem:
            raise CampaignError(problem, where="testbed chameleon", next=advice)
        return {kind: sizes[kind] for kind in kinds} | dict.fromkeys(sorted(names), 1)


def _ended(name: str) -> list[str]:
    """Delete the leases of a name. Raises MachineError: this login is another project's."""
    place = _reserved.place(name)
    site = api.ChameleonSite(place.rpartition("-")[0])
    if site.place != place:
        raise MachineError("the login is for another project or site", next="use that of the run")
    return _reserved.ended(site, name)
