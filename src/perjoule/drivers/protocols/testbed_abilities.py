"""What a testbed may be able to do besides what `Testbed` requires, each asked as `abilities` says."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from perjoule.drivers.protocols.abilities import Ability
from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.host import Host
from perjoule.drivers.protocols.tunable import Offered
from perjoule.model import Overwrite, Permit


@dataclass(frozen=True)
class Cleaned:
    """What killed runs had left, and what became of it, each in words."""

    removed: tuple[str, ...] = ()
    put_back: tuple[str, ...] = ()  # settings of hosts that a run had changed
    left: tuple[str, ...] = ()  # does not bear perjoule's mark, or is in use: with the reason
    failures: tuple[str, ...] = ()  # should have been removed or put back, and could not be


class Footing(NamedTuple):
    """As whom perjoule acts on a host that is another machine, by sudo or not, and the work folder, below
    which it writes.
    """

    user: str = ""  # "": whom ssh's configuration names
    work: str = ""
    sudo: bool = False

    @property
    def text(self) -> str:
        """The user, in words."""
        user = self.user or "the user of your ssh configuration"
        return f"{user}, by sudo as root" if self.sudo else user


class HasEvents(Ability):
    """A testbed to whose servers events can happen."""

    @property
    @abstractmethod
    def abilities(self) -> frozenset[type[Ability]]:
        """What its hosts are able to do, which options may decide."""

    def ability_checks(self, abilities: Set[type[Ability]]) -> tuple[Check, ...]:
        """Check what this machine needs besides so that its hosts have these of their `abilities`; nothing
        by default.
        """
        return ()


class Elsewhere(Ability):
    """A testbed whose hosts are other machines: what is installed on this one says nothing of them."""

    @abstractmethod
    def footing(self, host: str) -> Footing:
        """Return as whom perjoule acts on a host that is another machine, and where it writes."""


class LooksAtHosts(Ability):
    """A testbed that asks its hosts what they lack."""

    @abstractmethod
    def lacking(self, clients_count: int, required: Sequence[Check]) -> tuple[Check, ...]:
        """Return what its hosts lack, or have too much of, as far as `checks` can't know it; call it right
        after `checks`.

        `look` of a wanted check is "program NAME|NAME FOLDERS" (any of the names, by default on the host's
        own PATH), "library MODULE PYTHON", "path PATH", "guarded PATH" (which no other user could change or
        lead elsewhere, if we are root; a missing path passes), "kernel FILESYSTEM", "setting PATH VALUE" (which
        a kernel without that path passes), "root", "port NUMBER..." (nobody listens there), "nothing PATH"
        (there is no such file), "without PROGRAM..." (none runs that we did not start), "unexported" (its
        kernel exports nothing by NFS that is not ours), or "free BYTES" (of the work folder, beside the
        reserve of its disk).
        """


class StandsReady(Ability):
    """A testbed whose first client runs commands that change nothing also before it is held."""

    @abstractmethod
    def first_client(self) -> Host:
        """Return it, with nothing of ours on it."""


class Awaits(Ability):
    """A testbed whose hosts are not always there to be held."""

    @abstractmethod
    def awaited(self) -> Iterator[str]:
        """Wait until its hosts can be held, where somebody lends them; yields what it waits for.

        Raises MachineError.
        """


class Leased(Ability):
    """A testbed whose hosts somebody lends for a time."""

    @property
    @abstractmethod
    def lease_s(self) -> float:
        """For how long it can hold its hosts, from now on; inf if nobody ends that."""


class OverwritesDevices(Ability):
    """A testbed on whose hosts a campaign may overwrite devices that it names."""

    @abstractmethod
    def shown(self, overwrite: Overwrite, clients_count: int, place: str) -> list[tuple[Permit, list[str]]]:
        """Describe, in lines, what would be lost with a device of each host at `place` (`Hosts.at`); none if
        they overwrite none.

        Raises:
            CampaignError: it can't be overwritten on one of them; the message says why.
            MachineError: what must be known of it can't be read.
        """


class OffersSettings(Ability):
    """A testbed whose hosts have settings that a campaign may change and tune."""

    @abstractmethod
    def offered(self, clients_count: int) -> Mapping[str, Offered]:
        """Ask its hosts which values they offer for tunable options, by name: "power.cpu_governor". Nothing
        is changed.

        Raises:
            CampaignError: it can't provide these hosts.
            MachineError: one of them can't be asked.
        """


class Cleans(Ability):
    """A testbed of which a killed run leaves something."""

    @classmethod
    @abstractmethod
    def clean(cls) -> Cleaned:
        """Remove what killed runs left of hosts from here; whatever is in use stays.

        Raises MachineError: this user may not.
        """


class HasExtras(Ability):
    """A testbed with options that are off by default and need more of this machine."""

    @abstractmethod
    def optional_checks(self) -> tuple[Check, ...]:
        """Check what options need that are off by default, so that `doctor` can say whether they work
        here; none is needed.
        """
