"""Deliberate stops: one sentence (what, where, next), one exit code, stable or transient."""

from collections.abc import Mapping
from errno import EMFILE, ENFILE
from types import MappingProxyType

from perjoule.model.withheld import withheld

OPEN_FILES = (EMFILE, ENFILE)  # errors of a system that opens no more files


class PerjouleError(Exception):
    """A deliberate stop. It repeats no login of an address: its words are printed, and kept in records.

    Args:
        what: what is wrong, as a clause without a full stop.
        where: the place (file and line, host, daemon); may be empty.
        next: what the reader can do about it; may be empty.
    """

    exit_code = 1
    transient = False  # trying again, with nothing changed, may succeed

    def __init__(self, what: str, *, where: str = "", next: str = "") -> None:
        self.what, self.where, self.next = map(withheld, (what, where, next))
        super().__init__(f"{self.where}: {self.what}" if where else self.what)

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}" if self.where else self.what
        return f"{sentence}; {self.next}" if self.next else sentence


class CampaignError(PerjouleError):
    """The campaign (or the command line) is invalid or impossible."""

    exit_code = 2


class MachineError(PerjouleError):
    """This machine, or a results folder on it, is not ready for the request."""

    exit_code = 3


def too_many_open_files(place: str) -> MachineError:
    """Return the error of a limit of open files that is reached at a place."""
    return MachineError("too many open files", where=place, next="raise the limit of open files (ulimit -n)")


class WorkloadError(PerjouleError):
    """A file system or a workload failed."""

    exit_code = 4
    logs: Mapping[str, str] = MappingProxyType({})  # of daemons that are gone with what failed, by name


class TransientError(WorkloadError):
    """A failure that a fresh deployment may avoid (a daemon died, a time limit passed)."""

    transient = True


class PausedError(WorkloadError):
    """Time passed that no load took, or a clock was set: the numbers would be wrong, and another attempt
    may be right.
    """

    def __init__(
        self, what: str, *, where: str = "", next: str = "measure it again with `perjoule resume --failed`"
    ) -> None:
        super().__init__(what, where=where, next=next)


class Interrupted(PerjouleError):
    """Stopped by the user or a signal; `perjoule resume` continues."""

    exit_code = 5
