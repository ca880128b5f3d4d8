"""A tape as a file system. https://en.wikipedia.org/wiki/Linear_Tape_File_System"""

from collections.abc import Generator
from contextlib import contextmanager

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.filesystems.simulated import SimulatedFileSystem
from perjoule.model import OPTIONS

EXAMPLE = '[[filesystem]]\nkind = "tape"\nreel = "A"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Tape(SimulatedFileSystem):
    """It claims to be wound."""

    reel: str = "B"
    """The reel that is in."""

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Wind it."""
        with super().mount(hosts) as mounted:
            mounted.facts = {**mounted.facts, "reel": self.reel}
            yield mounted
