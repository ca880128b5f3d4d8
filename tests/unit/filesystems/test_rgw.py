"""Ceph's S3 gateways: layouts, keys, the parts of an object, and bytes through gateways."""

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import planned
from perjoule.filesystems._ceph import commands
from perjoule.filesystems._ceph.conf import configuration
from perjoule.filesystems._ceph.parse import parts, primaries
from perjoule.filesystems.rgw import DATA_POOL, GATEWAY, INDEX_POOL, Rgw
from places import transcript
from typed import as_written

STORAGE = ["storage"] * 4
HOSTS = planned([*STORAGE, "metadata", "management", "client", "client", "client", "client"])


def of(**options: Any) -> Rgw:
    return as_written(Rgw, **options)


def test_an_object_is_a_head_and_parts_of_what_is_beyond_it() -> None:
    """As `rados ls` printed them: of 64 KiB, and of 10 MiB and 5 B."""
    listed = transcript("rgw", "rados-ls.txt").splitlines()
    for name, count in (("stat-small.json", 1), ("stat-large.json", 3)):
        found = parts(transcript("rgw", name))
        assert len(found) == len(set(found)) == count
        assert {*found} <= {*listed}


def test_data_have_the_pool_of_the_campaign_and_lists_of_buckets_the_osds_of_the_metadata_host() -> None:
    layout = of(copies=3, placement_groups=16).layout(HOSTS)
    pools = {pool.name: pool for pool in layout.pools}
    data, index = pools[DATA_POOL], pools[INDEX_POOL]
    assert (data.device_class, data.apart, data.redundancy.copies_count) == ("hdd", "host", 3)
    assert (index.device_class, index.apart, index.redundancy.copies_count) == ("ssd", "osd", 2)
    assert [layout.groups_count(pool) for pool in layout.pools] == [16, 8, 8, 8, 8, 8]
    assert {pool.application for pool in layout.pools} == {"rgw"}
    created = [command for stage in commands.creation(layout) for command in stage]
    groups = {made["pool"]: made["pg_num"] for made in created if made["prefix"] == "osd pool create"}
    assert groups == {name: 16 if name == DATA_POOL else 8 for name in pools}


def test_data_in_parts_have_lists_in_copies() -> None:
    pools = {pool.name: pool for pool in of(erasure="2+1", copies=2).layout(HOSTS).pools}
    assert pools[DATA_POOL].redundancy.data_count == 2
    assert {pool.redundancy.copies_count for name, pool in pools.items() if name != DATA_POOL} == {2}


@pytest.mark.parametrize(
    ("place", "names"),
    [("metadata", ["metadata-1"]), ("storage", [f"storage-{n}" for n in range(1, 5)])],
)
def test_gateways_alone_have_keys_and_clients_use_them_in_turns(place: str, names: list[str]) -> None:
    layout = of(gateways=place).layout(HOSTS)
    users = tuple(client.name for client in HOSTS.users)
    caps = commands.capabilities(layout, users)
    assert [name for name in caps if name.startswith("client.")] == [
        "client.admin",
        *(f"client.rgw.{name}" for name in names),
    ]
    deployed = of(gateways=place).deployment(HOSTS)
    buckets = [deployed.bucket(user) for user in users]
    assert [bucket.name for bucket in buckets] == [f"perjoule-{n}" for n in range(4)]
    assert len({bucket.credentials for bucket in buckets}) == 4
    assert {bucket.endpoint for bucket in buckets} == {
        f"http://{host.address}:{GATEWAY}" for host in HOSTS.all if host.name in names
    }


def test_bytes_pass_a_gateway_and_go_on_to_the_first_copy() -> None:
    """A byte comes to the gateway, goes on to an OSD, and each further copy goes on once more."""
    for copies_count in (1, 2, 3):
        flows = of(copies=copies_count).amplification(HOSTS)
        assert flows.write.client_sent_ratio == flows.read.client_received_ratio == 1
        assert flows.write.storage_received_ratio == 1 + 1 + (copies_count - 1)
        assert flows.write.storage_sent_ratio == 1 + (copies_count - 1)
        assert flows.write.disk_written_ratio == copies_count
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (1, 1 + 1)


def test_of_gateways_beside_data_each_has_a_quarter_of_first_copies_on_its_own_host() -> None:
    for copies_count in (1, 2, 3):
        flows = of(copies=copies_count, gateways="storage").amplification(HOSTS)
        assert flows.write.storage_received_ratio == 1 + 3 / 4 + (copies_count - 1)
        assert flows.write.storage_sent_ratio == 3 / 4 + (copies_count - 1)
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (3 / 4, 1 + 3 / 4)
    coded = of(erasure="2+1", gateways="storage").amplification(HOSTS)
    assert (coded.write.storage_received_ratio, coded.read.storage_received_ratio) == (
        1 + 3 / 4 + 1,
        3 / 4 + 1 / 2,
    )
    together = of(gateways="metadata", classes="together").amplification(HOSTS)
    assert together.read.storage_received_ratio == 4 / 5


@pytest.mark.parametrize("groups_count", [1, 2, 12, 16, 23, 64])
def test_objects_begin_where_ceph_s_hash_deals_them(groups_count: int) -> None:
    """`ceph_stable_mod` of src/include/ceph_hash.h and rados.h, over many hashes."""
    firsts = [(7 * n + n // 5) % 4 for n in range(groups_count)]
    others = [{"pgid": "1.0", "acting_primary": 9}, {"pgid": "12.3", "acting_primary": 9}]
    groups = [{"pgid": f"2.{n:x}", "acting_primary": osd} for n, osd in enumerate(firsts)]
    mask = 2 ** math.ceil(math.log2(groups_count)) - 1
    hashes = random.Random(1).sample(range(2**32), 40_000)
    dealt = Counter(firsts[h & mask if h & mask < groups_count else h & (mask >> 1)] for h in hashes)
    found = primaries({"pg_stats": [*others, *groups]}, 2)
    assert sum(found.values()) == 1
    assert found == pytest.approx({osd: count / 40_000 for osd, count in dealt.items()}, abs=0.01)


def test_hops_are_those_of_the_placement_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 8 groups, OSD 0 (storage-1) is first in 4, OSD 1 in 2, and the metadata host's in none."""
    firsts = [0, 0, 0, 0, 1, 1, 2, 3]
    listed = {"pg_stats": [{"pgid": f"5.{n:x}", "acting_primary": osd} for n, osd in enumerate(firsts)]}
    pools = [{"poolnum": 5, "poolname": DATA_POOL}, {"poolnum": 6, "poolname": INDEX_POOL}]
    for place, ratios in (("storage", [0.5, 0.75, 0.875, 0.875]), ("metadata", [1, 1, 1, 1])):
        deployed = of(gateways=place).deployment(HOSTS)
        monkeypatch.setattr(deployed, "ask", lambda stages: [[pools, listed]])
        assert [*deployed.hop_ratios().values()] == [(ratio, ratio) for ratio in ratios]


def test_gateways_have_fewer_threads_on_emulated_hosts_alone() -> None:
    layout = of().layout(HOSTS)
    settings = of().deployment(HOSTS).settings
    assert [one.value for one in settings if one.name == "rgw_thread_pool_size"] == ["64"]
    assert [one.reason for one in settings if one.name == "rgw_thread_pool_size"] == ["emulation"]
    text = configuration(layout, Path("/x"), "10.0.0.1", changed=settings, osd_bytes=1)
    assert "debug_rgw = 0/5" in text.partition("[client]")[2]
