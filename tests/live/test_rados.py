"""RADOS without a file system, for real: pools on virtual hosts."""

from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Host, MakesPools, Pool, Testbed, Workload
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB

pytestmark = pytest.mark.live


def rados(client: Host, pool: Pool, *argv: str | Path) -> str:
    who = ["-c", pool.configuration, "-n", pool.user, "-p", pool.name]
    return client.run(["rados", *who, *argv], timeout_s=30).stdout


def test_each_client_has_a_pool_of_its_own_that_gives_back_what_was_put_in(tmp_path: Path) -> None:
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False})
    store = drivers.build("filesystems", "rados", {"erasure": "2+1", "placement_groups": 16})
    assert isinstance(testbed, Testbed)
    assert isinstance(store, FileSystem)
    with testbed.hold(2) as hosts:
        with store.mount(hosts) as mounted:
            one, two = hosts.clients
            mine, other = mounted.pools[one.name], mounted.pools[two.name]
            assert mounted.directories == {}

            put, got = one.directory / "put", one.directory / "got"
            one.run(["dd", "if=/dev/urandom", f"of={put}", "bs=1M", "count=4"], timeout_s=30)
            rados(one, mine, "put", "object", put)
            mounted.drop_caches()
            rados(one, mine, "get", "object", got)
            assert got.stat().st_size == 4 * MIB
            assert got.read_bytes() == put.read_bytes()

            holders = mounted.locate(Path(mine.name) / "object")
            assert len(set(holders)) == 3
            assert set(holders) < {host.name for host in hosts.by_role("storage")}
            with pytest.raises(WorkloadError, match="Operation not permitted"):
                rados(one, Pool(other.name, mine.user, mine.configuration), "put", "object", put)

            mounted.alive()
            assert mounted.facts["file_systems"] == {}
            assert isinstance(pools := mounted.facts["pools"], dict)
            assert set(pools) == {"client-1", "client-2"}
            assert not any("mds" in log.name for log in mounted.logs)
        assert not any((host.directory / "ceph").exists() for host in hosts.all)


@pytest.mark.slow  # by day: more copies: test_filesystem_contract.py
def test_two_hosts_with_one_copy_of_each_object_get_healthy() -> None:
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 2})
    store = drivers.build("filesystems", "rados", {"copies": 1, "placement_groups": 8})
    assert isinstance(testbed, Testbed)
    assert isinstance(store, FileSystem)
    with testbed.hold(1) as hosts, store.mount(hosts) as mounted:
        mounted.alive()


@pytest.mark.slow  # by day: one monitor, above
def test_three_monitors_run_on_hosts_of_their_own_and_agree() -> None:
    """As on the Cubieboards: no host with a monitor has an OSD."""
    bed = {"cluster": "cubieboard2", "disk": "directory", "cpu_cap": False, "servers": 2}
    testbed = drivers.build("testbeds", "virtual", bed)
    store = drivers.build("filesystems", "rados", {"monitors": 3, "copies": 2, "placement_groups": 8})
    assert isinstance(testbed, Testbed)
    assert isinstance(store, FileSystem)
    with testbed.hold(1) as hosts, store.mount(hosts) as mounted:
        monitors = {"mon.a": "management-1", "mon.b": "management-2", "mon.c": "management-3"}
        assert mounted.facts["monitors"] == monitors
        for host in hosts.servers:
            running = host.run(["ps", "-A", "-o", "comm="], timeout_s=30).stdout.split()
            daemons = {name for name in running if name.startswith("ceph-")}
            others = {"ceph-mgr"} if host is hosts.management else set[str]()
            assert daemons == (others | {"ceph-mon"} if host.role == "management" else {"ceph-osd"})
        mounted.alive()


@pytest.mark.slow  # by day: pools are made and gone, above
def test_a_pool_that_was_deleted_is_made_again_for_its_client_alone(tmp_path: Path) -> None:
    """As a benchmark does whose window has its pools in it: also where all are gone for a while."""
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 2})
    store = drivers.build("filesystems", "rados", {"copies": 2, "placement_groups": 8})
    load = drivers.build(
        "workloads",
        "rados",
        {
            "operation": "procedure",
            "object": "64 KiB",
            "size": "64 MiB",
            "duration": "2 s",
            "read_duration": "2 s",
            "pools_made_apart": "1 s",
            "pools_deleted_apart": "500 ms",
        },
    )
    assert isinstance(testbed, Testbed)
    assert isinstance(store, FileSystem)
    assert isinstance(load, Workload)
    with testbed.hold(2) as hosts, store.mount(hosts) as mounted:
        assert isinstance(mounted, MakesPools)
        for attempt in ("first", "second"):
            (tmp_path / attempt).mkdir()
            load.prepare(hosts.clients, mounted, tmp_path / attempt)
            outcome = load.run(hosts.clients, mounted, tmp_path / attempt)
            moved = {(r.host, r.direction): r.moved_bytes for r in outcome.results}
            assert {*moved} == {(f"client-{n}", way) for n in (1, 2) for way in ("write", "read")}
            assert min(moved.values()) > 0
            assert outcome.measured == {"pools_made_count": 2.0}
            mounted.alive()
        one, two = hosts.clients
        mounted.make_pool(one.name)
        put = one.directory / "put"
        one.run(["dd", "if=/dev/urandom", f"of={put}", "bs=1M", "count=1"], timeout_s=30)
        rados(one, mounted.pools[one.name], "put", "object", put)
        with pytest.raises(WorkloadError):
            rados(two, mounted.pools[two.name], "ls")
