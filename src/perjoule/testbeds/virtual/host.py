"""A virtual host: a computer in namespaces of this one, which a holder process keeps."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perjoule.drivers.protocols import (
    Completed,
    Counters,
    Host,
    LendsDevices,
    LosesPackets,
    Process,
    Seeks,
    SlowsDisks,
    TakesLinkDown,
)
from perjoule.drivers.protocols.disks import HasDisks, disk_number, nth_name
from perjoule.drivers.protocols.networks import HasClusterNetwork
from perjoule.machine import mirrors, removal
from perjoule.model import Disk
from perjoule.model.doubts import UNLIKE, Doubt
from perjoule.model.errors import CampaignError, MachineError, NotAble, WorkloadError
from perjoule.model.units import bytes_text
from perjoule.testbeds import _delay, _disk, _process, _put
from perjoule.testbeds._delay import Delay
from perjoule.testbeds._kernel import OpenText, read_once
from perjoule.testbeds.virtual import memory, network
from perjoule.testbeds.virtual.cgroup import Groups
from perjoule.testbeds.virtual.holder import joining
from perjoule.testbeds.virtual.switches import ContextSwitches
from perjoule.testbeds.virtual.topology import CatalogueHost

_UNMOUNT_S, _LINK_S = 20.0, 20.0


class VirtualHost(
    Host, HasClusterNetwork, HasDisks, LendsDevices, LosesPackets, Seeks, SlowsDisks, TakesLinkDown
):
    """A computer in namespaces of this one."""

    def __init__(
        self,
        place: CatalogueHost,
        directory: Path,
        pid: int,
        groups: Groups,
        disk: _disk.Loop | None,
        lock: int = -1,
        *,
        further: Sequence[_disk.Loop] = (),
        delay: Delay | None = None,
        link: network.Link = network.DIRECT,
    ) -> None:
        self.name, self.role, self.address, self.node = place.name, place.role, place.address, place.node
        self.cluster_address = place.cluster_address
        self.cpu_capacity_cores, self.memory_bytes = place.cpu_capacity_cores, place.memory_bytes
        self._killed_count = 0  # programs, for lack of memory
        self.directory = directory
        self.pid = pid  # of its holder
        self._groups = groups
        self._lock = lock  # of its run
        # of what it sends, by device
        self._goodputs_bytes_per_s = {"eth0": place.goodput_bytes_per_s}
        if place.cluster_address:
            self._goodputs_bytes_per_s["eth1"] = place.cluster_goodput_bytes_per_s
        self._link = link
        self._delay = delay
        # of each request to its disks; None: that can't be changed
        self._delay_ms = delay.first_ms if delay else None
        # By name, in pairs if mirrored; "" is the one under its directory.
        self._disks: dict[str, tuple[_disk.Loop, ...]] = {"": (disk,)} if disk else {}
        self._disks |= {nth_name("", number): (loop,) for number, loop in enumerate(further, start=1)}
        self.disks_count = 1 + len(further)
        self._stats: dict[_disk.Loop, OpenText] = {}
        self._before: dict[_disk.Loop, tuple[int, int, float]] = {}  # what they had moved before they came
        self._switches = ContextSwitches(lambda: groups.pids_of(place.name))
        self._doubts: dict[str, Doubt | None] = {}
        self._disk_scale: float | None = None  # caps are the catalogue's bandwidth times this
        self._enter = (
            *joining(groups, self.name),
            "nsenter",
            "-t",
            str(pid),
            "-n",
            "-m",
            "-u",
            "-i",
            "-p",
            "--",
        )
        self._programs: list[_process.Program] = []

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end inside the host, from its root folder."""
        return _process.run(
            self._enter, argv, where=self.name, timeout_s=timeout_s, check=check, text=text, env=env
        )

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Process:
        """Start a program that keeps running inside the host."""
        program = _process.Program(self._enter, argv, where=self.name, log=log, env=env, text=text)
        self._programs.append(program)
        return program

    def _outside(self, path: Path) -> Path:
        return Path(f"/proc/{self.pid}/root") / path.relative_to("/")

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file as the host sees it, making its folders if necessary."""
        inside = self._outside(self.directory)
        _put.put(content, self._outside(path), inside=inside, where=self.name, mode=mode, owner=owner)

    def read(self, path: Path) -> bytes:
        """Read a file as the host sees it."""
        try:
            return self._outside(path).read_bytes()
        except OSError as error:
            raise WorkloadError(f"can't read {path} ({error.strerror})", where=self.name) from None

    def tell(self, gate: Path, line: str) -> None:
        """Write a line to who waits at a gate."""
        _process.tell(self._outside(gate), line, where=self.name)

    def counters(self) -> Counters:
        """Read the host's counters from outside; None for what can't be read."""
        cpu_s = received = sent = disk_read = disk_written = disk_busy_s = None
        with contextlib.suppress(OSError):
            cpu_s = self._groups.cpu_s(self.name)
        with contextlib.suppress(OSError, ValueError):
            received, sent = network.ethernet_bytes(read_once(f"/proc/{self.pid}/net/dev"))
        with contextlib.suppress(OSError):
            if self._disks:
                # Of a copy: an event may add a disk meanwhile.
                moved = [self._moved(disk) for disks in tuple(self._disks.values()) for disk in disks]
                disk_read, disk_written, disk_busy_s = map(sum, zip(*moved, strict=True))
            else:
                disk_read, disk_written = self._groups.disk_bytes(self.name)
        return Counters(time.monotonic(), cpu_s, received, sent, disk_read, disk_written, disk_busy_s)

    def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
        """Read them at once."""
        counters_now = self.counters()
        if switches:
            counters_now = replace(counters_now, switches_count=self._switches.count(counters_now.t_s))
        return lambda: counters_now

    def _moved(self, disk: _disk.Loop) -> tuple[int, int, float]:
        """Return what it has moved since it is the host's; its device may have been another's before."""
        read, written, busy_s = _disk.moved(self._stat(disk))
        read_before, written_before, busy_before_s = self._before.get(disk, (0, 0, 0.0))
        return read - read_before, written - written_before, busy_s - busy_before_s

    def _attach(self, name: str, disks: tuple[_disk.Loop, ...]) -> None:
        """Have disks count from now on, capped as the host's others."""
        for disk in disks:
            self._stats.pop(disk, None)  # of an earlier device of the same number, which is gone
            self._before[disk] = _disk.moved(self._stat(disk))
        self._disks[name] = disks
        self._cap(name)
        self.limit_dirty_pages(disks)

    def _stat(self, disk: _disk.Loop) -> str:
        if disk not in self._stats:
            self._stats[disk] = OpenText(Path("/sys/block", disk.name, "stat"))
        return self._stats[disk].text()

    def disk(self, name: str, spec: Disk) -> Path:
        """Make a disk in a sparse file of the run's folder, replacing an earlier one of that name."""
        if spec.device:
            fix = "remove device (its disks are files), or use testbed local"
            raise CampaignError(
                f'device = "{spec.device}" does not work on a virtual host', where=self.name, next=fix
            )
        place, image = self.directory / name, self.directory.parent / "disks" / f"{self.name}-{name}.img"
        inside = ("nsenter", "-t", str(self.pid), "-m", "--")
        if old := self._disks.pop(name, None):
            _disk.unplug(self._outside(place), f"/dev/{old[0].name}")
            self.run(["umount", "--lazy", place], timeout_s=_UNMOUNT_S)
            if len(old) > 1:
                _disk.end(lambda: [loop for loop in _disk.below(image.parent) if loop in old])
        spec, self._doubts[name] = mirrors.possible(spec)
        try:
            for leg in (image, *image.parent.glob(f"{image.stem}.*-[12].img")):
                removal.remove_file(leg)
            place.mkdir(parents=True, exist_ok=True)
            if spec.mirror == "none":
                made = _disk.make(image, place, spec, lock=self._lock, inside=inside, delay_ms=self._delay_ms)
                self._attach(name, (made,))
            elif self._delay_ms is not None:
                problem = "mirrored disks can't be delayed"
                raise CampaignError(
                    problem,
                    where=self.name,
                    next="remove mirror from beneath, or disk_latency from the testbed",
                )
            else:
                self._attach(name, _disk.make_mirror(image, place, spec, lock=self._lock, inside=inside))
        except OSError as error:
            raise MachineError(
                f"can't make a disk ({error.strerror})", where=f"{self.name} {image}"
            ) from None
        return place

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a loop device on a sparse file of the run's folder, replacing an earlier one of that name."""
        if device:
            fix = "remove device (a file stands in for it), or use testbed local"
            raise CampaignError(
                f'device = "{device}" does not work on a virtual host', where=self.name, next=fix
            )
        image = self.directory.parent / "disks" / f"{self.name}-{name}.img"
        if old := self._disks.pop(name, None):
            _disk.detach(old[0])
        try:
            removal.remove_file(image)
            path = _disk.bare(image, size_bytes, lock=self._lock, delay_ms=self._delay_ms)
            number = Path(f"/sys/block/{path.name}/dev").read_text().strip()
            self._attach(name, (_disk.Loop(path.name, number, image),))
        except OSError as error:
            raise MachineError(
                f"can't make a device ({error.strerror})", where=f"{self.name} {image}"
            ) from None
        return path

    @property
    def copies_count(self) -> int:
        """2 with a mirror."""
        return max(map(len, self._disks.values()), default=1)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about mirrors that are impossible here, and those that `doubt` recorded."""
        return tuple(filter(None, self._doubts.values()))

    def doubt(self, about: str, raised: Doubt | None) -> None:
        """Add a doubt to every record; None withdraws it."""
        self._doubts[about] = raised

    def cap_disks(self, scale: float) -> str:
        """Cap each of its disks, now and in future, to its own in the catalogue times `scale`, or to the sum
        of all if it stands for them; return how.
        """
        self._disk_scale = scale
        return next(iter([self._cap(name) for name in self._disks]), "")

    def connect(self, *, up: bool) -> None:
        """Take all its links down at its own end, as its switch would see cables that are pulled."""
        for device in self._goodputs_bytes_per_s:
            argv = ["ip", "link", "set", "dev", device, "up" if up else "down"]
            self._in_network(argv)

    def _in_network(self, argv: Sequence[str], text: str | None = None) -> None:
        inside = ["nsenter", "-t", str(self.pid), "-n", *argv]
        _process.run([], inside, where=self.name, timeout_s=_LINK_S, check=True, text=text, env=None)

    def lose_packets(self, loss_ratio: float) -> None:
        """Have what it sends lost by netem.

        Connections that exist learn of it by their routes, which are looked up again.
        """
        link = replace(self._link, loss_ratio=1 - (1 - self._link.loss_ratio) * (1 - loss_ratio))
        for device, goodput_bytes_per_s in self._goodputs_bytes_per_s.items():
            self._in_network(["ip", "link", "set", "dev", device, *network.segments(link).split()])
            self._in_network(["ip", "route", "flush", "cache"])
            batch = network.sent_batch(goodput_bytes_per_s, link, "replace", device)
            self._in_network(["tc", "-batch", "-"], batch)

    def slow_disks(self, factor: float) -> None:
        """Divide the caps of its disks."""
        capped = [self._cap(name, factor) for name in self._disks]
        if not any(capped):
            raise NotAble("its disks have no caps, so they can't be slowed down", where=self.name)

    def seek(self, *, at_random: bool) -> None:
        """Delay the requests of a load at random, if its disks seek; if this kernel can't, such a load is
        doubted.
        """
        if self._delay is None or not self._delay.at_random:
            return
        if self._delay_ms is None:
            self.doubt("seek", UNLIKE.no_seeks(lack=_delay.lacking()) if at_random else None)
            return
        self._delay_ms = self._delay.ms if at_random else 0
        try:
            for disk in (disk_of_host for disks in self._disks.values() for disk_of_host in disks):
                _delay.change(disk.backing, self._delay_ms, lock=self._lock)
        except MachineError as error:
            raise WorkloadError(f"its disks can't seek: {error}", where=self.name) from None

    def limit_dirty_pages(self, disks: tuple[_disk.Loop, ...] | None = None) -> None:
        """Limit those of its disks to a share of its memory, where that is capped and the kernel can."""
        for disk in (
            (disk_of_host for pair in self._disks.values() for disk_of_host in pair)
            if disks is None
            else disks
        ):
            if self.memory_bytes is not None:
                memory.limit(disk.device, self.memory_bytes)

    def _cap(self, name: str, slower: float = 1.0) -> str:
        if self._disk_scale is None or self.node is None or not self.node.disks:
            return ""
        loops, drives = self._disks[name], self.node.disks
        share = self._disk_scale / slower
        if self.disks_count == 1:  # it stands for all of them, and so do the two of a mirror
            rates = [
                (
                    sum(drive.read_bytes_per_s.value for drive in drives) * share / len(loops),
                    sum(drive.write_bytes_per_s.value for drive in drives) * share / len(loops),
                )
            ] * len(loops)
        else:
            own = [drives[(disk_number(name) + n) % len(drives)] for n in range(len(loops))]
            rates = [
                (drive.read_bytes_per_s.value * share, drive.write_bytes_per_s.value * share) for drive in own
            ]
        capped = [
            self._groups.cap_disk(self.name, loop.device, read, written)
            for loop, (read, written) in zip(loops, rates, strict=True)
        ]
        return capped[0]

    def out_of_memory(self) -> str:
        """Return what the kernel killed in this host's control group since the last call."""
        if self.memory_bytes is None:
            return ""
        before = self._killed_count
        with contextlib.suppress(OSError):
            self._killed_count = self._groups.killed_count(self.name)
        count = self._killed_count - before
        programs = f"{count} of its programs" if count > 1 else "one of its programs"
        return (
            f"the kernel killed {programs}, because the host has {bytes_text(self.memory_bytes)} of memory"
            if count
            else ""
        )

    def drop_caches(self) -> None:
        """Write back and drop what the kernel of the whole machine caches, because virtual hosts share one
        kernel.
        """
        _process.drop_caches(where=self.name)

    def reap(self) -> None:
        """Record the end of every program, after the end of the host."""
        for program in self._programs:
            with contextlib.suppress(TimeoutError):
                program.wait(timeout_s=1.0)
