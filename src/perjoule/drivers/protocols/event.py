"""What happens to a server, or to the file system as a whole, while a load runs: one file a kind in
`perjoule.events`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from perjoule.drivers.protocols.abilities import Ability
from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.filesystem import FileSystem, Mounted
from perjoule.drivers.protocols.host import Host
from perjoule.drivers.protocols.testbed import Testbed
from perjoule.drivers.protocols.testbed_abilities import HasEvents
from perjoule.model.errors import CampaignError

Work = Callable[[], None]  # takes longer than the event itself, and belongs to healing


ELSEWHERE = "use testbed virtual, or kill"


class Event:
    """One kind of event with its options. A driver inherits `ServerEvent` or `Command`."""

    # what a server is without until it is back; "": nothing
    takes: ClassVar[Literal["", "link", "daemons", "disk"]] = ""
    # a server: for the first time, or undoing what happened to it
    brings: ClassVar[Literal["", "new", "back"]] = ""
    needs: ClassVar[type[Ability] | None] = None  # what its server must be able to do
    only: ClassVar[str] = ""  # which servers, if only storage hosts: "only disks of storage hosts fail"
    single: ClassVar[str] = ""  # why a trial has at most one of them; "": it may have several

    def require_possible(self, testbed: Testbed, filesystem: FileSystem) -> None:
        """Check that it can happen there. Raises CampaignError: what they lack, with advice."""
        if self.needs and not (isinstance(testbed, HasEvents) and self.needs in testbed.abilities):
            raise CampaignError(self.needs.lack, next=ELSEWHERE)

    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it on any testbed; `HasEvents.ability_checks` knows more."""
        return ()


class ServerEvent(Event, ABC):
    """It happens to a server."""

    @abstractmethod
    def do(self, host: Host, mounted: Mounted, standing: Sequence["ServerEvent"]) -> Work | None:
        """Do it, and return what takes longer, if anything. Raises WorkloadError.

        Args:
            host: the server.
            mounted: the whole file system.
            standing: what has happened to the server since it was last back, in the order of time.
        """

    def undo(self, host: Host, mounted: Mounted) -> Work | None:
        """Have the server as it was, and return what takes longer, if anything. Raises WorkloadError."""
        return None


class Command(Event, ABC):
    """A command to the whole file system, which has no host."""

    @abstractmethod
    def do(self, mounted: Mounted, number: int) -> Work:
        """Return the command, the `number`-th of its kind in a trial."""
