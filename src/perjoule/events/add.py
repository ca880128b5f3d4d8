"""A storage host joins, without which the file system began, and takes its share of the data.

The manuals of the file systems say how: https://docs.ceph.com/en/latest/rados/operations/add-or-rm-osds/
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Growable, Host, Mounted, ServerEvent, Work, able
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "add"\nhost = "storage-4"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Add(ServerEvent):
    """A host that was there, but not of the file system, is of it from now on."""

    brings: ClassVar = "new"
    only: ClassVar = "only storage hosts join"

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> Work:
        """Return what has it serve."""
        return partial(able(mounted, Growable).add, host)
