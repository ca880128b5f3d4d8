"""BeeGFS for real: its servers on virtual hosts, where a build is at hand (distributions have no packages).

Virtual hosts can't mount it (see `beegfs.client`), so what a client would do is not tested here; its servers,
their own tool and benchmark, and the refusal of a mount are.
"""

import signal
import time
from collections.abc import Iterator

import pytest

from lacking import lacking
from perjoule import drivers
from perjoule.drivers.protocols import Host, Hosts, Testbed
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.beegfs.cluster import BeegfsCluster
from perjoule.filesystems.beegfs.parse import KINDS
from perjoule.model import Json
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.model.units import MIB

MISSING = lacking(BeeGFS().checks())
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]

REFUSED = (
    r"targets Online and Good, .* but nothing can mount it: .*(no module beegfs|share a kernel).*virtual "
    r"clients share a kernel"
)


def hosts_of(**options: Json) -> Testbed:
    made = drivers.build("testbeds", "virtual", {"cpu_cap": False, **options})
    assert isinstance(made, Testbed)
    return made


def beegfs(**options: Json) -> BeeGFS:
    made = drivers.build("filesystems", "beegfs", options)
    assert isinstance(made, BeeGFS)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, BeegfsCluster]]:
    """One set of servers for the tests that leave it whole."""
    with hosts_of(servers=3).hold(1) as hosts, beegfs(chunk="1 MiB", targets=2).serve(hosts) as cluster:
        assert isinstance(cluster, BeegfsCluster)
        yield hosts, cluster


def test_every_server_has_its_target_and_all_are_well(deployment: tuple[Hosts, BeegfsCluster]) -> None:
    hosts, cluster = deployment
    assert {kind: [(t.number, t.well) for its, t in cluster.targets() if its == kind] for kind in KINDS} == {
        "meta": [(1, True)],
        "storage": [(n, True) for n in (1, 2, 3)],
    }
    rows = cluster.facts["targets"]
    assert isinstance(rows, list)
    assert {row["host"] for row in rows if isinstance(row, dict)} == {
        h.name for h in hosts.by_role("storage", "metadata")
    }
    cluster.alive()


def test_a_new_file_is_striped_as_configured_over_hosts_that_are_named(
    deployment: tuple[Hosts, BeegfsCluster],
) -> None:
    hosts, cluster = deployment
    cluster.ask("create", path="/striped")
    entry = cluster.entry("/striped")
    assert (entry.pattern, entry.chunk_bytes, len(entry.numbers)) == ("RAID0", MIB, 2)
    holders = cluster.holders("/striped")
    assert len(set(holders)) == 2
    assert set(holders) <= {host.name for host in hosts.by_role("storage")}
    assert (cluster.facts["chunk_bytes"], cluster.facts["stripe_targets_count"]) == (MIB, 2)


def test_its_own_benchmark_writes_on_every_target_and_removes_what_it_wrote(
    deployment: tuple[Hosts, BeegfsCluster],
) -> None:
    hosts, cluster = deployment
    cluster.bench()
    for host in hosts.by_role("storage"):
        wait_until(lambda host=host: kept_bytes(host) < MIB)


def test_the_mount_is_refused_when_the_servers_have_been_tried(
    deployment: tuple[Hosts, BeegfsCluster],
) -> None:
    with pytest.raises(MachineError, match=REFUSED) as refusal:
        deployment[1].attach_all()
    assert "4 targets Online and Good, each of 3 for data wrote 16 MiB" in str(refusal.value)


def test_who_does_not_have_the_secret_is_not_answered(deployment: tuple[Hosts, BeegfsCluster]) -> None:
    hosts, cluster = deployment
    host, room = hosts.management, hosts.management.directory / "beegfs"
    assert host.run(["stat", "-c", "%U %a", room / "auth"], timeout_s=5).stdout.split() == ["nobody", "600"]
    series, other = cluster.series, room / "other.auth"
    host.put("another secret", other)
    host.put(series.client(host.address, other, "buffered"), room / "other.conf")
    command = series.command(
        "call", management=host.address, authentication=other, client=room / "other.conf"
    )
    host.run(
        [*BeeGFS().environment, *command, *series.command("targets", kind="storage")],
        timeout_s=60,
        check=False,
    )
    log = host.run(["cat", *(log for log in cluster.logs if "mgmtd" in log.name)], timeout_s=10).stdout
    assert log.count("Peer sent wrong authentication") >= 1


def test_no_server_runs_as_root_and_each_has_its_log(deployment: tuple[Hosts, BeegfsCluster]) -> None:
    hosts, cluster = deployment
    for host in hosts.servers:
        assert {line.split()[0] for line in servers_on(host)} == {"nobody"}
    assert len(cluster.logs) == len({log.name for log in cluster.logs}) == 5
    assert all(log.stat().st_size for log in cluster.logs)


def test_mirrors_hold_what_their_pair_holds_data_and_metadata() -> None:
    with hosts_of(servers=1).hold(1) as hosts, beegfs(mirror=True, roles="both").serve(hosts) as cluster:
        assert cluster.facts["mirrors"] in (["meta 1+2", "storage 1+2"], ["meta 2+1", "storage 1+2"])
        assert isinstance(cluster, BeegfsCluster)
        entry = cluster.entry("/.perjoule")
        assert (entry.mirrored, entry.numbers) == (True, (101,))
        assert cluster.holders("/.perjoule") == ("storage-1", "metadata-1")
        assert cluster.busy() == ""


def test_a_killed_server_is_seen_and_nothing_is_left_behind() -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        with beegfs(beneath={"kind": "xfs", "size": "400 MiB"}).serve(hosts) as cluster:
            beneath = cluster.facts["beneath"]
            assert isinstance(beneath, dict)
            assert beneath["type"] == "xfs"
            cluster.alive()
            host = hosts.by_role("storage")[1]
            host.run(["kill", f"-{signal.SIGKILL.value}", pid(host)], timeout_s=10)
            with pytest.raises(
                TransientError, match=r"storage-2: beegfs-storage ended with exit code -9; it last said: .*>>"
            ):
                wait_until(lambda: bool(cluster.alive()))
        for host in hosts.all:
            assert not servers_on(host)
        places = [host.directory for host in hosts.all]
    assert not any(place.exists() for place in places)


def test_a_disk_with_fewer_inodes_than_metadata_needs_is_refused() -> None:
    with (
        hosts_of(servers=1).hold(1) as hosts,
        pytest.raises(CampaignError, match=r"metadata-1: .* has \d+ inodes left; make it larger"),
        beegfs(beneath={"kind": "ext4", "size": "600 MiB"}).serve(hosts),
    ):
        pass


def test_a_server_that_can_not_start_is_reported_with_its_message() -> None:
    listen = (
        "import socket, time; s = socket.create_server(('', 8003)); print('listening', flush=True); "
        "time.sleep(60)"
    )
    with hosts_of(servers=1).hold(1) as hosts:
        host = hosts.by_role("storage")[0]
        other = host.spawn(["python3", "-c", listen], log=host.directory / "other.log")
        wait_until(lambda: "listening" in other.output())
        with (
            pytest.raises(TransientError, match=r"storage-1: beegfs-storage ended .*Address already in use"),
            beegfs().serve(hosts),
        ):
            pass
        assert not servers_on(host)


def test_bringing_it_up_ends_with_the_refusal() -> None:
    with (
        hosts_of(servers=1).hold(1) as hosts,
        pytest.raises(MachineError, match=REFUSED),
        beegfs().mount(hosts),
    ):
        pass


def servers_on(host: Host) -> list[str]:
    listed = host.run(["ps", "-eo", "user=,args="], timeout_s=10).stdout.splitlines()
    return [line for line in listed if "cfgFile=" in line and "beegfs-" in line]


def pid(host: Host) -> str:
    return host.run(["pgrep", "-f", "beegfs-storage.conf"], timeout_s=10).stdout.strip()


def kept_bytes(host: Host) -> int:
    said = host.run(["du", "-sb", host.directory / "beegfs" / "storage"], timeout_s=20).stdout
    return int(said.split()[0])


def wait_until(true: object) -> None:
    """Ask again and again for what is true a moment later, as a kill is before the kernel says so."""
    assert callable(true)
    until_s = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until_s
