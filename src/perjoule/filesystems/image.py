"""Images of our own in a pool of a Ceph that others run, for loads that use devices.
https://docs.ceph.com/en/latest/rbd/

Nothing is deployed, mapped or tuned here, and no image of others is opened. Each client has a new image, which
loads reach by Ceph's own library, as virtual machines do, without root; it alone is removed at the end. Its name
says which process made it: if a run was killed, the next one on this machine that uses the pool removes what it
left. Caches of OSDs are not dropped, and a doubt says so.
"""

import errno
import re
import secrets
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Access,
    Check,
    Completed,
    FileSystem,
    Host,
    Hosts,
    Mounted,
    NamesCluster,
    OffersImages,
    OfOthers,
    Pool,
    TellsState,
    UnmappedImage,
)
from perjoule.filesystems._attached import CephTable, NamedCluster, remove_at_end
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._daemons import last_words
from perjoule.machine.each import each
from perjoule.machine.processes import Identity, alive, own
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, ClusterState, Json
from perjoule.model.errors import MachineError, MountLost, NoAnswer, WorkloadError
from perjoule.model.units import Bytes

EXAMPLE = """\
[[filesystem]]
kind = "image"
ceph = {pool = "lab", keyring = "/home/me/perjoule.keyring"}
size = "20 GiB"
"""
# As `rbd` has them. With exclusive locks, Ceph would list a killed client as blocked for an hour.
FEATURES = "layering"
# Ceph's check whether a pool can hold images leaves an object and a snapshot's number in it.
UNCHECKED = "--rbd_validate_pool=false"
NAMESPACE = "pid:[{}]"  # of a process, as the kernel names it
NAME = re.compile(r"perjoule-(\d+)-(\d+)-(\d+)-([0-9a-f-]{36})-[0-9a-f]{8}")
SECTOR_BYTES = 512
SHORT_S, LONG_S = 60.0, 600.0
FORGOTTEN_S = 90.0  # Ceph forgets a client that was killed after 30 s (osd_client_watch_timeout)
AGAIN_S = 1.0


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class OwnImages(FileSystem, NamesCluster):
    """An image of our own for each client, in a pool that exists."""

    offers: ClassVar[Access] = "devices"
    needs_root: ClassVar = False

    ceph: CephTable
    """The Ceph and its `pool`, which must be named; every client needs conf and keyring at the same paths. The
    user needs mon "allow r" and osd "profile rbd pool=POOL".
    """
    size_bytes: Annotated[Bytes, Field(ge=SECTOR_BYTES, multiple_of=SECTOR_BYTES)] = 4 * 1024**3
    """Size of each client's image, which takes space only where it was written."""

    @model_validator(mode="after")
    def _names_pool(self) -> Self:
        self.ceph.require_pool("NAME")
        return self

    def folder(self, hosts: Path | None) -> None:
        """No files here."""

    def checks(self) -> tuple[Check, ...]:
        """Check for Ceph's tools."""
        return (*self.ceph.checks(), *programs({"rbd": "ceph-common"}, "client"))

    def cluster(self, client: Host) -> TellsState:
        """That of the table."""
        return NamedCluster(client, Path(), self.ceph)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Make an image for each client, after removing those of processes that are gone; remove them at the end."""
        pool = _Images(hosts.clients[0], self.ceph)
        try:
            each(hosts.clients, self.ceph.require_guarded)
            for name in pool.names():
                if is_gone(name):
                    pool.remove(name)
        except WorkloadError as error:
            raise MachineError(error.what, where=error.where, next=error.next) from None
        names = {client.name: new_name() for client in hosts.clients}
        mounted: _Owned | None = None
        try:
            for name in names.values():
                pool.make(name, self.size_bytes)
            mounted = _Owned(self, hosts, pool, names)
            yield mounted
        finally:
            removals = {
                f"the image of {client}": partial(pool.remove, name) for client, name in names.items()
            }
            remove_at_end(mounted, removals)


def new_name() -> str:
    """Return the name of a new image, which says that it is this process's."""
    process = own()
    number = "".join(filter(str.isdigit, process.pids))
    return f"perjoule-{process.pid}-{process.birth_ticks}-{number}-{process.boot}-{secrets.token_hex(4)}"


def is_gone(name: str) -> bool:
    """Whether a name is that of an image whose process has ended, as far as this machine can tell."""
    if (match := NAME.fullmatch(name)) is None:
        return False
    pid, birth_ticks, number, boot = match.groups()
    return alive(Identity(int(pid), int(birth_ticks), boot, NAMESPACE.format(number), "")) is False


class _Images:
    """The images of a pool, as a client sees them."""

    def __init__(self, host: Host, table: CephTable) -> None:
        self._host, self._pool = host, table.pool
        self._argv = ["rbd", "--conf", table.conf, "--keyring", table.keyring, "--name", table.user]

    def names(self) -> list[str]:
        """List all images, also those whose removal was interrupted. Raises WorkloadError."""
        return self._host.run([*self._argv, "ls", "--pool", self._pool], timeout_s=SHORT_S).stdout.split("\n")

    def make(self, name: str, size_bytes: int) -> None:
        """Make an image. Raises WorkloadError."""
        how = ["--size", f"{size_bytes}B", "--image-feature", FEATURES]
        self._host.run([*self._argv, UNCHECKED, "create", *how, *self._named(name)], timeout_s=SHORT_S)

    def facts(self, name: str) -> dict[str, Json]:
        """Return what Ceph says of an image; {} if there is none.

        Raises WorkloadError: it does not answer.
        """
        completed = self._asked("info", "--format", "json", *self._named(name))
        if completed.returncode == errno.ENOENT:
            return {}
        if completed.returncode:
            raise WorkloadError(last_words(completed.stderr), where=self._host.name)
        with understood("rbd info"):
            return answers.image(completed.stdout).facts

    def remove(self, name: str) -> None:
        """Remove an image, if it exists, once Ceph has forgotten who used it and was killed.

        Raises WorkloadError: it is still used, or Ceph refuses.
        """
        until_s = time.monotonic() + FORGOTTEN_S
        while True:
            completed = self._asked("rm", "--no-progress", *self._named(name), timeout_s=LONG_S)
            if completed.returncode in (0, errno.ENOENT):
                return
            if completed.returncode != errno.EBUSY or time.monotonic() > until_s:
                problem = f"image {name} can't be removed: {last_words(completed.stderr)}"
                advice = f"end what uses it (`rbd status {self._pool}/{name}`)"
                raise WorkloadError(problem, where=self._host.name, next=advice)
            time.sleep(AGAIN_S)

    def _asked(self, *arguments: str, timeout_s: float = SHORT_S) -> Completed:
        return self._host.run([*self._argv, *arguments], timeout_s=timeout_s, check=False)

    def _named(self, name: str) -> list[str]:
        return ["--pool", self._pool, "--image", name]


class _Owned(Mounted, OffersImages, TellsState, OfOthers):
    """The images of one run."""

    def __init__(self, options: OwnImages, hosts: Hosts, pool: _Images, names: Mapping[str, str]) -> None:
        table = options.ceph
        self._pool = pool
        self._cluster = NamedCluster(hosts.clients[0], Path(), table)
        self.while_degraded, self.late_s = table.while_degraded, table.late_s
        access = Pool(table.pool, table.user, Path(table.conf), Path(table.keyring))
        self._image_of = {
            client: UnmappedImage(name, access, options.size_bytes) for client, name in names.items()
        }
        # for what a load must remember of the image
        self.directories = {client.name: client.directory / "image" for client in hosts.clients}
        each(hosts.clients, self._make_folder)
        self._made = {client: pool.facts(name) for client, name in names.items()}
        self.facts = {"pool": table.pool, "images": {**self._made}, "version": self.state().version}
        self.logs, self.data_hosts = (), ()
        self.undropped = "the OSDs of the cluster"

    def _make_folder(self, client: Host) -> None:
        client.run(["mkdir", "-p", self.directories[client.name]], timeout_s=SHORT_S)

    def image(self, client: str) -> UnmappedImage:
        """That of a client."""
        return self._image_of[client]

    def state(self) -> ClusterState:
        """Ask the cluster by the first client's tools."""
        return self._cluster.state()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return nothing: hosts of the cluster are none of the campaign's."""
        return ()

    def drop_caches(self) -> None:
        """Do nothing: the OSDs' are out of reach, and those of clients end with each load."""

    def alive(self) -> None:
        """Check that the cluster answers and that the images are those that were made. Raises TransientError."""
        for client, image in self._image_of.items():
            try:
                facts_now = self._pool.facts(image.name)
            except WorkloadError as error:
                raise NoAnswer(error.what, where=error.where, next=error.next) from None
            if facts_now != self._made[client]:
                raise MountLost(f"{image.name} is no longer the image that was made", where=client)
