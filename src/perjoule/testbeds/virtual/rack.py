"""The hosts of one run and their switch: started together, taken down together."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from perjoule.drivers.protocols.disks import disk_folder
from perjoule.model import Disk, Json
from perjoule.model.errors import MachineError
from perjoule.testbeds import _disk
from perjoule.testbeds._delay import Delay
from perjoule.testbeds.virtual import cgroup, mark, network, runs
from perjoule.testbeds.virtual.holder import Holder
from perjoule.testbeds.virtual.host import VirtualHost
from perjoule.testbeds.virtual.mark import Mark
from perjoule.testbeds.virtual.topology import CatalogueHost

_SWITCH = "switch"
_FIX = "see `perjoule doctor`"
_TIMEOUT_S = 20.0


class Rack:
    """Names a run at once and makes nothing; `close` takes down what exists of it, even if `start` was
    interrupted.
    """

    def __init__(self, mode: Literal["run", "keep"], link: network.Link, delays: Mapping[str, Delay]) -> None:
        self.run, self._lock = runs.fresh(), -1
        self._mode: Literal["run", "keep"] = mode
        self._link = link
        self._delays = delays  # of disks, by host
        self._groups = cgroup.groups(self.run.id)
        self._holders: list[Holder] = []
        self.disks: Mapping[str, Sequence[_disk.Loop]] = {}  # of each server
        self.hosts: tuple[VirtualHost, ...] = ()

    def start(
        self, host_places: Sequence[CatalogueHost], caps: Mapping[str, float], disk: Disk | None
    ) -> None:
        """Bring everything up: `caps` are cores by host, `disk` is every server's disk.

        Raises MachineError.
        """
        try:
            self._lock = runs.claim(self.run)
        except OSError as error:
            problem = f"can't create a run's folder ({error.strerror})"
            raise MachineError(
                problem, where=str(error.filename), next="set PERJOULE_WORK to a folder that you can write to"
            ) from None
        try:
            for name in (_SWITCH, *(place.name for place in host_places)):
                self._groups.make(name, caps.get(name))
            for place in host_places:
                if place.memory_bytes is not None:
                    self._groups.cap_memory(place.name, place.memory_bytes)
            self._insert(host_places, disk)
            self._power_on(host_places)
        except (OSError, subprocess.SubprocessError) as error:
            raise MachineError(f"the virtual cluster did not start: {error}", next=_FIX) from None

    def _insert(self, host_places: Sequence[CatalogueHost], disk: Disk | None) -> None:
        # Before the hosts start: a mount is the same path in all of them and outside.
        for place in host_places:
            folder = self.run.folder / place.name
            folder.mkdir()
            folder.chmod(mark.FOLDER_MODE)
        if disk is None:
            return
        images = self.run.folder / "disks"
        images.mkdir()

        def make(place: CatalogueHost) -> list[_disk.Loop]:
            delay = self._delays.get(place.name)
            delay_ms = delay.first_ms if delay else None
            loops: list[_disk.Loop] = []
            for number in range(place.disks_count):
                folder = disk_folder(self.run.folder / place.name, number)
                folder.mkdir(exist_ok=True)
                image = images / f"{folder.name}.img"
                loops.append(_disk.make(image, folder, disk, lock=self._lock, delay_ms=delay_ms))
            return loops

        servers = [place for place in host_places if place.role != "client"]
        with ThreadPoolExecutor(4) as pool:
            names = [place.name for place in servers]
            self.disks = dict(zip(names, pool.map(make, servers), strict=True))

    def _power_on(self, host_places: Sequence[CatalogueHost]) -> None:
        switch = self._hold(_SWITCH, ())
        holders = [self._hold(place.name, _links(place, self._link)) for place in host_places]
        for holder in (switch, *holders):
            holder.expect("ready")
        placed = [(place, holder.pid) for place, holder in zip(host_places, holders, strict=True)]
        cables = [network.Cable(place.name, pid, place.goodput_bytes_per_s) for place, pid in placed]
        cables += [
            network.Cable(place.name, pid, place.cluster_goodput_bytes_per_s, 1)
            for place, pid in placed
            if place.cluster_address
        ]
        for tool, text in (
            ("ip", network.plug_batch(cables, self._link)),
            ("tc", network.shape_batch(cables)),
        ):
            argv = ["nsenter", "-t", str(switch.pid), "-n", tool, "-batch", "-"]
            completed = subprocess.run(
                argv, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
            if completed.returncode:
                raise MachineError(f"{tool}: {completed.stderr.strip()}", where=_SWITCH, next=_FIX)
        for holder in holders:
            holder.say("plugged")
        for holder in holders:
            holder.expect("up")
        self.hosts = tuple(
            VirtualHost(
                place,
                self.run.folder / place.name,
                pid,
                self._groups,
                next(iter(self.disks.get(place.name, ())), None),
                self._lock,
                further=self.disks.get(place.name, ())[1:],
                delay=self._delays.get(place.name),
                link=self._link,
            )
            for place, pid in placed
        )
        for host in self.hosts:
            host.limit_dirty_pages()

    def _hold(self, name: str, links: Sequence[tuple[str, str]]) -> Holder:
        holder = Holder(Mark(self.run, name, self._mode), self._groups, links)
        self._holders.append(holder)
        return holder

    def cap_disks(self, scale: float) -> str:
        """Cap every disk, including those that hosts make later; return what is capped and what is not."""
        if "io" not in cgroup.controllers()[1]:
            return "none: there is no io controller on this machine"
        capped = [capped_text for host in self.hosts if (capped_text := host.cap_disks(scale))]
        if not self.disks:
            return (
                'none: disk = "directory" has no device of its own; disks made for a file system are capped'
            )
        return (
            f"{capped[0]}; disks of hosts that have none in the catalogue are not"
            if capped
            else "none: no host has disks in the catalogue"
        )

    def counters(self) -> dict[str, Json]:
        """Return what the hosts' counters cover, and what they don't."""
        unknown = self._groups.version == 1 and not self.disks
        return {
            "cpu": "control group; work in interrupts (part of networking) is charged to the interrupted host",
            "network": "all interfaces; offload on: a packet of up to 64 KiB has one header, and framing is not counted",
            "disk": "the loop device"
            if self.disks
            else "unknown (cgroup v1)"
            if unknown
            else "control group",
        }

    def keep(self) -> None:
        """Let the hosts outlive this process."""
        for holder in self._holders:
            holder.say("keep")
        self.run.kept_file.touch()

    def close(self, *, remove: bool) -> None:
        """Release the run: take everything down, or leave it as it is."""
        if remove:
            runs.remove(self.run)
        for holder in self._holders:
            holder.close(reap=remove)
        for host in self.hosts if remove else ():
            host.reap()
        if self._lock >= 0:
            os.close(self._lock)


def _links(place: CatalogueHost, link: network.Link) -> list[tuple[str, str]]:
    """Return the address and the shape of what it sends in each of a host's networks."""
    links = [(place.address, network.sent_batch(place.goodput_bytes_per_s, link))]
    if place.cluster_address:
        shape = network.sent_batch(place.cluster_goodput_bytes_per_s, link, device="eth1")
        links.append((place.cluster_address, shape))
    return links
