"""Where each Ceph daemon goes, what it may do, and the commands that make the file system."""

import base64
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from perjoule.model import Json

FILE_SYSTEM = "perjoule"
DATA_POOL = "cephfs_data"
METADATA_POOL = "cephfs_metadata"
SMALLEST_OSD_BYTES = 1024**3
# A new store needs no check, and each time BlueStore closes its device it waits for a poll to end: 250 ms unless told otherwise.
QUICK_MKFS = ("--bluestore_fsck_on_mkfs=false", "--bdev_aio_poll_ms=5")
# A manager without modules always warns, and so may newer versions about disks that are files.
MUTED = ("MGR_MODULE_ERROR", "MGR_MODULE_DEPENDENCY", "BLUESTORE_SLOW_OP_ALERT")
Command = Mapping[str, Json]


@dataclass(frozen=True)
class Osd:
    """An object storage daemon: `device_class` decides which pool it serves."""

    id: int
    host: str
    device_class: Literal["hdd", "ssd"]
    uuid: str

    @property
    def name(self) -> str:
        """As Ceph calls it."""
        return f"osd.{self.id}"


@dataclass(frozen=True)
class Layout:
    """A whole cluster on paper: data on OSDs of class "hdd", metadata on those of class "ssd" where there are any."""

    fsid: str
    monitor: str  # address
    osds: tuple[Osd, ...]
    placement_groups_count: int
    copies_count: int
    acknowledged_count: int
    store: Literal["bluestore", "memstore"]
    osd_size_bytes: int
    client_cache_bytes: int

    def hosts(self, device_class: str) -> tuple[str, ...]:
        """The hosts with OSDs of this class, in order, each once."""
        return tuple(dict.fromkeys(osd.host for osd in self.osds if osd.device_class == device_class))

    @property
    def metadata_class(self) -> Literal["hdd", "ssd"]:
        """The class of the OSDs under the metadata pool."""
        return "ssd" if self.hosts("ssd") else "hdd"

    @property
    def metadata_copies_count(self) -> int:
        """Copies in the metadata pool: as many as of the data, but no more than there are OSDs (or hosts) apart."""
        apart = sum(osd.device_class == "ssd" for osd in self.osds) or len(self.hosts("hdd"))
        return min(self.copies_count, apart)


def capabilities(layout: Layout, clients: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Say what each daemon and client may do, and no more: entity -> service -> capability."""
    daemons = {
        "mon.": {"mon": "allow *"},
        "client.admin": {"mon": "allow *", "mgr": "allow *", "osd": "allow *", "mds": "allow *"},
        "mgr.a": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
        "mds.a": {"mon": "allow profile mds", "osd": f"allow rw tag cephfs *={FILE_SYSTEM}", "mgr": "allow profile mds"},
    }
    osds = {osd.name: {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"} for osd in layout.osds}
    users = {
        f"client.{name}": {
            "mon": f"allow r fsname={FILE_SYSTEM}",
            "mds": f"allow rw fsname={FILE_SYSTEM}",
            "osd": f"allow rw tag cephfs data={FILE_SYSTEM}",
        }
        for name in clients
    }
    return daemons | osds | users


def new_key(created_s: int) -> str:
    """Make a cephx key: type 1 (AES), seconds, nanoseconds, 16 bytes, then as many at random; base64."""
    return base64.b64encode(struct.pack("<HIIH", 1, created_s, 0, 16) + os.urandom(16)).decode()


def keyring(keys: Mapping[str, str], caps: Mapping[str, Mapping[str, str]]) -> str:
    """Write a keyring of these keys with their capabilities."""
    entries = (
        f"[{entity}]\n\tkey = {key}\n" + "".join(f'\tcaps {service} = "{cap}"\n' for service, cap in caps[entity].items())
        for entity, key in keys.items()
    )
    return "".join(entries)


def placement(layout: Layout) -> list[list[Command]]:
    """Order the commands that make OSDs known and place them, before they start; those of a stage go out together."""
    classes = dict.fromkeys(osd.device_class for osd in layout.osds)
    pools = _pools(layout)
    return [
        [{"prefix": "osd new", "uuid": osd.uuid, "id": osd.id} for osd in layout.osds],
        [
            {"prefix": "osd crush add", "id": osd.id, "weight": 1.0, "args": [f"host={osd.host}", "root=default"]}
            for osd in layout.osds
        ],
        [
            {
                "prefix": "osd crush set-device-class",
                "class": device_class,
                "ids": [str(osd.id) for osd in layout.osds if osd.device_class == device_class],
            }
            for device_class in classes
        ],
        [
            {"prefix": "osd crush rule create-replicated", "name": pool, "root": "default", "type": apart, "class": device_class}
            for pool, device_class, _, apart in pools
        ],
    ]


def creation(layout: Layout) -> list[list[Command]]:
    """Order the commands that make both pools and the file system.

    All OSDs must be up: objects written while some are not would have to be recovered one by one afterwards.
    """
    groups_count = layout.placement_groups_count
    return [
        [{"prefix": "health mute", "code": code, "sticky": True} for code in MUTED],
        [
            {
                "prefix": "osd pool create",
                "pool": pool,
                "pg_num": groups_count,
                "pgp_num": groups_count,
                "pool_type": "replicated",
                "rule": pool,
                "size": copies_count,
            }
            for pool, _, copies_count, _ in _pools(layout)
        ],
        [{"prefix": "fs new", "fs_name": FILE_SYSTEM, "metadata": METADATA_POOL, "data": DATA_POOL}],
    ]


def _pools(layout: Layout) -> list[tuple[str, str, int, str]]:
    """Name, device class, copies, and what each copy lies on another one of: an OSD where metadata has OSDs of its own."""
    apart = "osd" if layout.hosts("ssd") else "host"
    return [
        (DATA_POOL, "hdd", layout.copies_count, "host"),
        (METADATA_POOL, layout.metadata_class, layout.metadata_copies_count, apart),
    ]
