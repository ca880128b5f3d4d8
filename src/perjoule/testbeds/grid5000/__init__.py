"""Nodes of Grid'5000: reserved by its REST API, deployed if wished, reached over SSH, and given back.
https://www.grid5000.fr

One job has the nodes for all that a command measures, so that file systems are compared on the same nodes. It
ends with the command. Held against the API's documentation and source, never tried at Grid'5000 itself.
"""

import contextlib
import math
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import (
    Awaits,
    Check,
    Cleaned,
    Cleans,
    Elsewhere,
    Footing,
    Hosts,
    Lease,
    Leased,
    Testbed,
)
from perjoule.model import OPTIONS, Json, PassedOnAs
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.units import Seconds
from perjoule.testbeds.cluster import NodeName
from perjoule.testbeds.grid5000 import api
from perjoule.testbeds.grid5000.nodes import JobNodes, cluster_of, number_of, short_name
from perjoule.testbeds.grid5000.reservation import Reservation, clean, public_keys

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

    @property
    def names(self) -> list[str]:
        """The names of the nodes; those that are yet unknown have no number."""
        if self.name:
            return unfold(self.name)
        return [f"{self.cluster}-any-{self.role}-{number}" for number in range(1, 1 + self.count)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Grid5000(Testbed, Awaits, Cleans, Elsewhere, Leased):
    """Nodes of a site of Grid'5000, in a job that perjoule asks for and ends."""

    site: Annotated[str, PassedOnAs("[a-z]{1,30}")]
    """The site, such as "lyon"."""
    hosts: Annotated[tuple[NodeGroup, ...], Field(min_length=1)]
    """The nodes and their roles, as in [{cluster = "taurus", role = "storage", count = 2}, {name =
    "nova-[1-4]", role = "client"}]."""
    servers_count: Annotated[int, Field(gt=0)] | None = None
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

    @property
    def names_hosts(self) -> bool:
        """Whether `hosts` names each node; OAR chooses the others."""
        return all(group.name for group in self.hosts)

    @property
    def lease_s(self) -> float:
        """The time that a job will have."""
        return self.time_s

    def planned(self, clients_count: int) -> Hosts:
        """The first clients, the first storage hosts if `servers` limits them, and all others, on nodes
        yet unknown.
        """
        return self._bed([group.names for group in self.hosts], {}).planned(clients_count)

    def awaited(self) -> Generator[str]:
        """Ask for a job, wait for its nodes and have them deployed; yields what it waits for.

        Nothing is asked for while an earlier job of this command has the nodes. Raises MachineError.
        """
        reservation = _reservations.get(self._reserved)
        if reservation and reservation.lasts:
            return
        if reservation:
            reservation.end()
            del _reservations[self._reserved]
        clean()
        keys = public_keys() if self.environment else ""
        site = api.GridSite(self.site)
        reservation = Reservation(site, self._request(site.clusters()))
        try:
            job = yield from reservation.granted(self.wait_s)
            if self.environment:
                yield from reservation.deployed(job, self.environment, keys)
            _reservations[self._reserved] = reservation
        finally:
            if self._reserved not in _reservations:
                reservation.end()

    def footing(self, host: str) -> Footing:
        """Return root or the user of ssh's configuration, and the work folder."""
        return Footing(self._user, self.work)

    @contextlib.contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold the nodes; nothing of ours stays on them.

        Raises:
            CampaignError: too few nodes for these roles, or a cluster that the site has not.
            MachineError: OAR refuses the job, or a node can't be deployed or reached, lacks something, or is
                in use by another perjoule.
        """
        for _ in self.awaited():
            pass
        reservation = _reservations[self._reserved]
        job, began_s = reservation.job, time.monotonic()
        left_s = job.starts_s + job.walltime_s - time.time() if job.starts_s else math.inf
        addresses: dict[str, str] = {}
        for cluster in {cluster_of(node) for node in job.nodes}:
            addresses |= reservation.site.addresses(cluster)
        with self._bed(self._shared_out(job.nodes), addresses).hold(clients_count) as held_hosts:
            lease = Lease(reservation.text, began_s + left_s, lambda: reservation.job.end)
            facts: dict[str, Json] = {
                "site": self.site,
                "job": job.id,
                "nodes": [*job.nodes],
                "environment": self.environment,
                "metrics": reservation.site.metrics_url,
            }
            yield replace(held_hosts, lease=lease, facts={**held_hosts.facts, "grid5000": facts})

    @classmethod
    def clean(cls) -> Cleaned:
        """End the jobs of killed runs."""
        return clean()

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
    def _reserved(self) -> tuple[object, ...]:
        """What is asked for: testbeds that ask for the same share a job, as those of `servers = [1, 2]` do."""
        return (self.site, self.hosts, self.time_s, self.environment, self.queue, self.project)

    @property
    def _user(self) -> str:
        return "root" if self.environment else ""

    @property
    def _counts(self) -> Counter[str]:
        """How many nodes of each cluster are requested."""
        counts = Counter[str]()
        for group in self.hosts:
            counts.update(group.cluster or cluster_of(name) for name in group.names)
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
        for group in self.hosts:
            if group.name:
                nodes = ", ".join(f"'{name}.{self.site}.grid5000.fr'" for name in group.names)
                exact.append(f"{{network_address in ({nodes})}}/nodes={len(group.names)}")
            else:
                any_of.append(f"{{cluster='{group.cluster}'}}/nodes={group.count}")
        minutes, seconds = divmod(math.ceil(self.time_s), 60)
        walltime = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        # OAR gives nodes in this order: those that are named are not to be given for any
        request: dict[str, Json] = {"resources": f"{'+'.join([*exact, *any_of])},walltime={walltime}"}
        types: list[Json] = ["deploy"] if self.environment else []
        types += ["exotic"] if any(clusters[cluster] for cluster in self._counts) else []
        options: dict[str, Json] = {"types": types, "queue": self.queue, "project": self.project}
        request.update({key: value for key, value in options.items() if value})
        return request

    def _shared_out(self, nodes: Sequence[str]) -> list[list[str]]:
        """Return the full names of each group's nodes: those that it names, or the first of its cluster that
        no group above has.

        Raises MachineError: they are others than requested.
        """
        free = sorted(nodes, key=lambda node: (cluster_of(node), number_of(node)))
        exact = {name for group in self.hosts if group.name for name in group.names}
        shares: list[list[str]] = []
        for group in self.hosts:
            if group.name:
                share = [node for name in group.names for node in free if short_name(node) == name]
            else:
                share = [
                    node
                    for node in free
                    if cluster_of(node) == group.cluster and short_name(node) not in exact
                ][: group.count]
            if len(share) < len(group.names):
                problem = (
                    f"the job has {len(share)} of {len(group.names)} nodes {group.name or group.cluster}"
                )
                raise MachineError(problem, where="testbed grid5000", next="run it again")
            free = [node for node in free if node not in share]
            shares.append(share)
        return shares

    def _bed(self, shares: Sequence[Sequence[str]], addresses: Mapping[str, str]) -> JobNodes:
        """Return these nodes as hosts, each group's with its role; without addresses none can be reached."""
        hosts = [
            {"name": short_name(node), "role": group.role, "node": group.node}
            | ({"ssh": node, "address": addresses[node]} if node in addresses else {})
            for group, share in zip(self.hosts, shares, strict=True)
            for node in share
        ]
        options: dict[str, Any] = {"hosts": hosts, "servers": self.servers_count}
        return JobNodes(user=self._user, work=self.work, **options)


# jobs of this command, by what was asked for
_reservations: dict[tuple[object, ...], Reservation] = {}
