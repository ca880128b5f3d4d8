"""File systems that no distribution packages: where their programs are, and which hosts carry metadata and data."""

import os
import shutil
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Hosts
from perjoule.filesystems._daemons import SYSTEM, programs
from perjoule.filesystems._deployment import Deployed
from perjoule.model import OPTIONS


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SelfBuilt(Deployed):
    """A file system that no distribution packages, with servers for metadata and for data."""

    variable: ClassVar[str]  # of the environment, with the prefix where the option is not set
    installation: ClassVar[str]  # where it comes from
    packaged: ClassVar[str] = "/opt"  # where its makers' packages put programs, beyond the PATH

    roles: Literal["separate", "both"] = "separate"
    """"separate": data on the storage hosts, metadata only on the metadata host; "both": both on all hosts with disks."""
    prefix: str = ""
    """Prefix of its installation, with bin and sbin; "" takes the environment's PERJOULE_..._PREFIX, then the PATH."""

    @abstractmethod
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Its programs, by who runs them: "metadata", "data", "management" or "client"; "a or b" is any of both."""

    def checks(self) -> tuple[Check, ...]:
        """Check for its programs, the tool that starts them as another user, FUSE, and the file system beneath."""
        fix = f"install {self.installation} and set {self.variable} to its prefix"
        where = f"not in {self.path.replace(':', ' or ')}" if self._prefix() else "not on the PATH"

        def check(name: str, on: str) -> Check:
            path = shutil.which(name, path=self.path)
            look = f"program {name.replace(' or ', '|')} {self.path}"
            return Check(name, bool(path), path or where, fix, look=look, on=on)

        separate = self.roles == "separate"
        places = {"metadata": "metadata" if separate else "bricks", "data": "storage" if separate else "bricks"}
        installed = (check(name, places.get(whose, whose)) for whose, names in self.names().items() for name in names)
        return (*installed, *programs({"setpriv": "util-linux"}, "bricks"), *super().checks())

    @property
    def path(self) -> str:
        """Return the PATH on which this machine looks for it."""
        prefix = self._prefix()
        return f"{prefix}/bin:{prefix}/sbin" if prefix else f"{os.environ.get('PATH', '')}:{SYSTEM}:{self.packaged}"

    @property
    def environment(self) -> tuple[str, ...]:
        """Return the prefix of its commands on a host, which sets the paths of programs and libraries."""
        prefix = self._prefix()
        libraries = (f"LD_LIBRARY_PATH={prefix}/lib",) if prefix else ()
        return ("env", *libraries, f"PATH={self.path}:{SYSTEM}" if prefix else f"PATH={self.path}")

    def data(self, hosts: Hosts) -> tuple[Host, ...]:
        """The hosts for data."""
        return hosts.by_role("storage") if self.roles == "separate" else hosts.bricks

    def metadata(self, hosts: Hosts) -> tuple[Host, ...]:
        """The hosts for metadata."""
        return (hosts.metadata,) if self.roles == "separate" else hosts.bricks

    def _prefix(self) -> str:
        return self.prefix or os.environ.get(self.variable, "")
