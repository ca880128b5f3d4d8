"""What is mounted is looked at: the whole file system, of the kind and from the device that we named."""

import pytest

from perjoule.machine.guarded.mountinfo import parsed
from perjoule.model.errors import MachineError
from perjoule.testbeds._mounted import require_mounted

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


def test_a_host_that_lists_no_mounts_but_something_else_is_refused_in_a_sentence() -> None:
    with pytest.raises(MachineError, match="/p: mountinfo is not as the kernel writes it"):
        require(f"{line()}\nnothing\n")


def test_a_pool_of_another_name_is_refused() -> None:
    with pytest.raises(MachineError, match="other"):
        require(line("0:45", kind="zfs", source="other"), "pool", "zfs")


def test_a_line_is_parsed_with_and_without_optional_fields() -> None:
    assert parsed("36 35 98:0 /a /b rw - ext3 /dev/r rw\n")[0] == ("98:0", "/a", "/b", "ext3", "/dev/r", 0)


@pytest.mark.parametrize("sign", "\x0b\x0c\r\x1c\x1d\x1e\x85\xa0\u2003\u2028\u2029\udcff")
def test_only_a_newline_ends_a_line_and_only_a_blank_a_field(sign: str) -> None:
    """Any user may have a mount of such a name."""
    place = f"/home/them/a{sign}1{sign}2{sign}7:1{sign}/{sign}/p"
    assert [mount.place for mount in parsed(f"{line(place=place)}\n{line()}\n")] == [place, "/p"]


@pytest.mark.parametrize("text", ["36 35 7:1 / /p rw\n", "nothing\n", f"{line()}\n7:1 - ext4 /dev/sda rw\n"])
def test_what_the_kernel_does_not_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="mountinfo is not as the kernel writes it"):
        parsed(text)


@pytest.mark.parametrize(
    ("options", "uid"),
    [
        ("rw", 0),
        ("rw,user_id=1000,group_id=4", 1000),
        ("user_id=7", 7),
        ("rw,xuser_id=7", 0),
        ("rw,user_id=7x", 0),
    ],
)
def test_who_has_mounted_by_fuse_is_known(options: str, uid: int) -> None:
    assert parsed(f"36 35 0:50 / /p rw - fuse.sshfs user_id=5 {options}\n")[0].uid == uid
