"""Ceph's S3 gateways: layouts, keys, the parts of an object, and bytes through gateways."""

from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import planned
from perjoule.filesystems._ceph import commands
from perjoule.filesystems._ceph.conf import configuration
from perjoule.filesystems._ceph.parse import parts
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
        assert flows is not None
        assert flows.write.client_sent_ratio == flows.read.client_received_ratio == 1
        assert flows.write.storage_received_ratio == 1 + 1 + (copies_count - 1)
        assert flows.write.storage_sent_ratio == 1 + (copies_count - 1)
        assert flows.write.disk_written_ratio == copies_count
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (1, 1 + 1)


def test_bytes_are_not_derived_where_gateways_are_beside_data() -> None:
    assert of(gateways="storage").amplification(HOSTS) is None
    for place in ("metadata", "storage"):
        assert of(gateways=place, classes="together").amplification(HOSTS) is None


def test_gateways_have_fewer_threads_on_emulated_hosts_alone() -> None:
    layout = of().layout(HOSTS)
    settings = of().deployment(HOSTS).settings
    assert [one.value for one in settings if one.name == "rgw_thread_pool_size"] == ["64"]
    assert [one.reason for one in settings if one.name == "rgw_thread_pool_size"] == ["emulation"]
    text = configuration(layout, Path("/x"), "10.0.0.1", changed=settings, osd_bytes=1)
    assert "debug_rgw = 0/5" in text.partition("[client]")[2]
