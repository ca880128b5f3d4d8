"""Simulated hosts in a shed. https://en.wikipedia.org/wiki/Shed"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Hosts
from perjoule.model import OPTIONS
from perjoule.testbeds.simulated import SimulatedTestbed

EXAMPLE = '[testbed]\nkind = "shed"\ndoor = "red"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Shed(SimulatedTestbed):
    """The catalogue's hosts, indoors."""

    door: str = "green"
    """The colour of its door."""

    @contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold them, and say which door was open."""
        with super().hold(clients_count) as hosts:
            yield replace(hosts, facts={**hosts.facts, "door": self.door})
