"""What virtual and local hosts compute and read, without a host."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from perjoule import catalogue
from perjoule.cli import cli
from perjoule.drivers.protocols import Check, Cleaned
from perjoule.machine import locks, removal
from perjoule.model.errors import CampaignError, MachineError, NotStarted, TimeLimit
from perjoule.model.units import MIB
from perjoule.testbeds import _delay, _disk, _kernel, _process, local, virtual
from perjoule.testbeds._delay import Delay
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.local import Local
from perjoule.testbeds.slurm import Slurm
from perjoule.testbeds.virtual import Virtual, cgroup, cpu, mark, network, requirements, runs, topology
from places import TRANSCRIPTS
from sshd import until
from typed import as_written

FOLDER = Path("/var/tmp/perjoule/pj-0badcafe")
MARK = mark.Mark(mark.Run("0badcafe", FOLDER), "storage-1", "run")
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0: 123456789   80    0    0    0     0          0         0    98765      60    0    0    0     0       0          0
"""
SEVEN_ZIP = (TRANSCRIPTS / "virtual/7zz-b.txt").read_text()


def cmdline(*words: str) -> bytes:
    return "\0".join([*words, ""]).encode()


def test_a_rate_lets_the_catalogues_goodput_through() -> None:
    assert network.tbf_rate_bits_per_s(893e6 / 8) == pytest.approx(934e6, rel=0.001)
    assert network.tbf_rate_bits_per_s(941e6 / 8) == pytest.approx(984e6, rel=0.001)


@pytest.mark.parametrize(
    ("rate", "bucket"), [(1e6, 32 * 1024), (97.7e6, 32 * 1024), (1e9, 250_000), (100e9, 256 * 1024)]
)
def test_a_bucket_holds_two_milliseconds_within_limits(rate: float, bucket: int) -> None:
    assert network.burst_bytes(rate) == bucket


def test_addresses_are_distinct_and_valid() -> None:
    found = [network.address(n) for n in range(1, 1001)]
    assert found[:2] == ["10.99.0.2", "10.99.0.3"]
    assert len(set(found)) == 1000
    assert all(0 < int(one.split(".")[3]) < 255 for one in found)


def test_cables_are_plugged_and_shaped_on_the_side_of_the_switch() -> None:
    cables = [network.Cable("storage-1", 77, 1e6)]
    assert network.plug_batch(cables) == (
        "link add name storage-1 type veth peer name eth0 netns 77\nlink set dev storage-1 master br0 up\n"
    )
    assert (
        network.shape_batch(cables)
        == "qdisc add dev storage-1 root tbf rate 8364641bit burst 32768 latency 50ms\n"
    )


def test_servers_of_a_cluster_network_have_a_plug_on_a_bridge_of_its_own() -> None:
    cables = [network.Cable("client-1", 76, 1e6), *(network.Cable("storage-1", 77, 1e6, n) for n in (0, 1))]
    assert network.plug_batch(cables).splitlines() == [
        "link add name br1 type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
        "link set dev br1 up",
        "link add name client-1 type veth peer name eth0 netns 76",
        "link set dev client-1 master br0 up",
        "link add name storage-1 type veth peer name eth0 netns 77",
        "link set dev storage-1 master br0 up",
        "link add name storage-1.1 type veth peer name eth1 netns 77",
        "link set dev storage-1.1 master br1 up",
    ]
    assert network.shape_batch(cables).count("dev storage-1.1 root tbf rate 8364641bit") == 1
    assert network.sent_batch(1e6, network.Link(0.25), device="eth1").count(" dev eth1 ") == 2


def test_servers_alone_have_an_address_in_the_cluster_network_and_its_speed_is_a_multiple_of_the_first() -> (
    None
):
    cluster = catalogue.cluster("odroid-hc4")
    found = topology.places(cluster, clients_count=1, servers_count=2, scale=0.1, cluster_network_ratio=2.0)
    servers, clients = ([p for p in found if (p.role == "client") == of] for of in (False, True))
    assert [p.cluster_address.replace("10.98.", "10.99.", 1) for p in servers] == [p.address for p in servers]
    assert all(p.cluster_goodput_bytes_per_s == 2 * p.goodput_bytes_per_s for p in servers)
    assert [p.cluster_address for p in clients] == [""]
    without = topology.places(cluster, clients_count=1, servers_count=2, scale=0.1)
    assert {p.cluster_address for p in without} == {""}


def test_a_way_without_latency_and_loss_is_the_rate_alone() -> None:
    assert (
        network.sent_batch(1e6, network.Link())
        == "qdisc add dev eth0 root tbf rate 8364641bit burst 32768 latency 50ms"
    )


def test_a_way_delays_and_loses_before_the_rate_and_holds_what_is_under_way() -> None:
    replaced = network.sent_batch(1448e3, network.Link(0.25, 0.001), "replace")
    assert replaced.replace("qdisc replace", "qdisc add") == network.sent_batch(
        1448e3, network.Link(0.25, 0.001)
    )
    root, rate = network.sent_batch(1448e3, network.Link(0.25, 0.001)).split("\n")
    assert root == "qdisc add dev eth0 root handle 1: netem limit 1250 delay 250000us loss 0.100000%"
    assert rate == "qdisc add dev eth0 parent 1:1 handle 10: tbf rate 12112000bit burst 32768 latency 50ms"


def test_packets_that_may_be_lost_are_sent_one_by_one() -> None:
    cables = [network.Cable("storage-1", 77, 1e6)]
    assert "peer name eth0 gso_max_segs 1 netns 77\n" in network.plug_batch(
        cables, network.Link(loss_ratio=0.01)
    )
    assert "gso_max_segs" not in network.plug_batch(cables, network.Link(delay_s=0.01))


def test_half_of_a_round_trip_is_added_in_each_direction_in_the_hosts_own_time() -> None:
    assert as_written(Virtual, latency="0.2 ms", scale=0.5)._link.delay_s == pytest.approx(0.0002)
    assert as_written(Virtual, loss="1 %")._link == network.Link(0.0, 0.01)
    assert as_written(Virtual)._link.bare


def test_a_kernel_that_lists_no_children_is_named_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(requirements, "_CHILDREN", tmp_path / "children")
    asked = requirements.checks("directory", cpu_cap=False, disk_cap=False, memory_cap=False)
    (lack,) = [check for check in asked if "CONFIG_PROC_CHILDREN" in check.fix]
    assert not lack.ok
    (tmp_path / "children").touch()
    asked = requirements.checks("directory", cpu_cap=False, disk_cap=False, memory_cap=False)
    assert [check.ok for check in asked if check.name == lack.name] == [True]


@pytest.mark.parametrize("able", [True, False])
def test_latency_on_a_kernel_without_netem_is_refused_with_what_to_do(
    able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: subprocess.CompletedProcess[str] = subprocess.CompletedProcess(
        [], 0 if able else 2, "", "qdisc kind is unknown"
    )
    monkeypatch.setattr(requirements, "_tried", lambda script: done)
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements.shutil, "which", lambda name: f"/usr/sbin/{name}")
    requirements.netem.cache_clear()
    requirements._namespaces.cache_clear()
    found = {check.name: check for check in as_written(Virtual, latency="1 ms").checks()}
    requirements.netem.cache_clear()
    requirements._namespaces.cache_clear()
    assert (found["netem"].ok, found["netem"].needed) == (able, True)
    assert "sch_netem" in found["netem"].fix
    assert "netem" not in {check.name for check in as_written(Virtual).checks()}
    requirements._namespaces.cache_clear()


def test_bytes_of_eth0_are_read() -> None:
    assert network.ethernet_bytes(NET_DEV) == (123456789, 98765)
    second = NET_DEV.splitlines(keepends=True)[-1].replace("eth0: 123456789", "eth1: 5").replace("98765", "7")
    assert network.ethernet_bytes(NET_DEV + second) == (123456794, 98772)
    with pytest.raises(ValueError, match="no eth0"):
        network.ethernet_bytes("lo: 1 2 3")


@pytest.mark.parametrize(
    ("cores", "quota", "period"), [(1.5, 30_000, 20_000), (0.1, 2_000, 20_000), (0.05, 5_000, 100_000)]
)
def test_a_quota_is_the_share_of_a_short_period(cores: float, quota: int, period: int) -> None:
    assert cgroup.period_us(cores) == period
    assert cgroup.quota_us(cores, period) == quota


def test_a_board_is_worth_some_cores_of_this_machine() -> None:
    assert cpu.cores(5730, 0.2, 4480) == pytest.approx(0.2558, abs=1e-4)


def test_the_rating_of_7_zip_is_per_second_of_cpu_time() -> None:
    assert cpu.rating(SEVEN_ZIP) == 4405
    with pytest.raises(ValueError, match="no total"):
        cpu.rating("7-Zip: Cannot allocate memory")


def seven_zip(folder: Path, monkeypatch: pytest.MonkeyPatch, strangers_ratio: float) -> Path:
    """Put a 7-zip first that notes each run, on a machine of which strangers take this share."""
    tool = folder / "7zz"
    tool.write_text(f"#!/bin/sh\necho run >> {folder}/runs\ncat <<X\n{SEVEN_ZIP}X\n")
    tool.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(cpu, "strangers_ratio", lambda before, after: strangers_ratio)
    return folder / "runs"


def test_a_rating_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = seven_zip(tmp_path, monkeypatch, 0.02)
    assert cpu.mips_per_core() == cpu.mips_per_core()
    assert (cpu.mips_per_core().mips, cpu.mips_per_core().doubt) == (4405, None)
    assert runs.read_text() == "run\n"


def test_a_rating_of_a_busy_machine_is_doubted_and_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = seven_zip(tmp_path, monkeypatch, 0.4)
    assert "rated while other programs took 40 % of the CPUs" in str(cpu.mips_per_core().doubt)
    assert cpu.mips_per_core().mips == 4405
    assert runs.read_text() == "run\nrun\n"


@pytest.mark.parametrize(("strangers_ratio", "doubted"), [(0.097, False), (0.103, True)])
def test_a_tenth_of_the_cpus_for_others_is_too_much_to_rate_a_machine(
    strangers_ratio: float, doubted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seven_zip(tmp_path, monkeypatch, strangers_ratio)
    assert bool(cpu.mips_per_core().doubt) == doubted


def test_what_strangers_took_is_what_our_own_children_did_not() -> None:
    cores = os.cpu_count() or 1
    assert cpu.strangers_ratio((10.0, 50.0, 3.0), (12.0, 50.0 + 2.0 + 1.0 * cores, 5.0)) == pytest.approx(0.5)
    assert cpu.strangers_ratio((10.0, 50.0, 3.0), (12.0, 51.9, 5.0)) == 0


def test_a_broken_7_zip_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "7zz"
    tool.write_text("#!/bin/sh\nexit 8\n")
    tool.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MachineError, match="7-zip"):
        cpu.mips_per_core()


def test_a_holder_and_what_starts_it_bear_the_mark() -> None:
    words = MARK.arguments()
    assert mark.parse(cmdline("bash", "-c", "script", *words, "10.99.0.2/16")) == (MARK, True)
    assert mark.parse(cmdline("unshare", "--net", "bash", "-c", "script", *words)) == (MARK, False)
    assert mark.parse(cmdline("sh", "-c", "join", "perjoule", "/x", "--", "unshare", *words)) == (MARK, False)


@pytest.mark.parametrize(
    "words",
    [
        ["grep", *MARK.arguments()],
        ["bash", "-c", "echo perjoule-host"],
        ["bash", "-c", "script", "perjoule-host", "0badcafe"],
        [
            "bash",
            "-c",
            "script",
            "perjoule-host",
            "0badcafe",
            "/home/me",
            "/home/me/lock",
            "storage-1",
            "run",
        ],
        ["bash", "-c", "script", "perjoule-host", "0badcafe", str(FOLDER), "/etc/passwd", "storage-1", "run"],
        [
            "bash",
            "-c",
            "script",
            "perjoule-host",
            "1",
            "/home/me/pj-1",
            "/home/me/pj-1/lock",
            "storage-1",
            "run",
        ],
        [""],
    ],
)
def test_what_only_looks_like_a_mark_is_none(words: list[str]) -> None:
    assert mark.parse(cmdline(*words)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by another user")
def test_a_program_that_is_root_for_all_who_call_it_is_not_ours_whatever_its_words_are() -> None:
    with tempfile.TemporaryDirectory(prefix="marked-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        program = Path(shutil.copy("/bin/cat", name))
        program.chmod(0o4755)
        words = ["sh", "-", *MARK.arguments()]  # "-" is its input
        with subprocess.Popen(
            words, executable=program, stdin=subprocess.PIPE, user=65534, group=65534, extra_groups=[]
        ) as child:
            process = Path("/proc", str(child.pid))
            until(lambda: process.stat().st_uid == 0)
            assert mark.parse((process / "cmdline").read_bytes())
            assert child.pid not in {marked.pid for marked in mark.marked()}
            child.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="a run's folder is root's")
def test_a_loop_device_of_another_users_leads_no_run_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the run would seem to be dead, as its lock is not there."""
    registry, folder = tmp_path / "registry", tmp_path / "pj-0badcafe"
    for place in (registry, folder):
        place.mkdir()
    (registry / "0badcafe").symlink_to(folder)
    theirs = _disk.Loop("loop9", "7:9", Path("/home/theirs/pj-0badcafe/image"), deleted=True)
    monkeypatch.setattr(mark, "REGISTRY", registry)
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path / "none"))
    monkeypatch.setattr(_disk, "loops", lambda: (theirs,))
    monkeypatch.setattr(mark, "marked", lambda: ())
    monkeypatch.setattr(cgroup, "runs", set)
    assert [run.folder for run in runs.runs()] == [folder]


def test_mounts_are_found_below_a_folder_alone_and_last_first() -> None:
    text = (
        "30 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "40 30 7:0 / /w/pj-1/storage-1 rw - xfs /dev/loop0 rw\n"
        r"41 40 0:5 / /w/pj-1/storage-1/a\040b rw shared:3 - tmpfs tmpfs rw" + "\n"
        "42 30 7:1 / /w/pj-10/storage-1 rw - xfs /dev/loop1 rw\n"
    )
    found = _disk.mounts(text, Path("/w/pj-1"))
    assert found == [(Path("/w/pj-1/storage-1/a b"), "tmpfs"), (Path("/w/pj-1/storage-1"), "/dev/loop0")]


def test_bytes_of_a_disk_are_read() -> None:
    assert _disk.moved("  10 0 2048 5 20 0 4096 9 0 0 0 0 0 0 0 0 0") == (1 << 20, 2 << 20, 0.0)


def test_caps_and_counters_of_cgroup_v2(tmp_path: Path) -> None:
    # A folder stands in for the kernel: what is written is what v2 documents.
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert cgroup.controllers(tmp_path) == (2, {"cpu", "io", "memory"})
    groups = cgroup.groups("0badcafe", tmp_path)
    groups.make("storage-1", 0.25)
    group = tmp_path / "perjoule-0badcafe" / "storage-1"
    assert (tmp_path / "perjoule-0badcafe" / "cgroup.subtree_control").read_text() == "+cpu +io +memory"
    assert (group / "cpu.max").read_text() == "5000 20000"
    groups.cap_disk("storage-1", "7:3", 1e6, 2e6)
    assert (group / "io.max").read_text() == "7:3 rbps=1000000 wbps=2000000"
    (group / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    (group / "io.stat").write_text("7:3 rbytes=10 wbytes=20 rios=1\n254:0 rbytes=1 wbytes=2 rios=1\n")
    assert groups.cpu_s("storage-1") == 1.5
    assert groups.disk_bytes("storage-1") == (11, 22)
    assert groups.doors("storage-1") == (str(group / "cgroup.procs"),)
    assert cgroup.runs(tmp_path) == {"0badcafe"}
    cgroup.uncap("0badcafe", ["7:3"], tmp_path)
    assert (group / "io.max").read_text() == "7:3 rbps=max wbps=max"


def test_a_machine_without_control_groups_is_known(tmp_path: Path) -> None:
    assert cgroup.controllers(tmp_path) == (0, frozenset())


def test_places_follow_the_catalogue() -> None:
    cluster = catalogue.cluster("odroid-hc4")
    found = topology.places(cluster, clients_count=2, servers_count=None, scale=0.1)
    names = [place.name for place in found]
    assert names == [
        *(f"storage-{n}" for n in range(1, 5)),
        "metadata-1",
        "management-1",
        "client-1",
        "client-2",
    ]
    assert found[0].goodput_bytes_per_s == pytest.approx(11.134 * MIB)
    more = topology.places(cluster, clients_count=1, servers_count=6, scale=1)
    assert sum(place.role == "storage" for place in more) == 6
    assert len({place.address for place in more}) == len(more)


def test_a_virtual_server_has_a_disk_of_8_gib_by_default() -> None:
    assert virtual.Virtual().disk_size_bytes == 8 * 2**30


@pytest.mark.parametrize(
    "options",
    [{"scale": 0}, {"scale": 1.05}, {"disk": "zfs"}, {"disk_size": "1 MiB"}, {"servers": 0}, {"x": 1}],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        as_written(virtual.Virtual, **options)


def test_an_unmet_need_stops_before_anything_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Check("tool tc", False, "missing", "apt-get install iproute2")
    monkeypatch.setattr(virtual.Virtual, "checks", lambda _: (missing,))
    with pytest.raises(MachineError, match="apt-get install iproute2"), virtual.Virtual().hold(1):
        pass


def test_cleaning_needs_root_only_when_there_is_something_to_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.os, "geteuid", lambda: 1000)
    run = mark.Run("0badcafe", tmp_path / "pj-0badcafe")
    monkeypatch.setattr(runs, "runs", lambda: ())
    assert virtual.clean() == ()
    monkeypatch.setattr(runs, "runs", lambda: (run,))
    with pytest.raises(MachineError, match="sudo perjoule down"):
        virtual.clean()
    cleaned = virtual.Virtual.clean()
    assert (cleaned.removed, cleaned.failures) == ((), ())
    assert cleaned.left == (f"{run.folder}: root's; `sudo perjoule down` removes it",)


def test_a_run_is_alive_while_somebody_holds_its_lock(tmp_path: Path) -> None:
    run = mark.Run("0badcafe", tmp_path)
    assert not run.alive()
    with run.lock.open("w") as lock:
        assert not run.alive()
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run.alive()
    assert not run.alive()


def test_a_lock_that_a_stranger_shares_keeps_no_dead_run_alive(tmp_path: Path) -> None:
    run = mark.Run("0badcafe", tmp_path)
    run.lock.write_text("1")
    with run.lock.open() as stranger:
        fcntl.flock(stranger, fcntl.LOCK_SH)
        assert not run.alive()


def test_a_run_whose_lock_this_user_may_not_open_is_not_called_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mark.Run("0badcafe", tmp_path)
    run.lock.touch()

    def refused(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refused)
    assert run.alive()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of runs and a folder for them that are ours alone."""
    monkeypatch.setattr(mark, "REGISTRY", tmp_path / "registry")
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path / "work"))
    monkeypatch.setattr(mark, "marked", lambda: ())
    monkeypatch.setattr(_disk, "loops", lambda: [])
    monkeypatch.setattr(cgroup, "runs", lambda: set[str]())
    return tmp_path / "registry"


@pytest.mark.parametrize("there", [True, False])
def test_locks_and_run_folders_are_for_us_alone_those_that_were_there_too(
    registry: Path, there: bool
) -> None:
    if there:
        registry.mkdir(0o755)
        (registry / "lock").touch(0o644)
    before = os.umask(0o022)
    try:
        run = runs.fresh()
        os.close(runs.claim(run))
    finally:
        os.umask(before)
    modes = {
        path: path.stat().st_mode & 0o777 for path in (registry, registry / "lock", run.folder, run.lock)
    }
    # daemons that are other users pass through a run's folder
    assert list(modes.values()) == [0o700, 0o600, 0o711, 0o600]


def test_daemons_pass_through_a_run_folder_whatever_the_umask_is(registry: Path) -> None:
    before = os.umask(0o077)
    try:
        run = runs.fresh()
        os.close(runs.claim(run))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (run.folder.parent, run.folder)] == [0o711, 0o711]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root's folders are runs")
def test_a_folder_that_is_only_called_as_a_runs_is_left_and_named(registry: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    names = {"no lock of a run in it": "pj-00000001", "a link": "pj-00000002", "not a folder": "pj-00000003"}
    names["belongs to another user"] = "pj-00000004"
    for number in (1, 4):
        (work / f"pj-0000000{number}").mkdir(parents=True)
        (work / f"pj-0000000{number}" / "thesis.tex").write_text("years")
    os.chown(work / "pj-00000004", 4711, 4711)
    (work / "pj-00000002").symlink_to(work / "pj-00000001")
    (work / "pj-00000003").touch()
    dead = runs.fresh()
    os.close(runs.claim(dead))
    (dead.folder / "disks").mkdir()
    assert set(runs.strangers()) == {f"{work / name}: {why}" for why, name in names.items()}
    assert [words.split(":")[0] for words in runs.clean()] == [f"run {dead.id}"]
    assert sorted(path.name for path in work.iterdir()) == sorted(names.values())
    assert len(list(work.rglob("thesis.tex"))) == 2
    assert [path.name for path in registry.iterdir()] == ["lock"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root's folders are runs")
def test_no_run_is_where_another_user_could_put_another_folder_in_its_place(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desktop lets any user attach a file of theirs, call it as a run's, and remove it."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 4711, 4711)
    folder = theirs / "x/pj-0000000a"
    loop = _disk.Loop("loop99", "7:99", folder / "disk.img", deleted=True)
    monkeypatch.setattr(_disk, "loops", lambda: (loop,))
    assert runs.strangers() == (f"{folder}: {theirs}: belongs to another user",)
    assert runs.dead() == ()


def test_who_keeps_the_lock_of_a_dead_run_is_named(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mark, "LETTING_GO_S", 0.05)
    run = runs.fresh()
    lock = runs.claim(run)
    assert runs.blocked() == ()
    os.pwrite(lock, b"4194305", 0)  # no process has such a number
    (words,) = runs.blocked()
    assert words.startswith(
        f"{run.folder}: its perjoule (process 4194305) is gone, but process {os.getpid()} ("
    )
    # as where it is in another process namespace
    monkeypatch.setattr(locks, "holders", lambda descriptor: "")
    (words,) = runs.blocked()
    assert words == (
        f"{run.folder}: its perjoule (process 4194305) is gone, or in another container: its lock is held"
    )
    os.close(lock)
    assert runs.blocked() == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root's folders are runs")
def test_locks_of_several_dead_runs_are_waited_for_together(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s, pauses_s = [100.0], []

    def sleep(pause_s: float) -> None:
        clock_s[0] += pause_s
        pauses_s.append(pause_s)

    monkeypatch.setattr(mark, "time", SimpleNamespace(monotonic=lambda: clock_s[0], sleep=sleep))
    held = [runs.claim(runs.fresh()) for _ in range(3)]
    for lock in held:
        os.pwrite(lock, b"4194305", 0)  # no process has such a number
    assert runs.dead() == ()
    assert sum(pauses_s) == pytest.approx(mark.LETTING_GO_S, abs=0.1)
    assert len(runs.blocked()) == 3
    assert sum(pauses_s) == pytest.approx(2 * mark.LETTING_GO_S, abs=0.1)
    os.close(held.pop())
    assert len(runs.dead()) == 1
    for lock in held:
        os.close(lock)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root's folders are runs")
def test_down_calls_only_stuck_what_it_tried_to_remove(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (SshCluster, Local, Slurm):
        monkeypatch.setattr(one, "clean", Cleaned)
    lock = runs.claim(runs.fresh())
    monkeypatch.setattr(virtual, "blocked", lambda: os.close(lock) or ())  # it dies while `down` is at work
    done = CliRunner().invoke(cli, ["down"])
    assert (done.exit_code, done.output) == (0, "nothing left behind\n")
    monkeypatch.setattr(virtual, "blocked", tuple[str, ...])
    monkeypatch.setattr(virtual, "clean", tuple[str, ...])  # something is busy
    done = CliRunner().invoke(cli, ["down"])
    assert "could not be removed entirely" in str(done.exception)


def test_busy_cpu_time_leaves_idle_and_guest_out() -> None:
    assert _kernel.cpu_ticks("cpu  10 1 5 1000 200 2 3 4 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n") == 25


def test_network_bytes_leave_loopback_out() -> None:
    assert _kernel.network_bytes(NET_DEV, set()) == (123456789, 98765)


def test_network_bytes_count_hardware_once_beneath_bonds_vlans_and_bridges() -> None:
    """A frame that comes in by a port of a bond is counted by the port, by the bond, and by the VLAN on
    it.
    """
    moved = {
        "lo": (7, 7),
        "eno1": (600, 200),
        "eno2": (400, 300),
        "bond0": (1000, 500),
        "bond0.20": (1000, 500),
    }
    text = "".join(
        f"{name:>8}: {got} 9 0 0 0 0 0 0 {sent} 9 0 0 0 0 0 0\n" for name, (got, sent) in moved.items()
    )
    assert _kernel.network_bytes(text, {"eno1", "eno2", "wlan0"}) == (1000, 500)
    # the hardware is in another namespace
    assert _kernel.network_bytes(NET_DEV, {"eno1"}) == (123456789, 98765)


def test_disk_bytes_and_busy_time_count_whole_disks_alone() -> None:
    """https://docs.kernel.org/admin-guide/iostats.html: fields 3 and 7 are sectors, 10 is ms with requests
    in flight.
    """
    whole, part, loop = (
        "9 0 16 5 9 0 32 9 3 250 700",
        "9 0 16 5 9 0 32 9 3 150 500",
        "9 0 99 5 9 0 99 9 1 80 90",
    )
    text = f" 254 0 vda {whole}\n 254 1 vda1 {part}\n 7 0 loop0 {loop}\n"
    assert _kernel.disk_work(text, {"vda"}) == (16 * 512, 32 * 512, 0.25)
    image = f" 252 0 rbd0 {whole}\n"  # of which the kernel says that it is hardware
    assert _kernel.disk_work(text + image, {"vda", "rbd0"}) == (16 * 512, 32 * 512, 0.25)


@pytest.mark.parametrize("counted", [0, 16], ids=["kernels before", "kernels since"])
def test_a_drive_of_several_controllers_counts_once_whether_its_own_name_counts_or_not(counted: int) -> None:
    """As on hosts with NVMe multipath: a path that no device file has counts, and on newer kernels the drive, too."""
    path, drive = (f"9 0 {sectors} 5 9 0 {sectors} 9 0 250 700" for sectors in (16, counted))
    text = f" 0 0 nvme0c33n1 {path}\n 259 1 nvme0n1 {drive}\n 259 5 nvme1n1 {path}\n"
    assert _kernel.disk_work(text, {"nvme0c33n1", "nvme0n1", "nvme1n1"}) == (32 * 512, 32 * 512, 0.5)
    assert _kernel.disk_work(text, {"nvme0n1"}) == (counted * 512, counted * 512, 0.25)


def test_ports_of_a_boards_switch_count_at_the_interface_that_they_are_linked_to(tmp_path: Path) -> None:
    for name, own, link in (("eth0", 2, 2), ("lan0", 3, 2), ("wan", 4, 2), ("eth1", 5, 5), ("lo", 1, 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ifindex").write_text(f"{own}\n")
        (tmp_path / name / "iflink").write_text(f"{link}\n")
        if name != "lo":
            (tmp_path / name / "device").mkdir()
    (tmp_path / "sda/device").mkdir(parents=True)
    assert _kernel.hardware(tmp_path) == {"eth0", "eth1", "sda"}


def test_this_machine_is_one_client_and_serves_itself() -> None:
    with local.Local().hold(1) as hosts:
        (host,) = hosts.all
        assert hosts.clients == (host,)
        assert hosts.metadata is host
        host.put("text", host.directory / "a" / "b")
        assert host.read(host.directory / "a" / "b") == b"text"
        assert host.run(["cat"], text="hello", timeout_s=5).stdout == "hello"
        program = host.spawn(["sleep", "60"], log=host.directory / "log")
        counters = host.counters()
        assert counters.cpu_s is not None and counters.cpu_s > 0
    assert program.returncode == -signal.SIGTERM
    assert not host.directory.exists()


def test_what_a_killed_perjoule_left_in_its_work_folder_goes_with_the_next_hold(tmp_path: Path) -> None:
    left = tmp_path / "perjoule-local-0badcafe"
    left.mkdir()
    removal.mark(left)
    (tmp_path / "thesis.tex").write_text("years")
    with local.Local(work=str(tmp_path)).hold(1):
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_this_machine_is_not_two_clients() -> None:
    with pytest.raises(CampaignError, match="2 clients"), local.Local().hold(2):
        pass


def test_a_missing_program_is_reported() -> None:
    with local.Local().hold(1) as hosts, pytest.raises(NotStarted, match="no-such"):
        hosts.all[0].run(["no-such"], timeout_s=5, check=False)


def test_a_command_that_takes_too_long_dies_with_its_children() -> None:
    with local.Local().hold(1) as hosts, pytest.raises(TimeLimit, match="waiting"):
        hosts.all[0].run(["sh", "-c", "echo waiting; sleep 81 & exec sleep 81"], timeout_s=0.5)
    assert _process.children(os.getpid()) == ()


def test_a_program_and_its_output_are_followed_from_where_it_began() -> None:
    with local.Local().hold(1) as hosts:
        host = hosts.all[0]
        log = host.directory / "log"
        assert host.spawn(["echo", "one"], log=log).wait(timeout_s=5) == 0
        second = host.spawn([sys.executable, "-c", "import sys; print('two'); sys.exit(3)"], log=log)
        assert second.wait(timeout_s=5) == 3
        assert second.output() == "two\n"
        assert log.read_text() == "one\ntwo\n"


def test_in_a_chroot_namespaces_are_refused_with_what_to_do() -> None:
    what, fix = requirements.refusal("unshare: cannot change root filesystem propagation: Invalid argument\n")
    assert what == (
        "the root folder is not a mount point, as in a chroot, so hosts can't have mounts of their own"
    )
    assert fix == (
        "leave the chroot, or enter its folder with systemd-nspawn, a privileged container or pivot_root"
    )


def test_what_else_refuses_namespaces_is_reported_with_its_last_output() -> None:
    what, _ = requirements.refusal("Cannot find device\nunshare: Operation not permitted\n")
    assert what == "unshare: Operation not permitted"
    assert requirements.refusal("")[0] == "refused"


@pytest.mark.parametrize(
    ("latency", "scale", "delay_ms"), [("8 ms", 1, 8), ("8 ms", 0.2, 40), ("100 us", 1, 1)]
)
def test_the_latency_of_a_disk_is_in_the_hosts_own_time_and_of_whole_milliseconds(
    latency: str, scale: float, delay_ms: int
) -> None:
    node = catalogue.cluster("odroid-hc4").nodes[0]
    assert as_written(Virtual, disk_latency=latency, scale=scale)._delay(node) == Delay(delay_ms)


@pytest.mark.parametrize(
    ("cluster", "scale", "seek_ms"), [("pc-hdd1", 1, 18), ("mpsoc-hdd2", 0.1, 160), ("pc-ssd2", 1, None)]
)
def test_only_hosts_with_a_hard_disk_seek_in_their_own_time(
    cluster: str, scale: float, seek_ms: int | None
) -> None:
    made = as_written(Virtual, cluster=cluster, disk_latency="catalogue", scale=scale)
    assert made._delay(made.hardware.nodes[0]) == (seek_ms and Delay(seek_ms, at_random=True))
    assert ("dm-delay" in {check.name for check in made.checks()}) == bool(seek_ms)


@pytest.mark.parametrize("able", [True, False])
def test_a_latency_of_disks_on_a_kernel_without_dm_delay_is_refused_with_what_to_do(
    able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_delay, "available", lambda module: able and module == "dm_delay")
    monkeypatch.setattr("shutil.which", lambda tool: f"/sbin/{tool}")
    found = {check.name: check for check in as_written(Virtual, disk_latency="8 ms").checks()}
    assert (found["dm-delay"].ok, found["dm-delay"].needed) == (able, True)
    assert "remove disk_latency" in found["dm-delay"].fix
    assert "dm-delay" not in {check.name for check in as_written(Virtual).checks()}
    found = {check.name: check for check in as_written(Virtual, disk_latency="catalogue").checks()}
    assert (found["dm-delay"].ok, found["dm-delay"].needed) == (able, False)


def test_a_machine_without_the_kernels_module_or_the_tool_can_not_delay_disks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[tuple[str, int | None, int | None]] = []
    for module, tool in ((False, None), (True, None), (True, "/sbin/dmsetup")):
        monkeypatch.setattr(_delay, "available", lambda name, module=module: module)
        monkeypatch.setattr("shutil.which", lambda name, tool=tool: tool)
        found.append((_delay.lacking(), Delay(8).first_ms, Delay(8, at_random=True).first_ms))
    assert found == [
        ("this kernel has no dm-delay", 8, None),
        ("dmsetup is not installed", 8, None),
        ("", 8, 0),
    ]
