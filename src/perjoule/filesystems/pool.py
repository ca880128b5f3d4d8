"""An existing pool of a Ceph that others run, for loads that use objects.
https://docs.ceph.com/en/latest/rados/operations/pools/

Nothing is deployed or tuned here. Each client has a namespace of its own in the pool, and only what is in it is
removed at the end. If a run was killed, the next one on this machine that uses the pool removes what it left.
Caches of OSDs are not dropped, and a doubt says so. Ceph looks for a namespace's objects among all of the pool.
"""

import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NoReturn, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Access,
    Check,
    FileSystem,
    Host,
    Hosts,
    MakesPools,
    Mounted,
    NamesCluster,
    OfOthers,
    Pool,
    TellsState,
)
from perjoule.filesystems._attached import CephTable, NamedCluster, remove_at_end
from perjoule.filesystems._daemons import last_words
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, ClusterState
from perjoule.model.errors import MachineError, MountLost, NoAnswer, NotAble, WorkloadError

EXAMPLE = """\
[[filesystem]]
kind = "pool"
ceph = {pool = "lab", keyring = "/home/me/perjoule.keyring"}
"""
OURS = "perjoule"  # the namespace of notes, an object for each run, and how those of clients begin
PROCESS = "process"  # the attribute of a run's note that says which process it is
ABSENT = (
    "(2) No such file or directory",
    "(61) No data available",
)  # an object, an attribute, in Ceph's words
LOADED = "benchmark_data"  # how objects of loads begin
SHORT_S, LONG_S = 60.0, 600.0
RUN = re.compile(r"[0-9a-f]{10}-[1-9]\d{0,3}")  # by chance, and the number of its clients
AT_ONCE_COUNT = 500  # objects that one command removes


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class ExistingPool(FileSystem, NamesCluster):
    """A namespace of a pool for each client."""

    offers: ClassVar[Access] = "pools"
    needs_root: ClassVar = False

    ceph: CephTable
    """The Ceph and its `pool`, which must be named; every client needs conf and keyring at the same paths. The
    user needs mon "allow r" and osd "allow rwx pool=POOL namespace=perjoule*".
    """

    @model_validator(mode="after")
    def _names_it(self) -> Self:
        self.ceph.require_pool("NAME")
        return self

    def folder(self, hosts: Path | None) -> None:
        """No files here."""

    def checks(self) -> tuple[Check, ...]:
        """Check for Ceph's tools."""
        return (*self.ceph.checks(), *programs({"rados": "ceph-common"}, "client"))

    def cluster(self, client: Host) -> TellsState:
        """That of the table."""
        return NamedCluster(client, Path(), self.ceph)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Note a new run in the pool, after removing what is of processes that are gone; remove it at the
        end.
        """
        client = _Client(hosts.clients[0], self.ceph)
        run = f"{secrets.token_hex(5)}-{len(hosts.users)}"
        try:
            each(hosts.users, self.ceph.require_guarded)
            for earlier in client.gone():
                client.remove(earlier)
        except WorkloadError as error:
            raise MachineError(error.what, where=error.where, next=error.next) from None
        mounted: _Part | None = None
        try:
            client.rados(OURS, "setxattr", run, PROCESS, buckets.mark())
            mounted = _Part(self.ceph, hosts, client, run)
            yield mounted
        finally:
            remove_at_end(mounted, {f"run {run} in pool {self.ceph.pool}": lambda: client.remove(run)})


class _Client:
    """A client that looks after the pool."""

    def __init__(self, host: Host, table: CephTable) -> None:
        self._host, self._table = host, table

    def rados(self, namespace: str, *words: str, timeout_s: float = SHORT_S) -> str:
        """Run `rados` in a namespace. Raises WorkloadError."""
        return self._host.run(self._argv(namespace, *words), timeout_s=timeout_s).stdout

    def gone(self) -> list[str]:
        """Return the runs whose processes have ended, as far as this machine can tell. Raises WorkloadError."""
        runs = [name for name in self.rados(OURS, "ls").split() if RUN.fullmatch(name)]
        marks = ((run, self.note(run)) for run in runs)
        return [run for run, mark in marks if mark and buckets.is_gone(mark)]

    def note(self, run: str) -> str:
        """Return which process a run is; "" if nothing says so. Raises WorkloadError."""
        argv = self._argv(OURS, "getxattr", run, PROCESS)
        completed = self._host.run(argv, timeout_s=SHORT_S, check=False)
        if completed.returncode and not any(words in completed.stderr for words in ABSENT):
            advice = f"`{' '.join(map(str, argv))}` must work, or find nothing"
            raise WorkloadError(last_words(completed.stderr), where=self._host.name, next=advice)
        return "" if completed.returncode else completed.stdout

    def remove(self, run: str) -> None:
        """Remove all objects of a run, then its note: whoever cleans up after a kill needs it."""
        for namespace in namespaces(run):
            self.rados(namespace, "cleanup", "--prefix", LOADED, timeout_s=LONG_S)  # of any number
            listed = self.rados(namespace, "ls", timeout_s=LONG_S).splitlines()
            names = [name for name in listed if not name.startswith("-")]  # no load's, and options of `rados`
            for begin in range(0, len(names), AT_ONCE_COUNT):
                self.rados(namespace, "rm", *names[begin : begin + AT_ONCE_COUNT], timeout_s=LONG_S)
        self._host.run(self._argv(OURS, "rm", run), timeout_s=SHORT_S, check=False)

    def _argv(self, namespace: str, *words: str) -> list[str]:
        table = self._table
        argv = ["rados", "--conf", table.conf, "--keyring", table.keyring, "--name", table.user]
        return [*argv, "--pool", table.pool, "--namespace", namespace, *words]


def namespaces(run: str) -> list[str]:
    """Return those of a run's clients."""
    name, _, count = run.partition("-")
    return [f"{OURS}-{name}-{number}" for number in range(int(count))]


class _Part(Mounted, MakesPools, TellsState, OfOthers):
    """Namespaces of the pool."""

    def __init__(self, table: CephTable, hosts: Hosts, client: _Client, run: str) -> None:
        self._client, self._run = client, run
        self._cluster = NamedCluster(hosts.clients[0], Path(), table)
        self.while_degraded, self.late_s = table.while_degraded, table.late_s
        self.directories = {}
        self.pools = {
            user.name: Pool(table.pool, table.user, Path(table.conf), Path(table.keyring), namespace)
            for user, namespace in zip(hosts.users, namespaces(run), strict=True)
        }
        self.facts = {"pool": table.pool, "version": self.state().version}
        self.logs, self.data_hosts = (), ()
        self.undropped = "the OSDs of the cluster"

    def state(self) -> ClusterState:
        """Ask the cluster by the first client's tools."""
        return self._cluster.state()

    def make_pool(self, client: str) -> None:
        """Do nothing: it exists."""

    def delete_pool(self, client: str) -> NoReturn:
        """Refuse: it is others'."""
        raise NotAble(MakesPools.lack, next='use operation = "write" and "seq"')

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return nothing: hosts of the cluster are none of the campaign's."""
        return ()

    def drop_caches(self) -> None:
        """Do nothing: the OSDs' are out of reach, and clients have none."""

    def alive(self) -> None:
        """Check that the cluster answers and still has our note. Raises TransientError."""
        try:
            mark = self._client.note(self._run)
        except WorkloadError as error:
            raise NoAnswer(error.what, where=error.where, next=error.next) from None
        if not mark:
            raise MountLost(f"the note of {self._run} is gone from the pool", where=OURS)
