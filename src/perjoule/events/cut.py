"""A server's link to the network goes down, as if its cable were pulled.

https://man7.org/linux/man-pages/man8/ip-link.8.html
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted, ServerEvent, TakesLinkDown, able
from perjoule.model import OPTIONS

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "cut"\nhost = "storage-2"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Cut(ServerEvent):
    """Nobody reaches the server until back takes its link up."""

    takes: ClassVar = "link"
    needs: ClassVar = TakesLinkDown

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """Take it down."""
        able(host, TakesLinkDown).connect(up=False)

    def undo(self, host: Host, mounted: Mounted) -> None:
        """Take it up."""
        able(host, TakesLinkDown).connect(up=True)
