"""OrangeFS for real: the daemons on virtual hosts, where a build of it is at hand (no distribution has
packages).
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import FILE_BYTES, checksum, hosts_of, received_bytes
from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem, Host, Hosts, Mounted
from perjoule.execution import runner
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.orangefs.parse import PORT
from perjoule.model import Json
from perjoule.model.errors import TransientError
from perjoule.model.units import MIB
from perjoule.store import create, open_results

MISSING = lacking(OrangeFS().checks())
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]

CAMPAIGN = """
name = "orangefs"
repetitions = 1
settle = "100 ms"
[testbed]
kind = "virtual"
disk = "directory"
servers = 2
[[filesystem]]
kind = "orangefs"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "16 MiB"
transfer = "1 MiB"
[[meter]]
kind = "system"
"""


def orangefs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "orangefs", options)
    assert isinstance(made, FileSystem)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, Mounted]]:
    """One cluster for the tests that leave it whole."""
    with hosts_of().hold(2) as hosts, orangefs().mount(hosts) as mounted:
        yield hosts, mounted


def write(client: Host, path: Path) -> str:
    """Write random bytes and return their checksum."""
    client.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={FILE_BYTES // MIB}"], timeout_s=60)
    return checksum(client, path)


def test_a_file_lies_on_all_storage_hosts_in_strips_of_64_kib(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    client, storage = hosts.clients[0], hosts.by_role("storage")
    path = mounted.directories[client.name] / "located"
    before = [received_bytes(host) for host in storage]
    write(client, path)
    holders = mounted.locate(path)
    assert sorted(holders) == sorted(host.name for host in storage)
    share_bytes = FILE_BYTES / len(storage)
    for host, count in zip(storage, before, strict=True):
        assert share_bytes < received_bytes(host) - count < 1.2 * share_bytes


def test_facts_come_from_the_daemons(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    facts = mounted.facts
    assert str(facts["version"]).startswith("2.")
    assert (facts["distribution"], facts["strip_bytes"], facts["data_servers_count"]) == (
        "simple_stripe",
        64 * 1024,
        4,
    )
    rows = facts["servers"]
    assert isinstance(rows, list)
    modes = {row["host"]: row["mode"] for row in rows if isinstance(row, dict)}
    expected = {host.name: "only I/O data" for host in hosts.by_role("storage")}
    assert modes == {**expected, "metadata-1": "only metadata"}
    argv = [*OrangeFS().environment, "sh", "-c", "ldd $(command -v pvfs2-server)"]
    linked = hosts.metadata.run(argv, timeout_s=10).stdout
    assert facts["metadata_database"] == ("Berkeley DB" if "libdb" in linked else "LMDB")


def test_no_server_runs_as_root_and_each_daemon_has_its_log(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    for host in hosts.by_role("storage", "metadata"):
        listed = host.run(["ps", "-o", "user=", "-C", "pvfs2-server"], timeout_s=10).stdout.split()
        assert listed == ["nobody"]
    assert len(mounted.logs) == len({log.name for log in mounted.logs}) == 7
    assert all(log.is_file() for log in mounted.logs)


@pytest.mark.parametrize(
    ("options", "holders_count"),
    [
        pytest.param({"roles": "both", "stripe": "1 MiB", "attribute_cache": False}, 3, id="both roles"),
        pytest.param({"distribution": "twod_stripe", "trove": "directio"}, 2, id="two dimensions"),
        pytest.param({"distribution": "basic_dist", "sync_data": True}, 1, id="no stripes"),
    ],
)
def test_other_layouts_keep_what_is_written(options: dict[str, Json], holders_count: int) -> None:
    with hosts_of(servers=2).hold(2) as hosts, orangefs(**options).mount(hosts) as mounted:
        one, two = hosts.clients
        path = mounted.directories[one.name] / "kept"
        assert write(one, path) == checksum(two, mounted.directories[two.name] / "kept")
        assert len(mounted.locate(path)) == holders_count


def test_without_the_attribute_cache_a_size_that_another_client_changed_is_seen_at_once() -> None:
    with hosts_of(servers=1).hold(2) as hosts, orangefs(attribute_cache=False).mount(hosts) as mounted:
        one, two = [(client, mounted.directories[client.name] / "grows") for client in hosts.clients]
        for size_bytes in (MIB, 3 * MIB):
            one[0].run(["truncate", "-s", str(size_bytes), one[1]], timeout_s=10)
            assert two[0].run(["stat", "-c", "%s", two[1]], timeout_s=10).stdout.strip() == str(size_bytes)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        pytest.param("truncate --size=3M file", "attributes_cached_s", id="its size"),
        pytest.param("mv file moved", "names_cached_s", id="its name", marks=pytest.mark.slow),
    ],
)
def test_what_another_client_changed_stays_unseen_for_as_long_as_the_facts_say(
    change: str, fact: str
) -> None:
    with hosts_of(servers=1).hold(2) as hosts, orangefs().mount(hosts) as mounted:
        one, two = hosts.clients

        def shell(client: Host, command: str) -> str:
            words = ["sh", "-c", f"cd {mounted.directories[client.name]} && {command}"]
            return client.run(words, timeout_s=10, check=False).stdout

        shell(one, "truncate --size=1M file")
        before = shell(two, "stat --format=%s file")
        assert before == f"{MIB}\n"
        shell(one, change)
        changed_s = time.monotonic()
        while shell(two, "stat --format=%s file") == before:
            assert time.monotonic() < changed_s + 90
            time.sleep(0.2)
        assert time.monotonic() - changed_s == pytest.approx(mounted.facts[fact], abs=2)


def test_a_server_that_hangs_does_not_keep_the_rest_from_ending() -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        with orangefs().mount(hosts) as mounted:
            host, client = hosts.by_role("storage")[0], hosts.clients[0]
            host.run(["kill", f"-{signal.SIGSTOP.value}", pid(host)], timeout_s=10)
            path = mounted.directories[client.name] / "stuck"
            with pytest.raises(TransientError, match="dd did not end"):
                client.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=4"], timeout_s=0.5)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 10
        assert_clean(hosts)


def test_a_server_that_can_not_start_is_reported_with_its_message() -> None:
    listen = (
        f"import socket, time; s = socket.create_server(('', {PORT})); print('listening', flush=True); "
        "time.sleep(60)"
    )
    with hosts_of(servers=1).hold(1) as hosts:
        host = hosts.by_role("storage")[0]
        other = host.spawn(["python3", "-c", listen], log=host.directory / "other.log")
        until_s = time.monotonic() + 10
        while "listening" not in other.output():
            assert time.monotonic() < until_s
        with (
            pytest.raises(TransientError, match=r"storage-1: pvfs2-server ended .*Address already in use"),
            orangefs().mount(hosts),
        ):
            pass
        assert_clean(hosts)


def test_a_campaign_with_it_runs_to_its_end(tmp_path: Path) -> None:
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    records = open_results(tmp_path / "results").records()
    assert [(record.status, record.reason) for record in records] == [("valid", "")] * 2
    for record in records:
        assert record.outcome is not None
        assert [result.moved_bytes for result in record.outcome.results] == [FILE_BYTES]


def pid(host: Host) -> str:
    return host.run(["pgrep", "-x", "pvfs2-server"], timeout_s=10).stdout.strip()


def assert_clean(hosts: Hosts) -> None:
    for host in hosts.all:
        assert not (host.directory / "orangefs").exists()
        listed = host.run(["ps", "-eo", "stat=,args="], timeout_s=10).stdout.splitlines()
        # a dead one is the init's to bury
        assert not [line for line in listed if "pvfs2" in line and line[0] != "Z"]
        assert "pvfs2fuse" not in host.run(["cat", "/proc/mounts"], timeout_s=10).stdout


def test_data_lie_on_what_is_beneath() -> None:
    with (
        hosts_of(servers=1).hold(1) as hosts,
        orangefs(beneath={"kind": "ext4", "block": "2 KiB"}).mount(hosts) as mounted,
    ):
        client, server = hosts.clients[0], hosts.by_role("storage")[0]
        write(client, mounted.directories[client.name] / "file")
        facts = mounted.facts["beneath"]
        assert isinstance(facts, dict)
        assert (facts["type"], facts["block_bytes"]) == ("ext4", 2048)
        used = server.run(
            ["du", "-sm", server.directory / "beneath" / "orangefs" / "server" / "data"], timeout_s=10
        ).stdout.split()[0]
        assert int(used) >= FILE_BYTES // MIB
