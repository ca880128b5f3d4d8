"""Parsers of Ceph's answers: pure functions over its JSON and its extended attributes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perjoule.filesystems._said import found
from perjoule.machine.untrusted import json_from
from perjoule.model import Json

FACTS = ("versions", "osd dump", "osd tree", "osd crush rule dump", "fs dump", "health")


def objects(text: str) -> tuple[str, list[str]]:
    """Return a file's pool and its objects that may hold data; at least one, which an empty file has not
    created.

    Args:
        text: inode, size in bytes and the attribute `ceph.file.layout`, as in "1099511627776 16777216
            stripe_unit=4194304 ...". https://docs.ceph.com/en/pacific/cephfs/file-layouts/

    Raises:
        WorkloadError: it is something else.
    """
    patterns = {
        "inode": r"^(\d+) ",
        "size": r"^\d+ (\d+) ",
        "object": r" object_size=(\d+)",
        "stripes": r" stripe_count=(\d+)",
    }
    fields = {name: int(found(pattern, text, "ceph.file.layout")) for name, pattern in patterns.items()}
    rows_count = max(1, -(-fields["size"] // (fields["object"] * fields["stripes"])))
    objects = [f"{fields['inode']:x}.{k:08x}" for k in range(rows_count * fields["stripes"])]
    return found(r" pool=(\S+)", text, "ceph.file.layout"), objects


@dataclass(frozen=True)
class Image:
    """An image of a pool, and the names of all objects that may hold its data, in order."""

    facts: dict[str, Json]
    objects: list[str]


def image(text: str) -> Image:
    """Parse the answer to `rbd info --format json`. https://docs.ceph.com/en/pacific/man/8/rbd/"""
    document = json_from(text)
    facts = {
        "size_bytes": document["size"],
        "object_bytes": document["object_size"],
        "features": document["features"],
        "name": document["name"],
    }
    # As the kernel and librbd name them in format 2.
    return Image(
        facts, [f"{document['block_name_prefix']}.{number:016x}" for number in range(document["objects"])]
    )


def parts(text: str) -> list[str]:
    """Return the names of the RADOS objects of an object of a gateway's, from `radosgw-admin object stat`:
    its head, and the parts of what is beyond it.

    https://docs.ceph.com/en/pacific/radosgw/layout/
    """
    document = json_from(text)
    manifest = document["manifest"]
    marker = manifest["tail_placement"]["bucket"]["marker"]
    beyond_bytes = manifest["obj_size"] - manifest["head_size"]
    part_bytes = manifest["rules"][0]["val"]["stripe_max_size"]
    count = -(-beyond_bytes // part_bytes) if beyond_bytes > 0 else 0
    tails = (f"{marker}__shadow_{manifest['prefix']}{number + 1}" for number in range(count))
    return [f"{marker}_{document['name']}", *tails]


def facts(answers: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Json]:
    """Return the daemons' reports, shortened for the record.

    Args:
        answers: the answer to each command of `FACTS`.
        settings: an OSD's answer to `config diff`.
    """
    rules = {rule["rule_id"]: rule for rule in answers["osd crush rule dump"]}
    profiles = answers["osd dump"]["erasure_code_profiles"]
    nodes = {node["id"]: node for node in answers["osd tree"]["nodes"]}
    hosts = {
        child: node["name"] for node in nodes.values() if node["type"] == "host" for child in node["children"]
    }
    systems = [system["mdsmap"] for system in answers["fs dump"]["filesystems"]]
    return {
        "version": next(iter(answers["versions"]["overall"])),
        "health": {
            "status": answers["health"]["status"],
            "muted": sorted(mute["code"] for mute in answers["health"]["mutes"]),
        },
        "pools": {
            pool["pool_name"]: _pool(pool, rules[pool["crush_rule"]], profiles)
            for pool in answers["osd dump"]["pools"]
        },
        "osds": {
            node["name"]: {
                "host": hosts.get(node["id"], ""),
                "class": node["device_class"],
                "status": node["status"],
            }
            for node in sorted(nodes.values(), key=lambda node: node["id"])
            if node["type"] == "osd"
        },
        "file_systems": {
            system["fs_name"]: {
                "max_mds_count": system["max_mds"],
                "max_file_bytes": system["max_file_size"],
                "mds": {mds["name"]: mds["state"] for mds in system["info"].values()},
            }
            for system in systems
        },
        "settings": {
            name: value["final"]
            for name, value in settings["diff"].items()
            if name.startswith(("osd_", "bluestore_")) and name != "osd_data"
        },
    }


def background(status: Mapping[str, Any]) -> str:
    """Return the background work of placement groups from a `status` answer; "" if all are active and
    clean.
    """
    states = {group["state_name"]: group["count"] for group in status["pgmap"].get("pgs_by_state", [])}
    return ", ".join(f"{count} PGs {state}" for state, count in states.items() if state != "active+clean")


def held_bytes(listed: Sequence[Mapping[str, Any]], parts: Mapping[int, int]) -> int:
    """Add up the bytes that OSDs hold, from each one's answer to `pg ls-by-osd`.

    Args:
        listed: the answers; a placement group states the bytes of its objects as users wrote them.
        parts: data parts of an object, by the number of its pool; 1 for whole copies.
    """
    # an OSD that serves none has no list
    groups = [group for listing in listed for group in listing.get("pg_stats", [])]
    return sum(
        round(group["stat_sum"]["num_bytes"] / parts[int(group["pgid"].partition(".")[0])])
        for group in groups
    )


def primaries(listed: Mapping[str, Any], pool_number: int) -> dict[int, float]:
    """Return the share of a pool's objects of which each OSD has the first copy or part, from `pg dump pgs`.

    Objects are dealt by a hash. Where the number of placement groups is no power of 2, those that are not yet
    split take twice as many. https://docs.ceph.com/en/pacific/rados/operations/placement-groups/
    """
    firsts = {
        int(number, 16): int(group["acting_primary"])
        for group in listed["pg_stats"]
        for pool, _, number in [group["pgid"].partition(".")]
        if int(pool) == pool_number
    }
    slots_count = 1 << (len(firsts) - 1).bit_length()
    dealt = Counter(firsts[n if n in firsts else n - slots_count // 2] for n in range(slots_count))
    return {osd: count / slots_count for osd, count in dealt.items()}


def deep_scrubs(listed: Mapping[str, Any]) -> dict[str, str]:
    """Return when each placement group was last scrubbed deeply, as in "2026-11-24T18:00:00.123456+0000",
    from `pg dump pgs`.
    """
    return {group["pgid"]: group["last_deep_scrub_stamp"] for group in listed["pg_stats"]}


def _pool(pool: Mapping[str, Any], rule: Mapping[str, Any], profiles: Mapping[str, Any]) -> dict[str, Json]:
    root, _, device_class = next(
        step["item_name"] for step in rule["steps"] if step["op"] == "take"
    ).partition("~")
    apart = next(step["type"] for step in rule["steps"] if step["op"].startswith("choose"))
    profile = profiles.get(pool["erasure_code_profile"])
    redundancy: dict[str, Json] = (
        {"erasure": f"{profile['k']}+{profile['m']}"} if profile else {"copies_count": pool["size"]}
    )
    return {
        **redundancy,
        "acknowledged_count": pool["min_size"],
        "placement_groups_count": pool["pg_num"],
        "root": root,
        "device_class": device_class or "all",
        "apart_on": apart,
        "applications": sorted(pool["application_metadata"]),
    }
