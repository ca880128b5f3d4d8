"""Where the memory of hosts can be capped, and the limits of dirty pages, in a folder that stands in for
the kernel's.
"""

from pathlib import Path

import pytest

from perjoule import catalogue
from perjoule.testbeds.virtual import cgroup, memory
from perjoule.testbeds.virtual.topology import places


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    for name in (
        "class/bdi/7:0",
        "class/bdi/7:1",
        "class/bdi/btrfs-3",
        "fs/btrfs/u-u-i-d/devices/loop1",
        "fs/btrfs/features",
    ):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "fs/btrfs/u-u-i-d/devices/loop1/dev").write_text("7:1\n")
    (tmp_path / "fs/btrfs/u-u-i-d/bdi").symlink_to(tmp_path / "class/bdi/btrfs-3")
    for bdi in (tmp_path / "class/bdi").iterdir():
        (bdi / "strict_limit").write_text("0")
    return tmp_path


def test_a_disk_has_dirty_pages_of_a_fifth_of_the_hosts_memory_until_it_is_taken_down(sysfs: Path) -> None:
    disk, other = sysfs / "class/bdi/7:0", sysfs / "class/bdi/7:1"
    assert memory.limit("7:0", 1000, sysfs)
    assert [(disk / name).read_text() for name in ("strict_limit", "max_bytes", "min_bytes")] == [
        "1",
        "200",
        "200",
    ]
    assert (other / "strict_limit").read_text() == "0"
    memory.unlimit("7:0", sysfs)
    assert [(disk / name).read_text() for name in ("strict_limit", "min_ratio", "max_ratio")] == [
        "0",
        "0",
        "100",
    ]


def test_btrfs_has_limits_of_its_own(sysfs: Path) -> None:
    assert memory.limit("7:1", 1000, sysfs)
    assert (sysfs / "class/bdi/btrfs-3/max_bytes").read_text() == "200"
    memory.unlimit("7:1", sysfs)
    assert (sysfs / "class/bdi/btrfs-3/strict_limit").read_text() == "0"


def test_a_kernel_without_such_limits_says_so(tmp_path: Path) -> None:
    assert not memory.limit("7:0", 1000, tmp_path)
    memory.unlimit("7:0", tmp_path)


@pytest.mark.parametrize(
    ("version", "able", "disk", "lacking"),
    [
        (2, {"cpu", "memory"}, "xfs", ""),
        (2, {"cpu", "memory"}, "directory", ""),
        (2, {"cpu"}, "xfs", "no memory controller"),
        (1, {"cpu", "memory"}, "xfs", ""),
        (1, {"cpu", "memory"}, "directory", "has no dirty pages of its own"),
        (0, set[str](), "xfs", "no memory controller"),
    ],
)
def test_cgroup_v1_caps_memory_only_where_dirty_pages_are_limited(
    version: int, able: set[str], disk: str, lacking: str, sysfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "controllers", lambda: (version, frozenset(able)))
    assert lacking in memory.lack(disk, sysfs)
    assert bool(memory.lack(disk, sysfs)) == bool(lacking)
    if version == 1:
        assert memory.lack(disk, sysfs / "none")


def test_dirty_pages_are_limited_only_of_disks_of_their_own_and_by_kernels_that_can(sysfs: Path) -> None:
    assert memory.limits("xfs", sysfs)
    assert not memory.limits("directory", sysfs)
    assert not memory.limits("xfs", sysfs / "none")


def test_a_record_says_what_was_in_force_or_why_nothing_was() -> None:
    there = places(
        catalogue.cluster("odroid-hc4"), clients_count=1, servers_count=1, scale=1.0, memory_ratio=0.5
    )
    said = memory.facts(there, "", limited=True)
    assert said["memory_cap"] == "page cache included, without swap; dirty pages of a disk at most 20% of it"
    assert "dirty pages as the kernel limits" in str(memory.facts(there, "", limited=False)["memory_cap"])
    caps = said["memory_cap_bytes"]
    assert caps == {"storage-1": 2 << 30, "metadata-1": 2 << 30, "management-1": 2 << 30, "client-1": 4 << 30}
    bare = places(catalogue.cluster("odroid-hc4"), clients_count=1, servers_count=1, scale=1.0)
    assert memory.facts(bare, "not requested", limited=True) == {"memory_cap": "none: not requested"}
    assert memory.facts(bare, "", limited=True) == {"memory_cap": "none: no host has memory in the catalogue"}
