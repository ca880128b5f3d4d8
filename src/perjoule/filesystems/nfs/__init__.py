"""NFS: one server and its disk, the baseline of network-attached storage. https://github.com/nfs-ganesha/nfs-ganesha/wiki

The server is nfs-ganesha (user space, with its VFS back end) or the one in a real host's kernel; clients mount with the kernel's
NFS client, as Debian and Ubuntu have none in user space for it. Clients cache data in the page cache from close to open;
the server's data lie in its kernel's page cache alone. Both are the hosts' to drop.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Host, Hosts, Mounted
from perjoule.filesystems._beneath import beneath_facts, data_folder, lay, needs_beneath
from perjoule.filesystems._daemons import each, is_mounted, programs
from perjoule.filesystems._flows import explained
from perjoule.filesystems._mounts import findmnt, in_kernel
from perjoule.filesystems.nfs import server as nfs
from perjoule.model import OPTIONS, Amplification, Disk, Json, Redundancy
from perjoule.model.errors import MachineError, TransientError, WorkloadError
from perjoule.model.units import Bytes, Seconds

EXAMPLE = '[[filesystem]]\nkind = "nfs"\nversion = "4.2"\n'

NO_CLIENT = "the kernel has no NFS client, and Debian and Ubuntu package none in user space (fuse-nfs)"
MEND = "use hosts whose kernel has CONFIG_NFS_FS"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Nfs(FileSystem):
    """One NFS server on a host of the testbed; all other servers idle."""

    server: Literal["ganesha", "kernel"] = "ganesha"
    """"ganesha": nfs-ganesha in user space; "kernel": the kernel's own, on a host where it is already running."""
    place: Literal["storage", "metadata"] = "storage"
    """Which host serves: the first storage host, or the metadata host."""
    version: nfs.Version = "4.2"
    """Version of the protocol; ganesha serves 3 only to hosts with their own namespaces, because it needs an rpcbind."""
    transfer_bytes: Bytes = 1024**2
    """Largest read and write of a client (rsize, wsize)."""
    options: tuple[str, ...] = ()
    """More mount options of the clients."""
    beneath: Disk | None = None
    """A dedicated file system beneath the exported folder, as in {kind = "xfs", block = "4 KiB"}; the server's own disk if
    omitted."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take."""

    def checks(self) -> tuple[Check, ...]:
        """The server, its back end, and the kernel's client."""
        able = in_kernel("nfs")
        client = Check("NFS in the kernel", able, "there" if able else NO_CLIENT, "" if able else MEND)
        return (*self._server_checks(), client, *programs({"mount.nfs": "nfs-common"}), *needs_beneath(self.beneath))

    def _server_checks(self) -> tuple[Check, ...]:
        if self.server == "kernel":
            return programs({"exportfs": "nfs-kernel-server"})
        back_end = next(Path("/usr/lib").glob("*/ganesha/libfsalvfs.so"), None)
        fix = "" if back_end else "apt install nfs-ganesha-vfs"
        vfs = Check("ganesha's VFS", back_end is not None, str(back_end or "not installed"), fix)
        packages = {"ganesha.nfsd": "nfs-ganesha", **({"rpcbind": "rpcbind"} if self.version == "3" else {})}
        return (*programs(packages), vfs)

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy on one host, which commits it to its disk when a client asks for fsync."""
        return Redundancy(acknowledged="on disk")

    def amplification(self, hosts: Hosts) -> Amplification:
        """The client sends its one copy to the one server."""
        return explained(self.redundancy(hosts), by_client=True)

    @contextmanager
    def serve(self, hosts: Hosts) -> Generator[nfs.Ganesha | nfs.Kernel]:
        """Have the server up while the block runs, without any client."""
        host = next(iter(hosts.by_role("storage")), hosts.metadata) if self.place == "storage" else hosts.metadata
        lay([host], self.beneath)
        export, patience_s = data_folder(host, "nfs-export", self.beneath), self.patience_s / hosts.scale
        if self.server == "ganesha":
            server = nfs.Ganesha(host, export, hosts.clients, self.version, patience_s=patience_s)
        else:
            server = nfs.Kernel(host, export, hosts.clients, patience_s=patience_s)
        try:
            server.up()
            yield server
        finally:
            server.down()

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring the server up and mount its folder on every client, where these have a client in their kernel.

        Raises:
            MachineError: they have none, or the server can't be there.
            TransientError: the server ended or a mount was refused.
        """
        for client in hosts.clients:
            _require_client(client)
        with self.serve(hosts) as server:
            directories = {client.name: client.directory / "nfs-mount" for client in hosts.clients}
            options = nfs.mount_options(self.version, self.transfer_bytes, self.options)

            def mounted(client: Host) -> None:
                place = directories[client.name]
                client.run(["mkdir", "-p", place], timeout_s=nfs.SHORT_S)
                source = f"{server.host.address}:{server.export}"
                argv = ["mount", "-t", "nfs", "-o", options, source, place]
                done = client.run(argv, timeout_s=server.daemons.patience_s, check=False)
                if done.returncode != 0:
                    server.daemons.alive()
                    raise TransientError(f"NFS was not mounted: {done.stderr.strip()}", where=client.name)

            try:
                each(hosts.clients, mounted)
                facts: dict[str, Json] = {
                    "server": server.host.name,
                    "version": _version(server.host) if self.server == "ganesha" else "kernel",
                    "mounts": {client.name: findmnt(client, directories[client.name]) for client in hosts.clients},
                    **beneath_facts(server.host, self.beneath),
                }
                yield _Mounted(directories, facts, (server.host.name,), server.daemons.logs(), hosts, server)
            finally:
                for client in hosts.clients:
                    with suppress(WorkloadError):  # forced: works with a dead server too
                        argv = ["umount", "--force", "--lazy", directories[client.name]]
                        client.run(argv, timeout_s=nfs.SHORT_S, check=False)


@plain_dataclass(frozen=True)
class _Mounted(Mounted):
    directories: Mapping[str, Path]
    facts: Mapping[str, Json]
    data_hosts: tuple[str, ...]
    logs: tuple[Path, ...]
    hosts: Hosts
    server: nfs.Ganesha | nfs.Kernel

    def locate(self, path: Path) -> tuple[str, ...]:
        """The server."""
        return (self.server.host.name,)

    def drop_caches(self) -> None:
        """Nothing: all is in the hosts' page caches."""

    def alive(self) -> None:
        self.server.daemons.alive()
        for client in self.hosts.clients:
            if not is_mounted(client, self.directories[client.name]):
                raise TransientError(f"{self.directories[client.name]} is no longer mounted", where=client.name)


def _require_client(client: Host) -> None:
    """Refuse a host that can't mount NFS. Raises MachineError."""
    if b"\tnfs\n" not in client.read(Path("/proc/filesystems")):
        module = client.run(["modprobe", "--dry-run", "--quiet", "nfs"], timeout_s=nfs.SHORT_S, check=False)
        if module.returncode != 0:
            raise MachineError(NO_CLIENT, where=client.name, next=MEND)


def _version(host: Host) -> str:
    return release(host.run(["ganesha.nfsd", "-v"], timeout_s=nfs.SHORT_S).stdout)


def release(said: str) -> str:
    """Read `ganesha.nfsd -v`: "NFS-Ganesha Release = V4.3"."""
    return said.partition("=")[2].split()[0].removeprefix("V")
