"""A GlusterFS volume on paper: its bricks, and those over which a file lies. Impossible layouts are refused here.

https://docs.gluster.org/en/latest/Administrator-Guide/Setting-Up-Volumes/
"""

from dataclasses import dataclass
from typing import Literal

from perjoule.model import Redundancy

Kind = Literal["dispersed", "replicated", "arbiter", "distributed"]


@dataclass(frozen=True)
class Layout:
    """A volume of `kind`: each `group_count` bricks in a row hold a file; with more groups, files are spread over them."""

    kind: Kind
    hosts_count: int
    bricks_per_host_count: int
    group_count: int
    redundancy: Redundancy  # of a group

    @property
    def bricks(self) -> tuple[tuple[int, int], ...]:
        """Each brick's host and number there, host by host, so those of a group are on different hosts."""
        return tuple((host, number) for number in range(self.bricks_per_host_count) for host in range(self.hosts_count))

    @property
    def data_hosts(self) -> tuple[int, ...]:
        """The hosts with a data brick: the third brick of each group with an arbiter holds none."""
        holding = [host for n, (host, _) in enumerate(self.bricks) if self.kind != "arbiter" or n % self.group_count != 2]
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
