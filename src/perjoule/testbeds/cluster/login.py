"""A way onto a host: what the keeper's connection is made of."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from perjoule.model.errors import PerjouleError, TransientError


class Login(ABC):
    """How to start a program on one host, with its standard streams here."""

    name: str

    @property
    @abstractmethod
    def where(self) -> str:
        """The host in error messages."""

    @abstractmethod
    def command(self, argv: Sequence[str], *, socket: str = "", master: bool = False) -> list[str]:
        """Return the command that runs an argument list on the host.

        `socket` is a path for the connection, if programs can share one; its `master` makes it, and ends with it.
        """

    @abstractmethod
    def refusal(self, said: str) -> PerjouleError:
        """Turn the last output of that command, when it can't get there, into an error and its fix."""

    def lost(self, why: str = "") -> TransientError:
        """Return the error for a connection that has ended."""
        return TransientError(f"the connection was lost ({why})" if why else "the connection was lost", where=self.where)
