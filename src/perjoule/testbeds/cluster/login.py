"""A way onto a host: what the keeper's connection is made of."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from perjoule.model.errors import HostLost, MachineError, PerjouleError, RequirementsMissing, TransientError

# What shells, sudo and srun print without bash, or where the program of that name is another shell or too
# old.
_NO_BASH = re.compile(
    r"""\bbash['"\N{RIGHT SINGLE QUOTATION MARK}]?: (?:\d+: )?(?:not found|[Cc]ommand not found|No such file or directory)"""
    r"""|command not found: bash|Unknown command:? '?bash"""
)
_OTHER_BASH = re.compile(
    r"\b\w*sh: (?:\d+: )?(?:[Ii]llegal option -|unrecognized option.{0,20}norc|invalid option|unknown option|bad "
    r"option)"
)
OLD_BASH = "perjoule needs bash 5.0 or later"


class Login(ABC):
    """How to start a program on one host, with its standard streams here."""

    units: ClassVar[bool] = True
    """Whether its programs may be in a unit of systemd: not if something else holds them together, and
    accounts for them.
    """
    name: str

    @property
    @abstractmethod
    def where(self) -> str:
        """The host in error messages."""

    @abstractmethod
    def command(
        self, argv: Sequence[str], *, socket: str = "", master: bool = False, verb: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that runs an argument list on the host.

        `socket` is a path for the connection, if programs can share one; its `master` makes it, and ends with
        it. A login that needs sudo runs the helper's `verb` instead, where one is installed.
        """

    @abstractmethod
    def refusal(self, message: str) -> PerjouleError:
        """Turn the last output of that command, when it can't get there, into an error and its fix."""

    def bash_lack(self, message: str) -> MachineError | None:
        """Return the error if the host has no bash that can be a keeper, by the message of its shell."""
        if OLD_BASH in message:
            line = next(line for line in message.splitlines() if OLD_BASH in line)
            return RequirementsMissing(line, where=self.where, next="install a newer bash on it")
        if _OTHER_BASH.search(message):
            return RequirementsMissing(
                "the program bash on it is another shell", where=self.where, next="apt install bash on it"
            )
        if _NO_BASH.search(message):
            return RequirementsMissing("it has no bash", where=self.where, next="apt install bash on it")
        return None

    def lost(self, why: str = "") -> TransientError:
        """Return the error for a connection that has ended."""
        return HostLost(
            f"the connection was lost ({why})" if why else "the connection was lost", where=self.where
        )
