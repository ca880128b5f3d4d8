"""Where hosts come from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from perjoule import catalogue
from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.hosts import Hosts
from perjoule.model import Reality
from perjoule.model.hardware import Cluster


class Testbed(ABC):
    """The source of hosts."""

    __test__: ClassVar[bool] = False  # the name is the field's; pytest is not to collect it
    # what its hosts are; on emulated and simulated ones this machine's cores do the work
    reality: ClassVar[Reality] = "real"
    deployment_s: ClassVar[float] = 0.0  # of hosts and a file system, up and down again, roughly
    also_called: ClassVar[Mapping[str, str]] = {}  # an option that it does not have -> what to write
    cluster: str = ""  # of the catalogue, whose hardware its hosts stand for; "": they are what they are
    scale_ratio: float = 1.0  # their speed over that hardware's

    @property
    def folder(self) -> Path | None:
        """The folder of this machine below which its hosts keep their files; None if they keep none on
        this machine.
        """
        return None

    @property
    def names_hosts(self) -> bool:
        """Whether `planned` gives its hosts the names that they will have when they are held."""
        return True

    @property
    def hardware(self) -> Cluster | None:
        """The hardware that its hosts stand for. Raises CampaignError: the catalogue has no such cluster."""
        return catalogue.cluster(self.cluster) if self.cluster else None

    @property
    def models_power(self) -> bool:
        """Whether watts can be modelled from the counters of its hosts."""
        return bool(self.cluster)

    @abstractmethod
    def planned(self, clients_count: int) -> Hosts:
        """Return the hosts that `hold` would provide, to plan a layout on.

        Raises CampaignError: it can't provide these.
        """

    @abstractmethod
    def hold(self, clients_count: int) -> AbstractContextManager[Hosts]:
        """Hold the servers and this many clients during the block, and leave nothing behind.

        Raises MachineError.
        """

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it, without changing anything."""
