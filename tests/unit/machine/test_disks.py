"""Disks of hosts: what stays free, and how a file system on one was made, as its own tool says."""

from perjoule.machine import disks
from places import TRANSCRIPTS
from typed import table


def test_the_reserve_is_a_twentieth_and_at_least_2_gib() -> None:
    assert disks.reserve_bytes(100 * 2**30) == 5 * 2**30
    assert disks.reserve_bytes(10 * 2**30) == 2 * 2**30


def test_each_file_system_tells_how_it_was_made() -> None:
    ext4 = disks.ext4_facts((TRANSCRIPTS / "local" / "dumpe2fs.txt").read_text())
    xfs = disks.xfs_facts((TRANSCRIPTS / "local" / "xfs_info.txt").read_text())
    assert disks.f2fs_facts("4096\n") == {"block_bytes": 4096}
    btrfs = disks.btrfs_facts((TRANSCRIPTS / "local" / "btrfs.txt").read_text())
    assert (ext4["block_bytes"], xfs["block_bytes"], btrfs["block_bytes"]) == (2048, 1024, 4096)
    made = [table(facts["made"]) for facts in (ext4, xfs, btrfs)]
    assert "metadata_csum" in str(made[0])
    assert {"meta-data crc": "1", "log bsize": "1024", "data blocks": "409600"}.items() <= made[1].items()
    assert "free_space_tree" in str(made[2])
