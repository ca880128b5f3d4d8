"""SIGKILL ends all daemons of the file system on a server.

https://man7.org/linux/man-pages/man7/signal.7.html
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Killable, Mounted, ServerEvent, able
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "kill"\nhost = "storage-2"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Kill(ServerEvent):
    """The daemons end without a word; back starts them on their data."""

    takes: ClassVar = "daemons"

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """End them."""
        able(mounted, Killable).kill(host)

    def undo(self, host: Host, mounted: Mounted) -> None:
        """Start them again."""
        able(mounted, Killable).revive(host)
