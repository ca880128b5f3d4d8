"""Where hosts come from."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from perjoule import catalogue
from perjoule.drivers.protocols.abilities import Ability
from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.hosts import Hosts
from perjoule.drivers.protocols.tunable import Offered
from perjoule.model import Overwrite, Permit, Reality
from perjoule.model.hardware import Cluster


@dataclass(frozen=True)
class Cleaned:
    """What killed runs had left, and what became of it, each in words."""

    removed: tuple[str, ...] = ()
    put_back: tuple[str, ...] = ()  # settings of hosts that a run had changed
    left: tuple[str, ...] = ()  # does not bear perjoule's mark, or is in use: with the reason
    failures: tuple[str, ...] = ()  # should have been removed or put back, and could not be


class Footing(NamedTuple):
    """As whom perjoule acts on a host that is another machine, by sudo or not, and the work folder, below which it writes."""

    user: str = ""  # "": whom ssh's configuration names
    work: str = ""
    sudo: bool = False

    @property
    def text(self) -> str:
        """The user, in words."""
        user = self.user or "the user of your ssh configuration"
        return f"{user}, by sudo as root" if self.sudo else user


class Testbed(ABC):
    """The source of hosts."""

    __test__: ClassVar[bool] = False  # the name is the field's; pytest is not to collect it
    elsewhere: ClassVar[bool] = False  # its hosts are other machines: what is installed on this one says nothing of them
    eventful: ClassVar[bool] = False  # events can happen to its servers
    reality: ClassVar[Reality] = "real"  # what its hosts are; on emulated and simulated ones this machine's cores do the work
    deployment_s: ClassVar[float] = 0.0  # of hosts and a file system, up and down again, roughly
    also_called: ClassVar[Mapping[str, str]] = {}  # an option that it does not have -> what to write
    cluster: str = ""  # of the catalogue, whose hardware its hosts stand for; "": they are what they are
    scale_ratio: float = 1.0  # their speed over that hardware's

    @property
    def abilities(self) -> frozenset[type[Ability]]:
        """What its hosts are able to do, which options may decide."""
        return frozenset()

    @property
    def folder(self) -> Path | None:
        """The folder of this machine below which its hosts keep their files; None if they keep none on this machine."""
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

    def shown(self, named: Overwrite, clients_count: int, place: str) -> list[tuple[Permit, list[str]]]:
        """Describe, in lines, what would be lost with a device of each host at `place` (`Hosts.at`); none if they overwrite none.

        Raises:
            CampaignError: it can't be overwritten on one of them; the message says why.
            MachineError: what must be known of it can't be read.
        """
        return []

    @abstractmethod
    def planned(self, clients_count: int) -> Hosts:
        """Return the hosts that `hold` would provide, to plan a layout on. Raises CampaignError: it can't provide these."""

    def footing(self, host: str) -> Footing:
        """Return as whom perjoule acts on a host that is another machine, and where it writes."""
        return Footing()

    def offered(self, clients_count: int) -> Mapping[str, Offered]:
        """Ask its hosts which values they offer for tunable options, by name: "power.cpu_governor". Nothing is changed.

        Raises:
            CampaignError: it can't provide these hosts.
            MachineError: one of them can't be asked.
        """
        return {}

    @property
    def lease_s(self) -> float:
        """For how long it can hold its hosts, from now on; inf if nobody ends that."""
        return math.inf

    def awaited(self) -> Iterator[str]:
        """Wait until its hosts can be held, where somebody lends them; yields what it waits for. Raises MachineError."""
        return iter(())

    @abstractmethod
    def hold(self, clients_count: int) -> AbstractContextManager[Hosts]:
        """Hold the servers and this many clients during the block, and leave nothing behind. Raises MachineError."""

    @classmethod
    def clean(cls) -> Cleaned:
        """Remove what killed runs left of hosts from here; whatever is in use stays. Raises MachineError: this user may not."""
        return Cleaned()

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it, without changing anything."""

    def optional_checks(self) -> tuple[Check, ...]:
        """Check what options need that are off by default, so that `doctor` can say whether they work here; none is needed."""
        return ()

    def ability_checks(self, abilities: Set[type[Ability]]) -> tuple[Check, ...]:
        """Check what this machine needs besides so that its hosts have these of their `abilities`."""
        return ()

    def lacking(self, clients_count: int, wanted: Sequence[Check]) -> tuple[Check, ...]:
        """Return what its hosts lack, or have too much of, as far as `checks` can't know it; call it right after `checks`.

        `look` of a wanted check is "program NAME|NAME FOLDERS" (any of the names, by default on the host's own PATH), "library
        MODULE PYTHON", "path PATH", "kernel FILESYSTEM", "setting PATH VALUE" (which a kernel without that path passes), "root",
        "port NUMBER..." (nobody listens there), "nothing PATH" (there is no such file), "without PROGRAM..." (none runs that we
        did not start), "unexported" (its kernel exports nothing by NFS that is not ours), or "free BYTES" (of the work folder,
        beside the reserve of its disk).
        """
        return ()
