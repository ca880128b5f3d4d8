"""Meters that sit at the supplies of single drives: each probe has a name, and says which drive of which
host it feeds.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, boundary
from perjoule.drivers.protocols import Hosts, Outlet
from perjoule.meters._metered import Metered
from perjoule.model import DRIVE, OPTIONS

DISKS = "disks"
_DRIVES = (
    'What each probe, by its name, feeds: a drive as "storage-1/nvme0", all disks of a host as "storage-1", '
    '"" for what `covers` says.'
)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class AtDrives(Metered):
    """A meter with a probe for each drive. The description is not a docstring, for the reason in Metered."""

    adds_up: ClassVar[bool] = True  # whether probes that feed the same are added to one reading

    drives: Annotated[Mapping[str, str], Field(description=_DRIVES, min_length=1)]

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """What it feeds, and the hosts of the drives."""
        return {
            **super().named,
            "drives": tuple(fed.partition("/")[0] for fed in self.drives.values() if fed),
        }

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return its probes, those that are added to one reading as one.

        Raises CampaignError: no host has such a name.
        """
        if not self.drives:
            return super().outlets(hosts)
        for host in self.named["drives"]:
            boundary(self.label, (host,), hosts)
        extent = boundary(self.label, self.covers, hosts, self.component)
        each = {self.drives[probe] if self.adds_up else probe: probe for probe in self.drives}
        return [
            self.fed(extent, self.drives[probe], probe).outlet("drives", name) for name, probe in each.items()
        ]

    def fed(self, extent: Boundary, fed: str, probe: str) -> Boundary:
        """Return what a probe covers; a drive without a name is called after the probe."""
        host, _, drive = fed.partition("/")
        of_host = boundary(extent.meter, (host,), Hosts(())) if host else extent
        part = DRIVE + (drive or probe) if drive or not host else DISKS
        return Boundary(of_host.meter, of_host.host, self.component or part, of_host.covers)
