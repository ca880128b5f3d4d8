"""What the tables of all clusters that others run have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.model import OPTIONS, ClusterState

_WHILE_DEGRADED = "Whether to measure it also while it lacks servers, disks or copies, or heals; then each trial has a doubt."


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class ClusterTable(ABC):
    """A cluster that others run."""

    late_s: ClassVar[float] = 0.0  # by which its counts of clients' bytes lag behind

    while_degraded: Annotated[bool, Field(description=_WHILE_DEGRADED)] = False

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check for its tools."""

    @abstractmethod
    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state by a client's tools, and how a folder's files are stored there; `loading` are the
        addresses of hosts that load.

        Raises WorkloadError: it does not answer, or not as it should.
        """
