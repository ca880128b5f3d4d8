"""The commands of a Ceph cluster: permissions, placement of OSDs, pools. Pure functions over its layout."""

import base64
import os
import struct
from collections.abc import Mapping, Sequence

from perjoule.filesystems._ceph.layout import CephLayout, CephPool, Osd, Striping
from perjoule.model import Json

FILE_SYSTEM = "perjoule"
DATA_POOL = "cephfs_data"
METADATA_POOL = "cephfs_metadata"
# A manager without modules always warns, and so may newer versions about disks that are files.
MUTED = ("MGR_MODULE_ERROR", "MGR_MODULE_DEPENDENCY", "BLUESTORE_SLOW_OP_ALERT")
Command = Mapping[str, Json]


def capabilities(layout: CephLayout, clients: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the minimal permissions of each daemon and client: entity -> service -> capability."""
    daemons = {
        "mon.": {"mon": "allow *"},
        "client.admin": {"mon": "allow *", "mgr": "allow *", "osd": "allow *", "mds": "allow *"},
        "mgr.a": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
    }
    if layout.mds:
        tag = f"allow rw tag cephfs *={FILE_SYSTEM}"
        names = ("mds.a", "mds.b") if layout.standby else ("mds.a",)
        daemons |= {
            name: {"mon": "allow profile mds", "osd": tag, "mgr": "allow profile mds"} for name in names
        }
    osds = {
        osd.name: {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"}
        for osd in layout.osds
    }
    gateways = {
        gateway_name(name): {"mon": "allow rw", "osd": "allow rwx tag rgw *=*"} for name in layout.gateways
    }
    users = {f"client.{name}": _client(layout, name) for name in clients if not layout.gateways}
    return daemons | osds | gateways | users


def gateway_name(host: str) -> str:
    """Return the name in Ceph of the gateway on a host."""
    return f"client.rgw.{host}"


def _client(layout: CephLayout, name: str) -> dict[str, str]:
    """Return the permissions for only its file system, or only its own pools."""
    if layout.mds:
        # the right to set them, and to take snapshots
        layouts = "ps" if layout.striping != Striping() else "s"
        return {
            "mon": f"allow r fsname={FILE_SYSTEM}",
            "mds": f"allow rw{layouts} fsname={FILE_SYSTEM}",
            "osd": f"allow rw tag cephfs data={FILE_SYSTEM}",
        }
    if images := [f"profile rbd pool={pool.name}" for pool in layout.pools if pool.application == "rbd"]:
        return {"mon": "profile rbd", "osd": ", ".join(images)}
    permissions = [f"allow rwx pool={pool.name}" for pool in layout.pools if pool.client == name]
    return {"mon": "allow r", "osd": ", ".join(permissions)}


def new_key(created_s: int) -> str:
    """Make a cephx key: type 1 (AES), seconds, nanoseconds, 16 bytes, then as many at random; base64."""
    return base64.b64encode(struct.pack("<HIIH", 1, created_s, 0, 16) + os.urandom(16)).decode()


def keyring(keys: Mapping[str, str], caps: Mapping[str, Mapping[str, str]]) -> str:
    """Write a keyring of these keys with their capabilities."""
    entries = (
        f"[{entity}]\n\tkey = {key}\n"
        + "".join(f'\tcaps {service} = "{cap}"\n' for service, cap in caps[entity].items())
        for entity, key in keys.items()
    )
    return "".join(entries)


def placement(layout: CephLayout) -> list[list[Command]]:
    """Return the commands that register and place OSDs, before they start; those of a stage are sent
    together.
    """
    return [
        [{"prefix": "osd new", "uuid": osd.uuid, "id": osd.id} for osd in layout.osds],
        *_placed(layout.osds),
        [_rule(pool) for pool in layout.pools],
    ]


def _placed(osds: Sequence[Osd]) -> list[list[Command]]:
    return [
        [
            {
                "prefix": "osd crush add",
                "id": osd.id,
                "weight": 1.0,
                "args": [f"host={osd.host}", "root=default"],
            }
            for osd in osds
        ],
        [
            {"prefix": "osd crush set-device-class", "class": osd.device_class, "ids": [str(osd.id)]}
            for osd in osds
        ],
    ]


def _registered(osds: Sequence[Osd], secrets: Mapping[int, str]) -> list[Command]:
    return [{"prefix": "osd new", "uuid": osd.uuid, "id": osd.id, "input": secrets[osd.id]} for osd in osds]


def addition(osds: Sequence[Osd], secrets: Mapping[int, str]) -> list[list[Command]]:
    """Return the commands that register and place OSDs in a cluster that runs, with these secrets (JSON)."""
    return [_registered(osds, secrets), *_placed(osds)]


def replacement(osds: Sequence[Osd], secrets: Mapping[int, str]) -> list[list[Command]]:
    """Return the commands that give up the data of OSDs and register new ones in their places, with these
    secrets (JSON).
    """
    return [
        [
            {
                "prefix": "osd destroy",
                "id": osd.id,
                "force": True,
                "yes_i_really_mean_it": True,
                "target": "mgr",
            }
            for osd in osds
        ],
        _registered(osds, secrets),
    ]


def _rule(pool: CephPool) -> Command:
    """Return the placement of a pool's parts: a rule, or for an erasure-coded pool the profile from which
    Ceph makes the rule.

    https://docs.ceph.com/en/pacific/rados/operations/erasure-code-profile/
    """
    if not pool.redundancy.data_count:
        rule = {
            "prefix": "osd crush rule create-replicated",
            "name": pool.name,
            "root": "default",
            "type": pool.apart,
        }
        return rule | ({"class": pool.device_class} if pool.device_class else {})
    k, m = pool.redundancy.data_count, pool.redundancy.parity_count
    profile = [
        "plugin=jerasure",
        "technique=reed_sol_van",
        f"k={k}",
        f"m={m}",
        f"crush-failure-domain={pool.apart}",
    ]
    profile += [f"crush-device-class={pool.device_class}"] if pool.device_class else []
    return {"prefix": "osd erasure-code-profile set", "name": pool.name, "profile": [*profile]}


def creation(layout: CephLayout) -> list[list[Command]]:
    """Return the commands that make all pools and, with a metadata server, the file system.

    All OSDs must be up: otherwise objects written meanwhile would have to be recovered one by one.
    """
    stages: list[list[Command]] = [
        [{"prefix": "health mute", "code": code, "sticky": True} for code in MUTED],
        *pools(layout, layout.pools),
    ]
    if not layout.mds:
        return stages
    stages = stages[:-1]  # a file system enables its application itself
    system: Command = {
        "prefix": "fs new",
        "fs_name": FILE_SYSTEM,
        "metadata": METADATA_POOL,
        "data": DATA_POOL,
    }
    if layout.options.erasure:
        stages.append(
            [{"prefix": "osd pool set", "pool": DATA_POOL, "var": "allow_ec_overwrites", "val": "true"}]
        )
        # Ceph would rather have copies of what it notes of each file beside its data: that is one attribute
        # per file.
        system = {**system, "force": True}
    return [*stages, [system]]


def pools(layout: CephLayout, made: Sequence[CephPool]) -> list[list[Command]]:
    """Return the commands that make pools, whose rules exist, and say what for."""
    enable: Command = {"prefix": "osd pool application enable"}
    return [
        [_pool(pool, layout.groups_count(pool)) for pool in made],
        [{**enable, "pool": pool.name, "app": pool.application} for pool in made],
    ]


def removal(pool: CephPool) -> list[list[Command]]:
    """Return the command that deletes a pool with all its objects."""
    return [
        [
            {
                "prefix": "osd pool delete",
                "pool": pool.name,
                "pool2": pool.name,
                "yes_i_really_really_mean_it": True,
            }
        ]
    ]


def _pool(pool: CephPool, groups_count: int) -> Command:
    command: Command = {
        "prefix": "osd pool create",
        "pool": pool.name,
        "pg_num": groups_count,
        "pgp_num": groups_count,
    }
    if pool.redundancy.data_count:
        return {**command, "pool_type": "erasure", "erasure_code_profile": pool.name}
    return {**command, "pool_type": "replicated", "rule": pool.name, "size": pool.redundancy.copies_count}
