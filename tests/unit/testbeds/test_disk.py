"""Disks that hosts make: what mkfs gets, and what they report."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule.filesystems.local import LocalFileSystem
from perjoule.model import Disk
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import _delay, _disk, _format, local


def disk(**words: Any) -> Disk:
    return Disk(**words)


@pytest.mark.parametrize(
    ("kind", "block", "words"),
    [
        ("ext4", "1 KiB", ("-b", "1024")),
        ("ext4", "4 KiB", ("-b", "4096")),
        ("xfs", "2 KiB", ("-b", "size=2048")),
        ("btrfs", "4 KiB", ("--sectorsize", "4096")),
        ("f2fs", "4 KiB", ()),
    ],
)
def test_mkfs_gets_the_block_size_in_its_own_way(kind: str, block: str, words: tuple[str, ...]) -> None:
    more = {"ext4": ("-m", "0"), "xfs": ("-K",), "btrfs": ("--nodesize=16k",), "f2fs": ("-o", "5")}[kind]
    assert _format.make_words(disk(kind=kind, block=block, make=list(more))) == (
        *_format.MAKE[kind],
        *words,
        *more,
    )


def test_a_further_list_of_mke2fs_keeps_what_is_done_before_the_measurement() -> None:
    words = _format.make_words(
        disk(kind="ext4", make=["-E", "stride=16", "-m", "0", "-E", "lazy_journal_init=0"])
    )
    ours = "lazy_itable_init=0,lazy_journal_init=1"
    assert words == ("mkfs.ext4", "-q", "-E", f"{ours},stride=16,lazy_journal_init=0", "-m", "0")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"kind": "ext4"}, ("noatime",)),
        (
            {"kind": "ext4", "journal": "journal", "options": ["nobarrier"]},
            ("noatime", "data=journal", "nobarrier"),
        ),
        ({"kind": "xfs", "log_buffer": "256 KiB"}, ("noatime", "logbsize=262144")),
    ],
)
def test_a_journal_is_a_mount_option(words: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert disk(**words).mount_options == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"kind": "xfs", "journal": "ordered"}, "xfs has no journal, ext4 has one"),
        ({"kind": "ext4", "log_buffer": "32 KiB"}, "ext4 has no log_buffer, xfs has one"),
        (
            {"kind": "ext4", "journal": "ordered", "options": ["nobarrier,data=journal"]},
            "journal and options both set data",
        ),
        ({"kind": "xfs", "log_buffer": "48 KiB"}, "no size of a log buffer"),
        ({"kind": "xfs", "log_buffer": "512 KiB"}, "no size of a log buffer"),
    ],
)
def test_a_journal_that_a_file_system_lacks_is_refused(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        disk(**words)


def test_without_a_block_size_mkfs_chooses() -> None:
    assert _format.make_words(disk(kind="xfs")) == ("mkfs.xfs", "-q")


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "f2fs"])
def test_no_mkfs_is_forced_to_overwrite(kind: str) -> None:
    assert not {"-f", "-F", "--force"} & set(_format.make_words(disk(kind=kind)))


@pytest.mark.parametrize(
    ("kind", "block", "sentence"),
    [
        ("ext4", "512 B", "ext4 does not support blocks of 512 B; write a power of two from 1 KiB to 64 KiB"),
        ("ext4", "3 KiB", "ext4 does not support blocks of 3 KiB"),
        ("xfs", "128 KiB", "xfs does not support blocks of 128 KiB"),
        (
            "btrfs",
            "1 KiB",
            "btrfs does not support blocks of 1 KiB; write a power of two from 4 KiB to 64 KiB",
        ),
        ("f2fs", "1 KiB", "f2fs does not support blocks of 1 KiB; write 4 KiB"),
    ],
)
def test_blocks_that_a_file_system_never_has_are_refused(kind: str, block: str, sentence: str) -> None:
    with pytest.raises(CampaignError, match=sentence):
        _format.make_words(disk(kind=kind, block=block))


def test_what_a_tool_warns_of_does_not_hide_why_it_failed() -> None:
    script = (
        "echo '  WARNING: Failed to connect to lvmetad.' >&2; echo '  Volume group \"x\" not found' >&2; "
        "exit 5"
    )
    with pytest.raises(MachineError, match=r'^/dev/x: sh: Volume group "x" not found'):
        _format.tool("sh", "-c", script, "/dev/x", lock=2)
    with pytest.raises(MachineError, match="sh: WARNING: the whole of it"):
        _format.tool("sh", "-c", "echo WARNING: the whole of it >&2; exit 1", lock=2)


def test_a_plug_is_pulled_only_from_the_disk_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled: list[object] = []
    monkeypatch.setattr("fcntl.ioctl", lambda *words: pulled.append(words))
    _disk.unplug(tmp_path, "/dev/null")
    _disk.unplug(tmp_path / "gone", "/dev/null")
    assert pulled == []


def test_only_root_makes_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MachineError, match="only root can make a disk; run it with sudo"):
        local.LocalHost(tmp_path).disk("x", disk(kind="xfs"))


def test_options_of_a_local_file_system_are_those_of_its_disk() -> None:
    words: dict[str, Any] = {
        "type": "xfs",
        "block": "1 KiB",
        "size": "1 GiB",
        "make": ["-K"],
        "options": ["discard"],
    }
    assert LocalFileSystem(**words).disk == disk(
        kind="xfs", block="1 KiB", size="1 GiB", make=["-K"], options=["discard"]
    )
    assert LocalFileSystem(type="btrfs").disk == disk(kind="btrfs")


def test_f2fs_is_listed_even_when_nobody_asks_but_then_it_is_not_needed() -> None:
    found = {check.name: check.needed for check in LocalFileSystem(type="xfs").checks()}
    assert found["f2fs in the kernel"] is False
    assert found["xfs in the kernel"] is True
    assert {check.name: check.needed for check in LocalFileSystem(type="f2fs").checks()}[
        "f2fs in the kernel"
    ] is True


def test_a_delay_changes_by_the_last_number_of_its_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, ...]] = []

    def tool(*argv: str, lock: int) -> str:
        ran.append(argv)
        return "0 819200 delay 7:3 0 0" if argv[1] == "table" else ""

    monkeypatch.setattr(_delay, "tool", tool)
    _delay.change(Path("/var/tmp/perjoule/pj-0badcafe/disks/client-1-bare.img"), 18, lock=-1)
    name = "pj-0badcafe-client-1-bare"
    table = "0 819200 delay 7:3 0 18"
    assert ran[1:] == [
        ("dmsetup", "load", name, "--table", table),
        ("dmsetup", "resume", "--noudevsync", name),
    ]


def test_a_delayed_disk_waits_for_every_request_and_bears_the_name_of_its_run() -> None:
    assert _delay.table(819200, "/dev/loop3", 40) == "0 819200 delay /dev/loop3 0 40"
    assert (
        _delay.name_of(Path("/var/tmp/perjoule/pj-0badcafe/disks/storage-1-beneath.img"))
        == "pj-0badcafe-storage-1-beneath"
    )
