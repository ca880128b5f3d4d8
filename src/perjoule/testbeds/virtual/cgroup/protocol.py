"""What the groups of a run are in either version of control groups."""

import contextlib
from abc import ABC, abstractmethod
from pathlib import Path

from perjoule.machine import removal
from perjoule.testbeds._kernel import OpenText

ROOT = Path("/sys/fs/cgroup")
PREFIX = "perjoule-"  # a group of ours: perjoule-RUN/HOST
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
    open_texts: dict[tuple[str, str], OpenText]  # counters that were read, by host and name

    @property
    @abstractmethod
    def roots(self) -> tuple[Path, ...]:
        """The run's own folder in each hierarchy."""

    @abstractmethod
    def make(self, host: str, cores: float | None) -> None:
        """Make a host's group, capped to this many cores (None: not capped)."""

    @abstractmethod
    def cap_memory(self, host: str, count_bytes: int) -> None:
        """Cap what a host's programs and their page cache take; nothing of it may go to this machine's
        swap.
        """

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
        if (host, name) not in self.open_texts:
            self.open_texts[host, name] = OpenText(self._counter(host, name))
        return self.open_texts[host, name].text()

    @abstractmethod
    def _counter(self, host: str, name: str) -> Path:
        """Return the path of a host's counter."""

    def doors(self, host: str) -> tuple[str, ...]:
        """Return the files through which a process joins the host's groups."""
        return tuple(str(root / host / "cgroup.procs") for root in self.roots)

    def pids_of(self, host: str) -> tuple[int, ...]:
        """Return a host's processes. Raises OSError."""
        return tuple(
            int(pid) for root in self.roots[:1] for pid in (root / host / "cgroup.procs").read_text().split()
        )

    def pids(self) -> set[int]:
        """Return every process in the run's groups that we can see."""
        return self._pids() - {0}

    def unseen(self) -> bool:
        """Return whether the run's groups have processes without a pid here, because they belong to a
        container.
        """
        return 0 in self._pids()

    def _pids(self) -> set[int]:
        pids: set[int] = set()
        for root in self.roots:
            for procs in (root / "cgroup.procs", *root.glob("*/cgroup.procs")):
                with contextlib.suppress(OSError):
                    pids.update(int(pid) for pid in procs.read_text().split())
        return pids

    def remove(self) -> bool:
        """Remove the run's groups as far as no process is in them. Returns whether they are gone."""
        folders = tuple(place / f"{PREFIX}{self.run}" for place in places(self.root, self.version))
        for root in folders:
            for folder in (*root.glob("*/"), root):
                removal.remove_empty(folder)
        return not any(root.exists() for root in folders)


def places(root: Path, version: int) -> list[Path]:
    """Return where groups of ours can be: with version 1 in any hierarchy, because an earlier perjoule
    used others.
    """
    return list(root.glob("*/")) if version == 1 else [root]


def oom_killed_count(text: str) -> int:
    """Read the counter "oom_kill"; kernels before 4.13 have none, and count as 0."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0)
