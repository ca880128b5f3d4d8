"""A server's disk fails for good: SIGKILL ends the daemons, and all that the file system stored there is
erased.

An empty disk takes its place when the server is back. perjoule erases its own files and leaves the device
alone, so it needs no kernel with dm-error. https://docs.kernel.org/admin-guide/device-mapper/
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    ELSEWHERE,
    FileSystem,
    Host,
    Killable,
    LosesDisks,
    Mounted,
    ServerEvent,
    Testbed,
    Work,
    able,
)
from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "fail"\nhost = "storage-2"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Fail(ServerEvent):
    """The data on a storage host are lost; back has it serve again with none."""

    takes: ClassVar = "disk"
    only: ClassVar = "only disks of storage hosts fail"

    def require_possible(self, testbed: Testbed, filesystem: FileSystem) -> None:
        """Refuse a real disk: to erase it lasts and keeps it busy, as no failure does."""
        if testbed.reality == "real":
            raise CampaignError("its disks are real", next=ELSEWHERE)

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> Work:
        """End the daemons; the erasure follows."""
        able(mounted, Killable).kill(host)
        return partial(able(mounted, LosesDisks).erase, host)

    def undo(self, host: Host, mounted: Mounted) -> Work:
        """Return what puts an empty disk there."""
        return partial(able(mounted, LosesDisks).replace, host)
