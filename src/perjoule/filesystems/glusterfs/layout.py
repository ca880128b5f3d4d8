"""A GlusterFS volume on paper: its bricks, and those over which a file lies. Impossible layouts are refused
here.

https://docs.gluster.org/en/latest/Administrator-Guide/Setting-Up-Volumes/
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perjoule.model import Redundancy
from perjoule.model.errors import CampaignError

if TYPE_CHECKING:
    from perjoule.filesystems.glusterfs import GlusterFS

Kind = Literal["dispersed", "replicated", "arbiter", "distributed"]


@dataclass(frozen=True)
class VolumeLayout:
    """A volume of `kind`: each `group_count` bricks in a row hold a file; with more groups, files are
    spread over them.
    """

    kind: Kind
    hosts_count: int
    bricks_per_host_count: int
    group_count: int
    redundancy: Redundancy  # of a group

    @property
    def bricks(self) -> tuple[tuple[int, int], ...]:
        """Each brick's host and number there, host by host, so those of a group are on different hosts."""
        return tuple(
            (host, number) for number in range(self.bricks_per_host_count) for host in range(self.hosts_count)
        )

    @property
    def data_hosts(self) -> tuple[int, ...]:
        """The hosts with a data brick: the third brick of each group with an arbiter holds none."""
        holding = [
            host
            for n, (host, _) in enumerate(self.bricks)
            if self.kind != "arbiter" or n % self.group_count != 2
        ]
        return tuple(sorted(set(holding)))

    @property
    def words(self) -> tuple[str, ...]:
        """Return the layout's arguments of `gluster volume create`."""
        return {
            "dispersed": ("disperse", str(self.group_count), "redundancy", str(self.redundancy.parity_count)),
            "replicated": ("replica", str(self.group_count)),
            "arbiter": ("replica", "3", "arbiter", "1"),
            "distributed": (),
        }[self.kind]


def shape(options: "GlusterFS", there_count: int) -> VolumeLayout:
    """Lay a volume out on this many hosts with disks. Raises CampaignError if that is impossible."""
    used_count = there_count if options.hosts_count is None else options.hosts_count
    per_host_count, parity_count, kind = (
        options.bricks_per_host_count,
        options.redundancy_count,
        options.layout,
    )
    # Without a number, a dispersed group is as large as hosts allow: no two of its bricks may be lost with
    # one host.
    groups = {
        "dispersed": options.disperse_count or used_count,
        "replicated": options.replicas,
        "arbiter": 3,
        "distributed": 1,
    }
    group_count, all_count = groups[kind], used_count * per_host_count
    wrong, then = "", ""
    if not there_count:
        wrong, then = "no host has disks for a brick", "use a testbed with storage hosts"
    elif used_count > there_count:
        wrong, then = (
            f"bricks need {used_count} hosts, but {there_count} have disks",
            f"set hosts to at most {there_count}",
        )
    elif kind == "dispersed" and 2 * parity_count >= group_count:
        wrong, most_count = (
            f"redundancy = {parity_count} is half or more of {group_count} bricks",
            (group_count - 1) // 2,
        )
        then = (
            f"set redundancy to at most {most_count}"
            if most_count
            else "a dispersed volume needs at least 3 bricks"
        )
    elif group_count > used_count:
        wrong = f"{group_count} bricks that share a file need as many hosts, but there are {used_count}"
        option = {"dispersed": "disperse", "replicated": "replicas"}.get(kind)
        then = f"set {option} to at most {used_count}" if option else f"an arbiter needs {group_count} hosts"
    elif all_count % group_count:
        wrong = f"{all_count} bricks can't be divided into groups of {group_count}"
        fitting_count = next(n for n in range(used_count, 0, -1) if n * per_host_count % group_count == 0)
        then = f"set hosts = {fitting_count}" if fitting_count >= group_count else ""
        then += f"{' or ' if then else 'set '}bricks_per_host = {group_count // math.gcd(used_count, group_count)}"
    if wrong:
        raise CampaignError(wrong, where="glusterfs", next=then)
    redundancy = Redundancy(2 if kind == "arbiter" else group_count, acknowledged="on disk")
    if kind == "dispersed":
        redundancy = Redundancy(
            data_count=group_count - parity_count, parity_count=parity_count, acknowledged="on disk"
        )
    return VolumeLayout(kind, used_count, per_host_count, group_count, redundancy)
