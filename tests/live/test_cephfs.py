"""CephFS for real: the daemons on virtual hosts."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from day import by_day
from on_hosts import FILE_BYTES, checksum, hosts_of, write
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Host, Hosts, Mounted
from perjoule.machine.mounts import in_kernel
from perjoule.model import Json, value_at
from perjoule.model.errors import MachineError, TransientError
from perjoule.model.units import MIB

pytestmark = pytest.mark.live


def cephfs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "cephfs", options)
    assert isinstance(made, FileSystem)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, Mounted]]:
    """One cluster for the tests that leave it whole."""
    with hosts_of().hold(2) as hosts, cephfs().mount(hosts) as mounted:
        yield hosts, mounted


REDUNDANCIES: dict[str, tuple[dict[str, Json], int]] = {
    "three copies": ({"copies": 3}, 3),
    "2+1": ({"erasure": "2+1"}, 3),
    "3+1": ({"erasure": "3+1", "osds_per_host": 2}, 4),
    "4+1 on all hosts": ({"erasure": "4+1", "classes": "together"}, 5),
}


@pytest.mark.parametrize("redundancy", by_day(REDUNDANCIES, "2+1"))
def test_every_redundancy_gives_back_what_was_written_and_lies_on_as_many_hosts(
    redundancy: str, verified: Callable[[Hosts, Mounted], Path]
) -> None:
    options, holders_count = REDUNDANCIES[redundancy]
    with hosts_of().hold(1) as hosts, cephfs(placement_groups=16, **options).mount(hosts) as mounted:
        verified(hosts, mounted)
        small = mounted.directories[hosts.clients[0].name] / "small"
        write(hosts.clients[0], small, 1)
        assert len(mounted.locate(small)) == holders_count
        assert isinstance(pools := mounted.facts["pools"], dict)
        assert isinstance(data := pools["cephfs_data"], dict)
        assert data.get("erasure", data.get("copies_count")) == options.get("erasure", options.get("copies"))


def received_bytes(host: Host, device: str) -> int:
    """What a device of a host received, as its kernel counts."""
    text = host.run(["cat", "/proc/net/dev"], timeout_s=10).stdout
    return int(text.partition(f"{device}:")[2].split()[0])


@pytest.mark.slow  # by day: a network of servers: test_virtual.py
def test_copies_go_over_the_cluster_network_which_clients_do_not_have() -> None:
    with hosts_of(cluster_network=1.0).hold(1) as hosts, cephfs(copies=3).mount(hosts) as mounted:
        (client,), storage = hosts.clients, hosts.by_role("storage")
        assert "eth1" not in client.run(["ip", "-brief", "link"], timeout_s=10).stdout
        before = [received_bytes(host, "eth1") for host in storage]
        write(client, mounted.directories[client.name] / "file", FILE_BYTES // MIB)
        copied_bytes = sum(received_bytes(host, "eth1") for host in storage) - sum(before)
    assert copied_bytes > 1.9 * FILE_BYTES


def test_a_file_of_one_object_lies_on_as_many_hosts_as_copies(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    client = hosts.clients[0]
    folder = mounted.directories[client.name]
    write(client, folder / "small", 1)
    write(client, folder / "large", FILE_BYTES // MIB)
    storage = {host.name for host in hosts.by_role("storage")}
    small, large = mounted.locate(folder / "small"), mounted.locate(folder / "large")
    assert len(set(small)) == len(small) == 2
    assert set(small) < storage
    assert 2 <= len(large) <= 4
    assert set(large) <= storage


def test_facts_come_from_the_daemons(deployment: tuple[Hosts, Mounted]) -> None:
    _, mounted = deployment
    facts = mounted.facts
    assert str(facts["version"]).startswith("ceph version")
    assert isinstance(osds := facts["osds"], dict)
    assert len(osds) == 6
    assert isinstance(pools := facts["pools"], dict)
    assert set(pools) == {"cephfs_data", "cephfs_metadata"}
    for name, value in (("osd_op_num_shards", "2"), ("osd_max_pg_log_entries", "500")):
        assert value_at(facts, "changed", "emulation", name) == value
        assert str(value_at(facts, "settings", name)) == value  # which Ceph prints as a number


def test_no_daemon_runs_as_root_and_each_has_its_log(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    for host in hosts.servers:
        listed = host.run(["ps", "-eo", "user:16=,comm="], timeout_s=10).stdout.splitlines()
        daemons = [line.split() for line in listed if "ceph-" in line]
        assert daemons
        assert {user for user, _ in daemons} == {"ceph"}
    names = sorted(log.name for log in mounted.logs)
    osds = [f"storage-{n + 1}-osd.{n}.log" for n in range(4)]
    servers = ["management-1-mgr.a.log", "management-1-mon.a.log", "metadata-1-mds.a.log"]
    assert names == [
        *("client-1-ceph-fuse.log", "client-2-ceph-fuse.log"),
        *servers,
        *("metadata-1-osd.4.log", "metadata-1-osd.5.log"),
        *osds,
    ]
    assert all(log.is_file() for log in mounted.logs)


def test_a_clients_key_does_not_open_the_cluster(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, _ = deployment
    client = hosts.clients[0]
    folder = client.directory / "ceph"
    assert "client.admin" not in client.read(folder / "keyring").decode()
    program = (
        "import json, rados, sys; c = rados.Rados(conffile=sys.argv[1], name='client.client-1'); c.connect();"
        "print(c.mon_command(json.dumps({'prefix': 'osd pool create', 'pool': 'mine', 'pg_num': 1}), "
        "b'')[0]);"
        # else its threads may still decrypt while OpenSSL is cleaned up, and end the program by SIGABRT
        "c.shutdown()"
    )
    said = client.run(["/usr/bin/python3", "-c", program, folder / "ceph.conf"], timeout_s=30)
    assert said.stdout.strip() == "-13"


@pytest.mark.slow  # by day: metadata on their own hosts, above
def test_hosts_without_a_place_for_metadata_carry_all_on_their_disks() -> None:
    with hosts_of(servers=2).hold(1) as held:
        hosts = Hosts(tuple(host for host in held.all if host.role in ("storage", "client")), held.scale)
        with cephfs(placement_groups=8, osds_per_host=2).mount(hosts) as mounted:
            client = hosts.clients[0]
            path = mounted.directories[client.name] / "file"
            write(client, path, 1)
            assert set(mounted.locate(path)) == {"storage-1", "storage-2"}


def wait_until_something_listens(host: Host, port: int) -> None:
    until_s = time.monotonic() + 10
    while not host.run(["ss", "-Hltn", f"sport = :{port}"], timeout_s=10).stdout:
        assert time.monotonic() < until_s


@pytest.mark.slow  # by day: a daemon that dies: test_faults.py, test_filesystem_contract.py
def test_a_metadata_server_that_stands_by_takes_over() -> None:
    with hosts_of().hold(1) as hosts, cephfs(placement_groups=16, standby=True).mount(hosts) as mounted:
        running = {
            host.name
            for host in hosts.servers
            if "ceph-mds" in host.run(["ps", "-A", "-o", "comm="], timeout_s=30).stdout.split()
        }
        assert running == {hosts.metadata.name, hosts.management.name}
        mounted.alive()
        client = hosts.clients[0]
        path = mounted.directories[client.name] / "file"
        write(client, path, 1)
        # only the process: its host also has the OSDs of the metadata, and sees no other host's processes
        hosts.metadata.run(["sh", "-c", "kill -9 $(pidof ceph-mds)"], timeout_s=30)
        # monitors wait a minute for its beacon on emulated hosts
        client.run(["touch", path.with_name("another")], timeout_s=200)


def test_a_monitor_that_finds_its_port_taken_is_reported_with_its_message_and_nothing_is_left() -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        host = hosts.management
        other = ["/usr/bin/python3", "-m", "http.server", "3300", "--bind", host.address]
        taken = host.spawn(other, log=host.directory / "other.log")
        wait_until_something_listens(host, 3300)
        began_s = time.monotonic()
        with (
            pytest.raises(TransientError, match=r"mon\.a ended .*3300"),
            cephfs(placement_groups=8).mount(hosts),
        ):
            pass
        assert time.monotonic() - began_s < 60
        assert taken.returncode is None
        assert not any((host.directory / "ceph").exists() for host in hosts.all)


@pytest.mark.skipif(
    not in_kernel("ceph"), reason="this kernel has no client of CephFS (CONFIG_CEPH_FS); run `make kernels`"
)
def test_the_kernels_client_reads_what_another_wrote_over_cold_caches_and_says_what_it_is(
    verified: Callable[[Hosts, Mounted], Path],
) -> None:
    with hosts_of().hold(2) as hosts, cephfs(client="kernel", placement_groups=16).mount(hosts) as mounted:
        holders = mounted.locate(verified(hosts, mounted))
        assert set(holders) <= {host.name for host in hosts.by_role("storage")}
        one, two = hosts.clients
        written = write(one, mounted.directories[one.name] / "shared")
        mounted.drop_caches()
        assert checksum(two, mounted.directories[two.name] / "shared") == written
        assert mounted.facts["client"] == "kernel"
        assert isinstance(mounts := mounted.facts["mounts"], dict)
        assert all(
            isinstance(found := mounts[client.name], dict) and found["type"] == "ceph"
            for client in hosts.clients
        )
        mounted.alive()


@pytest.mark.skipif(in_kernel("ceph"), reason="this kernel has a client of CephFS")
def test_a_missing_kernel_client_is_refused_before_anything_starts() -> None:
    with (
        hosts_of().hold(1) as hosts,
        pytest.raises(
            MachineError, match=r'client-1: the kernel has no client of CephFS; set client = "fuse"'
        ),
        cephfs(client="kernel").mount(hosts),
    ):
        pass
