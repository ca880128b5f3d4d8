"""A server is back: all that has happened to it is undone.

Its link comes up, its disks are as fast as before, and its daemons start again on their data, or on an empty
disk instead of a failed one.
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted, ServerEvent, Work
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "40 s"\nkind = "back"\nhost = "storage-2"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Back(ServerEvent):
    """It undoes whatever else happened to the server since it was last back."""

    brings: ClassVar = "back"

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> Work | None:
        """Undo all, links and disks before the daemons that need them, and return what takes longer."""
        in_order = sorted(standing, key=lambda event: event.takes in ("daemons", "disk"))
        works = [work for event in in_order if (work := event.undo(host, mounted))]

        def rest() -> None:
            for work in works:
                work()

        return rest if works else None
