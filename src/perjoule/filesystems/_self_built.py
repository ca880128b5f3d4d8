"""File systems that no distribution packages: where their programs are, and which hosts carry metadata and data."""

import os
import shutil
from abc import abstractmethod
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
    def names(self) -> tuple[str, ...]:
        """Its programs."""

    def checks(self) -> tuple[Check, ...]:
        """Check for its programs, the tool that starts them as another user, FUSE, and the file system beneath."""
        fix = f"install {self.installation} and set {self.variable} to its prefix"
        found = {name: shutil.which(name, path=self.path) for name in self.names()}
        where = f"not in {self.path.replace(':', ' or ')}" if self._prefix() else "not on the PATH"
        installed = (Check(name, bool(path), path or where, fix) for name, path in found.items())
        return (*installed, *programs({"setpriv": "util-linux"}), *super().checks())

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
