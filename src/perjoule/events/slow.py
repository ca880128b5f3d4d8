"""A server's disks get slower, by lower caps of their bandwidth.

https://docs.kernel.org/admin-guide/cgroup-v2.html#io
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    FileSystem,
    HasEvents,
    Host,
    Mounted,
    ServerEvent,
    SlowsDisks,
    Testbed,
    able,
)
from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "slow"\nhost = "storage-2"\nfactor = 10\n'
CAPS = 'set disk_cap = true and disk = "ext4" (or "xfs", "btrfs")'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Slow(ServerEvent):
    """The disks are slower than they were at first, until back."""

    needs: ClassVar = SlowsDisks

    factor: Annotated[float, Field(gt=1, le=1000)]
    """Factor by which the disks slow down."""

    def require_possible(self, testbed: Testbed, filesystem: FileSystem) -> None:
        """Refuse disks without a cap, which can't be lowered."""
        uncapped = isinstance(testbed, HasEvents) and SlowsDisks not in testbed.abilities
        if testbed.reality == "emulated" and uncapped:
            raise CampaignError("it caps no disks", next=CAPS)
        super().require_possible(testbed, filesystem)

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """Lower the caps."""
        able(host, SlowsDisks).slow_disks(self.factor)

    def undo(self, host: Host, mounted: Mounted) -> None:
        """Have the caps as they were."""
        able(host, SlowsDisks).slow_disks(1.0)
