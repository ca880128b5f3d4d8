"""A GlusterFS volume on paper: which bricks there are and over which of them a file lies. Impossible ones are refused here.

https://docs.gluster.org/en/latest/Administrator-Guide/Setting-Up-Volumes/
"""

import math
from dataclasses import dataclass
from typing import Literal

from perjoule.model import Redundancy
from perjoule.model.errors import CampaignError

Kind = Literal["dispersed", "replicated", "arbiter", "distributed"]


@dataclass(frozen=True)
class Layout:
    """A volume of `kind`: each `group_count` bricks in a row hold a file; with more groups files are spread over them."""

    kind: Kind
    hosts_count: int
    bricks_per_host_count: int
    group_count: int
    redundancy_count: int = 0  # of a dispersed group

    @property
    def bricks(self) -> tuple[tuple[int, int], ...]:
        """Each brick's host and number there, host by host, so that those of a group are on different hosts."""
        return tuple((host, number) for number in range(self.bricks_per_host_count) for host in range(self.hosts_count))

    @property
    def data_hosts(self) -> tuple[int, ...]:
        """The hosts with a brick that holds data: the third of each group with an arbiter holds none."""
        holding = [host for n, (host, _) in enumerate(self.bricks) if self.kind != "arbiter" or n % self.group_count != 2]
        return tuple(sorted(set(holding)))

    @property
    def words(self) -> tuple[str, ...]:
        """The layout as `gluster volume create` wants it."""
        return {
            "dispersed": ("disperse", str(self.group_count), "redundancy", str(self.redundancy_count)),
            "replicated": ("replica", str(self.group_count)),
            "arbiter": ("replica", "3", "arbiter", "1"),
            "distributed": (),
        }[self.kind]

    @property
    def redundancy(self) -> Redundancy:
        """Bricks pass a client's fsync on to their disks, and it waits for all bricks of a group."""
        if self.kind == "dispersed":
            parity_count = self.redundancy_count
            return Redundancy(data_count=self.group_count - parity_count, parity_count=parity_count, acknowledged="on disk")
        return Redundancy(2 if self.kind == "arbiter" else self.group_count, acknowledged="on disk")


def layout(
    kind: Kind,
    there_count: int,
    *,
    hosts_count: int | None,
    bricks_per_host_count: int,
    disperse_count: int | None,
    redundancy_count: int,
    replicas: int,
) -> Layout:
    """Lay a volume out; arguments are the driver's options, `there_count` is how many hosts have disks. Raises CampaignError."""
    used_count = there_count if hosts_count is None else hosts_count
    all_count = used_count * bricks_per_host_count
    # Without a number, a dispersed group is as large as hosts allow: no two of its bricks may be lost with one host.
    group_count = {"dispersed": disperse_count or used_count, "replicated": replicas, "arbiter": 3, "distributed": 1}[kind]
    wrong, then = "", ""
    if not there_count:
        wrong, then = "no host has disks for a brick", "use a testbed with storage hosts"
    elif used_count > there_count:
        wrong = f"bricks need {used_count} hosts, but {there_count} have disks"
        then = f"set hosts to at most {there_count}"
    elif kind == "dispersed" and 2 * redundancy_count >= group_count:
        wrong = f"redundancy = {redundancy_count} is half or more of {group_count} bricks"
        most_count = (group_count - 1) // 2
        then = f"set redundancy to at most {most_count}" if most_count else "a dispersed volume needs at least 3 bricks"
    elif group_count > used_count:
        wrong = f"{group_count} bricks that share a file need as many hosts, but there are {used_count}"
        options = {"dispersed": f"set disperse to at most {used_count}", "replicated": f"set replicas to at most {used_count}"}
        then = options.get(kind, f"an arbiter needs {group_count} hosts")
    elif all_count % group_count:
        wrong = f"{all_count} bricks can't be divided into groups of {group_count}"
        fitting_count = next(n for n in range(used_count, 0, -1) if n * bricks_per_host_count % group_count == 0)
        then = f"set hosts = {fitting_count}" if fitting_count >= group_count else ""
        then += f"{' or ' if then else 'set '}bricks_per_host = {group_count // math.gcd(used_count, group_count)}"
    if wrong:
        raise CampaignError(wrong, where="glusterfs", next=then)
    return Layout(kind, used_count, bricks_per_host_count, group_count, redundancy_count if kind == "dispersed" else 0)
