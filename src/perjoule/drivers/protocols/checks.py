"""What a driver says of this machine before anything is touched."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One requirement or recommendation of a driver on this machine, for `doctor` and before a campaign."""

    name: str
    ok: bool
    detail: str  # what was found
    fix: str = ""  # the exact command or sentence that fixes it
    needed: bool = True  # False: optional, and the detail says what is lost without it
    package: str = ""  # the Debian package that has it: one whose version a record keeps
    look: str = ""  # the same question to another host, as `Testbed.lacking` lists them; "": only this machine can be asked
    on: str = "client"  # the hosts of a group that need it, as `Hosts.at` names them
