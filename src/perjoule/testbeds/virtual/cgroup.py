"""Control groups of a virtual cluster: caps of CPU, memory and disks, and counters, by cgroup v1 or v2, whichever is here.

https://docs.kernel.org/admin-guide/cgroup-v1/ and https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.machine import removal
from perjoule.testbeds._kernel import Kept

ROOT = Path("/sys/fs/cgroup")
PREFIX = "perjoule-"  # a group of ours: perjoule-RUN/HOST
_HIERARCHIES = ("cpu", "cpuacct", "memory")  # of cgroup v1; hosts stay in the root group of blkio, see `Groups1.cap_disk`
_RULES = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_CAPPED_BY = {  # of cgroup v1: the file of each cap
    "cpu": "cpu/cpu.cfs_quota_us",
    "io": f"blkio/{_RULES[0]}",
    "memory": "memory/memory.limit_in_bytes",
}
_QUOTA_LEAST_US = 1000  # the kernel takes no less


def quota_us(cores: float, period_us: int) -> int:
    """Return the CPU time per period that caps a group to this many cores."""
    return max(_QUOTA_LEAST_US, round(cores * period_us))


def period_us(cores: float) -> int:
    """Return a short period, so a capped host slows down instead of stalling; never below the least quota."""
    return 20_000 if cores >= 0.1 else 100_000


class Groups(ABC):
    """The groups of one run, a leaf per host."""

    version: int
    run: str
    root: Path
    kept: dict[tuple[str, str], Kept]  # counters that were read, by host and name

    @property
    @abstractmethod
    def roots(self) -> tuple[Path, ...]:
        """The run's own folder in each hierarchy."""

    @abstractmethod
    def make(self, host: str, cores: float | None) -> None:
        """Make a host's group, capped to this many cores (None: not capped)."""

    @abstractmethod
    def cap_memory(self, host: str, count_bytes: int) -> None:
        """Cap what a host's programs and their page cache take; nothing of it may go to this machine's swap."""

    @abstractmethod
    def killed_count(self, host: str) -> int:
        """Return how many programs of a host the kernel has killed for lack of memory. Raises OSError."""

    @abstractmethod
    def cap_disk(self, host: str, device: str, read_bytes_per_s: float, written_bytes_per_s: float) -> str:
        """Cap a host's reads from and writes to a device ("7:0"); return what is capped and what is not."""

    @abstractmethod
    def cpu_s(self, host: str) -> float | None:
        """Return the CPU time of the host so far."""

    @abstractmethod
    def disk_bytes(self, host: str) -> tuple[int | None, int | None]:
        """Return bytes read and written on all devices; None where they are unknown."""

    def _text(self, host: str, name: str) -> str:
        """Read a counter of a host's group."""
        if (host, name) not in self.kept:
            self.kept[host, name] = Kept(self._counter(host, name))
        return self.kept[host, name].text()

    @abstractmethod
    def _counter(self, host: str, name: str) -> Path:
        """Return the path of a host's counter."""

    def doors(self, host: str) -> tuple[str, ...]:
        """Return the files through which a process joins the host's groups."""
        return tuple(str(root / host / "cgroup.procs") for root in self.roots)

    def pids(self) -> set[int]:
        """Return every process in the run's groups that we can see."""
        return self._pids() - {0}

    def unseen(self) -> bool:
        """Return whether the run's groups have processes without a pid here, because they belong to a container."""
        return 0 in self._pids()

    def _pids(self) -> set[int]:
        found: set[int] = set()
        for root in self.roots:
            for procs in (root / "cgroup.procs", *root.glob("*/cgroup.procs")):
                with contextlib.suppress(OSError):
                    found.update(int(word) for word in procs.read_text().split())
        return found

    def remove(self) -> bool:
        """Remove the run's groups as far as no process is in them. Returns whether they are gone."""
        left = tuple(place / f"{PREFIX}{self.run}" for place in _places(self.root, self.version))
        for root in left:
            for folder in (*root.glob("*/"), root):
                removal.remove_empty(folder)
        return not any(root.exists() for root in left)


@dataclass(frozen=True)
class Groups1(Groups):
    """cgroup v1: a hierarchy per controller."""

    run: str
    root: Path = ROOT
    version = 1
    kept: dict[tuple[str, str], Kept] = field(default_factory=dict[tuple[str, str], Kept], repr=False, compare=False)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The run's own folder in each hierarchy; controllers mounted together share one."""
        mounted = {(self.root / name).resolve(): None for name in _HIERARCHIES if (self.root / name).is_dir()}
        return tuple(path / f"{PREFIX}{self.run}" for path in mounted)

    def doors(self, host: str) -> tuple[str, ...]:
        """Return the files through which a process joins the host's groups, and the root group of blkio."""
        root = self.root / "blkio" / "cgroup.procs"
        return (*super().doors(host), *([str(root)] if root.exists() else ()))

    def _file(self, controller: str, host: str, name: str) -> Path:
        return self.root / controller / f"{PREFIX}{self.run}" / host / name

    def make(self, host: str, cores: float | None) -> None:
        """Make a host's group, capped to this many cores."""
        for root in self.roots:
            (root / host).mkdir(parents=True)
        if cores is not None:
            period = period_us(cores)
            self._file("cpu", host, "cpu.cfs_period_us").write_text(str(period))
            self._file("cpu", host, "cpu.cfs_quota_us").write_text(str(quota_us(cores, period)))

    def cap_memory(self, host: str, count_bytes: int) -> None:
        """Cap a host's memory, and memory with swap where the kernel counts that."""
        self._file("memory", host, "memory.limit_in_bytes").write_text(str(count_bytes))
        with_swap = self._file("memory", host, "memory.memsw.limit_in_bytes")
        if with_swap.exists():
            with_swap.write_text(str(count_bytes))

    def killed_count(self, host: str) -> int:
        """Return how many programs were killed, from memory.oom_control."""
        return _killed_count(self._text(host, "memory.oom_control"))

    def cap_disk(self, host: str, device: str, read_bytes_per_s: float, written_bytes_per_s: float) -> str:
        """Cap a device, which only this host uses, in the root group.

        The kernel's write-back is always charged to that group, so a host that has one of its own would have two limits, and
        a host that syncs while the kernel writes back would write up to twice as fast.
        """
        for name, bytes_per_s in zip(_RULES, (read_bytes_per_s, written_bytes_per_s), strict=True):
            (self.root / "blkio" / name).write_text(f"{device} {round(bytes_per_s)}")
        return "blkio.throttle (cgroup v1): reads and writes, the kernel's write-back included"

    def cpu_s(self, host: str) -> float | None:
        """Return the CPU time of the host so far."""
        return int(self._text(host, "cpuacct.usage")) / 1e9

    def _counter(self, host: str, name: str) -> Path:
        return self._file(name.partition(".")[0], host, name)

    def disk_bytes(self, host: str) -> tuple[int | None, int | None]:
        """Return that both are unknown: all hosts are in one group."""
        return None, None


@dataclass(frozen=True)
class Groups2(Groups):
    """cgroup v2: one hierarchy, hosts are its leaves."""

    run: str
    root: Path = ROOT
    version = 2
    kept: dict[tuple[str, str], Kept] = field(default_factory=dict[tuple[str, str], Kept], repr=False, compare=False)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The run's own folder."""
        return (self.root / f"{PREFIX}{self.run}",)

    def make(self, host: str, cores: float | None) -> None:
        """Make a host's group, capped to this many cores."""
        (group,) = self.roots
        if not group.exists():
            there = set((self.root / "cgroup.controllers").read_text().split())
            wanted = " ".join(f"+{name}" for name in ("cpu", "io", "memory") if name in there)  # memory: write-back needs it
            (self.root / "cgroup.subtree_control").write_text(wanted)
            group.mkdir()
            (group / "cgroup.subtree_control").write_text(wanted)
        (group / host).mkdir()
        if cores is not None:
            period = period_us(cores)
            (group / host / "cpu.max").write_text(f"{quota_us(cores, period)} {period}")

    def cap_memory(self, host: str, count_bytes: int) -> None:
        """Cap a host's memory, without swap where the kernel has it."""
        folder = self.roots[0] / host
        (folder / "memory.max").write_text(str(count_bytes))
        if (folder / "memory.swap.max").exists():
            (folder / "memory.swap.max").write_text("0")

    def killed_count(self, host: str) -> int:
        """Return how many programs were killed, from memory.events."""
        return _killed_count(self._text(host, "memory.events"))

    def cap_disk(self, host: str, device: str, read_bytes_per_s: float, written_bytes_per_s: float) -> str:
        """Cap a device."""
        rule = f"{device} rbps={round(read_bytes_per_s)} wbps={round(written_bytes_per_s)}"
        (self.roots[0] / host / "io.max").write_text(rule)
        return "io.max (cgroup v2): reads and writes, the kernel's write-back included"

    def cpu_s(self, host: str) -> float | None:
        """Return the CPU time of the host so far."""
        text = self._text(host, "cpu.stat")
        return next(int(line.split()[1]) / 1e6 for line in text.splitlines() if line.startswith("usage_usec"))

    def _counter(self, host: str, name: str) -> Path:
        return self.roots[0] / host / name

    def disk_bytes(self, host: str) -> tuple[int | None, int | None]:
        """Return bytes read and written on all devices."""
        try:
            words = self._text(host, "io.stat").split()
        except OSError:
            return None, None
        return (
            sum(int(w.removeprefix("rbytes=")) for w in words if w.startswith("rbytes=")),
            sum(int(w.removeprefix("wbytes=")) for w in words if w.startswith("wbytes=")),
        )


def controllers(root: Path = ROOT) -> tuple[int, frozenset[str]]:
    """Return which version of control groups has the CPU controller here (0: none), and which of "cpu", "io", "memory" it caps.

    Of version 1, a controller counts if its caps are there.
    """
    if (root / "cpu" / "cpu.cfs_quota_us").exists() or (root / "cpu" / "cpu.shares").exists():
        return 1, frozenset(name for name, file in _CAPPED_BY.items() if (root / file).exists())
    with contextlib.suppress(OSError):
        there = set((root / "cgroup.controllers").read_text().split())
        if "cpu" in there:
            return 2, frozenset(there & _CAPPED_BY.keys())
    return 0, frozenset()


def groups(run: str, root: Path = ROOT) -> Groups:
    """Return the groups of a run, in the version that this machine has."""
    return Groups1(run, root) if controllers(root)[0] == 1 else Groups2(run, root)


def runs(root: Path = ROOT) -> set[str]:
    """List the runs that have groups here."""
    places = _places(root, controllers(root)[0])
    return {folder.name.removeprefix(PREFIX) for place in places for folder in place.glob(f"{PREFIX}*/")}


def _places(root: Path, version: int) -> list[Path]:
    """Return where groups of ours can be: with version 1 in any hierarchy, because an earlier perjoule used others."""
    return list(root.glob("*/")) if version == 1 else [root]


def uncap(run: str, devices: Iterable[str], root: Path = ROOT) -> None:
    """Remove the caps of a run on its disks, because they outlive the disks."""
    for name in _RULES:
        for device in devices:
            _write(root / "blkio" / name, f"{device} 0")
    for file in root.glob(f"{PREFIX}{run}/*/io.max"):
        for device in devices:
            _write(file, f"{device} rbps=max wbps=max")


def _killed_count(text: str) -> int:
    """Read the counter "oom_kill"; kernels before 4.13 have none, and count as 0."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0)


def _write(file: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        file.write_text(text)
