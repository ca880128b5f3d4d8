"""Virtual hosts on this machine: namespaces on a virtual switch, capped to hardware of the catalogue.

https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

import contextlib
import dataclasses
import os
from collections.abc import Generator, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.drivers.protocols import (
    Ability,
    Check,
    Cleaned,
    Cleans,
    HasEvents,
    HasExtras,
    Host,
    Hosts,
    LosesPackets,
    SlowsDisks,
    TakesLinkDown,
    Testbed,
    planned,
)
from perjoule.drivers.protocols.disks import HasDisks
from perjoule.model import OPTIONS, Disk, Json, Reality
from perjoule.model.errors import MachineError
from perjoule.model.hardware import Cluster, Node
from perjoule.model.options import HostsCount
from perjoule.model.units import BYTES, Bytes, Ratio, Seconds, exact_text
from perjoule.testbeds import _disk, _power
from perjoule.testbeds._delay import Delay, lacking
from perjoule.testbeds._machine import ThisMachine
from perjoule.testbeds.virtual import cpu, memory, requirements
from perjoule.testbeds.virtual.host import VirtualHost
from perjoule.testbeds.virtual.mark import work_root
from perjoule.testbeds.virtual.network import Link
from perjoule.testbeds.virtual.rack import Rack
from perjoule.testbeds.virtual.runs import blocked, clean, dead, kept, strangers
from perjoule.testbeds.virtual.topology import CatalogueHost, places

__all__ = ["Virtual", "blocked", "clean", "dead", "kept", "strangers"]

EXAMPLE = '[testbed]\nkind = "virtual"\ncluster = "odroid-hc4"\nscale = 0.2\ndisk = "xfs"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Virtual(Testbed, Cleans, HasEvents, HasExtras):
    """One namespace per host of a catalogue's cluster; network, CPU and disk capped to that hardware times
    `scale`.
    """

    reality: ClassVar[Reality] = "emulated"
    deployment_s: ClassVar[float] = 12.0  # from the first runs on two cores

    cluster: str = "odroid-hc4"
    """Cluster of the catalogue, or board of it, that the hosts emulate."""
    scale_ratio: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Speed of CPUs, network and disks relative to the real ones; time is dilated by the same factor."""
    servers_count: HostsCount | None = None
    """Number of storage hosts; the catalogue's by default."""
    server_cpu_ratio: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Speed of the servers' CPUs relative to the catalogue's, to stand for other boards; their watts stay
    the same.
    """
    server_network_ratio: Annotated[float, Field(gt=0, le=100)] = 1.0
    """The same of their networks."""
    server_disk_ratio: Annotated[float, Field(gt=0, le=100)] = 1.0
    """The same of their disks."""
    cluster_network_ratio: Annotated[float, Field(gt=0, le=100)] | None = None
    """Speed of a second network, of servers alone, relative to that of their first: Ceph's OSDs copy over it
    (its cluster network). None by default.
    """
    latency_s: Annotated[Seconds, Field(le=10)] | None = None
    """Round-trip time that the network adds between two hosts, in their own time: at scale 0.5 it takes twice
    as long. Needs a
    kernel with netem."""
    loss_ratio: Annotated[Ratio, Field(lt=1)] = 0.0
    """Share of packets that the network loses on their way from one host to another.

    Needs a kernel with netem.
    """
    disk: Literal["directory", "ext4", "xfs", "btrfs"] = "ext4"
    """Where a server's data are stored: a folder of this machine, or a disk in a file with its own file
    system.
    """
    disk_size_bytes: Annotated[Bytes, Field(ge=_disk.LEAST_BYTES)] = 8 * 1024**3
    """Size of each server's disk; the file is sparse."""
    disks_apart: bool = False
    """Whether each disk that a server has in the catalogue is one of its own, of `disk_size` and with its own
    bandwidth:
    bricks and OSDs lie on one each, MooseFS's chunk servers use all, other file systems the first (a mirror
    beneath: two). Otherwise a server has one disk with the bandwidth of all."""
    storage_drive: str = ""
    """Kind of disk in storage hosts instead of their own, as many as these: another one of the same
    cluster.
    """
    metadata_drive: str = ""
    """The same of metadata hosts: "wd-black-1tb" replaces SSDs by hard disks."""
    disk_cap: bool = True
    """Cap disks to the bandwidth of the catalogue's, as far as this kernel can."""
    disk_latency_s: Annotated[Seconds, Field(gt=0, le=1)] | Literal["catalogue"] | None = None
    """Time that each request to a disk takes besides its bytes, in the hosts' own time; needs a kernel with
    dm-delay. "catalogue": the seek time of each host's disks, for loads at random; on a kernel without
    dm-delay they are doubted.
    Requests in flight wait side by side."""
    cpu_cap: bool = True
    """Cap CPUs to the catalogue's 7-zip rating."""
    memory_ratio: Annotated[Ratio, Field(gt=0)] = 1.0
    """Memory of each host, page cache included, relative to the catalogue's; choose it as small as the
    data are.
    """
    memory_cap: bool = False
    """Cap the memory of hosts whose board has one in the catalogue, as far as this kernel can."""

    @model_validator(mode="after")
    def _apart_on_disks(self) -> Self:
        if self.disks_apart and self.disk == "directory":
            raise ValueError('disks_apart needs disks; set disk = "xfs", or remove disks_apart')
        return self

    @property
    def folder(self) -> Path:
        """The parent of run folders."""
        return work_root()

    @property
    def hardware(self) -> Cluster:
        """The catalogue's cluster, its servers at the speeds of the options."""
        return catalogue.at_speed(
            catalogue.with_drives(
                catalogue.cluster(self.cluster), storage=self.storage_drive, metadata=self.metadata_drive
            ),
            cpu_ratio=self.server_cpu_ratio,
            network_ratio=self.server_network_ratio,
            disk_ratio=self.server_disk_ratio,
        )

    @property
    def abilities(self) -> frozenset[type[Ability]]:
        """A disk is slowed down by its cap, so it needs one."""
        capped = self.disk_cap and self.disk != "directory"
        return frozenset({TakesLinkDown, LosesPackets, *([SlowsDisks] if capped else [])})

    @property
    def models_power(self) -> bool:
        """Without caps a CPU's share of its board's watts is not known."""
        return self.cpu_cap

    def planned(self, clients_count: int) -> Hosts:
        """The catalogue's servers but for `servers`, and the clients."""
        host_places = self._places(clients_count)
        hosts = dataclasses.replace(
            planned(place.role for place in host_places), machine=ThisMachine(), reality=self.reality
        )
        for host, place in zip(hosts.all, host_places, strict=True):
            host.memory_bytes = place.memory_bytes
            if isinstance(host, HasDisks):
                host.disks_count = place.disks_count
            host.disk_bytes = (
                self.disk_size_bytes * place.disks_count
                if self.disk != "directory" and host.role != "client"
                else None
            )
        return hosts

    def _places(self, clients_count: int, machine_mips_per_core: float | None = None) -> list[CatalogueHost]:
        return places(
            self.hardware,
            clients_count=clients_count,
            servers_count=self.servers_count,
            scale=self.scale_ratio,
            machine_mips_per_core=machine_mips_per_core,
            memory_ratio=None if self._uncapped_memory else self.memory_ratio,
            disks_apart=self.disks_apart,
            cluster_network_ratio=self.cluster_network_ratio,
        )

    @contextlib.contextmanager
    def hold(self, clients_count: int, *, keep: bool = False) -> Generator[Hosts]:
        """Hold the hosts for the duration of the block; with `keep` they outlive it and this process, unless
        the block fails.

        Raises:
            MachineError: this machine lacks something, with the fix.
            CampaignError: there is no such cluster, or it has no client.
        """
        cluster = self.hardware
        for check in self.checks():
            if check.needed and not check.ok:
                raise MachineError(f"{check.name}: {check.detail}", next=check.fix)
        rated = cpu.mips_per_core() if self.cpu_cap else None
        host_places = self._places(clients_count, rated and rated.mips)
        caps, facts = _cpu_caps(host_places)
        facts |= {"machine_mips_per_core": rated.mips, "machine_mips_source": rated.source} if rated else {}
        clean()
        delays = {place.name: delay for place in host_places if (delay := self._delay(place.node))}
        rack = Rack("keep" if keep else "run", self._link, delays)
        is_up = False
        try:
            rack.start(host_places, caps, self._server_disk())
            any_host, *_ = rack.hosts  # all are on this machine
            if rated:
                any_host.doubt("rating", rated.doubt)
            facts["run"] = rack.run.id
            facts["network_cap"] = (
                f"tbf in both directions of every host at {self.scale_ratio:g} of the catalogue's TCP goodput"
            )
            if self.cluster_network_ratio:
                facts["cluster_network"] = {
                    place.name: place.cluster_address for place in host_places if place.cluster_address
                }
            if not self._link.bare:
                facts["network_delay"] = "netem where each host sends"
                facts["network_delay_s"], facts["network_loss_ratio"] = (
                    self._link.delay_s,
                    self._link.loss_ratio,
                )
            facts["disk"] = self.disk
            if self.disks_apart:
                facts["disks_apart"] = {place.name: place.disks_count for place in host_places}
            facts["disk_cap"] = rack.cap_disks(self.scale_ratio) if self.disk_cap else "none: not requested"
            if delays:
                facts["disk_delay"] = _delayed(delays)
                facts["disk_delay_s"] = {name: delay.ms / 1e3 for name, delay in delays.items()}
            facts |= memory.facts(host_places, self._uncapped_memory, limited=memory.limits(self.disk))
            facts["counters"] = rack.counters()
            facts["power"] = {"this machine": _power.facts(any_host)}
            if keep:
                rack.keep()
            yield Hosts(
                rack.hosts, self.scale_ratio, cluster, facts, machine=ThisMachine(), reality=self.reality
            )
            is_up = True
        finally:
            rack.close(remove=not (keep and is_up))

    def holder_pid(self, host: Host) -> int:
        """Return the process by which to enter a host: `nsenter -t PID -n -m -u -i -p`."""
        assert isinstance(host, VirtualHost)
        return host.pid

    @classmethod
    def clean(cls) -> Cleaned:
        """Remove what killed runs left, but no cluster that was made to stay (`hold(keep=True)`); who is not
        root is told what root left, which is not theirs.
        """
        root = os.geteuid() == 0
        of_root = (
            () if root else tuple(f"{run.folder}: root's; `sudo perjoule down` removes it" for run in dead())
        )
        return Cleaned(removed=clean() if root else (), left=(*of_root, *strangers(), *blocked()))

    def checks(self) -> tuple[Check, ...]:
        """Check what virtual hosts need on this machine."""
        caps = {"cpu_cap": self.cpu_cap, "disk_cap": self.disk_cap, "memory_cap": self.memory_cap}
        delays = filter(None, map(self._delay, self.hardware.nodes))
        return requirements.checks(
            self.disk, **caps, delayed_links=not self._link.bare, delay=next(delays, None)
        )

    def optional_checks(self) -> tuple[Check, ...]:
        """Check for netem, dm-delay and caps of memory."""
        return requirements.optional(self.disk)

    def ability_checks(self, abilities: Set[type[Ability]]) -> tuple[Check, ...]:
        """Check for netem, which loses packets."""
        return (requirements.netem(),) if LosesPackets in abilities else ()

    @property
    def _link(self) -> Link:
        """Half of the round trip in each direction, in wall time."""
        return Link((self.latency_s or 0.0) / 2 / self.scale_ratio, self.loss_ratio)

    def _delay(self, node: Node) -> Delay | None:
        """Of requests to a node's disks. Several of them are one disk here, with the slowest seek."""
        latency = self.disk_latency_s
        seek_s = catalogue.seek_s(node) if latency == "catalogue" else None
        latency_s = seek_s if latency == "catalogue" else latency
        if latency_s is None:
            return None
        return Delay(max(1, round(latency_s / self.scale_ratio * 1e3)), at_random=latency == "catalogue")

    @property
    def _uncapped_memory(self) -> str:
        """Why hosts have all of this machine's memory; "" if they are capped."""
        return memory.lack(self.disk) if self.memory_cap else "not requested"

    def _server_disk(self) -> Disk | None:
        options: dict[str, Any] = {"kind": self.disk, "size": exact_text(self.disk_size_bytes, BYTES)}
        return None if self.disk == "directory" else Disk(**options)


def _delayed(delays: Mapping[str, Delay]) -> str:
    """Say for the record what delays requests."""
    if any(delay.first_ms is None for delay in delays.values()):
        return f"none: {lacking()}"
    how = "dm-delay above each loop device, of whole milliseconds"
    return f"{how}, for loads at random" if any(delay.at_random for delay in delays.values()) else how


def _cpu_caps(host_places: Sequence[CatalogueHost]) -> tuple[dict[str, float], dict[str, Json]]:
    """Return cores by host, for hosts weaker than this machine, and the record's fact about caps."""
    cores = {
        place.name: place.cpu_capacity_cores for place in host_places if place.cpu_capacity_cores is not None
    }
    if not cores:
        return {}, {"cpu_cap": "none: not requested"}
    here_count = len(os.sched_getaffinity(0))
    caps = {name: count for name, count in cores.items() if count < here_count}
    return caps, {
        "cpu_cap": "CPU quota per host over all its threads; a single thread may be faster than on the real board",
        "cpu_cap_cores": dict[str, Json](caps),
        "cpu_cap_missing": list[Json](sorted(cores.keys() - caps.keys())),  # stronger than this machine
        "cpu_demand_ratio": sum(min(count, here_count) for count in cores.values()) / here_count,
    }
