"""What a virtual host is capped to and what it counts, without namespaces."""

import errno
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from perjoule import catalogue
from perjoule.drivers.protocols.networks import cluster_address
from perjoule.model import Disk
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.testbeds import _delay, _disk
from perjoule.testbeds._delay import Delay
from perjoule.testbeds.virtual import cgroup
from perjoule.testbeds.virtual import host as host_module
from perjoule.testbeds.virtual.host import VirtualHost
from perjoule.testbeds.virtual.topology import places

HC4 = catalogue.cluster("odroid-hc4")


@dataclass(frozen=True)
class Groups(cgroup.Groups1):
    """Keeps what it has to cap, and counts what it is given."""

    run: str = "0badcafe"
    capped: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    killed: dict[str, int] = field(default_factory=dict[str, int])

    def doors(self, host):
        return ()

    def cap_disk(self, host, device, read_bytes_per_s, written_bytes_per_s):
        self.capped[device] = (read_bytes_per_s, written_bytes_per_s)
        return f"as {device}"

    def cpu_s(self, host):
        return 1.5

    def disk_bytes(self, host):
        return 10, 20

    def pids_of(self, host):
        return (os.getpid(),)

    def killed_count(self, host):
        return self.killed[host]


def loop(n):
    return _disk.Loop(f"loop{n}", f"7:{n}", Path(f"/nowhere/{n}.img"))


@pytest.fixture
def host():
    place = places(HC4, clients_count=1, servers_count=None, scale=0.5)[0]
    return VirtualHost(place, Path("/nowhere"), os.getpid(), Groups(), loop(0))


def test_disks_share_what_those_of_the_board_do_at_the_scale_and_so_do_the_legs_of_a_mirror(host):
    read, written = (
        sum(getattr(disk, of).value for disk in host.node.disks)
        for of in ("read_bytes_per_s", "write_bytes_per_s")
    )
    host._disks["mirror"] = (loop(1), loop(2))
    assert host.cap_disks(0.5) == "as 7:0"
    assert host._groups.capped == {
        "7:0": pytest.approx((read / 2, written / 2)),
        "7:1": pytest.approx((read / 4, written / 4)),
        "7:2": pytest.approx((read / 4, written / 4)),
    }
    assert host.copies_count == 2


def test_disks_of_their_own_have_each_its_own_bandwidth_and_so_has_what_lies_on_them():
    second = catalogue.cluster("reference-2").nodes[1]  # one disk of a kind, eight of another
    place = replace(places(HC4, clients_count=1, servers_count=None, scale=1.0)[0], node=second)
    groups, further = Groups(), [loop(n) for n in range(1, 9)]
    host = VirtualHost(place, Path("/nowhere"), os.getpid(), groups, loop(0), further=further)
    host._disks["beneath"], host._disks["beneath.2"] = (loop(20),), (loop(21),)
    host._disks["mirror"] = (loop(22), loop(23))
    host.cap_disks(0.01)
    first, other = ({"7:0", "7:20", "7:22"}, {*(f"7:{n}" for n in range(1, 9)), "7:21", "7:23"})
    written = {device: rates[1] for device, rates in groups.capped.items()}
    assert written == {
        **dict.fromkeys(first, pytest.approx(0.027 * 2**30)),
        **dict.fromkeys(other, pytest.approx(0.0373 * 2**30)),
    }
    assert host.disks_count == 9


def test_a_host_without_disks_in_the_catalogue_is_not_capped():
    client = next(
        p for p in places(HC4, clients_count=1, servers_count=None, scale=1.0) if p.role == "client"
    )
    assert not client.node.disks
    groups = Groups()
    host = VirtualHost(client, Path("/nowhere"), os.getpid(), groups, loop(0))
    assert (host.cap_disks(1.0), groups.capped, host.copies_count) == ("", {}, 1)


def test_disks_seek_while_a_load_is_at_random_and_where_they_can_not_such_a_load_is_doubted(monkeypatch):
    place = places(HC4, clients_count=1, servers_count=None, scale=1.0)[0]
    changed = []
    monkeypatch.setattr(
        _delay, "change", lambda image, delay_ms, *, lock: changed.append((image.stem, delay_ms))
    )
    for lack, delay in (
        ("", Delay(16, at_random=True)),
        ("", Delay(8)),
        ("no dm-delay", Delay(16, at_random=True)),
    ):
        monkeypatch.setattr(_delay, "lacking", lambda lack=lack: lack)
        host = VirtualHost(place, Path("/nowhere"), os.getpid(), Groups(), loop(0), delay=delay)
        host._disks["device"] = (loop(1),)
        for at_random in (True, False):
            host.seek(at_random=at_random)
            assert [str(doubt) for doubt in host.doubts] == [f"disks did not seek: {lack}"] * bool(
                lack and at_random
            )
    assert changed == [("0", 16), ("1", 16), ("0", 0), ("1", 0)]  # by the first host alone


def test_disks_that_can_not_be_made_to_seek_fail_the_load(host, monkeypatch):
    host._delay, host._delay_ms = Delay(16, at_random=True), 0
    monkeypatch.setattr(
        _delay, "tool", lambda *argv, lock: (_ for _ in ()).throw(MachineError("dmsetup: no such device"))
    )
    with pytest.raises(WorkloadError, match="storage-1: its disks can't seek: dmsetup: no such device"):
        host.seek(at_random=True)


def test_bytes_are_those_of_all_its_disks_or_else_of_its_group(host, monkeypatch):
    monkeypatch.setattr(VirtualHost, "_stat", lambda self, disk: "1 0 2048 5 1 0 4096 9 0 500 0")
    one = host.counters()
    assert (one.cpu_s, one.disk_read_bytes, one.disk_written_bytes, one.disk_busy_s) == (
        1.5,
        1 << 20,
        2 << 20,
        0.5,
    )
    host._disks["mirror"] = (loop(1), loop(2))
    three = host.counters()
    assert (three.disk_read_bytes, three.disk_written_bytes, three.disk_busy_s) == (3 << 20, 6 << 20, 1.5)
    host._disks.clear()
    none = host.counters()
    assert (none.disk_read_bytes, none.disk_written_bytes, none.disk_busy_s) == (10, 20, None)


def _stat(read_sectors, written_sectors, busy_ms):
    return f"1 0 {read_sectors} 5 1 0 {written_sectors} 9 0 {busy_ms} 0"


@pytest.mark.parametrize("kind", ["disk", "device"])
def test_a_disk_that_comes_in_the_middle_of_a_trial_counts_from_then_on(host, monkeypatch, tmp_path, kind):
    """Its loop device may have counted for others before."""
    said = {"loop0": _stat(2048, 4096, 500), "null": _stat(10**9, 10**9, 10**6)}
    host.directory = tmp_path / "storage-1"
    made = replace(loop(7), name="null")
    monkeypatch.setattr(_disk, "make", lambda *_args, **_ways: made)
    monkeypatch.setattr(_disk, "bare", lambda *_args, **_ways: Path("/dev/null"))
    monkeypatch.setattr(VirtualHost, "_stat", lambda _self, disk: said[disk.name])
    monkeypatch.setattr(Path, "read_text", lambda _self: "7:7")
    before = host.counters()
    if kind == "disk":
        host.disk("beneath", Disk(kind="ext4"))
    else:
        host.device("beneath", size_bytes=1 << 30)
    assert replace(host.counters(), t_s=0.0) == replace(before, t_s=0.0)
    said["null"] = _stat(10**9 + 2, 10**9 + 4, 10**6 + 250)
    after = host.counters()
    assert after.disk_read_bytes - before.disk_read_bytes == 2 * 512
    assert after.disk_written_bytes - before.disk_written_bytes == 4 * 512
    assert after.disk_busy_s - before.disk_busy_s == pytest.approx(0.25)


def test_a_device_that_gets_the_number_of_the_one_it_replaces_is_counted_by_its_own_file(
    host, monkeypatch, tmp_path
):
    """That of a mapped device goes with it, however long it is held open; that of a loop device stays."""
    opened = []

    class Stat:
        def __init__(self, _path):
            opened.append(self)

        def text(self):
            if self is not opened[-1]:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            return _stat(8, 16, 1)

    host.directory = tmp_path / "storage-1"
    host._disks.clear()
    monkeypatch.setattr(host_module, "OpenText", Stat)
    monkeypatch.setattr(_disk, "bare", lambda *_args, **_ways: Path("/dev/null"))
    monkeypatch.setattr(_disk, "detach", lambda _loop: None)
    monkeypatch.setattr(Path, "read_text", lambda _self: "7:7")
    for _ in range(2):
        host.device("bare", size_bytes=1 << 20)
        assert host.counters().disk_read_bytes == 0
    assert len(opened) == 2


def test_a_disk_that_comes_while_counters_are_read_ends_no_reading(host, monkeypatch):
    """The thread of events adds it while that of the meter reads the first disk."""

    def stat(self, _disk):
        self._disks[f"beneath-{len(self._disks)}"] = (loop(len(self._disks)),)
        return _stat(2048, 4096, 500)

    monkeypatch.setattr(VirtualHost, "_stat", stat)
    assert host.counters().disk_read_bytes == 1 << 20


def test_readings_of_others_leave_context_switches_to_those_who_take_them(host):
    """A trial's tail reads counters, too: a count that it got would be missing from the meter's."""
    asked = [host.ask_counters(switches=wanted)().switches_count for wanted in (False, False, True, False)]
    assert [count is not None for count in asked] == [False, False, True, False]
    assert host.counters().switches_count is None


@pytest.mark.parametrize(
    ("clients", "servers", "possible"), [(124, 4, True), (125, 4, False), (1, 128, False)]
)
def test_a_machine_holds_128_requested_hosts(clients, servers, possible):
    if possible:
        assert (
            sum(
                p.role == "client"
                for p in places(HC4, clients_count=clients, servers_count=servers, scale=1.0)
            )
            == clients
        )
    else:
        with pytest.raises(CampaignError, match=f"{clients + servers} hosts are too many"):
            places(HC4, clients_count=clients, servers_count=servers, scale=1.0)


def test_more_storage_hosts_than_the_catalogues_are_like_the_last_of_them():
    first, *others = HC4.nodes
    assert first.role == "storage"
    two = replace(
        HC4, nodes=(replace(first, name="old", count=1), replace(first, name="new", count=2), *others)
    )
    asked = {
        n: [
            p.node.name
            for p in places(two, clients_count=1, servers_count=n, scale=1.0)
            if p.role == "storage"
        ]
        for n in (2, 5)
    }
    assert asked == {2: ["old", "new"], 5: ["old", "new", "new", "new", "new"]}


def test_memory_is_the_boards_times_the_ratio_where_the_catalogue_has_it():
    def capped(cluster, ratio):
        there = places(
            catalogue.cluster(cluster), clients_count=1, servers_count=None, scale=0.1, memory_ratio=ratio
        )
        return {place.role: place.memory_bytes for place in there}

    assert capped("odroid-hc4", 1.0) == dict.fromkeys(("storage", "metadata", "management"), 4 << 30) | {
        "client": 8 << 30
    }
    assert capped("odroid-hc4", 0.25)["storage"] == 1 << 30
    assert set(capped("odroid-hc4", None).values()) == {None}
    assert {role: count for role, count in capped("reference-2", 0.5).items() if count} == {
        "client": 64 << 30
    }


def test_what_was_killed_is_reported_once_with_the_memory_there_was(host):
    killed = host._groups.killed
    killed["storage-1"] = 0
    assert host.out_of_memory() == ""
    killed["storage-1"] = 1
    assert host.out_of_memory() == ""  # it has no cap: the machine's memory was too small, not the host's
    host.memory_bytes = 256 << 20
    assert (
        host.out_of_memory()
        == "the kernel killed one of its programs, because the host has 256 MiB of memory"
    )
    assert host.out_of_memory() == ""
    killed["storage-1"] = 4
    assert (
        host.out_of_memory() == "the kernel killed 3 of its programs, because the host has 256 MiB of memory"
    )


@pytest.mark.parametrize(("cluster_network", "devices"), [(0.0, ["eth0"]), (1.0, ["eth0", "eth1"])])
def test_a_host_loses_packets_and_its_link_in_all_its_networks(cluster_network, devices, monkeypatch):
    ran = []
    monkeypatch.setattr(
        host_module._process, "run", lambda enter, argv, **words: ran.append((argv[4:], words["text"]))
    )
    place = places(
        HC4, clients_count=1, servers_count=None, scale=0.5, cluster_network_ratio=cluster_network
    )[0]
    host = VirtualHost(place, Path("/nowhere"), os.getpid(), Groups(), loop(0))
    assert cluster_address(host) == ("10.98.0.2" if cluster_network else "")
    host.connect(up=False)
    assert [argv[4:] for argv, _ in ran] == [[device, "down"] for device in devices]
    ran.clear()
    host.lose_packets(0.25)
    shapes = [text for argv, text in ran if argv[0] == "tc"]
    assert [
        f"dev {device} root handle 1: netem" in text for device, text in zip(devices, shapes, strict=True)
    ]
    assert all("loss 25.000000%" in text for text in shapes)
