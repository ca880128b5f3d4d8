"""Servers that nobody logs in to: power meters know them, and nothing else does."""

import time
from typing import Any, NoReturn

from perjoule.catalogue import Node
from perjoule.drivers.protocols import Counters, PlannedHost
from perjoule.model.errors import MachineError


class MeteredHost(PlannedHost):
    """A server that perjoule doesn't log in to: it has a name for meters, and no counters."""

    def __init__(self, name: str, role: str, address: str = "", node: Node | None = None) -> None:
        super().__init__(name, role)
        self.address, self.node = address, node

    def counters(self) -> Counters:
        """Return a gap."""
        return Counters(time.monotonic())

    def _no_login(self, *_: Any, **__: Any) -> NoReturn:
        problem, fix = (
            "nothing can run on this host: only meters know it",
            'measure what is mounted: kind = "directory"',
        )
        raise MachineError(problem, where=self.name, next=fix)

    run = spawn = put = read = tell = disk = device = drop_caches = _no_login
