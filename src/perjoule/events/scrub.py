"""The file system reads all copies or parts of all data, and compares them with their checksums.

Its own command begins it: https://docs.ceph.com/en/latest/rados/configuration/osd-config-ref/#scrubbing
"""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Command, Mounted, Scrubs, Work, able
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "scrub"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Scrub(Command):
    """It is done when its command is given; the file system is healthy again once all are checked."""

    single: ClassVar = "which may last longer than the load"

    def do(self, mounted: Mounted, number: int) -> Work:
        """Return the command."""
        return able(mounted, Scrubs).scrub
