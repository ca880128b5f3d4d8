"""NFS: one server and its disk, the baseline of network-attached storage.
https://github.com/nfs-ganesha/nfs-ganesha/wiki

The server is nfs-ganesha (user space, with its VFS back end) or the one in a real host's kernel. Clients
mount with the kernel's NFS client or, on any kernel, with FUSE and libnfs (`mount.py`). Clients cache data in
the page cache from close to open; the server's data are only in its kernel's page cache. The hosts drop both.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ValidationInfo, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Hosts, Port, Tunable
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._options import Deployed
from perjoule.filesystems._said import found
from perjoule.filesystems._settings import NO_ACCESS_TIMES, Setting
from perjoule.machine.installing import installs
from perjoule.machine.mounts import fuse, has_own_mounts, kernel_check, require_mountable
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Json, Redundancy, is_to_run
from perjoule.model.disk_words import mount_words
from perjoule.model.errors import MachineError, WorkloadError
from perjoule.model.permitted import NUMBER, Forms, each, flags, permits, words
from perjoule.model.units import Bytes

EXAMPLE = '[[filesystem]]\nkind = "nfs"\nclient = "fuse"\n'

Version = Literal["3", "4.0", "4.1", "4.2"]
LIBRARIES = ("libnfs.so.13", "libnfs.so.14")  # that `mount.py` knows how to call
PORT, MOUNT_PORT, RPCBIND_PORT = 2049, 20048, 111  # the latter two, of mountd and rpcbind, for version 3
TRANSFER_BYTES = 1024**2
# Without a grace period, in which clients of a new server would wait, and without looking up names of users.
GANESHA = (Setting("Graceless", "true", "start"), Setting("Only_Numeric_Owners", "true", "comparability"))
NO_CLIENT = "the kernel has no NFS client"
FIX = 'set client = "fuse", or use hosts whose kernel has CONFIG_NFS_FS'
# Of the kernel's client, those that tune: no address, path, port or security, and nothing of mount(8)'s own.
# https://man7.org/linux/man-pages/man5/nfs.5.html
MOUNT_OPTIONS: Forms = {
    **flags(
        "rw hard soft softerr softreval nosoftreval ac noac cto nocto sync async relatime noatime "
        "nodiratime lock nolock"
    ),
    **flags("sharecache nosharecache nordirplus nosuid nodev noexec trunkdiscovery notrunkdiscovery"),
    **each("timeo retrans actimeo acregmin acregmax acdirmin acdirmax nconnect max_connect", NUMBER),
    "rdirplus": "(=(none|force))?",
    "lookupcache": words("all", "none", "pos", "positive"),
    "local_lock": words("all", "flock", "posix", "none"),
    "write": words("lazy", "eager", "wait"),
}
_STEAD = {
    **dict.fromkeys(("rsize", "wsize"), "set transfer instead"),
    **dict.fromkeys(("vers", "nfsvers", "minorversion"), "set version instead"),
    **dict.fromkeys(("resvport", "noresvport"), "the server takes requests of root's ports alone"),
}
_FUSE_MOUNT = Path(__file__).with_name("mount.py")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Nfs(Deployed):
    """One NFS server on a host of the testbed; all other servers idle."""

    hides: ClassVar = ("/run",)
    daemons: ClassVar = ("ganesha.nfsd",)
    in_user_space: ClassVar = False  # its checks depend on the client
    copied_by_client: ClassVar = True  # its one copy goes to the one server

    server: Literal["ganesha", "kernel"] = "ganesha"
    """"ganesha": nfs-ganesha in user space; "kernel": the kernel's own, on a host where it is already
    running.
    """
    place: Literal["storage", "metadata"] = "storage"
    """Which host serves: the first storage host, or the metadata host."""
    client: Literal["kernel", "fuse"] = "kernel"
    """"kernel": the kernel's NFS client; "fuse": libnfs in user space, on any kernel.

    It takes more CPU time.
    """
    version: Version | None = None
    """Version of the protocol: 4.2 by default; 3 by client "fuse", which has no other. Ganesha serves 3 only
    to hosts with their
    own namespaces, because it needs an rpcbind."""
    transfer_bytes: Annotated[Bytes, Tunable(("64 KiB", "256 KiB", "1 MiB"), scale=True)] = TRANSFER_BYTES
    """Largest read and write of the kernel's client (rsize, wsize); the FUSE client's can't be set: 128
    KiB and 1 MiB.
    """
    options: tuple[str, ...] = ()
    """More mount options of the kernel's client, as in ["nconnect=4"]; only those that tune
    (`perjoule docs permitted`).
    """

    @model_validator(mode="after")
    def _spoken(self, info: ValidationInfo) -> Self:
        if self.client == "fuse" and self.version not in (None, "3"):
            raise ValueError(
                f'client "fuse" speaks version 3, not {self.version}; remove version, or set client = '
                '"kernel"'
            )
        if self.client == "fuse" and self.transfer_bytes != TRANSFER_BYTES:
            raise ValueError(
                'client "fuse" has transfers of its own; remove transfer, or set client = "kernel"'
            )
        if self.client == "fuse" and self.options:
            raise ValueError('client "fuse" has no mount options; remove options, or set client = "kernel"')
        for option in mount_words(self.options) if is_to_run(info) else ():
            if not permits(MOUNT_OPTIONS, option):
                stead = _STEAD.get(option.partition("=")[0], "permitted: " + ", ".join(MOUNT_OPTIONS))
                raise ValueError(f'"{option}" is not permitted as a mount option of NFS ({stead})')
        return self

    @property
    def spoken(self) -> Version:
        """The version of the protocol."""
        return self.version or ("3" if self.client == "fuse" else "4.2")

    def checks(self) -> tuple[Check, ...]:
        """Check for the server, its back end, and the client."""
        return (*self._server_checks(), *self._client_checks(), *super().checks())

    def _client_checks(self) -> tuple[Check, ...]:
        if self.client == "kernel":
            kernel = kernel_check("NFS", "nfs", NO_CLIENT, FIX)
            return (kernel, *programs({"mount.nfs": "nfs-common"}))
        library = next((path for name in LIBRARIES for path in Path("/usr/lib").glob(f"*/{name}")), None)
        libnfs = Check(
            "libnfs",
            library is not None,
            str(library or "not installed"),
            "apt install libnfs-utils",
            package="libnfs-utils",
        )
        has_mfusepy = find_spec("mfusepy") is not None
        fix, look = installs("mfusepy"), f"library mfusepy {sys.executable}"
        return (
            fuse(),
            libnfs,
            Check("mfusepy", has_mfusepy, "installed" if has_mfusepy else "not installed", fix, look=look),
        )

    def _server_checks(self) -> tuple[Check, ...]:
        if self.server == "kernel":
            return programs({"exportfs": "nfs-kernel-server"}, self._serving)
        back_end = next(Path("/usr/lib").glob("*/ganesha/libfsalvfs.so"), None)
        vfs = Check(
            "ganesha's VFS",
            back_end is not None,
            str(back_end or "not installed"),
            "apt install nfs-ganesha-vfs",
        )
        packages = {"ganesha.nfsd": "nfs-ganesha", **({"rpcbind": "rpcbind"} if self.spoken == "3" else {})}
        return (*programs(packages, self._serving), vfs)

    @property
    def _serving(self) -> str:
        return "first storage" if self.place == "storage" else self.place

    @property
    def exporting(self) -> str:
        """The serving host, of the kernel's server: Ganesha has exports of its own."""
        return self._serving if self.server == "kernel" else ""

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Those of Ganesha, and of the rpcbind of version 3; the kernel's server has its own already."""
        if self.server == "kernel":
            return {}
        program = "ganesha.nfsd"
        older = (Port(MOUNT_PORT, program), Port(RPCBIND_PORT, "rpcbind")) if self.spoken == "3" else ()
        return {self._serving: (Port(PORT, program), *older)}

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy on one host, which commits it to its disk when a client asks for fsync."""
        return Redundancy(acknowledged="on disk")

    def deployment(self, hosts: Hosts) -> "_Nfs":
        """One server."""
        return (_Ganesha if self.server == "ganesha" else _Kernel)(self, hosts)


class _Nfs(Deployment[Nfs]):
    kind = "nfs"

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (NO_ACCESS_TIMES,) if self.options.client == "kernel" else ()

    def plan(self) -> tuple[Host, ...]:
        metadata = self.hosts.metadata
        self.server = (
            next(iter(self.hosts.by_role("storage")), metadata)
            if self.options.place == "storage"
            else metadata
        )
        return (self.server,)

    def require_clients(self) -> None:
        if self.options.client == "kernel":
            require_mountable(self.hosts.users, "nfs", NO_CLIENT, FIX)

    @property
    def export(self) -> Path:
        """The folder that clients mount."""
        return self.store(self.server) / "export"

    def attach(self, client: Host, place: Path) -> Daemon | None:
        if self.options.client == "fuse":
            program = self.folder(client) / _FUSE_MOUNT.name
            client.put(_FUSE_MOUNT.read_text("utf-8"), program)
            return self.start(
                client, "libnfs", [sys.executable, "-P", program, self.server.address, self.export, place]
            )
        options = mount_options(self.options.spoken, self.options.transfer_bytes, self.options.options)
        self.mount(client, place, "nfs", f"{self.server.address}:{self.export}", options)
        return None

    def report(self) -> dict[str, Json]:
        facts: dict[str, Json] = {
            "server": self.server.name,
            "version": self.version(),
            "protocol": self.options.spoken,
        }
        return {**facts, "client": self.options.client, "mounts": self.mounts()}

    def version(self) -> str:
        return "kernel"

    def locate(self, path: Path) -> tuple[str, ...]:
        return self.data_hosts


class _Ganesha(_Nfs):
    """nfs-ganesha with all its files in one folder.

    https://github.com/nfs-ganesha/nfs-ganesha/tree/V4-stable/src/config_samples
    """

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (*super().settings, *GANESHA)

    def require(self) -> None:
        if self.options.spoken == "3" and not has_own_mounts(self.server):
            problem = "NFS version 3 needs its own rpcbind, which needs a mount namespace"
            raise MachineError(
                problem, where=self.server.name, next='set version = "4.2", or use [testbed] kind = "virtual"'
            )

    def serve(self) -> None:
        host, folder = self.server, self.folder(self.server)
        host.run(
            ["install", "-d", folder, self.export, folder / "recovery", folder / "run"], timeout_s=SHORT_S
        )
        if has_own_mounts(host):  # sockets and locks below /run are compiled in
            self.bind(host, folder / "run", Path("/run"))
        if self.options.spoken == "3":
            self.start(host, "rpcbind", ["rpcbind", "-f"])
            self.daemons.retry(
                "an rpcbind", lambda: host.run(["test", "-S", "/run/rpcbind.sock"], timeout_s=SHORT_S)
            )
        clients = [client.address for client in self.hosts.users]
        host.put(
            ganesha_text(self.export, folder / "recovery", clients, self.options.spoken),
            folder / "ganesha.conf",
        )
        argv = [
            "ganesha.nfsd",
            "-F",
            "-f",
            folder / "ganesha.conf",
            "-L",
            "/dev/stderr",
            "-p",
            folder / "ganesha.pid",
        ]
        server = self.start(host, "ganesha.nfsd", argv)
        self.daemons.wait("an NFS server", lambda: "NFS SERVER INITIALIZED" in server.process.output())

    def version(self) -> str:
        return release(self.server.run(["ganesha.nfsd", "-v"], timeout_s=SHORT_S).stdout)


class _Kernel(_Nfs):
    """The server in the host's kernel, which must already run: one export more, in no file, removed at the
    end.

    https://man7.org/linux/man-pages/man8/exportfs.8.html
    """

    @property
    def _names(self) -> list[str]:
        return [f"{client.address}:{self.export}" for client in self.hosts.users]

    def require(self) -> None:
        running = self.server.run(["cat", "/proc/fs/nfsd/threads"], timeout_s=SHORT_S, check=False)
        if running.returncode != 0 or running.stdout.strip() == "0":
            fix = 'start it there (systemctl start nfs-server), or set server = "ganesha"'
            raise MachineError("the kernel's NFS server is not running", where=self.server.name, next=fix)

    def serve(self) -> None:
        self.server.run(["install", "-d", self.export], timeout_s=SHORT_S)
        options = "rw,sync,no_root_squash,no_subtree_check"
        self.server.run(["exportfs", "-i", "-o", options, *self._names], timeout_s=SHORT_S)

    def down(self) -> None:
        with suppress(WorkloadError):
            self.server.run(["exportfs", "-u", *self._names], timeout_s=SHORT_S, check=False)
        super().down()


def ganesha_text(export: Path, recovery: Path, clients: Sequence[str], version: Version) -> str:
    """Write ganesha.conf: one folder, under its own path in every version, for these addresses alone, and there for
    root alone: other users of a client, too, could say that they are root.

    From version 5 on Ganesha ends if the kernel does not let it flush under memory pressure
    (PR_SET_IO_FLUSHER needs CAP_SYS_RESOURCE, which containers and some virtual machines lack), unless that
    is allowed to fail. Older versions warn that they do not know the option.
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
    {minors}{" ".join(f"{setting.name} = {setting.value};" for setting in GANESHA)}
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
    PrivilegedPort = true;
    Access_Type = None;
    FSAL {{ Name = VFS; }}
    CLIENT {{ Clients = {", ".join(clients)}; Access_Type = RW; }}
}}
"""


def mount_options(version: Version, transfer_bytes: int, more: Sequence[str]) -> str:
    """Return a client's mount options; version 3 without file locks, which nothing here needs."""
    options = [
        f"vers={version}",
        "proto=tcp",
        f"port={PORT}",
        f"rsize={transfer_bytes}",
        f"wsize={transfer_bytes}",
        NO_ACCESS_TIMES.name,
    ]
    if version == "3":
        options += ["nolock", f"mountport={MOUNT_PORT}", "mountproto=tcp"]
    return ",".join([*options, *more])


def release(output: str) -> str:
    """Parse `ganesha.nfsd -v`: "NFS-Ganesha Release = V4.3"."""
    return found(r"Release = V(\S+)", output, "ganesha.nfsd -v")
