"""cgroup v1. https://docs.kernel.org/admin-guide/cgroup-v1/"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.testbeds._kernel import OpenText
from perjoule.testbeds.virtual.cgroup.protocol import (
    PREFIX,
    ROOT,
    Groups,
    oom_killed_count,
    period_us,
    quota_us,
)

_HIERARCHIES = ("cpu", "cpuacct", "memory")  # hosts stay in the root group of blkio, see `Groups1.cap_disk`
_RULES = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
CAPPED_BY = {  # the file of each cap
    "cpu": "cpu/cpu.cfs_quota_us",
    "io": f"blkio/{_RULES[0]}",
    "memory": "memory/memory.limit_in_bytes",
}


@dataclass(frozen=True)
class Groups1(Groups):
    """cgroup v1: a hierarchy per controller."""

    run: str
    root: Path = ROOT
    version = 1
    open_texts: dict[tuple[str, str], OpenText] = field(
        default_factory=dict[tuple[str, str], OpenText], repr=False, compare=False
    )

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
        return oom_killed_count(self._text(host, "memory.oom_control"))

    def cap_disk(self, host: str, device: str, read_bytes_per_s: float, written_bytes_per_s: float) -> str:
        """Cap a device, which only this host uses, in the root group.

        The kernel's write-back is always charged to that group, so a host that has one of its own would have
        two limits, and a host that syncs while the kernel writes back would write up to twice as fast.
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


def uncap(devices: Iterable[str], root: Path) -> None:
    """Remove the caps on disks."""
    for name in _RULES:
        for device in devices:
            with contextlib.suppress(OSError):
                (root / "blkio" / name).write_text(f"{device} 0")
