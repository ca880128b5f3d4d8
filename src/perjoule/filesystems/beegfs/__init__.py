"""BeeGFS 7 and 8: a management, metadata and storage servers, and the client in the kernel.
https://www.beegfs.io, https://doc.beegfs.io, https://github.com/ThinkParQ/beegfs

Servers run as user `nobody` and speak only to peers with the secret of the deployment (connAuthFile). Caches:

- The client keeps file data in a few static buffers of 512 KiB until a file is closed ("buffered"), or in the
  kernel's page cache ("native"); its fsync reaches the servers' disks (tuneRemoteFSync).
- Servers keep data and metadata only in their kernel's page cache.

The client is a kernel module that opens its sockets in the machine's own network, so hosts that share a
kernel (virtual ones) can run the servers but not mount them: a campaign with them is refused. Where no client
can mount otherwise (`perjoule up`, or a real host without the module), the servers are started and tested
with BeeGFS's own tool; then the mount is refused.
"""

import platform
import shutil
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Hosts, Port, Tunable
from perjoule.filesystems._options import SelfBuilt
from perjoule.filesystems.beegfs.client import FIX, NO_VIRTUAL_CLIENT
from perjoule.filesystems.beegfs.cluster import BeegfsCluster
from perjoule.filesystems.beegfs.versions import ALL, MANAGEMENT, MANAGEMENT_PORT, SERVERS
from perjoule.machine.mounts import kernel_check
from perjoule.model import OPTIONS, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes

EXAMPLE = '[[filesystem]]\nkind = "beegfs"\nchunk = "512 KiB"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class BeeGFS(SelfBuilt):
    """BeeGFS with its management on the management host."""

    variable: ClassVar = "PERJOULE_BEEGFS_PREFIX"
    installation: ClassVar = (
        "BeeGFS (https://doc.beegfs.io/latest/quick_start_guide/quick_start_guide.html; see "
        "`perjoule docs beegfs`)"
    )
    packaged: ClassVar = "/opt/beegfs/sbin"
    daemons: ClassVar = (MANAGEMENT, *SERVERS.values())
    in_user_space: ClassVar = False
    removes_files: ClassVar = False  # a metadata server makes 66 000 folders
    copied_by_client: ClassVar = False  # it writes to the primary of a pair, which passes the data on

    chunk_bytes: Annotated[Bytes, Tunable(("64 KiB", "256 KiB", "512 KiB", "1 MiB", "4 MiB"), scale=True)] = (
        512 * 1024
    )
    """Bytes of a file on one target before the next one follows: a power of two, at least 64 KiB."""
    targets_count: Annotated[int, Field(ge=1, le=255), Tunable((1, 2, 4, 8), scale=True)] = 4
    """Number of targets over which a file is striped (pairs of targets with `mirror`); all, if there are
    fewer.
    """
    mirror: bool = False
    """Whether data are stored twice, on pairs of storage hosts (buddy mirror groups); with several metadata
    servers, so are
    metadata. BeeGFS requires a licence for mirrors beyond a trial period."""
    cache: Annotated[Literal["buffered", "native"], Tunable(("buffered", "native"))] = "buffered"
    """File data on clients: in a few small buffers, or in the kernel's page cache (tuneFileCacheType)."""

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Its servers, and on the management host the tool of their series."""
        tools = [series.tool for series in ALL]
        tool_found = next((tool for tool in tools if shutil.which(tool, path=self.path)), " or ".join(tools))
        return {
            "management": (MANAGEMENT, tool_found),
            "metadata": (SERVERS["meta"],),
            "data": (SERVERS["storage"],),
        }

    def checks(self) -> tuple[Check, ...]:
        """Check also for the module; without it, the servers can run, but not be mounted."""
        lack = f"no module beegfs for {platform.release()}: servers can run, but not be mounted"
        return (*super().checks(), kernel_check("BeeGFS", "beegfs", lack, FIX, needed=False))

    def require_fit(self, hosts: Hosts) -> None:
        """Refuse hosts that share a kernel, too: no client could mount it."""
        super().require_fit(hosts)
        if hosts.machine and len(hosts.all) > 1:
            raise CampaignError(NO_VIRTUAL_CLIENT, next="use testbed cluster, with the module on each client")

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """The management's (the second is that of BeeGFS 8's tool), and those of metadata and storage
        servers.
        """
        separate = self.roles == "separate"
        servers = (Port(8005, SERVERS["meta"]), Port(8003, SERVERS["storage"]))
        places = {"metadata": servers[:1], "storage": servers[1:]} if separate else {"bricks": servers}
        return {"management": (Port(MANAGEMENT_PORT, MANAGEMENT), Port(8010, MANAGEMENT)), **places}

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy, or two on a pair of hosts; servers pass a client's fsync on to their disks
        (tuneRemoteFSync).
        """
        return Redundancy(2 if self.mirror else 1, acknowledged="on disk")

    def deployment(self, hosts: Hosts) -> BeegfsCluster:
        """Servers on the metadata host and the hosts with data."""
        return BeegfsCluster(self, hosts)
