"""The options that deployed file systems share, and how a deployment begins and ends."""

import os
import shutil
from abc import abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Host, Hosts
from perjoule.filesystems import _ageing
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._flows import NO_HOPS, Hops, explained
from perjoule.filesystems._journals import Beneath
from perjoule.machine.disks import needs
from perjoule.machine.mirrors import STEAD, WAYS, check
from perjoule.machine.mounts import fuse
from perjoule.machine.programs import SYSTEM, guards, programs
from perjoule.model import OPTIONS, Aged, Amplification, Disk, InstalledFolder, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import Seconds


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Deployed(FileSystem):
    """A file system that is deployed from scratch; a driver names its programs and returns its
    `Deployment`.
    """

    # Its programs, each with the Debian package that has it, or with its makers' address where none has, by the
    # hosts that run them (`Hosts.at`)
    runs: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType({})
    in_user_space: ClassVar[bool] = True  # its client is one of FUSE
    removes_files: ClassVar[bool] = True  # at its end; otherwise they go with the host's disk, in less time
    # clients send all copies or parts themselves; otherwise a server passes them on
    copied_by_client: ClassVar[bool]

    beneath: Beneath = None
    """A dedicated file system beneath each server's data, as in {kind = "xfs", block = "4 KiB"}; the host's
    own disk if
    omitted."""
    aged: Aged | None = None
    """What it has been through before the trials, as in {full = "90 %", overwrites = 2}; new if omitted."""
    patience_s: Seconds = 60.0
    """Time limit of each step of bring-up, at scale 1; slower testbeds get more."""

    @model_validator(mode="after")
    def _ages_files(self) -> Self:
        if self.aged and self.offers != "folders":
            raise ValueError("aged writes files, and its clients have none; remove aged")
        return self

    @abstractmethod
    def deployment(self, hosts: Hosts) -> Deployment[Any]:
        """Plan it on these hosts, touching nothing.

        Raises CampaignError if its layout is impossible there.
        """

    def require_fit(self, hosts: Hosts) -> None:
        """Plan it: a layout that is impossible is refused then, and so is ageing on disks that others use."""
        self.deployment(hosts)
        if self.aged and self.made_bytes(hosts) is None:
            problem = (
                "aged fills only disks that are made for the file system, and its data would lie on a disk "
                "that others use"
            )
            raise CampaignError(problem, next='set beneath = {kind = "xfs", size = "4 GiB"}')

    def made_bytes(self, hosts: Hosts) -> int | None:
        """Return the size of the disks beneath, or of those of the hosts."""
        bearers = self.deployment(hosts).bearers
        if self.beneath:
            return (
                0 if self.beneath.device else self.beneath.size_bytes * self.beneath.legs_count * len(bearers)
            )
        sizes = [host.disk_bytes for host in bearers]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @abstractmethod
    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Return how user data are stored on the hosts."""

    def amplification(self, hosts: Hosts) -> Amplification:
        """Derive from the redundancy which bytes move."""
        return self.explained(hosts)

    def explained(self, hosts: Hosts, hops: Hops = NO_HOPS) -> Amplification:
        """Return which bytes move if gateways pass on, or get, these shares of them."""
        return explained(self.redundancy(hosts), by_client=self.copied_by_client, hops=hops)

    def data_hosts(self, hosts: Hosts) -> tuple[Host, ...]:
        """Return the hosts that its deployment declares."""
        names = set(self.deployment(hosts).data_hosts)
        return tuple(host for host in hosts.all if host.name in names)

    def checks(self) -> tuple[Check, ...]:
        """Check for its programs, FUSE, and the file system beneath."""
        of_programs = (check for place, packages in self.runs.items() for check in programs(packages, place))
        return (
            *of_programs,
            *([fuse()] if self.in_user_space else []),
            *needs_beneath(self.beneath),
            *_ageing.needs(self.aged),
        )

    @contextmanager
    def serve(self, hosts: Hosts) -> Generator[Deployment[Any]]:
        """Start only the servers: all that is possible if no client can mount."""
        deployment = self.deployment(hosts)
        deployment.require()
        for host in hosts.all:
            deployment.require_ports(host)
        try:
            with deployment.daemons.explained():
                deployment.up()
                deployment.require_ours()
            yield deployment
        finally:
            deployment.down()

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Deployment[Any]]:
        """Bring it up and mount it; healthy means that the servers report so and every client has written
        a file.
        """
        self.deployment(hosts).require_clients()
        with self.serve(hosts) as deployment:
            with deployment.daemons.explained():
                deployment.attach_all()
            yield deployment


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SelfBuilt(Deployed):
    """A file system that no distribution packages, with servers for metadata and for data."""

    variable: ClassVar[str]  # of the environment, with the prefix where the option is not set
    installation: ClassVar[str]  # where it comes from
    packaged: ClassVar[str] = "/opt"  # where its makers' packages put programs, beyond the PATH

    roles: Literal["separate", "both"] = "separate"
    """"separate": data on the storage hosts, metadata only on the metadata host; "both": both on all hosts
    with disks.
    """
    prefix: InstalledFolder = ""
    """Prefix of its installation, with bin and sbin; "" takes the environment's PERJOULE_..._PREFIX, then
    the PATH.
    """

    @abstractmethod
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Its programs, by who runs them: "metadata", "data", "management" or "client"; "a or b" is any of
        both.
        """

    def checks(self) -> tuple[Check, ...]:
        """Check for its programs, the tool that starts them as another user, FUSE, and the file system
        beneath.
        """
        fix = f"install {self.installation} and set {self.variable} to its prefix"
        place = f"not in {self.path.replace(':', ' or ')}" if self._prefix() else "not on the PATH"

        def check(name: str, on: str) -> Check:
            path = shutil.which(name, path=self.path)
            look = f"program {name.replace(' or ', '|')} {self.path}"
            return Check(name, bool(path), path or place, fix, look=look, on=on)

        separate = self.roles == "separate"
        places = {
            "metadata": "metadata" if separate else "bricks",
            "data": "storage" if separate else "bricks",
        }
        installed = (
            check(name, places.get(whose, whose)) for whose, names in self.names().items() for name in names
        )
        guarded = guards(self.prefix, "all")
        return (*installed, *guarded, *programs({"setpriv": "util-linux"}, "bricks"), *super().checks())

    @property
    def path(self) -> str:
        """Return the PATH on which this machine looks for it."""
        prefix = self._prefix()
        return (
            f"{prefix}/bin:{prefix}/sbin"
            if prefix
            else f"{os.environ.get('PATH', '')}:{SYSTEM}:{self.packaged}"
        )

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


def needs_beneath(beneath: Disk | None) -> tuple[Check, ...]:
    """Check what the file system beneath a server's data needs, if any, and a mirror, which is optional."""
    if beneath is None:
        return tuple(map(check, WAYS))  # what could lie beneath, for `doctor`
    mirror = (check(beneath.mirror),) if beneath.mirror != "none" else ()
    if beneath.kind == "zfs" and all(check.ok for check in mirror):
        return mirror
    made = needs(STEAD if beneath.kind == "zfs" else beneath.kind)
    return (*(replace(check, on="bricks") for check in made), *mirror)
