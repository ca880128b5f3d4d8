"""CephFS: a parallel file system on RADOS objects. https://docs.ceph.com/en/pacific/cephfs/

The monitor and the manager run on the management host, the metadata server (MDS) on the metadata host, object
storage daemons (OSDs) for data on all storage hosts. A dedicated metadata host carries OSDs for the metadata
pool only, as in the paper. All daemons run as user `ceph`, authenticate with cephx and speak protocol msgr2;
clients mount with ceph-fuse or by the kernel, each with its own key.
"""

from dataclasses import field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Hosts, TakesSnapshots, Tunable
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.filesystems._ceph.commands import DATA_POOL, FILE_SYSTEM, METADATA_POOL
from perjoule.filesystems._ceph.tuning import CHOICES, FAMILIES
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._settings import NO_ACCESS_TIMES, Setting
from perjoule.machine.mounts import fuse, kernel_check, require_mountable
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Json, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes, bytes_text

__all__ = ["CHOICES", "EXAMPLE", "FAMILIES", "CephFs"]

EXAMPLE = """\
[[filesystem]]
kind = "cephfs"
placement_groups = 64
copies = 2
acknowledged = 1
"""

NO_CLIENT = "the kernel has no client of CephFS"
FIX = 'set client = "fuse", or use hosts whose kernel has CONFIG_CEPH_FS'
LAYOUT_OF = (
    "import os, sys; s = os.stat(sys.argv[1]); print(s.st_ino, s.st_size, os.getxattr(sys.argv[1], "
    "'ceph.file.layout').decode())"
)

SET_LAYOUT = "import os, sys; os.setxattr(sys.argv[1], 'ceph.dir.layout', sys.argv[2].encode())"
LAYOUT_OF_ROOT = "import os, sys; print(os.getxattr(sys.argv[1], 'ceph.dir.layout').decode())"
LEAST_UNIT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class CephFs(ceph.Ceph):
    """CephFS on the hosts of a testbed."""

    runs: ClassVar = {**ceph.Ceph.runs, "metadata": {"ceph-mds": "ceph-mds"}}
    in_user_space: ClassVar = False  # its checks depend on the client
    file_mips_s: ClassVar[float] = 500.0

    client: Literal["fuse", "kernel"] = "fuse"
    """"fuse": ceph-fuse; "kernel": the kernel's client (since Linux 5.11), which caches file data in the page
    cache. Its CPU time
    is the kernel's own, which a virtual host does not count."""
    metadata_osds_count: Annotated[int, Field(ge=1, le=16)] = 2
    """OSDs on a dedicated metadata host; with classes = "apart", metadata have at most as many copies."""
    standby: bool = False
    """Whether a second metadata server stands by: on the management host, or where that has the first one, on
    the last server.
    """
    client_cache_bytes: Annotated[
        Bytes | None, Tunable(("8 MiB", "32 MiB", "128 MiB", "512 MiB"), scale=True)
    ] = None
    """Object cache of each ceph-fuse, half of which may be dirty; Ceph's own of 200 MiB if omitted, on
    emulated hosts "32 MiB".
    Files that are not much larger are read back from it. The kernel's client has none but the page cache."""
    object_bytes: Annotated[Bytes, Tunable(("1 MiB", "4 MiB", "16 MiB"), scale=True)] = 4 * 1024**2
    """Size of a file's objects."""
    stripe_unit_bytes: Annotated[Bytes, Tunable(("512 KiB", "1 MiB", "4 MiB"), scale=True)] = 4 * 1024**2
    """Bytes of a file that go to one object before the next one's turn; an object holds a whole number of
    them.
    """
    stripe_objects_count: Annotated[int, Field(ge=1, le=64), Tunable((1, 2, 4), scale=True)] = 1
    """Objects that take turns."""
    conf: Annotated[
        ceph.Conf,
        Tunable(("1", "4", "16"), scale=True, key="client_readahead_max_periods", otherwise="4"),
        Tunable(("131072", "4194304"), scale=True, key="client_readahead_min", otherwise="131072"),
    ] = field(default_factory=dict[str, str])
    """Further options of ceph.conf, for all daemons and clients ({"client_readahead_max_periods" = "16"});
    those that tune
    (`perjoule docs permitted`). Redundancy, addresses, keys and paths are the driver's."""

    @model_validator(mode="after")
    def _cached_by_it(self) -> Self:
        if self.client == "kernel" and self.client_cache_bytes is not None:
            raise ValueError(
                'client "kernel" caches in the page cache; remove client_cache, or set client = "fuse"'
            )
        return self

    def checks(self) -> tuple[Check, ...]:
        """Check also for the client, and the metadata server that stands by."""
        standby = programs({"ceph-mds": "ceph-mds"}, "management") if self.standby else ()
        servers = (*super().checks(), *standby)
        if self.client == "fuse":
            return (*servers, *programs({"ceph-fuse": "ceph-fuse"}, "client"), fuse())
        kernel = kernel_check("CephFS", "ceph", NO_CLIENT, FIX)
        return (*servers, *programs({"mount.ceph": "ceph-common"}, "client"), kernel)

    def deployment(self, hosts: Hosts) -> "_CephFs":
        """With a metadata server."""
        return _CephFs(self, hosts)

    def layout(self, hosts: Hosts) -> ceph.CephLayout:
        """Place all daemons. Raises CampaignError if these hosts can't carry the configured layout."""
        redundancy = self.redundancy(hosts)
        if redundancy.data_count and self.store == "memstore":
            problem = (
                f'erasure = "{self.erasure}" needs BlueStore: objects in memory can\'t be overwritten in part'
            )
            raise CampaignError(problem, where="cephfs", next='set store = "bluestore"')
        if self.stripe_unit_bytes % LEAST_UNIT_BYTES or self.object_bytes % self.stripe_unit_bytes:
            problem = (
                f"objects of {bytes_text(self.object_bytes)} can't hold stripe units of "
                f"{bytes_text(self.stripe_unit_bytes)}"
            )
            then = "choose a stripe_unit that is a multiple of 64 KiB, and an object that is a multiple of it"
            raise CampaignError(problem, where="cephfs", next=then)
        metadata = hosts.by_role("metadata")[:1]
        apart = bool(metadata) and self.classes == "apart"
        places_count = self.metadata_osds_count if apart else len(self.data_hosts(hosts))
        kind = "" if self.classes == "together" else "hdd"
        copies = Redundancy(min(self.copies_count, places_count))
        pools = (
            ceph.CephPool(DATA_POOL, kind, "host", redundancy),
            ceph.CephPool(METADATA_POOL, "ssd" if apart else kind, "osd" if apart else "host", copies),
        )
        osds = self.osds((*hosts.by_role("storage"), *metadata), metadata_count=self.metadata_osds_count)
        striping = ceph.Striping(self.object_bytes, self.stripe_unit_bytes, self.stripe_objects_count)
        return ceph.CephLayout(
            self,
            self.monitors(hosts),
            osds,
            pools,
            hosts.metadata.name,
            self._standby_host(hosts),
            self.client_cache_bytes,
            striping,
        )

    def _standby_host(self, hosts: Hosts) -> str:
        if not self.standby:
            return ""
        others = [host for host in (*hosts.servers, hosts.management) if host is not hosts.metadata]
        if not others:
            problem = "standby = true needs a server beside the metadata host"
            then = "remove standby, or use a testbed with more servers"
            raise CampaignError(problem, where="cephfs", next=then)
        return others[-1].name


class _CephFs(CephCluster, TakesSnapshots):
    """A Ceph cluster with its file system mounted by every client."""

    options: CephFs

    def require_clients(self) -> None:
        if self.options.client == "kernel":
            require_mountable(self.hosts.users, "ceph", NO_CLIENT, FIX)

    @property
    def settings(self) -> tuple[Setting, ...]:
        if self.options.client == "fuse":
            return super().settings
        return (*(setting for setting in super().settings if setting.place != "client"), NO_ACCESS_TIMES)

    def attach(self, client: Host, place: Path) -> Daemon | None:
        conf = self.folder(client) / "ceph.conf"
        if self.options.client == "fuse":
            who = ["-c", conf, "-n", f"client.{client.name}"]
            return self.start(client, "ceph-fuse", ["ceph-fuse", "-f", *who, "--client_mountpoint=/", place])
        addresses = ",".join(f"{monitor.address}:{ceph.MONITOR_PORT}" for monitor in self.layout.monitors)
        # The key is in the keyring that `conf` names.
        options = f"name={client.name},conf={conf},fs={FILE_SYSTEM},ms_mode=crc,{NO_ACCESS_TIMES.name}"
        return self.mount(client, place, "ceph", f"{addresses}:/", options)

    def configure(self) -> None:
        """Set how files are striped, unless it is as it would be anyway."""
        if self.layout.striping != ceph.Striping():
            self._on_root(SET_LAYOUT, self.layout.striping.text)

    def report(self) -> dict[str, Json]:
        striped = self.layout.striping != ceph.Striping()
        layout: dict[str, Json] = {"layout": self._on_root(LAYOUT_OF_ROOT)} if striped else {}
        return {**super().report(), **layout, "client": self.options.client, "mounts": self.mounts()}

    def snapshot(self, name: str) -> None:
        """Have a client take one of the root folder:
        https://docs.ceph.com/en/pacific/dev/cephfs-snapshots/
        """
        client = self.hosts.clients[0]
        client.run(["mkdir", self.directories[client.name] / ".snap" / name], timeout_s=self.patience_s)

    def _on_root(self, program: str, *arguments: str) -> str:
        client = self.hosts.clients[0]
        argv = [ceph.PYTHON, "-c", program, self.directories[client.name], *arguments]
        return client.run(argv, timeout_s=self.patience_s).stdout.strip()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold a file's data: of its objects' copies or parts, first objects first."""
        stdout = (
            self.hosts.clients[0].run([ceph.PYTHON, "-c", LAYOUT_OF, path], timeout_s=self.patience_s).stdout
        )
        return self.holders(*answers.objects(stdout))

    def drop_caches(self) -> None:
        """Remount on every client, which ends its cache with its process, and empty the OSDs' data caches.

        The MDS keeps the metadata of files in memory, as it does while it serves.
        """
        self.remount()
        super().drop_caches()
