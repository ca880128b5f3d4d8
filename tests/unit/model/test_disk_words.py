"""Words for mkfs and mount: those that tune pass, and nothing else does."""

import random
import string
from typing import Any

import pytest

from perjoule.model import Disk
from perjoule.model.disk_words import MAKE, MOUNT, require_words
from perjoule.model.permitted import control_character, permits

TUNED = [
    (
        "ext4",
        ["-I", "512", "-i", "16384", "-m", "0", "-E", "stride=16,stripe_width=64,lazy_itable_init=1"],
        ["commit=30,nobarrier"],
    ),
    (
        "ext4",
        ["-O", "^has_journal,bigalloc", "-C", "64k", "-J", "size=128"],
        ["data=writeback", "barrier=0", "stripe=64"],
    ),
    (
        "ext4",
        ["-T", "largefile4", "-G", "64"],
        ["noatime", "discard", "max_batch_time=0", "nobarrier,lazytime"],
    ),
    (
        "xfs",
        ["-d", "su=64k,sw=4,agcount=32", "-l", "size=256m,su=64k", "-i", "size=1024"],
        ["allocsize=64m", "logbufs=8"],
    ),
    (
        "xfs",
        ["-m", "crc=0", "-n", "size=8k", "-K", "-s", "size=4096"],
        ["logbsize=256k", "inode64,largeio,swalloc"],
    ),
    (
        "btrfs",
        ["-n", "32k", "-m", "single", "--csum", "xxhash"],
        ["compress=zstd:3", "nodatacow", "space_cache=v2"],
    ),
    (
        "btrfs",
        ["--nodesize=16384", "--features=^no-holes"],
        ["compress-force=lzo", "commit=120", "discard=async", "ssd"],
    ),
    (
        "f2fs",
        ["-s", "2", "-O", "extra_attr,compression"],
        ["background_gc=off", "compress_algorithm=zstd:6", "fsync_mode=strict"],
    ),
    (
        "zfs",
        ["-o", "ashift=12", "-O", "compression=zstd-3", "-O", "primarycache=metadata", "-O", "sync=always"],
        [],
    ),
]
# What would reach another device, a file or another program, force something, or pass for another file
# system.
ATTACKS: list[tuple[str, list[str], list[str], str]] = [
    ("xfs", ["-f"], [], "list the device in overwrite"),
    ("xfs", ["-f", "-l", "logdev=/dev/loop7,size=64m"], [], "overwrite"),
    ("xfs", ["-l", "logdev=/dev/loop7,size=64m"], [], "one disk; name it with device"),
    ("xfs", ["-l", "size=64m,logdev=/dev/loop7"], [], "name it with device"),
    ("xfs", ["-r", "rtdev=/dev/loop7"], [], "name it with device"),
    ("xfs", ["-d", "file,name=/etc/passwd"], [], "not permitted"),
    ("xfs", ["-l", "internal=0"], [], "not permitted"),
    ("xfs", ["-p", "/tmp/proto"], [], "not permitted"),
    ("xfs", ["-c", "options=/tmp/x"], [], "not permitted"),
    ("xfs", ["-b", "size=4k"], [], "set block instead"),
    ("xfs", ["-m", "uuid=01234567-89ab-cdef-0123-456789abcdef"], [], "not permitted"),
    ("xfs", ["-L", "root"], [], "not permitted"),
    ("xfs", ["-N"], [], "not permitted"),
    ("xfs", [], ["logdev=/dev/loop7"], "name it with device"),
    ("xfs", [], ["noatime,rtdev=/dev/loop7"], "name it with device"),
    ("btrfs", ["/dev/loop7"], [], "not permitted"),
    ("btrfs", ["-K", "/dev/loop7"], [], "not permitted"),
    ("btrfs", ["--", "/dev/loop7"], [], "not permitted"),
    ("btrfs", ["--force"], [], "list the device in overwrite"),
    ("btrfs", ["-d", "raid1"], [], "not a permitted value"),
    ("btrfs", ["--rootdir=/etc"], [], "not permitted"),
    ("btrfs", ["-r", "/etc"], [], "not permitted"),
    ("btrfs", ["--mixed=/dev/loop7"], [], "not permitted"),
    ("btrfs", ["-fK"], [], "not permitted"),
    ("btrfs", ["--byte-count", "1g"], [], "set size instead"),
    ("btrfs", [], ["device=/dev/loop7"], "name it with device"),
    ("btrfs", [], ["subvol=/x"], "not permitted"),
    ("btrfs", [], ["degraded"], "not permitted"),
    ("ext4", ["-F"], [], "list the device in overwrite"),
    ("ext4", ["-J", "device=/dev/loop7"], [], "name it with device"),
    ("ext4", ["-O", "journal_dev"], [], "not permitted"),
    ("ext4", ["-E", "offset=1048576"], [], "not permitted"),
    ("ext4", ["-E", "root_owner=1000:1000"], [], "not permitted"),
    ("ext4", ["-E"], [], "has no value"),
    ("ext4", ["-m", "-F"], [], "not a permitted value"),
    ("ext4", ["-d", "/etc"], [], "not permitted"),
    ("ext4", ["-z", "/tmp/undo"], [], "not permitted"),
    ("ext4", ["-l", "/tmp/bad"], [], "not permitted"),
    ("ext4", ["-c"], [], "not permitted"),
    ("ext4", ["-e", "panic"], [], "not permitted"),
    ("ext4", ["-U", "01234567-89ab-cdef-0123-456789abcdef"], [], "not permitted"),
    ("ext4", ["-m", "٣"], [], "not a permitted value"),
    ("ext4", ["-m", "0\n"], [], "not a permitted value"),
    ("ext4", [], ["journal_path=/dev/loop7"], "name it with device"),
    ("ext4", [], ["errors=panic"], "not permitted"),
    ("ext4", [], ["loop"], "name it with device"),
    ("ext4", [], ["loop=/dev/loop7"], "name it with device"),
    ("ext4", [], ["bind"], "name it with device"),
    ("ext4", [], ["remount"], "not permitted"),
    ("ext4", [], ["X-mount.subdir=lost+found"], "not permitted"),
    ("ext4", [], ["X-mount.mkdir"], "not permitted"),
    ("ext4", [], ["x-systemd.automount"], "not permitted"),
    ("ext4", [], ["helper=x"], "not permitted"),
    ("ext4", [], ["usrjquota=a,jqfmt=vfsold"], "not permitted"),
    ("ext4", [], ["commit=5,bind"], "name it with device"),
    ("ext4", [], ["commit=5,"], "not permitted"),
    ("ext4", [], ["commit=5\n"], "is another one"),
    ("ext4", [], ["Commit=5"], "not permitted"),
    ("f2fs", ["-c", "/dev/loop7"], [], "name it with device"),
    ("f2fs", ["-f"], [], "list the device in overwrite"),
    ("f2fs", [], ["test_dummy_encryption"], "not permitted"),
    ("zfs", ["-f"], [], "list the device in overwrite"),
    ("zfs", ["-O", "mountpoint=/etc"], [], "not permitted"),
    ("zfs", ["-O", "sharenfs=rw"], [], "not permitted"),
    ("zfs", ["-O", "keylocation=file:///etc/shadow"], [], "not permitted"),
    ("zfs", ["-o", "cachefile=/etc/x"], [], "not permitted"),
    ("zfs", ["-o", "compatibility=/etc/x"], [], "not permitted"),
    ("zfs", ["-R", "/"], [], "not permitted"),
    ("zfs", ["-m", "/etc"], [], "not permitted"),
    ("zfs", ["mirror", "/dev/loop7"], [], "not permitted"),
    ("zfs", ["-O", "recordsize=1M"], [], "set block instead"),
]


@pytest.mark.parametrize(("kind", "make", "options"), TUNED)
def test_what_a_researcher_tunes_is_permitted(kind: Any, make: list[str], options: list[str]) -> None:
    mirror: Any = "zfs" if kind == "zfs" else "none"
    assert Disk(kind=kind, mirror=mirror, make=tuple(make), options=tuple(options)).make == tuple(make)


@pytest.mark.parametrize(("kind", "make", "options", "words"), ATTACKS)
def test_what_reaches_beyond_the_disk_is_refused(
    kind: str, make: list[str], options: list[str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        require_words(kind, make, options)


def test_no_random_word_with_a_path_passes() -> None:
    drawn = random.Random(1)
    characters = string.ascii_letters + string.digits + "-=/,:.^ \n"
    pieces = [
        *(name for kind in MAKE.values() for name in kind),
        *(name for kind in MOUNT.values() for name in kind),
    ]
    passed = 0
    for _ in range(20_000):
        kind = drawn.choice(list(MAKE))
        words = [
            "".join(
                drawn.choice([drawn.choice(pieces), drawn.choice(characters), "=1", ","])
                for _ in range(drawn.randint(1, 4))
            )
            for _ in range(drawn.randint(1, 3))
        ]
        make, options = (words, []) if drawn.random() < 0.5 else ([], words)
        try:
            require_words(kind, make, options)
        except ValueError:
            continue
        passed += 1
        assert not set("/\n ") & set("".join(words)), words
    assert passed > 20  # so that the draw reaches what is permitted


def test_a_form_is_of_the_whole_value() -> None:
    assert permits({"a": "=[0-9]+"}, "a=5")
    for word in ("a", "a=", "a=5\n", "a=5x", "b=5", "a==5", ""):
        assert not permits({"a": "=[0-9]+"}, word)


def test_control_characters_are_found() -> None:
    assert [
        control_character(text) for text in ("a\nb", "\0", "a\x7f", "\x85", "\u2028", "\u202e", "\ud800")
    ] == [*("\\n", "\\x00", "\\x7f", "\\x85", "\\u2028", "\\u202e", "\\ud800")]
    assert control_character("osd op, ü 5 %") == ""
