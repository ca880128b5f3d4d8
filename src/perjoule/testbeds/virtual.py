"""Virtual hosts on this machine: network namespaces on a switch of their own, capped to a catalogue's hardware.

https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass as plain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.catalogue import Cluster, Node
from perjoule.errors import CampaignError, MachineError
from perjoule.model import OPTIONS, Json
from perjoule.protocols import Check, Host, Hosts, Testbed
from perjoule.testbeds import _cgroup, _disk, _mark, _power, _requirements, _shape
from perjoule.testbeds._host import Holder, VirtualHost
from perjoule.testbeds._mark import Mark, Run, clean
from perjoule.units import Bytes

__all__ = ["Virtual", "clean"]

EXAMPLE = '[testbed]\nkind = "virtual"\ncluster = "odroid-hc4"\nscale = 0.2\ndisk = "xfs"\n'
_SWITCH = "switch"


@plain(frozen=True)
class _Place:
    """A host to be."""

    name: str
    role: str
    node: Node
    address: str


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Virtual(Testbed):
    """One namespace per host of a catalogue's cluster, its network, CPU and disk capped to that hardware times `scale`."""

    cluster: str = "odroid-hc4"
    """Cluster of the catalogue that the hosts stand for."""
    scale_ratio: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Speed of CPUs, network and disks against the real ones; time is dilated alike."""
    servers_count: Annotated[int, Field(gt=0)] | None = None
    """Number of storage hosts; the catalogue's by default."""
    disk: Literal["directory", "ext4", "xfs", "btrfs"] = "ext4"
    """What a server's data lie on: a folder of this machine, or a disk in a file with a file system of its own."""
    disk_size_bytes: Annotated[Bytes, Field(ge=_disk.LEAST_BYTES)] = 8 * 1024**3
    """Size of each server's disk; the file is sparse."""
    disk_cap: bool = False
    """Cap disks to the bandwidth of the catalogue's, as far as this kernel can."""
    cpu_cap: bool = True
    """Cap CPUs to the catalogue's 7-zip rating."""

    @contextlib.contextmanager
    def hold(self, clients_count: int, *, keep: bool = False) -> Iterator[Hosts]:
        """Hold the hosts while the block runs; with `keep` they outlive this process, unless the block fails.

        Raises:
            MachineError: this machine lacks something, with what mends it.
            CampaignError: there is no such cluster.
        """
        cluster = catalogue.cluster(self.cluster)
        for check in self.checks():
            if check.needed and not check.ok:
                raise MachineError(f"{check.name}: {check.detail}", next=check.fix)
        clean()
        places = self._places(cluster, clients_count)
        try:
            run, lock = _mark.claim()
        except OSError as error:
            raise MachineError(
                f"no run folder can be made ({error.strerror})", where=str(error.filename), next="set PERJOULE_WORK to a folder"
            ) from None
        holders: list[Holder] = []
        hosts: list[VirtualHost] = []
        kept = False
        try:
            held = self._start(run, lock, cluster, places, holders, hosts, "keep" if keep else "run")
            if keep:
                for holder in holders:
                    holder.say("keep")
                run.kept.touch()
            yield held
            kept = keep
        finally:
            if not kept:
                _mark.remove(run)
            for holder in holders:
                holder.close()
                if not kept:
                    holder.child.ended(1.0)
            for host in hosts:
                if not kept:
                    host.reap()
            os.close(lock)

    def holder_pid(self, host: Host) -> int:
        """The process to enter a host by: `nsenter -t PID -n -m -u -p`."""
        assert isinstance(host, VirtualHost)
        return host.pid

    def _places(self, cluster: Cluster, clients_count: int) -> list[_Place]:
        found: list[_Place] = []

        def add(node: Node, count: int) -> None:
            before = sum(place.role == node.role for place in found)
            for number in range(before + 1, before + count + 1):
                found.append(_Place(f"{node.role}-{number}", node.role, node, _shape.address(len(found) + 1)))

        left_count = self.servers_count
        for node in cluster.nodes:
            if node.role == "client":
                continue
            count = node.count
            if node.role == "storage" and left_count is not None:
                last = node is [n for n in cluster.nodes if n.role == "storage"][-1]
                count = left_count if last else min(node.count, left_count)
                left_count -= count
            add(node, count)
        client = next((node for node in cluster.nodes if node.role == "client"), None)
        if client is None:
            raise CampaignError(f'cluster "{cluster.name}" has no client', next="add a node of role client to its file")
        add(client, clients_count)
        return found

    def _start(
        self,
        run: Run,
        lock: int,
        cluster: Cluster,
        places: list[_Place],
        holders: list[Holder],
        hosts: list[VirtualHost],
        mode: Literal["run", "keep"],
    ) -> Hosts:
        groups = _cgroup.groups(run.id)
        caps, facts = self._cpu_caps(places)
        try:
            for name in (_SWITCH, *(place.name for place in places)):
                groups.make(name, caps.get(name))
        except OSError as error:
            raise MachineError(
                f"control groups can't be made ({error.strerror})", where=str(error.filename), next="see `perjoule doctor`"
            ) from None
        disks = self._disks(run, lock, places)
        switch = Holder(Mark(run, _SWITCH, mode), groups, "", ())
        holders.append(switch)
        for place in places:
            tbf = _shape.tbf_words(self._goodput_bytes_per_s(place.node))
            holders.append(Holder(Mark(run, place.name, mode), groups, place.address, tbf))
        for holder in holders:
            holder.expect("ready")
        cables = [
            _shape.Cable(place.name, holder.pid, self._goodput_bytes_per_s(place.node))
            for place, holder in zip(places, holders[1:], strict=True)
        ]
        for tool, text in (("ip", _shape.plug_batch(cables)), ("tc", _shape.shape_batch(cables))):
            argv = ["nsenter", "-t", str(switch.pid), "-n", tool, "-batch", "-"]
            done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=20, check=False)
            if done.returncode:
                raise MachineError(f"{tool}: {done.stderr.strip()}", where=_SWITCH, next="see `perjoule doctor`")
        for holder in holders[1:]:
            holder.say("plugged")
        for holder in holders[1:]:
            holder.expect("up")
        for place, holder in zip(places, holders[1:], strict=True):
            disk = disks.get(place.name)
            hosts.append(
                VirtualHost(
                    place.name,
                    place.role,
                    place.address,
                    place.node,
                    run.folder / place.name,
                    holder.pid,
                    groups,
                    disk.name if disk else "",
                )
            )
            hosts[-1].cpu_capacity_cores = caps.get(place.name)
        facts["disk"] = self.disk
        facts["disk_cap"] = self._cap_disks(groups, places, disks)
        facts["network_cap"] = f"tbf in both directions of every host, {self.scale_ratio:g} of the catalogue's TCP goodput"
        facts["run"] = run.id
        return Hosts(tuple(hosts), self.scale_ratio, cluster, facts)

    def _goodput_bytes_per_s(self, node: Node) -> float:
        return node.board.nic_bytes_per_s.value * self.scale_ratio

    def _cpu_caps(self, places: list[_Place]) -> tuple[dict[str, float], dict[str, Json]]:
        if not self.cpu_cap:
            return {}, {"cpu_cap": "none"}
        mips, how = _power.mips_per_core()
        cores = {place.name: _power.cores(place.node.board.mips.value, self.scale_ratio, mips) for place in places}
        here_count = len(os.sched_getaffinity(0))
        caps = {name: count for name, count in cores.items() if count < here_count}
        facts: dict[str, Json] = {
            "cpu_cap": "sum over all threads of a host; a single thread may be faster than one on the real board",
            "cpu_cap_cores": dict(cores),
            "cpu_not_capped": sorted(cores.keys() - caps.keys()),  # stronger than this machine
            "cpu_demand_ratio": sum(min(count, here_count) for count in cores.values()) / here_count,
            "machine_mips_per_core": mips,
            "machine_mips_source": how,
        }
        return caps, facts

    def _disks(self, run: Run, lock: int, places: list[_Place]) -> Mapping[str, _disk.Loop]:
        for place in places:
            (run.folder / place.name).mkdir()
        servers = [place.name for place in places if place.role != "client"]
        if self.disk == "directory":
            return {}

        def make(name: str) -> _disk.Loop:
            image = run.folder / "disks" / f"{name}.img"
            return _disk.make(image, run.folder / name, self.disk, self.disk_size_bytes, lock=lock)

        (run.folder / "disks").mkdir()
        with ThreadPoolExecutor(4) as pool:
            return dict(zip(servers, pool.map(make, servers), strict=True))

    def _cap_disks(self, groups: _cgroup.Groups, places: list[_Place], disks: Mapping[str, _disk.Loop]) -> str:
        if not self.disk_cap:
            return "none"
        if not disks:
            return 'none: disk = "directory" has no device of its own'
        if "io" not in _cgroup.controllers()[1]:
            return "none: this kernel has no io controller here"
        said = "none: no host has disks in the catalogue"
        for place in places:
            if place.name in disks and place.node.disks:
                read = sum(disk.read_bytes_per_s.value for disk in place.node.disks) * self.scale_ratio
                written = sum(disk.write_bytes_per_s.value for disk in place.node.disks) * self.scale_ratio
                said = groups.cap_disk(place.name, disks[place.name].device, read, written)
        return said

    def checks(self) -> tuple[Check, ...]:
        """What this machine needs for virtual hosts."""
        return _requirements.checks(self.disk, cpu_cap=self.cpu_cap, disk_cap=self.disk_cap)
