"""Ceph's S3 gateways for real: the parts of objects, keys that open one bucket, and a gateway that comes back."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lacking import lacking
from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import (
    FileSystem,
    Host,
    Killable,
    Mounted,
    OffersBuckets,
    TellsHealth,
    able,
)
from perjoule.machine import buckets
from perjoule.model.errors import StoreRefused
from perjoule.model.units import MIB

pytestmark = [pytest.mark.live, pytest.mark.slow]  # by day: test_filesystem_contract.py


def put(client: Host, mounted: Mounted, name: str, size_bytes: int) -> Path:
    """Put an object, and return it as BUCKET/KEY."""
    wanted: dict[str, Any] = {"object_bytes": size_bytes, "count": 1, "duration_s": 60.0, "seed": "x"}
    bucket = able(mounted, OffersBuckets).bucket(client.name)
    more = {"tolerate_errors": False, "wait": []}
    buckets.ask(client, bucket, "put", name, timeout_s=60, **wanted, **more)
    return Path(bucket.name, f"{name}00000000")


def test_objects_are_where_they_are_said_to_be_and_a_gateway_that_was_killed_comes_back() -> None:
    store = drivers.build("filesystems", "rgw", {"copies": 1, "placement_groups": 16})
    assert isinstance(store, FileSystem)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    with hosts_of().hold(2) as hosts, store.mount(hosts) as mounted:
        one, two = hosts.clients
        small = put(one, mounted, "small", 64 * 1024)
        large = put(one, mounted, "large", 10 * MIB + 5)
        conf = hosts.management.directory / "ceph" / "ceph.conf"
        ceph = ["ceph", "-c", conf, "osd", "map", "default.rgw.buckets.data"]
        listed = hosts.management.run(
            ["rados", "-c", conf, "-p", "default.rgw.buckets.data", "ls"], timeout_s=60
        ).stdout.split()
        assert len([name for name in listed if "small" in name]) == 1
        (head,) = (name for name in listed if name.endswith("_large00000000"))
        tails = [name for name in listed if "__shadow_" in name]
        assert len(tails) == 2
        storage = hosts.by_role("storage")
        assert len(mounted.locate(small)) == 1
        expected = set[str]()
        for name in (head, *tails):
            line = hosts.management.run([*ceph, name], timeout_s=60).stdout
            expected.add(storage[int(line.rpartition("acting ([")[2].partition("]")[0])].name)
        assert set(mounted.locate(large)) == expected

        other = able(mounted, OffersBuckets).bucket(two.name)
        own = able(mounted, OffersBuckets).bucket(one.name)
        with pytest.raises(StoreRefused, match="403"):
            buckets.ask(one, replace(other, credentials=own.credentials), "stored", "", timeout_s=60)

        health, killable = able(mounted, TellsHealth), able(mounted, Killable)
        assert health.absent() == ""
        killable.kill(hosts.metadata)
        assert "metadata" in (lost := health.absent()) or "OSDs up" in lost
        killable.revive(hosts.metadata)
        until_s = time.monotonic() + 60
        while lost := health.absent() or health.degraded():
            assert time.monotonic() < until_s, lost
            time.sleep(0.2)
        put(one, mounted, "after", MIB)
        mounted.alive()
