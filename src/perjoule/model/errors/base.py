"""What an error is: one sentence (what, where, next), an id, an exit code, stable or transient."""

from collections.abc import Mapping
from types import MappingProxyType

from perjoule.model.withheld import withheld


class PerjouleError(Exception):
    """A deliberate stop. It repeats no login of an address: its words are printed, and kept in records.

    Args:
        what: what is wrong, as a clause without a full stop.
        where: the place (file and line, host, daemon); may be empty.
        next: what the reader can do about it; without it, the advice of its kind.
    """

    id = "error"  # in records and JSON; a subclass without one is of its parent's kind
    advice = ""
    exit_code = 1
    transient = False  # trying again, with nothing changed, may succeed

    def __init__(self, what: str, *, where: str = "", next: str = "") -> None:
        self.what, self.where, self.next = map(withheld, (what, where, next or self.advice))
        super().__init__(f"{self.where}: {self.what}" if where else self.what)

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}" if self.where else self.what
        return f"{sentence}; {self.next}" if self.next else sentence

    @property
    def data(self) -> dict[str, str]:
        """It as JSON data."""
        return {"id": self.id, "what": self.what, "where": self.where, "next": self.next}


class CampaignError(PerjouleError):
    """The campaign (or the command line) is invalid or impossible."""

    id = "campaign"
    exit_code = 2


class MachineError(PerjouleError):
    """This machine, or a results folder on it, is not ready for the request."""

    id = "machine"
    exit_code = 3


class WorkloadError(PerjouleError):
    """A file system or a workload failed."""

    id = "workload"
    exit_code = 4
    logs: Mapping[str, str] = MappingProxyType({})  # of daemons that are gone with what failed, by name


class TransientError(WorkloadError):
    """A failure that a fresh deployment may avoid (a daemon died, a time limit passed)."""

    id = "transient"
    transient = True


class PausedError(WorkloadError):
    """Time passed that no load took, or a clock was set: the numbers would be wrong.

    Another attempt may be right.
    """

    id = "paused"
    advice = "measure it again with `perjoule resume --failed`"


class Interrupted(PerjouleError):
    """Stopped by the user or a signal; `perjoule resume` continues."""

    id = "interrupted"
    exit_code = 5
