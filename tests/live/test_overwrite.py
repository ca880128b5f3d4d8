"""The guard of raw devices on real ones: loop devices of this test's own, here and as devices of a host
over SSH.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commanded import command
from perjoule.cli import cli
from perjoule.drivers.protocols import Host, Hosts
from perjoule.filesystems.device import RawDevice
from perjoule.model import Disk as Wanted
from perjoule.model import Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.testbeds import _device as device
from perjoule.testbeds._device import DeviceClaim, view
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.cluster.devices import There
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.local import Local
from perjoule.testbeds.virtual import clean
from sshd import on_loopback, toml

# Other tests' losetup opens every loop device for a moment, and a namespace that begins meanwhile keeps a
# mount: either refuses a device for another reason than the one that is looked at.
pytestmark = [pytest.mark.live, pytest.mark.alone]

MIB = 1024**2
HOLDER = """
import sys, time
from pathlib import Path
from perjoule.model import Overwrite, Permit
from perjoule.testbeds._device import view
from perjoule.testbeds.local import Local
device = Path(sys.argv[1])
view.HERE = view.MachineView(links=device.parents[1])
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
    return subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


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
        self.view = view.MachineView(links=self.links)

    def on(self, host: Host) -> "Disk":
        """Look at it as at a device of a host, which this machine is by another way."""
        assert isinstance(host, SshHost)
        self.view = There(
            links=self.links, ask=lambda argv: host._tool(*argv), host=host, log=self.links / "held"
        )
        return self

    def after_first_look(self, do: Callable[[], object]) -> view.MachineView:
        """Have something happen between the first look and the second."""
        done: list[str] = []

        def ask(argv: Sequence[str]) -> str:
            said = self.view.ask(argv)
            # which is the last that a look asks
            if not done and ("wipefs" in argv or "perjoule-report" in argv):
                done.append("once")
                do()
            return said

        return replace(self.view, ask=ask)

    def claim(self, *signature: str) -> DeviceClaim:
        return DeviceClaim(str(self.link), (Permit(device=str(self.link), signature=signature),), self.view)

    def refused(self, *signature: str) -> str:
        with pytest.raises(CampaignError) as refusal:
            self.claim(*signature)
        return str(refusal.value)

    def signatures(self) -> list[str]:
        return run("wipefs", "--noheadings", "--output", "TYPE", self.node).split()


@pytest.fixture
def local_disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root makes loop devices")
    made = Disk(tmp_path)
    yield made
    subprocess.run(["losetup", "--detach", made.node], check=False)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is missing: apt install openssh-server")
    with on_loopback(tmp_path_factory.mktemp("lab")) as options, SshCluster(**options).hold(1) as hosts:
        yield hosts.clients[0]


@pytest.fixture(params=["here", "over SSH"])
def disk(request: pytest.FixtureRequest, local_disk: Disk) -> Disk:
    return local_disk if request.param == "here" else local_disk.on(request.getfixturevalue("host"))


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


def _zfs(node: str) -> None:
    """Write what libblkid takes for a member of a pool: uberblocks in the first label."""
    with Path(node).open("r+b") as file:
        for slot in range(128):
            file.seek(128 * 1024 + slot * 1024)
            file.write((0x00BAB10C).to_bytes(8, "little") + (5000).to_bytes(8, "little"))


MEMBERS: dict[str, Callable[[str, str], object]] = {
    "LVM2_member": lambda node, _: run("pvcreate", "--quiet", "--labelsector", "3", node),
    "zfs_member": lambda node, _: _zfs(node),
    "jbd": lambda node, _: run("mke2fs", "-q", "-F", "-O", "journal_dev", node),
    "xfs_external_log": lambda node, other: run("mkfs.xfs", "-q", "-f", "-l", f"logdev={node}", other),
    "btrfs": lambda node, other: run("mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", other, node),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_member_of_what_spans_devices_is_refused_even_when_it_is_named(
    kind: str, disk: Disk, tmp_path: Path
) -> None:
    with (tmp_path / "other").open("wb") as file:
        file.truncate(512 * MIB)
    with (tmp_path / "image").open("r+b") as file:
        file.truncate(512 * MIB)
    run("losetup", "--set-capacity", disk.node)
    other = run("losetup", "--find", "--show", tmp_path / "other")
    try:
        MEMBERS[kind](disk.node, other)
        assert kind in disk.signatures()
        assert f"belongs to something larger ({kind}" in disk.refused(kind)
        assert kind in disk.signatures()
    finally:
        run("losetup", "--detach", other)


def test_partitions_are_refused_until_all_is_named_and_refused_when_one_is_in_use(
    disk: Disk, tmp_path: Path
) -> None:
    table = subprocess.run(
        ["parted", "--script", disk.node, "mklabel", "gpt", "mkpart", "a", "1MiB", "60MiB"], check=False
    )
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
    with _namespace():
        assert f"is mounted on {place}" in disk.refused("ext4")
        run("umount", place)  # what is left of it is seen in that namespace alone
        assert "is in use" in disk.refused("ext4")
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

    def move() -> None:
        disk.link.unlink()
        disk.link.symlink_to(other.node)

    try:
        named = (Permit(device=str(disk.link)),)
        with pytest.raises(CampaignError, match="a moment ago and is"):
            DeviceClaim(str(disk.link), named, disk.after_first_look(move))
    finally:
        run("losetup", "--detach", other.node)


def test_something_that_appears_between_the_looks_is_refused(disk: Disk) -> None:
    made = disk.after_first_look(lambda: run("mkfs.ext4", "-q", "-L", "photos", disk.node))
    with pytest.raises(CampaignError, match='bears ext4 "photos"'):
        DeviceClaim(str(disk.link), (Permit(device=str(disk.link)),), made)
    assert disk.signatures() == ["ext4"]


def test_a_device_that_became_another_is_not_written_to(disk: Disk, tmp_path: Path) -> None:
    claim = disk.claim()
    claim.check()
    claim.seen = replace(claim.seen, sequence="1")  # what the kernel counts is another by now
    with pytest.raises(MachineError, match="has become another device"):
        claim.wipe()
    claim.release()


def test_a_device_that_came_in_the_place_of_the_one_that_was_shown_is_refused(
    disk: Disk, tmp_path: Path
) -> None:
    permit, _ = device.described(Overwrite(device=str(disk.link)), disk.view)
    DeviceClaim(str(disk.link), (permit,), disk.view).release()
    run("losetup", "--detach", disk.node)
    run("losetup", disk.node, tmp_path / "image")  # the same number, as a disk in the same slot
    if not Path("/sys/block", Path(disk.node).name, "diskseq").exists():
        pytest.skip("this kernel does not count devices (diskseq, since Linux 5.15)")
    with pytest.raises(CampaignError, match=r"is another device .* than the one shown and confirmed"):
        DeviceClaim(str(disk.link), (permit,), disk.view)


def _held(local_disk: Disk, call: Callable[[Hosts], None], *signature: str) -> None:
    with Local().hold(1) as hosts:
        hosts.all[0].overwrite = (Permit(device=str(local_disk.link), signature=signature),)
        call(hosts)


def test_a_named_device_is_measured_and_looked_at_by_its_number(
    local_disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "HERE", local_disk.view)

    def measure(hosts: Hosts) -> None:
        with RawDevice(device=str(local_disk.link)).mount(hosts) as mounted:
            assert mounted.devices == {"local": Path(local_disk.node)}
            mounted.alive()
            hosts.all[0].run(
                ["dd", "if=/dev/urandom", f"of={local_disk.node}", "bs=1M", "count=4", "oflag=direct"],
                timeout_s=20,
            )
            with (
                monkeypatch.context() as another,
                pytest.raises(TransientError, match=r"is no longer the device that was lent .*now 7:99 1"),
            ):
                another.setattr("perjoule.filesystems.device._identity", lambda client, path: "7:99 1")
                mounted.alive()
            assert "is in use" in local_disk.refused() or "is open" in local_disk.refused()

    _held(local_disk, measure)
    local_disk.claim().release()  # and is free again


def test_a_device_that_is_not_confirmed_is_not_lent(
    local_disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "HERE", local_disk.view)
    wanted = RawDevice(device=str(local_disk.link))
    with Local().hold(1) as hosts, pytest.raises(CampaignError, match="not confirmed"), wanted.mount(hosts):
        pass


def test_when_perjoule_is_killed_the_device_is_free_and_the_file_is_gone(local_disk: Disk) -> None:
    run("mkfs.ext4", "-q", local_disk.node)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, local_disk.link], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    path, loop = holder.stdout.readline().split()
    assert path == local_disk.node
    holder.kill()
    holder.communicate()
    deadline_s = time.monotonic() + 20
    backing = Path("/sys/block", Path(loop).name, "loop")
    while backing.exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not backing.exists()
    local_disk.claim().release()


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
    local_disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "HERE", local_disk.view)
    run("mkfs.ext4", "-q", "-L", "photos", local_disk.node)
    file, into = tmp_path / "mine.toml", tmp_path / "results"
    file.write_text(CAMPAIGN.format(device=local_disk.link))

    def typed(*words: str) -> Result:
        return CliRunner().invoke(cli, ["run", str(file), "--into", str(into), *words])

    assert "not been confirmed" in str(typed().exception)
    assert "is not a device listed in this campaign" in str(typed("--overwrite", "other").exception)
    assert not into.exists()
    assert local_disk.signatures() == ["ext4"]
    ended = typed("--overwrite", "loop-TEST")
    assert ended.exit_code == 0, ended.output
    assert local_disk.signatures() == []
    assert (into / "report.html").exists()
    again = CliRunner().invoke(cli, ["resume", str(into)])  # nothing is missing: nobody is prompted
    assert again.exit_code == 0, again.output


def test_what_would_be_lost_is_shown_on_the_terminal(local_disk: Disk) -> None:
    run("mkfs.ext4", "-q", "-L", "photos", local_disk.node)
    permit, lines = device.described(
        Overwrite(device=str(local_disk.link), signature=("ext4",)), local_disk.view
    )
    sequence = Path("/sys/block", Path(local_disk.node).name, "diskseq")
    assert permit.identity.endswith(sequence.read_text().strip() if sequence.exists() else "")
    assert lines[0] == f"{local_disk.link} -> {local_disk.node}"
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


@pytest.mark.usefixtures("cleaning")
@pytest.mark.parametrize("kill", [False, True])
def test_devices_of_virtual_hosts_are_gone_at_the_end_or_with_the_next_cleaning(kill: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes virtual hosts")
    program = VIRTUAL.replace("DIE", str(kill))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == (-9 if kill else 0), done.stderr
    path, folder = done.stdout.split()
    if kill:
        clean()
    backing = Path("/sys/block", Path(path).name, "loop", "backing_file")
    assert folder not in (backing.read_text() if backing.exists() else "")
    assert not Path(folder).exists()


@pytest.fixture
def named(local_disk: Disk) -> Iterator[str]:
    """A stable id among this machine's, as a campaign names it."""
    folder = Path("/dev/disk/by-id")
    made = [path for path in (folder.parent, folder) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / f"perjoule-test-{os.getpid()}"
    link.symlink_to(local_disk.node)
    yield str(link)
    link.unlink()
    for path in reversed(made):
        path.rmdir()


# A device itself by night: by day it is overwritten here, above, and one over SSH beneath a file system.
@pytest.mark.parametrize(
    ("filesystem", "load"),
    [
        pytest.param(
            'kind = "device"',
            'kind = "device"\noperation = ["write", "read"]\nsize = "8 MiB"\ndirect = true',
            id="device",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            'kind = "local"\ntype = "ext4"',
            'kind = "fio"\noperation = ["write", "read"]\nsize = "8 MiB"',
            id="local",
        ),
    ],
)
def test_a_campaign_overwrites_a_device_of_a_host_only_with_a_word_of_the_user(
    filesystem: str, load: str, local_disk: Disk, named: str, tmp_path: Path
) -> None:
    run("mkfs.ext4", "-q", "-L", "photos", local_disk.node)
    (tmp_path / "lab").mkdir()
    with on_loopback(tmp_path / "lab") as options:
        header = f'overwrite = [{{device = "{named}", signature = "ext4"}}]'
        text = toml(options, f'{filesystem}\ndevice = "{named}"', load, header=header)
        (tmp_path / "lab.toml").write_text(text)
        (tmp_path / "other.toml").write_text(text.replace('signature = "ext4"', 'signature = "xfs"'))

        def campaign(file: str, *words: str) -> subprocess.CompletedProcess[str]:
            return command("run", tmp_path / file, "--into", tmp_path / "results", *words)

        refused = campaign("other.toml", "--overwrite", Path(named).name)
        assert (refused.returncode, local_disk.signatures()) == (2, ["ext4"]), refused.stderr
        assert f'client-1: device = "{named}" bears ext4 "photos"' in refused.stderr
        unasked = campaign("lab.toml")
        assert (unasked.returncode, local_disk.signatures()) == (2, ["ext4"]), unasked.stderr
        assert f"client-1: {named} -> {local_disk.node}" in unasked.stderr
        assert "has not been confirmed" in unasked.stderr
        ended = campaign("lab.toml", "--overwrite", Path(named).name)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "failed: " not in ended.stdout + ended.stderr
    assert local_disk.signatures() == []  # ours is removed, too
    local_disk.claim().release()  # and is free again


def test_copies_of_a_mount_in_namespaces_do_not_keep_our_file_system_on_a_device(
    local_disk: Disk, named: str, tmp_path: Path
) -> None:
    """As those of virtual hosts, containers or services that were started meanwhile."""
    with ExitStack() as copies, on_loopback(tmp_path) as options:
        with SshCluster(**options).hold(1) as hosts:
            client = hosts.clients[0]
            client.overwrite = (Permit(device=named, host=client.name),)
            for _ in range(2):  # the second replaces the first, and is removed with the run
                client.disk("disk", Wanted(kind="ext4", device=named))
                assert local_disk.signatures() == ["ext4"]
                copies.enter_context(_namespace())
        assert local_disk.signatures() == []


@contextmanager
def _namespace() -> Generator[None]:
    """Hold a copy of all mounts, which no unmounting elsewhere changes."""
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo; read -r _"]
    holding = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holding.stdout is not None
        holding.stdout.readline()
        yield
    finally:
        holding.communicate(b"")
