"""A server's daemons end and start again at once. https://en.wikipedia.org/wiki/Crash-only_software"""

import time
from collections.abc import Sequence

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Killable, Mounted, ServerEvent, able
from perjoule.model import OPTIONS
from perjoule.model.units import Seconds

EXAMPLE = '[[event]]\nat = "20 s"\nkind = "stutter"\nhost = "storage-2"\nrest = "1 s"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Stutter(ServerEvent):
    """A crash whose daemons a service manager starts again."""

    rest_s: Seconds
    """Time between their end and their start."""

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """Do both."""
        daemons = able(mounted, Killable)
        daemons.kill(host)
        time.sleep(self.rest_s)
        daemons.revive(host)
