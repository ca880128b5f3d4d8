"""What is mounted is looked at: the whole file system, of the kind and from the device that we named."""

import pytest

from perjoule.model.errors import MachineError
from perjoule.testbeds._mounted import mounts, require_mounted

LINE = "36 35 {number} {root} {place} rw,noatime shared:1 - {kind} {source} rw"
NUMBERS = {"/dev/loop1": "7:1", "/dev/mapper/delay": "253:0", "/dev/dm-0": "253:0", "/dev/sda": "8:0"}


def line(
    number: str = "7:1", root: str = "/", place: str = "/p", kind: str = "ext4", source: str = "/dev/loop1"
) -> str:
    return LINE.format(number=number, root=root, place=place, kind=kind, source=source)


def require(mountinfo: str, source: str = "/dev/loop1", kind: str = "ext4", place: str = "/p") -> None:
    require_mounted(mountinfo, place, source, kind, NUMBERS.__getitem__)


@pytest.mark.parametrize(
    ("mountinfo", "source", "kind", "place"),
    [
        (line(), "/dev/loop1", "ext4", "/p"),
        (line("253:0", source="/dev/mapper/delay"), "/dev/dm-0", "ext4", "/p"),  # mount replaces the name
        (line("0:45", kind="btrfs"), "/dev/loop1", "btrfs", "/p"),  # whose number names none
        (line("0:45", kind="zfs", source="pool"), "pool", "zfs", "/p"),
        # the last one is seen
        ("\n".join([line("8:0", source="/dev/sda"), line()]), "/dev/loop1", "ext4", "/p"),
        (line(place="/a\\040b"), "/dev/loop1", "ext4", "/a b"),
    ],
)
def test_what_we_mounted_is_accepted(mountinfo: str, source: str, kind: str, place: str) -> None:
    asked: list[str] = []
    require_mounted(mountinfo, place, source, kind, lambda device: asked.append(device) or NUMBERS[device])
    assert (source in asked) == (kind != "zfs")


@pytest.mark.parametrize(
    ("mountinfo", "kind", "words"),
    [
        ("", "ext4", "nothing is mounted"),
        (line(place="/q"), "ext4", "nothing is mounted"),
        (line(kind="xfs"), "ext4", "xfs is mounted, not ext4"),
        (line(root="/lost+found"), "ext4", "not the whole file system, only /lost"),
        (line("8:0", source="/dev/sda"), "ext4", "/dev/sda .8:0. is mounted"),
        (line("8:0"), "ext4", r"\(8:0\) is mounted"),
        (line("0:45", kind="btrfs", source="/dev/sda"), "btrfs", "/dev/sda"),
        ("\n".join([line(), line("8:0", source="/dev/sda")]), "ext4", "/dev/sda"),
    ],
)
def test_anything_else_is_refused(mountinfo: str, kind: str, words: str) -> None:
    with pytest.raises(MachineError, match=words):
        require(mountinfo, kind=kind)


def test_a_pool_of_another_name_is_refused() -> None:
    with pytest.raises(MachineError, match="other"):
        require(line("0:45", kind="zfs", source="other"), "pool", "zfs")


def test_a_line_is_parsed_with_and_without_optional_fields() -> None:
    assert mounts("36 35 98:0 /a /b rw - ext3 /dev/r rw\n")[0] == ("98:0", "/a", "/b", "ext3", "/dev/r")
