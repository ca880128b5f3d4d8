"""RADOS: Ceph's object store without a file system, a pool for each client.
https://docs.ceph.com/en/pacific/rados/

The same monitor, manager and object storage daemons (OSDs) as beneath `cephfs`, but no metadata server and no
mount: each client has a pool of its own, with a key that opens no other. It is for workloads that use
objects.
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Hosts
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.model import OPTIONS

EXAMPLE = """\
[[filesystem]]
kind = "rados"
placement_groups = 32
copies = 2
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Rados(ceph.Ceph):
    """A RADOS cluster on the hosts of a testbed."""

    offers: ClassVar[Access] = "pools"
    unable: ClassVar[Mapping[str, str]] = {"snapshot": "its clients use pools, of which perjoule takes none"}

    def deployment(self, hosts: Hosts) -> CephCluster:
        """With a pool for each client."""
        return CephCluster(self, hosts)

    def layout(self, hosts: Hosts) -> ceph.CephLayout:
        """Place all daemons. Raises CampaignError if these hosts can't carry the configured layout."""
        redundancy = self.redundancy(hosts)
        osds = self.osds(self.data_hosts(hosts), metadata_count=self.osds_per_host_count)
        pools = (ceph.CephPool(client.name, "", "host", redundancy, client.name) for client in hosts.clients)
        return ceph.CephLayout(self, self.monitors(hosts), osds, tuple(pools))
