"""SeaweedFS 4 as an object store: S3 gateways, and a bucket for each client.
https://github.com/seaweedfs/seaweedfs/wiki/Amazon-S3-API

A master, a filer (names), volume servers (data) and gateways, all of them the program `weed`. All data pass
through the gateways, which cache none, as clients. A client's keys open its own bucket alone.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, Host, Hosts
from perjoule.filesystems._flows import Hops
from perjoule.filesystems._gateways import BehindGateways, own_ratio
from perjoule.filesystems._seaweed import parse as answers
from perjoule.filesystems._seaweed.cluster import SeaweedCluster
from perjoule.filesystems._seaweed.options import Seaweed
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Amplification, Json

EXAMPLE = '[[filesystem]]\nkind = "seaweed_s3"\nreplication = "001"\n'

GATEWAY = 8333  # port
RIGHTS = ("Read", "Write", "List")
WRITES_COPIES = (4, 37)  # release since which a gateway does


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SeaweedS3(Seaweed):
    """SeaweedFS with volume servers on the storage hosts, the filer on the metadata host, and the master on
    the management host.
    """

    offers: ClassVar[Access] = "buckets"
    in_user_space: ClassVar = False  # nothing is mounted
    object_mips_s: ClassVar[float] = 6.0  # to be put 4, to be removed 7; of four gateways beside data
    unable: ClassVar[Mapping[str, str]] = {
        **Seaweed.unable,
        "snapshot": "its clients use buckets, of which perjoule takes none",
    }

    gateways: Literal["metadata", "storage"] = "metadata"
    """Where S3 gateways run: one on the metadata host, or one on each host with data; clients use these in
    turns.
    """

    def checks(self) -> tuple[Check, ...]:
        """Check also for what clients speak S3 with."""
        return (*super().checks(), *buckets.checks())

    def served(self) -> tuple[tuple[str, int], ...]:
        """Return the ports of gateways, too."""
        return (*super().served(), ("metadata" if self.gateways == "metadata" else self.data_place, GATEWAY))

    def gates(self, hosts: Hosts) -> tuple[Host, ...]:
        """Return the hosts of gateways."""
        return (hosts.metadata,) if self.gateways == "metadata" else self.data(hosts)

    def amplification(self, hosts: Hosts) -> Amplification:
        """Derive it, with the hops to all copies and from one; by chance, they are on the gateway's own host."""
        ratio = own_ratio(self.gates(hosts), self.data(hosts))
        return self.explained(hosts, Hops(1 - self.copies_count * ratio, 1 - ratio))

    def stored(self, hosts: Hosts) -> None:
        """None: each gateway is a station of its own, which predictions and plans lack."""

    def deployment(self, hosts: Hosts) -> "_SeaweedS3":
        """With a bucket for each client."""
        return _SeaweedS3(self, hosts)


class _SeaweedS3(BehindGateways[SeaweedS3], SeaweedCluster[SeaweedS3]):
    """One SeaweedFS. Healthy means that the master knows the filer and all volume servers, and that each
    client has put an object.
    """

    kind = "seaweed_s3"
    port = GATEWAY
    clients_make_buckets = False
    # Volumes are files that grow. Room for full ones of all clients' buckets a small disk would not have.
    most_volumes_count = 1000

    def gateway_hosts(self) -> tuple[Host, ...]:
        return self.options.gates(self.hosts)

    def serve(self) -> None:
        super().serve()
        self._ask(*(f"s3.bucket.create -name {bucket.name}" for bucket in self.buckets.values()))
        keys = {name: (secrets.token_hex(10), secrets.token_hex(20)) for name in self.buckets}
        each(self.gates, lambda host: self._serve_gateway(host, self._identities(keys)))
        for user in self.hosts.users:
            self.give_keys(user, *keys[user.name])

    def configure(self) -> None:
        """Have each client put an object, with which its bucket exists, and give it volumes on all servers."""
        super().configure()
        self.grow_volumes(bucket.name for bucket in self.buckets.values())

    def absent(self) -> str:
        return super().absent() or self.silent()

    def hop_ratios(self) -> dict[str, Hops]:
        """Return them by the volumes of each bucket, which are written alike until some are full.

        A gateway writes each copy itself, and reads any one; before 4.37 it wrote one, which a volume server
        passed on. https://github.com/seaweedfs/seaweedfs/pull/10078
        """
        if answers.release(str(self.facts["version"])) < WRITES_COPIES and {*self.gates} & {*self.bearers}:
            return {}
        listed = self._ask("volume.list")

        def hops(name: str) -> Hops:
            held = answers.volumes(listed, self.buckets[name].name)
            own = held.get(self.gate_of[name].address, set())
            ratio = len(own) / len({number for numbers in held.values() for number in numbers})
            return Hops(1 - ratio, 1 - ratio / self.options.copies_count)

        return {name: hops(name) for name in self.buckets}

    def report(self) -> dict[str, Json]:
        return {**super().report(), "gateways": [host.name for host in self.gates]}

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts of an object, by BUCKET/KEY."""
        return self.holders(Path("/buckets", path))

    def _identities(self, keys: Mapping[str, tuple[str, str]]) -> str:
        """Return who may use which bucket, as gateways read it."""
        return json.dumps(
            {
                "identities": [
                    {
                        "name": name,
                        "credentials": [{"accessKey": key, "secretKey": secret}],
                        "actions": [f"{right}:{self.buckets[name].name}" for right in RIGHTS],
                    }
                    for name, (key, secret) in keys.items()
                ]
            }
        )

    def _serve_gateway(self, host: Host, identities: str) -> None:
        config = self.folder(host) / "s3.json"
        host.put(identities, config, mode=0o600, owner=self.user)
        others = ("-port.iceberg=0", "-port.lance=0", self._socket(host, "s3"))
        gateway = self._serve(
            host, "s3", f"-port={GATEWAY}", f"-filer={self._filer}", f"-config={config}", *others
        )
        self.daemons.wait(
            "a listening S3 gateway", lambda: "Start Seaweed S3 API Server" in gateway.process.output()
        )
