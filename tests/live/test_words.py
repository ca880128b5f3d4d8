"""Words of a campaign that would reach another disk than the one it names: tried with real tools on loop
devices of our own.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from commanded import command
from perjoule.filesystems._ceph.tuning import tunes
from perjoule.model import Disk
from perjoule.model.errors import MachineError
from perjoule.testbeds import _format
from perjoule.testbeds.local import Local

pytestmark = pytest.mark.live

IMAGE_BYTES = 320 * 1024**2
CAMPAIGN = """
name = "words"
[testbed]
kind = "local"
[[filesystem]]
kind = "local"
size = "400 MiB"
{words}
[[workload]]
kind = "fio"
size = "1 MiB"
transfer = "1 MiB"
[[meter]]
kind = "modelled"
"""
ATTACKS = {
    "a log on another device": 'type = "xfs"\nmake = ["-f", "-l", "logdev={node},size=64m"]\noptions = ["logdev={node}"]',
    "a second device": 'type = "btrfs"\nmake = ["-f", "{node}"]',
    "a journal on another device": 'type = "ext4"\nmake = ["-F", "-J", "device={node}"]',
    "options of another device": 'type = "btrfs"\noptions = ["device={node}"]',
}


def run(*argv: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[str]:
    """A loop device with an ext4 that holds a file of somebody's."""
    if os.geteuid() != 0:
        pytest.skip("only root makes loop devices")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a").write_text("somebody's")
    with (tmp_path / "image").open("wb") as file:
        file.truncate(IMAGE_BYTES)
    run("mkfs.ext4", "-q", "-d", tmp_path / "photos", tmp_path / "image")
    made = run("losetup", "--find", "--show", tmp_path / "image")
    yield made
    subprocess.run(["losetup", "--detach", made], check=False)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_word_of_a_disk_reaches_another_device(attack: str, node: str, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign.toml"
    campaign.write_text(CAMPAIGN.format(words=ATTACKS[attack].format(node=node)))
    done = command("run", campaign, "--into", tmp_path / "results")
    subprocess.run(["blockdev", "--flushbufs", node], check=True)
    assert run("wipefs", "--noheadings", "--output", "TYPE", node) == "ext4"
    assert "somebody's" in run("debugfs", "-R", "cat /a", node)
    assert done.returncode != 0
    assert "not permitted" in done.stderr


def test_a_mount_that_is_not_seen_is_refused(node: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    disk = Disk(kind="ext4")
    with Path(os.devnull).open() as null:
        _format.mount(node, place, disk, lock=null.fileno())
        run("umount", place)
        # as if a word had got past the list
        object.__setattr__(disk, "options", ("X-mount.subdir=lost+found",))
        with pytest.raises(MachineError, match=r"nothing is mounted|not the whole file system"):
            _format.mount(node, place, disk, lock=null.fileno())
    assert not place.is_mount()


def test_words_that_researchers_tune_make_a_file_system_that_mounts() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root mounts")
    tuned: dict[Literal["ext4", "xfs", "btrfs"], tuple[tuple[str, ...], tuple[str, ...]]] = {
        "ext4": (
            ("-E", "stride=16,stripe_width=64", "-I", "512", "-m", "0", "-J", "size=16"),
            ("commit=30", "discard"),
        ),
        "xfs": (
            ("-d", "su=64k,sw=4", "-i", "size=1024", "-m", "reflink=0", "-K"),
            ("allocsize=64m", "logbufs=8,logbsize=256k"),
        ),
        "btrfs": (
            ("-n", "32k", "--csum=xxhash", "-O", "^no-holes"),
            ("compress=zstd:3", "autodefrag", "discard=async"),
        ),
    }
    with Local().hold(1) as hosts:
        for kind, (make, options) in tuned.items():
            place = hosts.clients[0].disk(kind, Disk(kind=kind, make=make, options=options))
            assert run("findmnt", "--noheadings", "--output", "FSTYPE", "--target", place) == kind


def test_no_option_of_ceph_that_a_family_permits_is_a_text() -> None:
    """A text could be a path, an address or a library: Ceph itself names all its options, with their
    defaults.
    """
    lines = (line.partition(" = ") for line in run("ceph-osd", "--show-config").splitlines())
    shown = {name: value for name, _, value in lines}
    texts = {
        name: value
        for name, value in shown.items()
        if tunes(name) and not re.fullmatch(r"[-0-9.e+]+|true|false", value)
    }
    assert texts == {}
    assert sum(map(tunes, shown)) > 250
