"""What a driver says of this machine before anything is touched."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Port:
    """A TCP port on which a server of a file system listens."""

    number: int
    program: str
    last: int = 0  # of a range, in which the program looks for free ones; 0: it must have this one

    @property
    def text(self) -> str:
        """As a firewall's owner writes it."""
        return f"{self.number}-{self.last}" if self.last else str(self.number)


@dataclass(frozen=True)
class Check:
    """One requirement or recommendation of a driver on this machine, for `doctor` and before a campaign."""

    name: str
    ok: bool
    detail: str  # what was found
    fix: str = ""  # the exact command or sentence that fixes it
    needed: bool = True  # False: optional, and the detail says what is lost without it
    package: str = ""  # the Debian package that has it: one whose version a record keeps
    # the same question to another host, as `Testbed.lacking` lists them; "": only this machine can be asked
    look: str = ""
    on: str = "client"  # the hosts of a group that need it, as `Hosts.at` names them
    placeholder: bool = False  # it is of hosts that the user is still to name
