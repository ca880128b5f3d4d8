"""Nodes of Grid'5000: reserved by its REST API, deployed if wished, reached over SSH, and given back.
https://www.grid5000.fr

Held against the API's documentation and source, never tried at Grid'5000 itself.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import Check, Cleaned
from perjoule.model import OPTIONS, Json, PassedOnAs
from perjoule.model.errors import CampaignError, PerjouleError
from perjoule.model.options import HostsCount
from perjoule.model.units import Seconds
from perjoule.testbeds import _reserved
from perjoule.testbeds._reserving import LentGroup, ReservingTestbed
from perjoule.testbeds.cluster import NodeName
from perjoule.testbeds.grid5000 import api
from perjoule.testbeds.grid5000.nodes import cluster_of
from perjoule.testbeds.grid5000.reservation import JobReservation, public_keys

EXAMPLE = """
[testbed]
kind = "grid5000"
site = "lyon"
time = "2 h"
environment = "debian12-min"
hosts = [{cluster = "taurus", role = "storage", count = 2}, {cluster = "nova", role = "client"}]
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class NodeGroup:
    """Some nodes of one cluster and their role."""

    role: Literal["storage", "metadata", "management", "client"]
    """Their role: storage, metadata, management or client."""
    cluster: Annotated[str, PassedOnAs(r"[a-z][a-z0-9]{0,30}")] = ""
    """The cluster, any of whose nodes will do, such as "taurus"."""
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many of them."""
    name: Annotated[str, PassedOnAs(r"[a-z][a-z0-9]{0,30}-[0-9\[][0-9,\[\]-]{0,100}")] | None = None
    """The nodes' names instead, as in "taurus-[7,9]"."""
    node: NodeName = ""
    """Their hardware in the catalogue, such as "odroid-hc4/A"."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if bool(self.cluster) == bool(self.name):
            raise ValueError("it has cluster and name, or neither (write one of them)")
        if self.name:
            unfold(self.name)
        return self


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Grid5000(ReservingTestbed):
    """Nodes of a site of Grid'5000, in a job that perjoule asks for and ends."""

    site: Annotated[str, PassedOnAs("[a-z]{1,30}")]
    """The site, such as "lyon"."""
    hosts: Annotated[tuple[NodeGroup, ...], Field(min_length=1)]
    """The nodes and their roles, as in [{cluster = "taurus", role = "storage", count = 2}, {name =
    "nova-[1-4]", role = "client"}]."""
    servers_count: HostsCount | None = None
    """How many storage hosts to use, the first ones; all by default."""
    time_s: Annotated[Seconds, Field(ge=60)] = 3600.0
    """The time limit of the job (walltime), in which nodes are deployed, too."""
    environment: Annotated[str, PassedOnAs(r"[A-Za-z0-9][\w.@+-]{0,100}")] = ""
    """What Kadeploy installs on the nodes, such as "debian12-min"; perjoule is root there, by the user's own
    keys. Without it nodes
    have the standard environment, where no file system can be deployed: perjoule is not root."""
    queue: Annotated[str, PassedOnAs("[a-z]{0,30}")] = ""
    """The queue; OAR's default one if not set."""
    project: Annotated[str, PassedOnAs(r"[\w-]{0,60}")] = ""
    """The project (GGA) to charge; the user's default one if not set."""
    wait_s: Seconds = 3600.0
    """For how long the job may wait for its nodes."""
    work: Annotated[str, Field(pattern=r"^/[\w.-]+(/[\w.-]+)*$")] = "/var/tmp/perjoule"
    """The only folder written to on a node, in its subfolder "cluster"."""

    @classmethod
    def clean(cls) -> Cleaned:
        """End the jobs of killed runs."""
        return _reserved.clean(api.SYSTEM, api.JOB, _ended)

    def checks(self) -> tuple[Check, ...]:
        """Check for the library and the login; with both, ask the API for the site and its clusters."""
        if not api.installed():
            return (Check("python-grid5000", False, "not installed", api.FIX),)
        try:
            site = api.GridSite(self.site)
            self._request(site.clusters())
            if self.environment:
                public_keys()
            sizes = {cluster: len(site.addresses(cluster)) for cluster in self._counts}
        except PerjouleError as error:
            return (Check("Grid'5000", False, error.what, error.next),)
        for cluster, count in self._counts.items():
            if count > sizes[cluster]:
                problem = f"{count} nodes of {cluster} requested, it has {sizes[cluster]}"
                return (Check("Grid'5000", False, problem, "ask for fewer nodes"),)
        sized = ", ".join(f"{size} of {cluster}" for cluster, size in sizes.items())
        asking = f"perjoule will ask for {sum(self._counts.values())}, and look at them then"
        return (Check("Grid'5000", True, f"nodes: {sized} at {self.site}; {asking}"),)

    @property
    def _groups(self) -> Sequence[LentGroup]:
        return [
            LentGroup(group.role, group.cluster, group.count, group.name, group.node) for group in self.hosts
        ]

    @property
    def _asked(self) -> tuple[object, ...]:
        return (self.site, self.hosts, self.time_s, self.environment, self.queue, self.project)

    @property
    def _options(self) -> Mapping[str, Any]:
        user = "root" if self.environment else ""
        return {"user": user, "work": self.work, "servers": self.servers_count}

    def _reserve(self) -> JobReservation:
        site = api.GridSite(self.site)
        return JobReservation(site, self._request(site.clusters()), self.environment, self.wait_s)

    @property
    def _counts(self) -> Counter[str]:
        """How many nodes of each cluster are requested."""
        counts = Counter[str]()
        for group in self._groups:
            counts.update(group.kind or cluster_of(name) for name in group.names)
        return counts

    def _request(self, clusters: Mapping[str, bool]) -> dict[str, Json]:
        """Return what to ask OAR for, of clusters of which some are exotic.

        Raises CampaignError: the site has no such cluster.
        """
        if unknown := next((cluster for cluster in self._counts if cluster not in clusters), ""):
            raise CampaignError(
                f'{self.site} has no cluster "{unknown}"',
                where="testbed grid5000",
                next=f"known: {', '.join(sorted(clusters))}",
            )
        exact, any_of = list[str](), list[str]()
        for group in self._groups:
            if group.name:
                nodes = ", ".join(f"'{name}.{self.site}.grid5000.fr'" for name in group.names)
                exact.append(f"{{network_address in ({nodes})}}/nodes={len(group.names)}")
            else:
                any_of.append(f"{{cluster='{group.kind}'}}/nodes={group.count}")
        minutes, seconds = divmod(math.ceil(self.time_s), 60)
        walltime = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        # OAR gives nodes in this order: those that are named are not to be given for any
        request: dict[str, Json] = {"resources": f"{'+'.join([*exact, *any_of])},walltime={walltime}"}
        types: list[Json] = ["deploy"] if self.environment else []
        types += ["exotic"] if any(clusters[cluster] for cluster in self._counts) else []
        options: dict[str, Json] = {"types": types, "queue": self.queue, "project": self.project}
        request.update({key: value for key, value in options.items() if value})
        return request


def _ended(name: str) -> list[str]:
    """End the jobs of a name. Raises MachineError."""
    return _reserved.ended(api.GridSite(_reserved.place(name)), name)
