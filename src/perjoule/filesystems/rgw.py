"""Ceph's object store over S3: its gateways (radosgw), and a bucket for each client.
https://docs.ceph.com/en/pacific/radosgw/

The same monitor, manager and object storage daemons (OSDs) as beneath `cephfs`, without a metadata server: a
dedicated metadata host carries OSDs for the lists of buckets alone. All data pass through the gateways, which
cache none, as clients. Each client is a user, whose keys open its own bucket alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, Host, Hosts, Port
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import PG_LIST, CephCluster
from perjoule.filesystems._ceph.commands import gateway_name
from perjoule.filesystems._flows import Hops
from perjoule.filesystems._gateways import BehindGateways, own_ratio
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import json_from
from perjoule.model import OPTIONS, Amplification, Json, Redundancy

EXAMPLE = '[[filesystem]]\nkind = "rgw"\nplacement_groups = 32\ncopies = 2\n'

GATEWAY = 7480  # port
DATA_POOL, INDEX_POOL = "default.rgw.buckets.data", "default.rgw.buckets.index"
OTHER_POOLS = (".rgw.root", "default.rgw.log", "default.rgw.control", "default.rgw.meta")  # gateways' own
GROUPS_COUNT = 8  # of each pool but that of data, as gateways would make them


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Rgw(ceph.Ceph):
    """A Ceph cluster on the hosts of a testbed, with gateways that speak S3."""

    runs: ClassVar = {
        **ceph.Ceph.runs,
        "management": {**ceph.Ceph.runs["management"], "radosgw-admin": "radosgw"},
    }
    offers: ClassVar[Access] = "buckets"
    unable: ClassVar[Mapping[str, str]] = {
        "snapshot": "its clients use buckets, of which perjoule takes none"
    }
    daemons: ClassVar = (*ceph.Ceph.daemons, "radosgw")
    host_tasks_count: ClassVar[int] = 288  # a gateway of 153 threads beside two OSDs was measured
    object_mips_s: ClassVar[float] = 40.0  # to be put 30, to be removed 47; of four gateways beside data

    gateways: Literal["metadata", "storage"] = "metadata"
    """Where gateways run: one on the metadata host, or one on each storage host; clients use these in
    turns.
    """
    metadata_osds_count: Annotated[int, Field(ge=1, le=16)] = 2
    """OSDs on a dedicated metadata host; with classes = "apart", lists of buckets have at most as many
    copies.
    """

    def checks(self) -> tuple[Check, ...]:
        """Check also for gateways, and for what clients speak S3 with."""
        return (*super().checks(), *programs({"radosgw": "radosgw"}, self.gateways), *buckets.checks())

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Those of gateways, too."""
        return {**super().ports(), self.gateways: (Port(GATEWAY, "radosgw"),)}

    def gates(self, hosts: Hosts) -> tuple[Host, ...]:
        """Return the hosts of gateways."""
        return hosts.at(self.gateways)

    def amplification(self, hosts: Hosts) -> Amplification:
        """Derive it, with the hop to the first copy or part: by chance, that is on the gateway's own host."""
        hop_ratio = 1 - own_ratio(self.gates(hosts), self.data_hosts(hosts))
        return self.explained(hosts, Hops(hop_ratio, hop_ratio))

    def stored(self, hosts: Hosts) -> None:
        """None: each gateway is a station of its own, which predictions and plans lack."""

    def deployment(self, hosts: Hosts) -> "_Rgw":
        """With a bucket for each client."""
        return _Rgw(self, hosts)

    def layout(self, hosts: Hosts) -> ceph.CephLayout:
        """Place all daemons. Raises CampaignError if these hosts can't carry the configured layout."""
        redundancy = self.redundancy(hosts)
        metadata = hosts.by_role("metadata")[:1]
        apart = bool(metadata) and self.classes == "apart"
        places_count = self.metadata_osds_count if apart else len(self.data_hosts(hosts))
        kind = "" if self.classes == "together" else "hdd"
        copies = Redundancy(min(self.copies_count, places_count))
        place = ("ssd", "osd") if apart else (kind, "host")
        pools = (
            ceph.CephPool(DATA_POOL, kind, "host", redundancy, application="rgw"),
            *(
                ceph.CephPool(name, *place, copies, application="rgw", groups_count=GROUPS_COUNT)
                for name in (INDEX_POOL, *OTHER_POOLS)
            ),
        )
        osds = self.osds((*hosts.by_role("storage"), *metadata), metadata_count=self.metadata_osds_count)
        gateways = tuple(host.name for host in self.gates(hosts))
        return ceph.CephLayout(self, self.monitors(hosts), osds, pools, gateways=gateways)


class _Rgw(BehindGateways[ceph.Ceph], CephCluster):
    """A Ceph cluster with gateways, whose users make their buckets."""

    options: Rgw
    port = GATEWAY
    clients_make_buckets = True

    def gateway_hosts(self) -> tuple[Host, ...]:
        return self.options.gates(self.hosts)

    def serve(self) -> None:
        """Bring it up until it is healthy; the first user's makes the zone that all gateways are of."""
        super().serve()
        first, *others = self.hosts.users
        self._make_user(first)
        each(others, self._make_user)
        each(self.gates, self._serve_gateway)
        self.daemons.wait_out("gateways that answer", self.silent)

    def absent(self) -> str:
        return super().absent() or self.silent()

    def report(self) -> dict[str, Json]:
        return {**super().report(), "gateways": [host.name for host in self.gates]}

    def hop_ratios(self) -> dict[str, Hops]:
        """Return them by the first OSDs of data's placement groups, with which alone gateways speak."""
        pools, listed = self.ask([[{"prefix": "osd lspools"}, PG_LIST]])[0]
        (number,) = (pool["poolnum"] for pool in pools if pool["poolname"] == DATA_POOL)
        primaries = answers.primaries(listed, number)

        def hops(gate: Host) -> Hops:
            ratio = 1 - sum(primaries.get(osd.id, 0.0) for osd in self.layout.osds if osd.host == gate.name)
            return Hops(ratio, ratio)

        return {name: hops(gate) for name, gate in self.gate_of.items()}

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold an object's data, by BUCKET/KEY: of its parts' copies, first parts
        first.
        """
        bucket, *key = path.parts
        stat = self._administer("object", "stat", f"--bucket={bucket}", f"--object={'/'.join(key)}")
        return self.holders(DATA_POOL, answers.parts(stat))

    def _make_user(self, user: Host) -> None:
        made = self._administer("user", "create", f"--uid={user.name}", f"--display-name={user.name}")
        (keys,) = json_from(made)["keys"]
        self.give_keys(user, keys["access_key"], keys["secret_key"])

    def _administer(self, *words: str) -> str:
        host = self.hosts.management
        argv = ["radosgw-admin", "-c", self.folder(host) / "ceph.conf", *words]
        return host.run(argv, timeout_s=self.patience_s).stdout

    def _serve_gateway(self, host: Host) -> None:
        argv = self._daemon(host, gateway_name(host.name), "radosgw")
        front = f"--rgw_frontends=beast endpoint={host.address}:{GATEWAY}"
        self.start(host, "radosgw", [*argv, "-f", f"--rgw_data={self.folder(host) / 'rgw'}", front])
        self.wait_listening(host, GATEWAY)
