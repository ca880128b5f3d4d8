"""Local file systems for real: on disks of virtual hosts, of this machine, beneath servers; and the NFS
server.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from on_hosts import FILE_BYTES, checksum, hosts_of, write
from perjoule import drivers
from perjoule.campaign.tables import tunables
from perjoule.drivers.protocols import FileSystem, Hosts, Mounted, Testbed
from perjoule.filesystems.nfs import Nfs, _Nfs
from perjoule.machine import mirrors
from perjoule.machine.mounts import in_kernel
from perjoule.model import Disk
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.model.units import MIB
from perjoule.testbeds import _disk
from perjoule.testbeds._mirror import Mirror
from perjoule.testbeds.local import guard
from perjoule.testbeds.virtual import clean, runs
from typed import table

pytestmark = pytest.mark.live

Verified = Callable[[Hosts, Mounted], Path]
OWNER = """
import sys
from perjoule.model import Disk
from perjoule.testbeds.virtual import Virtual
with Virtual(disk="directory", servers=1, cpu_cap=False).hold(1) as hosts:
    print("ready", flush=True)
    for host in hosts.all[:2]:
        for kind in ("xfs", "ext4"):
            place = host.disk(kind, Disk(kind=kind, size="400 MiB"))
            host.run(["dd", "if=/dev/zero", f"of={place}/dirty", "bs=1M", "count=20"], timeout_s=30)
print("down", flush=True)
"""
DEVICE = """
import subprocess, sys
from pathlib import Path
from perjoule.model.errors import CampaignError
from perjoule.model import Disk, Permit
from perjoule.testbeds._device import view
from perjoule.testbeds.local import Local
device = Path(sys.argv[1])
view.HERE = view.MachineView(links=device.parents[1])
wanted = Disk(kind="xfs", block="1 KiB", device=str(device))
def say():
    words = subprocess.run(["wipefs", "-nO", "TYPE,LABEL", device], capture_output=True, text=True, check=True).stdout.split()[2:]
    print("bears", *(words[::-1] or ["nothing"]))
def refused(name):
    try:
        hosts.all[0].disk(name, wanted)
    except CampaignError as error:
        print(error)
with Local().hold(1) as hosts:
    refused("unnamed")
    hosts.all[0].overwrite = (Permit(str(device)),)
    (hosts.all[0].disk("mine", wanted) / "file").write_text("data")
    say()
    refused("again")
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo; read -r _"]
    copies = subprocess.Popen(argv, stdin=-1, stdout=-1)
    copies.stdout.readline()  # a namespace that holds a copy of the mount
say()
copies.communicate(b"")
subprocess.run(["mkfs.ext4", "-q", "-L", "photos", device], check=True)
with Local().hold(1) as hosts:
    hosts.all[0].overwrite = (Permit(str(device)),)
    refused("mine")
    say()
    hosts.all[0].overwrite = (Permit(str(device), ("ext4",)),)
    hosts.all[0].disk("mine", wanted)
    say()
say()
"""


def disk(**words: Any) -> Disk:
    return Disk(**words)


def filesystem(kind: str, **options: Any) -> FileSystem:
    made = drivers.build("filesystems", kind, options)
    assert isinstance(made, FileSystem)
    return made


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """One cluster for all tests that leave it whole: 2 storage hosts and the metadata host carry data."""
    made = drivers.build(
        "testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 2, "scale": 0.2}
    )
    assert isinstance(made, Testbed)
    with made.hold(1) as held:
        yield held


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("ext4", "1 KiB"),
        ("xfs", "2 KiB"),
        ("btrfs", "4 KiB"),
        ("f2fs", "4 KiB"),
        *(
            pytest.param(kind, block, marks=pytest.mark.slow)  # by day: another block of each, above
            for kind, block in (("ext4", "2 KiB"), ("ext4", "4 KiB"), ("xfs", "1 KiB"), ("xfs", "4 KiB"))
        ),
    ],
)
def test_what_is_written_to_a_local_file_system_is_read_back(
    kind: str, block: str, hosts: Hosts, verified: Verified
) -> None:
    if not in_kernel(kind):
        pytest.skip(f"this kernel has no {kind}; run `make kernels`")
    with filesystem("local", type=kind, block=block).mount(hosts) as mounted:
        path = verified(hosts, mounted)
        facts = mounted.facts["client-1"]
        assert isinstance(facts, dict)
        assert (facts["type"], facts["block_bytes"]) == (kind, int(block.split()[0]) * 1024)
        assert "noatime" in str(facts["options"])
        assert mounted.locate(path) == ("client-1",)
        assert not path.exists()  # outside, where only the empty folder of the mount is


JOURNALS = [(path[0], mark) for path, _, mark in tunables("filesystem", "local")]


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, mark in JOURNALS for value in (None, *mark.values)]
)
def test_a_kernel_mounts_each_journal_that_a_tuning_tries_and_has_the_default_by_itself(
    option: str, value: str | None, hosts: Hosts
) -> None:
    kind = {"journal": "ext4", "log_buffer": "xfs"}[option]
    mark = next(mark for name, mark in JOURNALS if name == option)
    with filesystem("local", type=kind, size="400 MiB", **({option: value} if value else {})).mount(
        hosts
    ) as mounted:
        options = str(table(mounted.facts["client-1"])["options"]).split(",")
    shown = str(value or mark.otherwise).replace(" KiB", "k")  # /proc/mounts leaves out ext4's default
    expected = f"data={shown}" if option == "journal" else f"logbsize={shown}"
    assert expected in options or (shown == "ordered" and not any(one.startswith("data=") for one in options))


def test_a_block_size_that_the_kernel_can_not_mount_is_reported_with_the_kernel(hosts: Hosts) -> None:
    with (
        pytest.raises(
            MachineError,
            match=r"Linux \d\S+ can't mount btrfs with blocks of 8 KiB .*use blocks of 4 KiB, its page",
        ),
        filesystem("local", type="btrfs", block="8 KiB").mount(hosts),
    ):
        pass


def test_a_virtual_host_refuses_devices(hosts: Hosts) -> None:
    with pytest.raises(CampaignError, match="does not work on a virtual host; remove device"):
        hosts.clients[0].disk("x", disk(kind="xfs", device="/dev/disk/by-id/x"))


def test_a_disk_of_a_server_is_counted_and_no_faster_than_the_catalogue_says(hosts: Hosts) -> None:
    server = hosts.by_role("storage")[0]
    assert server.node is not None
    cap_bytes_per_s = sum(disk.write_bytes_per_s.value for disk in server.node.disks) * hosts.scale
    place = server.disk("measured", disk(kind="xfs", size="1 GiB"))
    before, began_s = server.counters().disk_written_bytes, time.monotonic()
    server.run(
        ["dd", "if=/dev/zero", f"of={place}/zeros", "bs=1M", "count=120", "oflag=direct"], timeout_s=60
    )
    took_s = time.monotonic() - began_s
    after = server.counters().disk_written_bytes
    assert before is not None
    assert after is not None
    assert 120 * MIB <= after - before < 130 * MIB
    assert 120 * MIB / took_s < cap_bytes_per_s * 1.1


@pytest.mark.parametrize(
    ("kind", "options", "beneath", "data"),
    [
        ("moosefs", {"goal": 2}, {"kind": "xfs", "block": "4 KiB", "mirror": "md"}, "moosefs/chunks"),
        pytest.param(
            "glusterfs",
            {},
            {"kind": "ext4", "block": "1 KiB"},
            "glusterfs/brick-1",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "cephfs", {}, {"kind": "xfs", "block": "4 KiB"}, "ceph/osd.0/block", marks=pytest.mark.slow
        ),
        pytest.param(
            "moosefs", {"goal": 2}, {"kind": "f2fs", "block": "4 KiB"}, "moosefs/chunks", id="moosefs-f2fs"
        ),
    ],
)
def test_servers_keep_their_data_on_what_lies_beneath(
    kind: str, options: dict[str, Any], beneath: dict[str, str], data: str, hosts: Hosts, verified: Verified
) -> None:
    if not in_kernel(beneath["kind"]):
        pytest.skip(f"this kernel has no {beneath['kind']}; run `make kernels`")
    server = hosts.by_role("storage")[0]
    with filesystem(kind, beneath=beneath, **options).mount(hosts) as mounted:
        verified(hosts, mounted)
        facts = mounted.facts["beneath"]
        assert isinstance(facts, dict)
        assert (facts["type"], facts["block_bytes"]) == (
            beneath["kind"],
            int(beneath["block"].split()[0]) * 1024,
        )
        wanted = beneath.get("mirror", "none")
        lack = mirrors.lacking(wanted) if wanted != "none" else ""
        assert server.doubts == ((mirrors.doubt(lack),) if lack else ())
        assert facts["mirror"] == ("none" if lack else wanted)
        found = server.run(
            ["findmnt", "-no", "FSTYPE", "--target", server.directory / "beneath" / data], timeout_s=10
        ).stdout
        assert found == f"{beneath['kind']}\n"
        used = server.run(
            ["df", "--output=used", "-BM", server.directory / "beneath"], timeout_s=10
        ).stdout.split()[1]
        assert int(used.removesuffix("M")) >= 8 // (2 if kind == "glusterfs" else 1)  # 2 + 1 parts


@pytest.mark.parametrize("way", mirrors.WAYS)
def test_a_mirror_counts_twice_where_the_kernel_has_it_and_is_a_doubt_elsewhere(
    way: str, hosts: Hosts, record_property: Callable[[str, object], None]
) -> None:
    server, lack = hosts.by_role("storage")[1], mirrors.lacking(way)
    record_property("lacks", lack)
    place = server.disk("pair", disk(kind="zfs" if way == "zfs" else "ext4", mirror=way, size="400 MiB"))
    before = server.counters().disk_written_bytes
    server.run(
        ["dd", "if=/dev/urandom", f"of={place}/random", "bs=1M", "count=16", "conv=fsync"], timeout_s=60
    )
    after = server.counters().disk_written_bytes
    assert before is not None
    assert after is not None
    kind = server.run(["findmnt", "-no", "FSTYPE", "--target", place], timeout_s=10).stdout.strip()
    if lack:
        assert (server.copies_count, kind) == (1, "xfs" if way == "zfs" else "ext4")
        assert mirrors.doubt(lack, stead="xfs" if way == "zfs" else "") in server.doubts
    else:
        assert (server.copies_count, kind) == (2, "zfs" if way == "zfs" else "ext4")
    assert 16 * MIB * server.copies_count <= after - before < 16 * MIB * server.copies_count * 1.5


def ran(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True).stdout


def fail(mirror: Mirror, leg: int, device: str) -> None:
    """Have a disk of a mirror fail, leg 0 or 1: what LVM gives no word for, an error for each request to
    it is.
    """
    leg_name = f"{mirror.name.replace('-', '--')}-data_rimage_{leg}"
    words = {
        "md": ("mdadm", mirror.source, "--fail", device, "--remove", device),
        "lvm": ("dmsetup", "wipe_table", "--force", "--noflush", "--noudevsync", leg_name),
        "zfs": ("zpool", "offline", "-f", mirror.name, device),
    }
    ran(*words[mirror.kind])


def rebuild(mirror: Mirror, whole: str, failed: str, fresh: str) -> None:
    """Replace a failed disk, and wait until the fresh one has all data."""
    deadline_s = time.monotonic() + 300
    if mirror.kind == "md":
        ran("mdadm", mirror.source, "--add", fresh)
        state = Path("/sys/block", Path(mirror.source).resolve().name, "md")
        while ((state / "degraded").read_text(), (state / "sync_action").read_text()) != ("0\n", "idle\n"):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
    elif mirror.kind == "lvm":
        lvm = ("--config=backup{backup=0 archive=0}", "--yes")
        ran("vgextend", *lvm, f"--devices={whole},{failed},{fresh}", mirror.name, fresh)
        lvm = (*lvm, f"--devices={whole},{fresh}")  # to LVM the failed one is missing
        ran("lvconvert", *lvm, "--repair", f"{mirror.name}/data", fresh)
        while (
            ran("lvs", *lvm[2:], "--noheadings", "-o", "copy_percent", f"{mirror.name}/data").strip()
            != "100.00"
        ):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
    else:
        ran("zpool", "replace", mirror.name, failed, fresh)
        ran("zpool", "wait", "-t", "replace,resilver", mirror.name)


@pytest.mark.parametrize("way", mirrors.WAYS)
def test_a_mirror_gives_back_its_data_without_either_disk_once_a_fresh_one_took_the_place_of_the_failed(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lack := mirrors.lacking(way):
        pytest.skip(lack)
    if way == "zfs" and not shutil.which("zinject"):
        pytest.skip("zinject is not installed (zfs-test), so reads come from ZFS's cache")
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path))
    with hosts_of(servers=1).hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        place = server.disk("pair", disk(kind="zfs" if way == "zfs" else "ext4", mirror=way, size="128 MiB"))
        mirror = Mirror(way, server.directory.parent / "disks", f"{server.name}-pair")
        disks = {loop.backing: loop.name for loop in _disk.below(mirror.folder)}
        first, second = (f"/dev/{disks[image]}" for image in mirror.images)
        image = mirror.images[1]
        image.unlink()  # the fresh one takes its name, by which it is found when hosts end
        with image.open("xb") as file:
            file.truncate(128 * MIB)
        fresh = ran("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()

        def read_from(device: str, path: Path) -> str:
            server.drop_caches()
            before_bytes = _disk.moved(Path("/sys/block", Path(device).name, "stat").read_text())[0]
            found = checksum(server, path)
            after_bytes = _disk.moved(Path("/sys/block", Path(device).name, "stat").read_text())[0]
            assert after_bytes - before_bytes >= FILE_BYTES
            return found

        early, late = place / "early", place / "late"
        written = write(server, early)
        fail(mirror, 1, second)
        assert read_from(first, early) == written
        written_late = write(server, late)  # which the failed disk never had
        rebuild(mirror, first, second, fresh)
        ran("losetup", "--detach", fresh)  # from now on it goes with its mirror
        fail(mirror, 0, first)
        assert [read_from(fresh, path) for path in (early, late)] == [written, written_late]
    assert traces(tmp_path) == []


def test_an_nfs_server_keeps_what_a_client_of_version_3_writes_and_lets_no_other_host_in(
    hosts: Hosts,
) -> None:
    client, stranger = hosts.clients[0], hosts.management
    nfs = filesystem("nfs", version="3", beneath={"kind": "ext4", "block": "1 KiB"})
    assert isinstance(nfs, Nfs)
    with nfs.serve(hosts) as server:
        assert isinstance(server, _Nfs)
        url = f"nfs://{server.server.address}{server.export}"
        ports = "?version=3&nfsport=2049&mountport=20048"
        source, back = client.directory / "source", client.directory / "back"
        client.run(["dd", "if=/dev/urandom", f"of={source}", "bs=1M", "count=8"], timeout_s=30)
        client.run(["nfs-cp", source, f"{url}/file{ports}"], timeout_s=30)
        for host in hosts.all:
            host.drop_caches()
        client.run(["nfs-cp", f"{url}/file{ports}", back], timeout_s=30)
        client.run(["cmp", source, back], timeout_s=30)
        server.server.run(["cmp", source, server.export / "file"], timeout_s=30)
        with pytest.raises(WorkloadError, match="ACCES"):
            stranger.run(["nfs-ls", f"{url}{ports}"], timeout_s=30)
        server.daemons.alive()
    assert not (server.server.directory / "nfs").exists()


def test_an_nfs_server_of_version_4_shows_its_files_without_a_portmapper(hosts: Hosts) -> None:
    client = hosts.clients[0]
    nfs = filesystem("nfs", version="4.0", place="metadata")
    assert isinstance(nfs, Nfs)
    with nfs.serve(hosts) as server:
        assert isinstance(server, _Nfs)
        assert server.server.name == "metadata-1"
        server.server.put(b"x" * 100_000, server.export / "file")
        url, back = f"nfs://{server.server.address}{server.export}/file?version=4", client.directory / "back4"
        client.run(["nfs-cp", url, back], timeout_s=30)
        assert client.read(back) == b"x" * 100_000


@pytest.mark.parametrize("version", ["3", "4.2"])
def test_nfs_is_mounted_where_the_kernel_can_and_refused_with_the_reason_elsewhere(
    version: str, hosts: Hosts, verified: Verified
) -> None:
    nfs = filesystem("nfs", version=version)
    if {check.name: check.ok for check in nfs.checks()}["NFS in the kernel"]:
        with nfs.mount(hosts) as mounted:
            assert mounted.locate(verified(hosts, mounted)) == ("storage-1",)
    else:
        with (
            pytest.raises(MachineError, match=r"client-1: the kernel has no NFS client.*CONFIG_NFS_FS"),
            nfs.mount(hosts),
        ):
            pass


def traces(root: Path) -> list[str]:
    """What runs below a folder have left."""
    found = [str(path) for path in root.glob("pj-*")]
    for tool in (["losetup", "--list", "--noheadings"], ["cat", "/proc/mounts"]):
        said = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
        found += [line for line in said.splitlines() if str(root) in line]
    return found


@pytest.mark.slow  # by day: a disk whose hold is killed, and test_cli.py
def test_a_kill_while_hosts_make_disks_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path))
    chance = random.Random(7)
    caught_count = 0
    for _ in range(5):
        owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=-1, text=True)
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.4))
        owner.kill()
        rest, _ = owner.communicate()
        caught_count += "down" not in rest
        for run in runs.runs():
            if run.folder.is_relative_to(tmp_path):
                clean(run=run.id)
        assert traces(tmp_path) == []
    assert caught_count > 2


@pytest.mark.parametrize("way", mirrors.WAYS)
def test_a_kill_before_its_mirror_was_made_leaves_no_disks(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path))
    run = runs.fresh()
    lock = runs.claim(run)
    for image in Mirror(way, run.folder / "disks", "storage-1-beneath").images:
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(b"\0" * 4096)
        subprocess.run(["losetup", "--find", image], check=True)
    os.close(lock)  # as it is with a perjoule that is dead
    assert len(clean(run=run.id)) == 1
    assert traces(tmp_path) == []


def test_a_disk_of_this_machine_goes_with_its_hold_even_when_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys; from perjoule.model import Disk; from perjoule.testbeds.local import Local\n"
        "with Local(work=sys.argv[1]).hold(1) as hosts:\n"
        "    place = hosts.all[0].disk('mine', Disk(kind='ext4', block='1 KiB', size='100 MiB'))\n"
        "    (place / 'file').write_text('data'); print(os.path.ismount(place), flush=True)\n"
        "    if sys.argv[2] == 'kill': os.kill(os.getpid(), 9)\n"
    )
    for how in ("end", "kill"):
        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path, how], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.returncode) == ("True\n", 0 if how == "end" else -9)
        deadline_s = time.monotonic() + 5  # the guard is a process of its own
        while (left := [*traces(tmp_path), *tmp_path.glob("*/mine*")]) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert left == []


@pytest.mark.parametrize("mode", [0o755, 0o4755])
def test_no_process_of_another_user_keeps_the_disk_of_a_killed_run(tmp_path: Path, mode: int) -> None:
    """Anybody may give a process a guard's words, also one that is root whoever calls it."""
    place = tmp_path / "perjoule-local-0123abcd/disk"
    place.mkdir(parents=True)
    image = place.with_name("disk.img")
    with image.open("wb") as file:
        file.truncate(16 * MIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    with tempfile.TemporaryDirectory(prefix="guard-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        program = Path(shutil.copy("/bin/cat", name))
        program.chmod(mode)
        words = ["sh", "-", "perjoule-guard", f"/{place.parent.name}/"]  # "-" is its input
        nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
        with subprocess.Popen(words, executable=program, stdin=subprocess.PIPE, **nobody) as child:
            try:
                guard.free(place.parent)
                assert not place.is_mount()
            finally:
                child.kill()
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)


def test_a_named_device_is_used_only_while_it_is_empty_and_is_empty_again_afterwards(tmp_path: Path) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(400 * MIB)
    loop = subprocess.run(
        ["losetup", "-f", "--show", image], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "by-id").mkdir()
    (tmp_path / "by-id" / "disk").symlink_to(loop)
    try:
        argv = [sys.executable, "-c", DEVICE, tmp_path / "by-id" / "disk"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["losetup", "--detach", loop], check=True)
    assert done.returncode == 0, done.stderr
    words = [
        "is not listed",
        "bears xfs",
        "is mounted on",
        "bears nothing",
        'bears ext4 "photos"',
        "bears photos",
        "bears xfs",
    ]
    words += ["bears nothing"]
    assert [word in line for word, line in zip(words, done.stdout.splitlines(), strict=True)] == [True] * 8, (
        done.stdout
    )
