"""Garage 2: an object store of equal nodes, without a master. https://garagehq.deuxfleurs.fr/documentation/

An object is cut into blocks, each a file with the name of its hash on as many nodes as `replication_factor`
says, which the hash chooses; below 3 KiB it is in the names' database alone. All data pass through a gateway,
which caches none, and reads its own copy of a block where it has one. A client's keys open its own bucket alone.

A put returns when a quorum of nodes has it (1 of 1, 2 of 2, 2 of 3): a third copy follows. By itself Garage syncs
nothing. Blocks of removed objects stay on disks for 10 minutes.

Nodes run as user `nobody`, and speak to each other with a secret of the deployment (`rpc_secret`).
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, Host, Hosts, Port, Tunable
from perjoule.filesystems._deployment import SHORT_S
from perjoule.filesystems._flows import NO_HOPS, Hops
from perjoule.filesystems._gateways import REGION, BehindGateways
from perjoule.filesystems._options import SelfBuilt
from perjoule.filesystems._said import found
from perjoule.filesystems._settings import Setting
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import OPTIONS, Amplification, Json, Redundancy
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import MIB, Bytes

EXAMPLE = '[[filesystem]]\nkind = "garage"\nreplication_factor = 2\n'

GATEWAY, RPC = 3900, 3901  # ports
OLDEST = 2  # release whose `garage json-api` there is
CAPACITY_BYTES = 2**40  # of each node with data; only the shares of all capacities matter
ASKED_EVERY_S = 0.1
PAGES = "blocks in the page caches of servers that lose power"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Garage(SelfBuilt):
    """Garage with a node on each host with data, each in a zone of its own."""

    variable: ClassVar = "PERJOULE_GARAGE_PREFIX"
    installation: ClassVar = "Garage 2 (cargo install garage --root PREFIX)"
    offers: ClassVar[Access] = "buckets"
    in_user_space: ClassVar = False  # nothing is mounted
    daemons: ClassVar = ("garage",)
    copied_by_client: ClassVar = False  # the gateway sends a block to all nodes that keep it

    roles: Literal["separate", "both"] = "separate"
    """"separate": blocks and names on the storage hosts; "both": on all hosts with disks."""
    gateways: Literal["metadata", "storage"] = "storage"
    """Which nodes speak S3: those with data, which clients use in turns; or one without data on the metadata
    host.
    """
    replication_factor: Annotated[int, Field(ge=1, le=3)] = 1
    """Nodes that keep each block and each name."""
    consistency_mode: Literal["consistent", "degraded", "dangerous"] = "consistent"
    """"degraded": one node of three suffices to read names; "dangerous": one suffices to write, too."""
    block_bytes: Annotated[Bytes, Tunable(("256 KiB", "1 MiB", "4 MiB", "10 MiB"), scale=True)] = MIB
    """Largest block of an object (block_size)."""
    compression_level: Annotated[int, Field(ge=-99, le=22)] | None = None
    """Level of zstd for blocks; without one they are not compressed. Garage's own is 1."""
    database: Literal["lmdb", "sqlite"] = "lmdb"
    """What keeps names on each node (db_engine)."""
    data_fsync: Annotated[bool, Tunable((False, True), less_durable={False: PAGES})] = False
    """Whether nodes sync each block and its folder before they acknowledge it."""
    metadata_fsync: Annotated[bool, Tunable((False, True), less_durable={False: PAGES})] = False
    """Whether nodes sync their databases of names. The latest names may still be lost with the power: LMDB runs
    with MDB_NOMETASYNC, SQLite with synchronous = NORMAL.
    """

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """One program."""
        return {"data": ("garage",), **({"metadata": ("garage",)} if self.gateways == "metadata" else {})}

    def checks(self) -> tuple[Check, ...]:
        """Check also for what clients speak S3 with."""
        return (*super().checks(), *buckets.checks())

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Those of nodes, and of S3 on gateways."""
        rpc, s3 = Port(RPC, "garage"), Port(GATEWAY, "garage")
        return {self.data_place: (rpc,), self.gateways_place: (rpc, s3)}

    @property
    def data_place(self) -> str:
        """The hosts with data, by `Hosts.at`."""
        return "storage" if self.roles == "separate" else "bricks"

    @property
    def gateways_place(self) -> str:
        """The hosts of gateways, by `Hosts.at`."""
        return "metadata" if self.gateways == "metadata" else self.data_place

    @property
    def quorum(self) -> int:
        """Nodes that have a block when its put returns."""
        return 1 if self.consistency_mode == "dangerous" else self.replication_factor // 2 + 1

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Whole copies. Where those beyond the quorum are when a put has returned is not known; names, without
        which blocks are nothing, may be in memory alone with any option.
        """
        at_once = self.quorum == self.replication_factor
        return Redundancy(self.replication_factor, acknowledged="in memory" if at_once else "")

    def hops(self, hosts: Hosts) -> Hops | None:
        """Return what passes gateways: all where they have no data, nothing where each keeps all blocks. None where
        it keeps some: which of a load's some hundred blocks these are is chance.
        """
        gates, keepers = {*hosts.at(self.gateways_place)}, {*self.data(hosts)}
        if not gates & keepers:
            return Hops(1.0, 1.0)
        return NO_HOPS if gates <= keepers and len(keepers) == self.replication_factor else None

    def amplification(self, hosts: Hosts) -> Amplification | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Derive it, with the hops of gateways, if these are known."""
        hops = self.hops(hosts)
        return None if hops is None else self.explained(hosts, hops)

    def stored(self, hosts: Hosts) -> None:
        """None: each gateway is a station of its own, which predictions and plans lack."""

    def deployment(self, hosts: Hosts) -> "_Garage":
        """With a bucket for each client."""
        return _Garage(self, hosts)


class _Garage(BehindGateways[Garage]):
    """One Garage. Healthy means that each node says so of all nodes and partitions, and that each client has put
    an object.
    """

    kind = "garage"
    user, group = "nobody", "65534"
    port = GATEWAY
    clients_make_buckets = False
    data_files = ("-regex", r".*/[0-9a-f]*\(\.zst\)?")  # neither unfinished nor garage-marker

    def __init__(self, options: Garage, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.nodes = tuple(dict.fromkeys((*self.bearers, *self.gates)))
        self.ids: dict[str, str] = {}  # of each host's node
        self._bucket_ids: dict[str, str] = {}  # by name

    def plan(self) -> tuple[Host, ...]:
        copies_count, data = self.options.replication_factor, self.options.data(self.hosts)
        if copies_count > len(data):
            problem = (
                f"replication_factor = {copies_count} needs {copies_count} nodes with data, but there are "
                f"{len(data)}"
            )
            advice = f"set replication_factor = {max(len(data), 1)}, or more servers"
            raise CampaignError(problem, where=self.kind, next=advice)
        return data

    def gateway_hosts(self) -> tuple[Host, ...]:
        return self.hosts.at(self.options.gateways_place)

    def require(self) -> None:
        """Refuse releases without `garage json-api`."""
        host = self.bearers[0]
        argv = [*self.options.environment, "garage", "--version"]
        number = release(host.run(argv, timeout_s=SHORT_S).stdout)
        if int(number.partition(".")[0]) < OLDEST:
            problem = f"Garage {number} has no json-api, which Garage {OLDEST} has"
            raise MachineError(problem, where=host.name, next=f"install {self.options.installation}")

    @property
    def settings(self) -> tuple[Setting, ...]:
        compression = Setting("compression_level", "none", "comparability")
        return (
            *((compression,) if self.options.compression_level is None else ()),
            Setting("RUST_LOG", "garage=warn", "observation"),
        )

    def stores(self, host: Host) -> tuple[Path, ...]:
        if host not in self.bearers:
            return ()
        return tuple(self.store(host, number) / "blocks" for number in range(self.disks_count(host)))

    def serve(self) -> None:
        secret = secrets.token_hex(32)
        each(self.nodes, lambda host: self._serve_node(host, secret))
        self.ids = dict(zip((host.name for host in self.nodes), each(self.nodes, self._id), strict=True))
        each(self.nodes, self._introduce)
        first = self.nodes[0]
        self._ask(first, "UpdateClusterLayout", {"roles": [self._role(host) for host in self.nodes]})
        self._ask(first, "ApplyClusterLayout", {"version": 1})
        each(self.nodes, self._wait_healthy)
        each(self.hosts.users, self._make_bucket)

    def lost(self) -> str:
        """Return the nodes that the first one has lost."""
        missing = down(self._ask(self.nodes[0], "GetClusterStatus"), self.ids)
        return f"no node on {', '.join(missing)}" if missing else ""

    def report(self) -> dict[str, Json]:
        status, layout = (self._ask(self.nodes[0], f"GetCluster{name}") for name in ("Status", "Layout"))
        options = self.options
        return {
            **facts(status, layout, self.ids),
            "replication_factor": options.replication_factor,
            "consistency_mode": options.consistency_mode,
            "block_bytes": options.block_bytes,
            "compression_level": options.compression_level,
            "database": options.database,
            "data_fsync": options.data_fsync,
            "metadata_fsync": options.metadata_fsync,
            "gateways": [host.name for host in self.gates],
            "user": self.user,
        }

    def hop_ratios(self) -> dict[str, Hops]:
        hops = self.options.hops(self.hosts)
        return {} if hops is None else dict.fromkeys(self.buckets, hops)

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts of an object's blocks, by BUCKET/KEY; () of one without blocks."""
        bucket, *key = path.parts
        query: Json = {"bucketId": self._bucket_ids[bucket], "key": "/".join(key)}
        hashes = block_hashes(self._ask(self.nodes[0], "InspectObject", query))
        keeps = each(self.bearers, lambda host: self._keeps_any(host, hashes))
        return tuple(host.name for host, kept_any in zip(self.bearers, keeps, strict=True) if kept_any)

    def _serve_node(self, host: Host, secret: str) -> None:
        room, names = self.folder(host), self.store(host) / "names"
        blocks = self.stores(host) or (self.store(host) / "blocks",)  # a gateway's own folder stays empty
        self.furnish(host, names, *blocks)
        host.put(secret, room / "rpc-secret", mode=0o600, owner=self.user)
        level = self.options.compression_level
        settings: dict[str, Json] = {
            "metadata_dir": str(names),
            "db_engine": self.options.database,
            "replication_factor": self.options.replication_factor,
            "consistency_mode": self.options.consistency_mode,
            "block_size": self.options.block_bytes,
            "compression_level": "none" if level is None else level,
            "data_fsync": self.options.data_fsync,
            "metadata_fsync": self.options.metadata_fsync,
            "rpc_secret_file": str(room / "rpc-secret"),
            "rpc_bind_addr": f"{host.address}:{RPC}",
            "rpc_public_addr": f"{host.address}:{RPC}",
        }
        gate = f"{host.address}:{GATEWAY}" if host in self.gates else ""
        host.put(config_text(settings, blocks, gate), self._config(host))
        self.start(host, "garage", [*self._garage(host), "server"])
        self.wait_listening(host, RPC)

    def _id(self, host: Host) -> str:
        """Return the public key of a node, once it answers."""
        self.daemons.retry(
            f"a node that answers on {host.name}",
            lambda: self._ask(host, "GetClusterHealth"),
            every_s=ASKED_EVERY_S,
        )
        argv = [*self._garage(host), "node", "id", "--quiet"]
        return node_id(host.run(argv, timeout_s=self.patience_s).stdout)

    def _role(self, host: Host) -> Json:
        """Return what a node is in the layout: one without a capacity keeps no data."""
        capacity = CAPACITY_BYTES if host in self.bearers else None
        return {"id": self.ids[host.name], "zone": host.name, "capacity": capacity, "tags": []}

    def _introduce(self, host: Host) -> None:
        """Connect a node to all others, which otherwise takes some pings, 15 s apart."""
        addresses: list[Json] = [
            f"{self.ids[peer.name]}@{peer.address}:{RPC}" for peer in self.nodes if peer is not host
        ]
        self.daemons.wait(
            f"connections of {host.name} to all nodes",
            lambda: all(answer["success"] for answer in self._ask(host, "ConnectClusterNodes", addresses)),
            every_s=ASKED_EVERY_S,
        )

    def _wait_healthy(self, host: Host) -> None:
        def healthy() -> bool:
            health = self._ask(host, "GetClusterHealth")
            return health["status"] == "healthy" and health["storageNodes"] == len(self.bearers)

        self.daemons.wait(f"a healthy node on {host.name}", healthy, every_s=ASKED_EVERY_S)

    def _make_bucket(self, user: Host) -> None:
        """Make a client's bucket, and keys that open it alone."""
        first, name = self.nodes[0], self.buckets[user.name].name
        key = self._ask(first, "CreateKey", {"name": user.name})
        self._bucket_ids[name] = self._ask(first, "CreateBucket", {"globalAlias": name})["id"]
        grant: Json = {
            "bucketId": self._bucket_ids[name],
            "accessKeyId": key["accessKeyId"],
            "permissions": {"read": True, "write": True, "owner": False},
        }
        self._ask(first, "AllowBucketKey", grant)
        self.give_keys(user, key["accessKeyId"], key["secretAccessKey"])

    def _keeps_any(self, host: Host, hashes: Sequence[str]) -> bool:
        """Whether a host has any of these blocks, compressed or not."""
        files = [store / name[:2] / name[2:4] / name for store in self.stores(host) for name in hashes]
        argv = ["find", *files, *(file.with_suffix(".zst") for file in files), "-maxdepth", "0"]
        return bool(files and host.run(argv, timeout_s=self.patience_s, check=False).stdout)

    def _ask(self, host: Host, endpoint: str, query: Json = None) -> Any:
        """Ask a node by its administration API, over RPC."""
        argv = [*self._garage(host), "json-api", endpoint]
        argv += [] if query is None else [json.dumps(query)]
        return json_from(host.run(argv, timeout_s=self.patience_s).stdout)

    def _garage(self, host: Host) -> tuple[str | Path, ...]:
        quiet = [f"{setting.name}={setting.value}" for setting in self.changed if setting.name == "RUST_LOG"]
        return (
            *(*self.as_user, *self.options.environment, "NO_COLOR=1", *quiet),
            *("garage", "--config", self._config(host)),
        )

    def _config(self, host: Host) -> Path:
        return self.folder(host) / "garage.toml"


def config_text(settings: Mapping[str, Json], blocks: Sequence[Path], gate: str) -> str:
    """Write garage.toml: settings, folders for blocks in equal shares, and where S3 is spoken ("": nowhere)."""
    folders = ", ".join(f'{{ path = {json.dumps(str(path))}, capacity = "1T" }}' for path in blocks)
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    s3 = [f's3_region = "{REGION}"', *([f'api_bind_addr = "{gate}"'] if gate else [])]
    return "\n".join([*lines, f"data_dir = [{folders}]", "[s3_api]", *s3, ""])


def release(text: str) -> str:
    """Return the release from `garage --version`: "2.5.0" of "cargo:2.5.0" and of "v2.5.0"."""
    return found(r"^garage \D*(\d+\.\d\S*)", text, "garage --version")


def node_id(text: str) -> str:
    """Return a node's public key from `garage node id`, which has its address behind it."""
    return found(r"^([0-9a-f]{64})@", text, "garage node id")


def down(status: Any, ids: Mapping[str, str]) -> tuple[str, ...]:
    """Return the hosts whose nodes are not up, by GetClusterStatus; `ids` are nodes' by host."""
    with understood("garage json-api GetClusterStatus"):
        up = {node["id"] for node in status["nodes"] if node["isUp"]}
    return tuple(name for name, node in ids.items() if node not in up)


def facts(status: Any, layout: Any, ids: Mapping[str, str]) -> dict[str, Json]:
    """Return versions, of nodes that have told theirs, and layout from GetClusterStatus and GetClusterLayout;
    `ids` are nodes' by host.
    """
    hosts = {node: name for name, node in ids.items()}
    with understood("garage json-api"):
        versions = {
            node["garageVersion"].rpartition(":")[2] for node in status["nodes"] if node["garageVersion"]
        }
        return {
            "version": ", ".join(sorted(versions)),
            "layout_version": layout["version"],
            "zones": {hosts[role["id"]]: role["zone"] for role in layout["roles"]},
            "zone_redundancy": layout["parameters"]["zoneRedundancy"],
            "partitions": {hosts[role["id"]]: role["storedPartitions"] or 0 for role in layout["roles"]},
        }


def block_hashes(inspected: Any) -> tuple[str, ...]:
    """Return the blocks of an object's version from InspectObject, in order; () of one in the names' database."""
    with understood("garage json-api InspectObject"):
        complete = [version for version in inspected["versions"] if not version["uploading"]]
        return tuple(block["hash"] for version in complete for block in version.get("blocks", ()))
