"""A server loses packets that it sends, each by chance.

https://man7.org/linux/man-pages/man8/tc-netem.8.html
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, LosesPackets, Mounted, ServerEvent, able
from perjoule.model import OPTIONS
from perjoule.model.units import Ratio

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "lossy"\nhost = "storage-2"\nloss = "1 %"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Lossy(ServerEvent):
    """The link loses a share of the packets, besides those it lost at first, until back."""

    needs: ClassVar = LosesPackets

    loss_ratio: Annotated[Ratio, Field(gt=0, lt=1)]
    """Share of the packets that the host sends which are lost, as in "1 %"."""

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """Have them lost."""
        able(host, LosesPackets).lose_packets(self.loss_ratio)

    def undo(self, host: Host, mounted: Mounted) -> None:
        """Have only those lost that were lost at first."""
        able(host, LosesPackets).lose_packets(0.0)
