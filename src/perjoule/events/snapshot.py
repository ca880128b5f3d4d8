"""The file system takes a snapshot of all that is in it, by its own command.

https://docs.ceph.com/en/latest/dev/cephfs-snapshots/
"""

from functools import partial

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Command, Mounted, TakesSnapshots, Work, able
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "snapshot"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Snapshot(Command):
    """The first of a trial is called perjoule-1."""

    def do(self, mounted: Mounted, number: int) -> Work:
        """Return the command."""
        return partial(able(mounted, TakesSnapshots).snapshot, f"perjoule-{number}")
