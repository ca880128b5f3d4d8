"""cgroup v2. https://docs.kernel.org/admin-guide/cgroup-v2.html"""

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


@dataclass(frozen=True)
class Groups2(Groups):
    """cgroup v2: one hierarchy, hosts are its leaves."""

    run: str
    root: Path = ROOT
    version = 2
    open_texts: dict[tuple[str, str], OpenText] = field(
        default_factory=dict[tuple[str, str], OpenText], repr=False, compare=False
    )

    @property
    def roots(self) -> tuple[Path, ...]:
        """The run's own folder."""
        return (self.root / f"{PREFIX}{self.run}",)

    def make(self, host: str, cores: float | None) -> None:
        """Make a host's group, capped to this many cores."""
        (group,) = self.roots
        if not group.exists():
            available = set((self.root / "cgroup.controllers").read_text().split())
            # memory: write-back needs it
            enabled = " ".join(f"+{name}" for name in ("cpu", "io", "memory") if name in available)
            (self.root / "cgroup.subtree_control").write_text(enabled)
            group.mkdir()
            (group / "cgroup.subtree_control").write_text(enabled)
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
        return oom_killed_count(self._text(host, "memory.events"))

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
            fields = self._text(host, "io.stat").split()
        except OSError:
            return None, None
        return (
            sum(int(w.removeprefix("rbytes=")) for w in fields if w.startswith("rbytes=")),
            sum(int(w.removeprefix("wbytes=")) for w in fields if w.startswith("wbytes=")),
        )


def uncap(run: str, devices: Iterable[str], root: Path) -> None:
    """Remove the caps of a run on its disks."""
    for file in root.glob(f"{PREFIX}{run}/*/io.max"):
        for device in devices:
            with contextlib.suppress(OSError):
                file.write_text(f"{device} rbps=max wbps=max")
