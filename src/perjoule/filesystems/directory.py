"""An existing folder: a file system that is already mounted, or a local disk.
https://man7.org/linux/man-pages/man8/findmnt.8.html

Nothing is deployed or tuned here. Clients work in a new empty folder inside the given one, all in the same if
they share the file system, and only that is removed at the end. Caches other than the hosts' page caches are
not dropped: a doubt names those that a mount's type is known for, as GPFS's pagepool, which holds data
outside of the page cache. https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=considerations-cache-usage
"""

import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    MADE,
    Check,
    FileSystem,
    Host,
    Hosts,
    Mounted,
    NamesCluster,
    TellsState,
)
from perjoule.filesystems._attached import (
    Attached,
    BeegfsTable,
    CephTable,
    ClusterTable,
    GlusterTable,
    LustreTable,
    MooseTable,
    NamedCluster,
    remove_at_end,
)
from perjoule.filesystems._guarded import unguarded
from perjoule.filesystems._on_clients import OnClients
from perjoule.machine.caches import left_by_zfs
from perjoule.machine.each import each
from perjoule.machine.mounts import IN_MEMORY, SHORT_S, findmnt, folder_check, guarded_check, is_local
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import MachineError

FIX = "mount it there, or set path to a folder that this user can write to"
GUARD = "run as that user; where several may write, run without root, or chmod +t"

# of mounts; that of MooseFS is any FUSE's
CLUSTER_TYPES = ("ceph", "fuse.ceph-fuse", "fuse.glusterfs", "lustre", "beegfs")

EXAMPLE = '[[filesystem]]\nkind = "directory"\npath = "/var/tmp"\n'


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f'"{path}" is relative (write an absolute path)')
    return path


def _state(client: Host, folder: Path) -> str:
    """Return whose a folder is, its kind and who may use it, in one text; "" if nothing is there."""
    argv = ["stat", "-c", "%u %f", "--", folder]
    return client.run(argv, timeout_s=SHORT_S, check=False).stdout.strip()


def _own_cache(client: Host, mount: Mapping[str, Json]) -> str:
    """Return what a client of a mounted file system caches and its kernel does not drop, by its type."""
    kind = str(mount.get("type", ""))
    if kind in IN_MEMORY:
        return f"the memory in which all data lie ({kind}, no disk)"
    if kind == "zfs":
        return left_by_zfs(client)
    if kind == "gpfs":
        return "the pagepool of GPFS"
    if kind.startswith("fuse."):
        return f"what {kind} may cache in its own memory"
    return ""


def _clustered(mount: Mapping[str, Json]) -> str:
    """Return what a mount of a cluster is, of those that can be asked; "" for others."""
    kind, source = str(mount.get("type", "")), str(mount.get("source", ""))
    known = kind in CLUSTER_TYPES or source.startswith("mfs#")
    return kind + (f" ({source})" if kind == "fuse" else "") if known else ""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Directory(FileSystem, NamesCluster):
    """A folder that every client already has, on any file system."""

    needs_root: ClassVar = False

    path: Annotated[Path, AfterValidator(_absolute)]
    """The folder, absolute, the same on every client; it must be writable."""
    ceph: CephTable | None = None
    """The Ceph behind it, which tells version, redundancy, health and others' load."""
    glusterfs: GlusterTable | None = None
    """The same of a GlusterFS."""
    moosefs: MooseTable | None = None
    """The same of a MooseFS."""
    lustre: LustreTable | None = None
    """The same of a Lustre, which does not tell others' load."""
    beegfs: BeegfsTable | None = None
    """The same of a BeeGFS; with none of these, no cluster is asked."""

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        if len(self._clusters) > 1:
            names = "ceph, glusterfs, moosefs, lustre and beegfs"
            raise ValueError(f"{names} exclude each other (name the one that is mounted)")
        return self

    @property
    def _clusters(self) -> tuple[ClusterTable, ...]:
        tables = (self.ceph, self.glusterfs, self.moosefs, self.lustre, self.beegfs)
        return tuple(table for table in tables if table)

    def folder(self, hosts: Path | None) -> Path | None:
        """The folder itself, if the hosts are on this machine."""
        return self.path if hosts else None

    def checks(self) -> tuple[Check, ...]:
        """Check for findmnt, which provides the facts, and for the folder, in which root must not meet other users."""
        of_cluster = [check for table in self._clusters for check in table.checks()]
        of_folder = (folder_check(self.path, FIX), guarded_check(self.path, GUARD))
        return (*programs({"findmnt": "util-linux"}), *of_folder, *of_cluster)

    def cluster(self, client: Host) -> TellsState | None:
        """That of a table, asked of the path itself."""
        return NamedCluster(client, self.path, self._clusters[0]) if self._clusters else None

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Make a folder, and one more on each client that does not see it; remove these folders at the
        end.
        """
        directories: dict[str, Path] = {}
        first, *further = hosts.clients

        def find(client: Host) -> None:
            common = directories[first.name]
            if state := _state(client, common):
                self._require_guarded(client)
                if state != made_by_first:  # whoever sees its name on the first client may have made one here
                    problem = f"{common} is another folder than on {first.name} (uid and mode {state})"
                    raise MachineError(problem, where=client.name, next="find out who made it, and remove it")
            directories[client.name] = common if state else self._folder(client)

        def lost(client: Host) -> str:
            test = client.run(["test", "-d", directories[client.name]], timeout_s=SHORT_S, check=False)
            return "" if test.returncode == 0 else f"{directories[client.name]} is gone"

        def remove(client: Host, made: Path) -> None:
            # the note last: whoever cleans up after a kill needs it
            for path in (made, client.directory / MADE / made.name):
                client.run(["rm", "-rf", "--one-file-system", "--", path], timeout_s=600)

        mounted: OnClients | None = None
        try:
            directories[first.name] = self._folder(first)
            made_by_first = _state(first, directories[first.name]) if further else ""
            each(further, find)
            mounts_of = dict(each(hosts.clients, lambda client: (client.name, findmnt(client, self.path))))
            facts: dict[str, Json] = {"path": str(self.path), "mounts": mounts_of}
            if self._clusters:
                mounted = Attached(hosts, directories, facts, lost, self._clusters[0])
            else:
                mounted = OnClients(hosts, directories, facts, lost)
                mounted.unwatched = _clustered(mounts_of[first.name])
            mounted.sharing = tuple(
                name for name, made in directories.items() if made == directories[first.name]
            )
            caches = each(hosts.clients, lambda client: _own_cache(client, mounts_of[client.name]))
            mounted.undropped = ", ".join(dict.fromkeys(filter(None, caches)))
            mounted.data_hosts = tuple(directories) if all(map(is_local, mounts_of.values())) else ()
            yield mounted
        finally:
            removals = {
                f"{made} on {client.name}": partial(remove, client, made)
                for client in hosts.clients
                if (made := directories.get(client.name))
            }
            remove_at_end(mounted, removals)

    def _folder(self, client: Host) -> Path:
        if client.run(["test", "-d", self.path], timeout_s=SHORT_S, check=False).returncode != 0:
            raise MachineError(
                f"{self.path} is not a folder",
                where=client.name,
                next="mount it there, or correct path in the campaign",
            )
        self._require_guarded(client)
        path = self.path / f"perjoule-{secrets.token_hex(5)}"
        note = client.directory / MADE / path.name
        client.put(f"{path}\n", note)  # first: a kill in between must leave no folder that nobody knows of
        made = client.run(["mkdir", "-m", "700", "--", path], timeout_s=SHORT_S, check=False)
        if made.returncode != 0:
            client.run(["rm", "-f", "--", note], timeout_s=SHORT_S)
            reason = made.stderr.strip().rsplit(": ", 1)[-1].lower()
            next_step = "choose a writable folder"
            raise MachineError(f"{self.path} is not writable ({reason})", where=client.name, next=next_step)
        return path

    def _require_guarded(self, client: Host) -> None:
        """Refuse a folder in which root would write by names to what another user can put there."""
        if why := unguarded(client, self.path):
            raise MachineError(f"root can't write safely: {why}", where=client.name, next=GUARD)
