"""NFS servers: nfs-ganesha with everything of it in one folder, or the server in a real host's kernel.

https://github.com/nfs-ganesha/nfs-ganesha/tree/V4-stable/src/config_samples, https://man7.org/linux/man-pages/man8/exportfs.8.html
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from perjoule.drivers.protocols import Host
from perjoule.filesystems._daemons import Daemons
from perjoule.model.errors import MachineError, WorkloadError

Version = Literal["3", "4.0", "4.1", "4.2"]
PORT, MOUNT_PORT = 2049, 20048  # of mountd, for version 3
SHORT_S = 20.0


class Ganesha:
    """nfs-ganesha on one host, exporting one folder to some clients."""

    def __init__(self, host: Host, export: Path, clients: Sequence[Host], version: Version, *, patience_s: float) -> None:
        self.host, self.export = host, export
        self._version: Version = version
        self._clients = [client.address for client in clients]
        self._folder = host.directory / "nfs"
        self.daemons = Daemons(patience_s)

    def up(self) -> None:
        """Start it and wait until it serves.

        Raises:
            MachineError: version 3 on a host without mounts of its own.
            TransientError: it ended or was not ready in time, in its own words.
        """
        host, folder = self.host, self._folder
        host.run(["install", "-d", folder, self.export, folder / "recovery", folder / "run"], timeout_s=SHORT_S)
        if self._own_mounts():  # sockets and locks below /run are compiled in
            host.run(["mount", "--bind", folder / "run", "/run"], timeout_s=SHORT_S)
        if self._version == "3":
            self._start_rpcbind()
        config = folder / "ganesha.conf"
        host.put(ganesha_text(self.export, folder / "recovery", self._clients, self._version), config)
        argv = ["ganesha.nfsd", "-F", "-f", config, "-L", "/dev/stderr", "-p", folder / "ganesha.pid"]
        server = self.daemons.start(host, "ganesha.nfsd", argv, log=folder / "ganesha.log")
        self.daemons.wait("an NFS server", lambda: "NFS SERVER INITIALIZED" in server.process.output(), server)

    def _own_mounts(self) -> bool:
        """Whether the host has a mount namespace of its own: this machine's /run must not be hidden from it."""
        there = self.host.run(["readlink", "/proc/self/ns/mnt"], timeout_s=SHORT_S).stdout.strip()
        return there != str(Path("/proc/self/ns/mnt").readlink())

    def _start_rpcbind(self) -> None:
        if not self._own_mounts():
            what = "NFS version 3 needs its own rpcbind, which needs a mount namespace"
            raise MachineError(what, where=self.host.name, next='set version = "4.2", or use [testbed] kind = "virtual"')
        rpcbind = self.daemons.start(self.host, "rpcbind", ["rpcbind", "-f"], log=self._folder / "rpcbind.log")
        listens = ["test", "-S", "/run/rpcbind.sock"]
        self.daemons.wait("an rpcbind", lambda: self.host.run(listens, timeout_s=SHORT_S, check=False).returncode == 0, rpcbind)

    def down(self) -> None:
        """End it and forget its data."""
        self.daemons.stop(timeout_s=0.5)
        with suppress(WorkloadError):
            if self._own_mounts():
                self.host.run(["umount", "--lazy", "/run"], timeout_s=SHORT_S, check=False)
            self.host.run(["rm", "-rf", "--one-file-system", "--", self._folder, self.export], timeout_s=SHORT_S)


class Kernel:
    """The NFS server in the host's kernel, which must run already: one more export, in no file, gone at the end."""

    def __init__(self, host: Host, export: Path, clients: Sequence[Host], *, patience_s: float) -> None:
        self.host, self.export = host, export
        self._names = [f"{client.address}:{export}" for client in clients]
        self.daemons = Daemons(patience_s)

    def up(self) -> None:
        """Export the folder. Raises MachineError: it does not run on this host."""
        running = self.host.run(["cat", "/proc/fs/nfsd/threads"], timeout_s=SHORT_S, check=False)
        if running.returncode != 0 or running.stdout.strip() == "0":
            mend = 'start it there (systemctl start nfs-server), or set server = "ganesha"'
            raise MachineError("the kernel's NFS server is not running", where=self.host.name, next=mend)
        self.host.run(["install", "-d", self.export], timeout_s=SHORT_S)
        options = "rw,sync,no_root_squash,no_subtree_check"
        self.host.run(["exportfs", "-i", "-o", options, *self._names], timeout_s=SHORT_S)

    def down(self) -> None:
        """Take the export back."""
        with suppress(WorkloadError):
            self.host.run(["exportfs", "-u", *self._names], timeout_s=SHORT_S, check=False)
            self.host.run(["rm", "-rf", "--one-file-system", "--", self.export], timeout_s=SHORT_S)


def ganesha_text(export: Path, recovery: Path, clients: Sequence[str], version: Version) -> str:
    """Write ganesha.conf: one folder, under its own path in every version, for these addresses alone.

    From version 5 on Ganesha ends where the kernel does not let it flush under memory pressure (PR_SET_IO_FLUSHER needs
    CAP_SYS_RESOURCE, which containers and some virtual machines lack), unless it may do without. Older ones warn that they do not
    know the option.
    """
    protocol, _, minor = version.partition(".")
    minors = f"Minor_Versions = {minor}; " if minor else ""
    return f"""\
NFS_CORE_PARAM {{
    Protocols = {protocol};
    NFS_Port = {PORT};
    MNT_Port = {MOUNT_PORT};
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
    allow_set_io_flusher_fail = true;
}}
NFSv4 {{
    {minors}Graceless = true;
    Only_Numeric_Owners = true;
    RecoveryBackend = fs;
    RecoveryRoot = {recovery};
}}
NFS_KRB5 {{ Active_krb5 = false; }}
LOG {{ Default_Log_Level = EVENT; }}
EXPORT {{
    Export_Id = 1;
    Path = {export};
    Pseudo = {export};
    Protocols = {protocol};
    Transports = TCP;
    SecType = sys;
    Squash = No_Root_Squash;
    Access_Type = None;
    FSAL {{ Name = VFS; }}
    CLIENT {{ Clients = {", ".join(clients)}; Access_Type = RW; }}
}}
"""


def mount_options(version: Version, transfer_bytes: int, more: Sequence[str]) -> str:
    """What a client mounts with; version 3 without locks of files, which nothing here needs."""
    words = [f"vers={version}", "proto=tcp", f"port={PORT}", f"rsize={transfer_bytes}", f"wsize={transfer_bytes}", "noatime"]
    if version == "3":
        words += ["nolock", f"mountport={MOUNT_PORT}", "mountproto=tcp"]
    return ",".join([*words, *more])
