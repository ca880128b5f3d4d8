"""Every deliberate stop: one sentence (where, what, what next), one exit code, stable or transient."""


class PerjouleError(Exception):
    """A stop that perjoule makes on purpose.

    Args:
        what: what is wrong, as a clause without a full stop.
        where: the place (file and line, host, daemon); may be empty.
        next: what the reader can do about it; may be empty.
    """

    exit_code = 1
    transient = False  # trying again, with nothing changed, may succeed

    def __init__(self, what: str, *, where: str = "", next: str = "") -> None:
        self.what, self.where, self.next = what, where, next
        super().__init__(f"{where}: {what}" if where else what)

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}" if self.where else self.what
        return f"{sentence}; {self.next}" if self.next else sentence


class CampaignError(PerjouleError):
    """The campaign (or the command line) asks for something that can't be."""

    exit_code = 2


class MachineError(PerjouleError):
    """This machine, or a results folder on it, is not ready for the request."""

    exit_code = 3


class WorkloadError(PerjouleError):
    """A file system or a workload did not do what it was asked to."""

    exit_code = 4


class TransientError(WorkloadError):
    """The same, but a fresh deployment may well succeed (a daemon died, a time limit passed)."""

    transient = True


class Interrupted(PerjouleError):
    """Stopped by the user or a signal; `perjoule resume` goes on."""

    exit_code = 5
