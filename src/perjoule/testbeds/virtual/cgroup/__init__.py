"""Control groups of a virtual cluster: caps of CPU, memory and disks, and counters, by cgroup v1 or v2,
whichever is here.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from perjoule.testbeds.virtual.cgroup import v1, v2
from perjoule.testbeds.virtual.cgroup.protocol import PREFIX, ROOT, Groups, period_us, places, quota_us
from perjoule.testbeds.virtual.cgroup.v1 import Groups1
from perjoule.testbeds.virtual.cgroup.v2 import Groups2

__all__ = [
    "Groups",
    "Groups1",
    "Groups2",
    "controllers",
    "groups",
    "period_us",
    "quota_us",
    "read_only",
    "runs",
    "uncap",
]


def controllers(root: Path = ROOT) -> tuple[int, frozenset[str]]:
    """Return which version of control groups has the CPU controller here (0: none), and which of "cpu", "io",
    "memory" it caps.

    Of version 1, a controller counts if its caps are there.
    """
    if (root / "cpu" / "cpu.cfs_quota_us").exists() or (root / "cpu" / "cpu.shares").exists():
        return 1, frozenset(name for name, file in v1.CAPPED_BY.items() if (root / file).exists())
    with contextlib.suppress(OSError):
        available = set((root / "cgroup.controllers").read_text().split())
        if "cpu" in available:
            return 2, frozenset(available & v1.CAPPED_BY.keys())
    return 0, frozenset()


def read_only(root: Path = ROOT) -> bool:
    """Whether control groups are mounted read-only, as in a container without privileges."""
    # systemd mounts the folder of version 1's hierarchies read-only
    place = root / "cpu" if (root / "cpu").exists() else root
    return place.exists() and bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def groups(run: str, root: Path = ROOT) -> Groups:
    """Return the groups of a run, in the version that this machine has."""
    return Groups1(run, root) if controllers(root)[0] == 1 else Groups2(run, root)


def runs(root: Path = ROOT) -> set[str]:
    """List the runs that have groups here."""
    group_places = places(root, controllers(root)[0])
    return {
        folder.name.removeprefix(PREFIX) for place in group_places for folder in place.glob(f"{PREFIX}*/")
    }


def uncap(run: str, devices: Sequence[str], root: Path = ROOT) -> None:
    """Remove the caps of a run on its disks, because they outlive the disks."""
    v1.uncap(devices, root)
    v2.uncap(run, devices, root)
