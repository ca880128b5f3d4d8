"""The guard of raw devices on real ones: loop devices of this test's own, with stable ids in a folder of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perjoule.cli import cli
from perjoule.drivers.protocols import Hosts
from perjoule.filesystems.device import Device
from perjoule.model import Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.testbeds.local import Local, device, view
from perjoule.testbeds.local.device import Claim
from perjoule.testbeds.virtual import clean

pytestmark = pytest.mark.live

MIB = 1024**2
HOLDER = """
import sys, time
from pathlib import Path
from perjoule.model import Overwrite, Permit
from perjoule.testbeds.local import view
from perjoule.testbeds.local import Local
device = Path(sys.argv[1])
view.HERE = view.View(links=device.parents[1])
with Local().hold(1) as hosts:
    hosts.all[0].overwrite = (Permit(str(device), ("ext4",)),)
    path = hosts.all[0].device("device", size_bytes=1, device=str(device))
    with path.open("r+b") as file:
        file.write(b"x" * 1048576)
    file = hosts.all[0].device("file", size_bytes=1 << 20)
    print(path, file, flush=True)
    time.sleep(60)
"""


def run(*argv: str | Path) -> str:
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=True, timeout=30).stdout.strip()


class Disk:
    """A loop device with a stable id of its own."""

    def __init__(self, folder: Path) -> None:
        self.links = folder / "links"
        (self.links / "by-id").mkdir(parents=True)
        self.link = self.links / "by-id" / "loop-TEST"
        with (folder / "image").open("wb") as file:
            file.truncate(64 * MIB)
        self.node = run("losetup", "--find", "--show", "--partscan", folder / "image")
        self.link.symlink_to(self.node)
        self.view = view.View(links=self.links)

    def claim(self, *signature: str) -> Claim:
        return Claim(str(self.link), (Permit(device=str(self.link), signature=signature),), self.view)

    def refused(self, *signature: str) -> str:
        with pytest.raises(CampaignError) as refusal:
            self.claim(*signature)
        return str(refusal.value)

    def signatures(self) -> list[str]:
        return run("wipefs", "--noheadings", "--output", "TYPE", self.node).split()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root makes loop devices")
    made = Disk(tmp_path)
    yield made
    subprocess.run(["losetup", "--detach", made.node], check=False)


def test_what_is_claimed_nobody_else_can_take(disk: Disk) -> None:
    claim = disk.claim()
    assert "is in use" in disk.refused()
    busy = subprocess.run(["mkfs.ext4", "-q", disk.node], capture_output=True, text=True, check=False)
    assert busy.returncode != 0
    claim.check()
    claim.release()
    run("mkfs.ext4", "-q", disk.node)


def test_a_signature_is_refused_until_it_is_named_and_then_wiped(disk: Disk) -> None:
    run("mkfs.ext4", "-q", "-L", "photos", disk.node)
    assert 'bears ext4 "photos"' in disk.refused()
    assert 'bears ext4 "photos"' in disk.refused("xfs")
    assert disk.signatures() == ["ext4"]
    claim = disk.claim("ext4")
    claim.wipe()
    claim.release()
    assert disk.signatures() == []


def test_partitions_are_refused_until_all_is_named_and_refused_when_one_is_in_use(disk: Disk, tmp_path: Path) -> None:
    table = subprocess.run(["parted", "--script", disk.node, "mklabel", "gpt", "mkpart", "a", "1MiB", "60MiB"], check=False)
    if table.returncode or not Path(f"{disk.node}p1").is_block_device():
        pytest.skip("no partitions on loop devices here (parted)")
    run("mkfs.ext4", "-q", "-L", "photos", f"{disk.node}p1")
    assert "bears gpt" in disk.refused("ext4")
    assert 'bears ext4 "photos"' in disk.refused("gpt")
    place = tmp_path / "mounted"
    place.mkdir()
    run("mount", f"{disk.node}p1", place)
    try:
        assert f"is mounted on {place}" in disk.refused("gpt", "ext4")
    finally:
        run("umount", place)
    claim = disk.claim("gpt", "ext4")
    claim.wipe()
    claim.release()
    assert disk.signatures() == []
    assert "part" not in run("lsblk", "--noheadings", "--output", "TYPE", disk.node).split()


def test_a_mount_here_or_in_a_namespace_is_refused(disk: Disk, tmp_path: Path) -> None:
    run("mkfs.ext4", "-q", disk.node)
    place = tmp_path / "mounted"
    place.mkdir()
    run("mount", disk.node, place)
    holding = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo; read -r _"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert f"is mounted on {place}" in disk.refused("ext4")
        assert holding.stdout is not None
        holding.stdout.readline()
        run("umount", place)  # what is left of it is seen in that namespace alone
        assert "is in use" in disk.refused("ext4")
    finally:
        holding.communicate(b"")
    assert "ext4" in disk.signatures()


def test_swap_is_refused(disk: Disk) -> None:
    run("mkswap", disk.node)
    run("swapon", disk.node)
    try:
        assert "is swap" in disk.refused("swap")
    finally:
        run("swapoff", disk.node)


def test_what_another_process_has_open_is_refused(disk: Disk) -> None:
    opener = subprocess.Popen(
        [sys.executable, "-c", f"f = open({disk.node!r}, 'rb'); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert opener.stdout is not None
        opener.stdout.readline()
        assert f"({opener.pid})" in disk.refused()
    finally:
        opener.communicate(b"\n")
    disk.claim().release()


def test_a_device_beneath_another_loop_device_is_refused(disk: Disk) -> None:
    upper = run("losetup", "--find", "--show", disk.node)
    try:
        assert f"is part of {Path(upper).name}" in disk.refused() or "is in use" in disk.refused()
    finally:
        run("losetup", "--detach", upper)


def test_a_link_that_leads_elsewhere_by_the_second_look_is_refused(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Disk(tmp_path / "other")
    looked: list[str] = []

    def ask(argv: list[str]) -> str:
        looked.append(argv[0])
        if looked.count("wipefs") == 1 and argv[0] == "wipefs":  # the first look ends: now the link moves
            disk.link.unlink()
            disk.link.symlink_to(other.node)
        return disk.view.ask(argv)

    try:
        named = (Permit(device=str(disk.link)),)
        with pytest.raises(CampaignError, match="a moment ago and is"):
            Claim(str(disk.link), named, replace(disk.view, ask=ask))
    finally:
        run("losetup", "--detach", other.node)


def test_something_that_appears_between_the_looks_is_refused(disk: Disk) -> None:
    looked: list[str] = []

    def ask(argv: list[str]) -> str:
        looked.append(argv[0])
        said = disk.view.ask(argv)
        if argv[0] == "wipefs" and looked.count("wipefs") == 1:
            run("mkfs.ext4", "-q", "-L", "photos", disk.node)
        return said

    with pytest.raises(CampaignError, match='bears ext4 "photos"'):
        Claim(str(disk.link), (Permit(device=str(disk.link)),), replace(disk.view, ask=ask))
    assert disk.signatures() == ["ext4"]


def test_a_device_that_became_another_is_not_written_to(disk: Disk, tmp_path: Path) -> None:
    claim = disk.claim()
    claim.check()
    claim.seen = replace(claim.seen, sequence="1")  # what the kernel counts is another by now
    with pytest.raises(MachineError, match="has become another device"):
        claim.wipe()
    claim.release()


def test_a_device_that_came_in_the_place_of_the_one_that_was_shown_is_refused(disk: Disk, tmp_path: Path) -> None:
    permit, _ = device.shown(Overwrite(device=str(disk.link)), disk.view)
    Claim(str(disk.link), (permit,), disk.view).release()
    run("losetup", "--detach", disk.node)
    run("losetup", disk.node, tmp_path / "image")  # the same number, as a disk in the same slot
    if not Path("/sys/block", Path(disk.node).name, "diskseq").exists():
        pytest.skip("this kernel does not count devices (diskseq, since Linux 5.15)")
    with pytest.raises(CampaignError, match=r"is another device .* than the one shown and confirmed"):
        Claim(str(disk.link), (permit,), disk.view)


def _held(disk: Disk, call: Callable[[Hosts], None], *signature: str) -> None:
    with Local().hold(1) as hosts:
        hosts.all[0].overwrite = (Permit(device=str(disk.link), signature=signature),)
        call(hosts)


def test_a_named_device_is_measured_and_looked_at_by_its_number(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "HERE", disk.view)

    def measure(hosts: Hosts) -> None:
        with Device(device=str(disk.link)).mount(hosts) as mounted:
            assert mounted.devices == {"local": Path(disk.node)}
            mounted.alive()
            hosts.all[0].run(["dd", "if=/dev/urandom", f"of={disk.node}", "bs=1M", "count=4", "oflag=direct"], timeout_s=20)
            with (
                monkeypatch.context() as another,
                pytest.raises(TransientError, match=r"is no longer the device that was lent .*now 7:99 1"),
            ):
                another.setattr("perjoule.filesystems.device._identity", lambda client, path: "7:99 1")
                mounted.alive()
            assert "is in use" in disk.refused() or "is open" in disk.refused()

    _held(disk, measure)
    disk.claim().release()  # and is free again


def test_a_device_that_is_not_confirmed_is_not_lent(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "HERE", disk.view)
    wanted = Device(device=str(disk.link))
    with Local().hold(1) as hosts, pytest.raises(CampaignError, match="not confirmed"), wanted.mount(hosts):
        pass


def test_when_perjoule_is_killed_the_device_is_free_and_the_file_is_gone(disk: Disk) -> None:
    run("mkfs.ext4", "-q", disk.node)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, disk.link], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    path, loop = holder.stdout.readline().split()
    assert path == disk.node
    holder.kill()
    holder.communicate()
    deadline_s = time.monotonic() + 20
    backing = Path("/sys/block", Path(loop).name, "loop")
    while backing.exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not backing.exists()
    disk.claim().release()


CAMPAIGN = """
repetitions = 1
settle = "50 ms"
quiet = 0
overwrite = [{{device = "{device}", signature = "ext4"}}]
[testbed]
kind = "local"
[[filesystem]]
kind = "device"
device = "{device}"
[[workload]]
kind = "device"
operation = ["write", "read"]
size = "8 MiB"
direct = true
[[meter]]
kind = "system"
"""


def test_a_campaign_overwrites_a_device_only_with_a_word_of_the_user(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "HERE", disk.view)
    run("mkfs.ext4", "-q", "-L", "photos", disk.node)
    file, into = tmp_path / "mine.toml", tmp_path / "results"
    file.write_text(CAMPAIGN.format(device=disk.link))

    def typed(*words: str) -> Result:
        return CliRunner().invoke(cli, ["run", str(file), "--into", str(into), *words])

    assert "not been confirmed" in str(typed().exception)
    assert "is not a device listed in this campaign" in str(typed("--overwrite", "other").exception)
    assert not into.exists()
    assert disk.signatures() == ["ext4"]
    ended = typed("--overwrite", "loop-TEST")
    assert ended.exit_code == 0, ended.output
    assert disk.signatures() == []
    assert (into / "report.html").exists()
    again = CliRunner().invoke(cli, ["resume", str(into)])  # nothing is missing: nothing is asked
    assert again.exit_code == 0, again.output


def test_what_would_be_lost_is_shown_on_the_terminal(disk: Disk) -> None:
    run("mkfs.ext4", "-q", "-L", "photos", disk.node)
    permit, lines = device.shown(Overwrite(device=str(disk.link), signature=("ext4",)), disk.view)
    sequence = Path("/sys/block", Path(disk.node).name, "diskseq")
    assert permit.identity.endswith(sequence.read_text().strip() if sequence.exists() else "")
    assert lines[0] == f"{disk.link} -> {disk.node}"
    assert "size 64M" in lines[1]
    assert lines[2].startswith('bears ext4 "photos"')


VIRTUAL = """
import os, signal
from perjoule.testbeds.virtual import Virtual
with Virtual(cluster="mpsoc-ssd1", disk="directory").hold(1) as hosts:
    client = hosts.clients[0]
    path = client.device("device", size_bytes=64 << 20)
    path = client.device("device", size_bytes=64 << 20)  # one of that name that was there before goes
    client.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=16"], timeout_s=30)
    print(path, client.directory.parent, flush=True)
    if DIE:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kill", [False, True])
def test_devices_of_virtual_hosts_are_gone_at_the_end_or_with_the_next_cleaning(kill: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes virtual hosts")
    program = VIRTUAL.replace("DIE", str(kill))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (-9 if kill else 0), done.stderr
    path, folder = done.stdout.split()
    if kill:
        clean()
    backing = Path("/sys/block", Path(path).name, "loop", "backing_file")
    assert folder not in (backing.read_text() if backing.exists() else "")
    assert not Path(folder).exists()
