"""Mirrors beneath servers: what a machine has for them, what the tools get, how they end, and what a
record says without.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from measured import measured
from perjoule.drivers.protocols import Host, Hosts
from perjoule.filesystems import _flows, _options, simulated
from perjoule.machine import mirrors
from perjoule.model import Disk, Redundancy
from perjoule.model.doubts import UNLIKE
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import _disk, local
from perjoule.testbeds._mirror import Mirror, behind

RUN = Path("/var/tmp/perjoule/pj-0123abcd")
NAME = "pj-0123abcd-storage-1-beneath"
TWO = ("/dev/loop6", "/dev/loop7")


def disk(**words: Any) -> Disk:
    return Disk(**words)


def mirror(kind: str, stem: str = "storage-1-beneath") -> Mirror:
    return Mirror(kind, RUN / "disks", stem)


def loop(number: int, kind: str = "md") -> _disk.Loop:
    return _disk.Loop(f"loop{number}", f"7:{number}", mirror(kind).images[number - 6])


def test_mdadm_is_told_to_make_it_without_a_copy_and_to_stop_it() -> None:
    [(*words,)] = mirror("md").make(TWO, disk(kind="xfs", mirror="md"))
    assert words[:5] == ["mdadm", "--create", f"/dev/md/{NAME}", f"--name={NAME}", "--homehost=any"]
    assert {"--level=1", "--raid-devices=2", "--metadata=1.2", "--assume-clean"} < set(words)
    assert words[-2:] == [*TWO]
    assert mirror("md").end(TWO) == ("mdadm", "--stop", f"/dev/md/{NAME}")


def test_lvm_sees_no_devices_but_ours_and_keeps_no_backups() -> None:
    group, volume = mirror("lvm").make(TWO, disk(kind="ext4", mirror="lvm"))
    assert (group[0], group[-3:]) == ("vgcreate", (NAME, *TWO))
    assert (volume[0], volume[-1]) == ("lvcreate", NAME)
    assert {"--type=raid1", "--mirrors=1", "--nosync", "--name=data"} < set(volume)
    end = mirror("lvm").end(TWO)
    assert (end[0], end[-1]) == ("vgremove", NAME)
    for words in (group, volume, end):
        assert {"--devices=/dev/loop6,/dev/loop7", "--config=backup{backup=0 archive=0}"} < set(words)
    assert mirror("lvm").source == f"/dev/{NAME}/data"


def test_zpool_makes_the_file_system_too_and_keeps_no_cache() -> None:
    [words] = mirror("zfs").make(
        TWO, disk(kind="zfs", mirror="zfs", block="16 KiB", make=["-O", "compression=lz4"])
    )
    assert words[:4] == ("zpool", "create", "-o", "cachefile=none")
    assert words[-8:] == ("-O", "recordsize=16384", "-O", "compression=lz4", NAME, "mirror", *TWO)
    assert mirror("zfs").end(TWO) == ("zpool", "destroy", NAME)
    assert mirror("zfs").source == NAME


def test_a_name_longer_than_md_keeps_is_refused() -> None:
    assert mirror("md", "management-1-beneath").make(TWO, disk(kind="xfs", mirror="md"))
    with pytest.raises(CampaignError, match="too long as the name of a mirror"):
        mirror("md", "management-10-beneath").make(TWO, disk(kind="xfs", mirror="md"))


@pytest.mark.parametrize("kind", ["md", "lvm", "zfs"])
def test_whoever_cleans_finds_a_mirror_by_what_lies_behind_its_loops(kind: str) -> None:
    images = [*mirror(kind).images, RUN / "disks" / "storage-2-beneath.img"]
    assert behind(images) == (mirror(kind),)
    # killed before the first was attached, or after it was released
    assert behind(images[1:]) == (mirror(kind),)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"kind": "zfs"}, 'zfs is both: write {kind = "zfs", mirror = "zfs"}'),
        ({"kind": "xfs", "mirror": "zfs"}, "zfs is both"),
        ({"kind": "xfs", "mirror": "md", "device": "/dev/disk/by-id/x"}, "needs two files, not one device"),
    ],
)
def test_what_no_mirror_can_be_is_refused_in_the_campaign(words: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        disk(**words)
    assert sentence in str(refused.value)


def test_this_machine_itself_makes_no_mirrors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(
        CampaignError, match='mirror = "md" does not work on this machine itself; remove mirror'
    ):
        local.LocalHost(tmp_path).disk("x", disk(kind="xfs", mirror="md"))


def test_a_machine_without_the_module_lacks_it(tmp_path: Path) -> None:
    assert [mirrors.lacking(way, root=tmp_path) for way in mirrors.WAYS] == [
        "this kernel has no md",
        "this kernel has no dm_raid",
        "this kernel has no zfs",
    ]


@pytest.mark.parametrize(
    ("way", "file", "text"),
    [
        ("md", "proc/mdstat", "Personalities : [raid1]\nunused devices: <none>\n"),
        ("md", "sys/module/raid1/refcnt", "0\n"),
        ("md", f"lib/modules/{os.uname().release}/modules.builtin", "kernel/drivers/md/raid1.ko\n"),
        (
            "lvm",
            f"lib/modules/{os.uname().release}/modules.dep",
            "kernel/drivers/md/dm-raid.ko.xz: kernel/drivers/md/md-mod.ko\n",
        ),
        (
            "zfs",
            f"lib/modules/{os.uname().release}/modules.dep",
            "updates/dkms/zfs.ko: updates/dkms/spl.ko\n",
        ),
    ],
)
def test_a_module_is_found_loaded_built_in_or_on_the_disk(
    way: str, file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    monkeypatch.setattr("shutil.which", lambda name: f"/sbin/{name}")
    assert mirrors.lacking(way, root=tmp_path) == ""
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert mirrors.lacking(way, root=tmp_path) == f"{mirrors.WAYS[way].tool} is not installed"


def test_mdstat_without_raid1_is_not_md(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/mdstat").write_text("Personalities : [raid6]\nunused devices: <none>\n")
    assert mirrors.lacking("md", root=tmp_path) == "this kernel has no md"


def test_without_a_mirror_the_same_lies_on_a_single_disk_and_zfs_becomes_xfs() -> None:
    words: dict[str, Any] = {
        "kind": "ext4",
        "block": "1 KiB",
        "size": "1 GiB",
        "make": ["-j"],
        "options": ["discard"],
    }
    assert mirrors.single(disk(**words, mirror="md")) == disk(**words)
    assert mirrors.single(disk(kind="zfs", mirror="zfs", block="128 KiB", size="1 GiB")) == disk(
        kind="xfs", size="1 GiB"
    )
    assert (
        mirrors.doubt("this kernel has no md")
        == "no mirror beneath: this kernel has no md; each server holds one copy of the data"
    )


def test_a_mirror_that_is_missing_is_reported_and_hinders_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "lacking", lambda way: f"no {way}")
    found = {check.name: check for check in _options.needs_beneath(disk(kind="zfs", mirror="zfs"))}
    assert (found["mirror by zfs"].ok, found["mirror by zfs"].needed) == (False, False)
    assert found["xfs in the kernel"].needed  # what lies there instead
    assert [check.name for check in _options.needs_beneath(None)] == [
        "mirror by md",
        "mirror by lvm",
        "mirror by zfs",
    ]


class Machine:
    """Tools as they answer where there is md: the array can't be stopped at first, as somebody still has
    it mounted.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, failing: str = "") -> None:
        self.said: list[tuple[str, ...]] = []
        self.loops: list[_disk.Loop] = []
        self.failing, self.busy_count = failing, 2
        monkeypatch.setattr(_disk, "loops", lambda: tuple(self.loops))
        monkeypatch.setattr(_disk, "tool", self.tool)
        monkeypatch.setattr(_disk, "_quietly", self.quietly)
        monkeypatch.setattr(_disk, "fill", lambda target, wanted, lock: self.tool("mkfs", target))
        monkeypatch.setattr(
            _disk, "mount", lambda device, place, wanted, lock, inside: self.tool("mount", device)
        )
        monkeypatch.setattr(_disk, "loaded", lambda module: False)

    def tool(self, *argv: str | Path, lock: int = 0) -> str:
        words = tuple(map(str, argv))
        self.said.append(words)
        if words[0] == self.failing:
            raise MachineError("mkfs.ext4: no")
        if words[:2] == ("losetup", "--find"):
            number = 6 + len(self.loops)
            self.loops.append(_disk.Loop(f"loop{number}", f"7:{number}", Path(words[-1])))
            return f"/dev/loop{number}"
        return ""

    def quietly(self, *argv: str) -> bool:
        self.said.append(argv)
        if argv[0] in ("mdadm", "vgremove", "zpool"):
            self.busy_count -= 1
            if self.busy_count < 0:
                self.loops.clear()  # each was released before, and now nobody holds it any more
        return self.busy_count < 0


def tools(said: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Who was called, and with which first word."""
    return (" ".join(words[:2]) for words in said)


@pytest.mark.parametrize("kind", ["md", "lvm", "zfs"])
def test_what_a_killed_run_left_of_a_mirror_is_ended_by_its_name_once_nobody_has_it_mounted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, left = (
        Machine(monkeypatch),
        Mirror(kind, tmp_path / "pj-0123abcd" / "disks", "storage-1-beneath"),
    )
    machine.loops += [_disk.Loop(f"loop{6 + n}", f"7:{6 + n}", image) for n, image in enumerate(left.images)]
    assert _disk.remove(tmp_path / "pj-0123abcd") == 2
    assert machine.said.count(left.end(TWO)) == 3
    first = machine.said.index(left.end(TWO))
    assert {("losetup", "--detach", device) for device in TWO} <= set(machine.said[:first])
    assert machine.loops == []


def test_loops_are_released_once_the_mirror_above_them_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    image = tmp_path / "pj-0123abcd" / "disks" / "storage-1-beneath.img"
    image.parent.mkdir(parents=True)
    monkeypatch.setattr(Path, "read_text", lambda path: "7:6\n")  # of /sys/block/loop6/dev
    legs = _disk.make_mirror(image, tmp_path / "place", disk(kind="ext4", mirror="md", size="1 MiB"), lock=0)
    monkeypatch.undo()
    assert [leg.backing.name for leg in legs] == ["storage-1-beneath.md-1.img", "storage-1-beneath.md-2.img"]
    assert [leg.backing.stat().st_size for leg in legs] == [1024**2] * 2
    assert [*tools(machine.said)] == [
        "modprobe raid1",
        *["losetup --find"] * 2,
        "mdadm --create",
        f"mkfs /dev/md/{NAME}",
        f"mount /dev/md/{NAME}",
        *["losetup --detach"] * 2,
    ]


def test_a_mirror_on_which_nothing_can_be_made_is_ended_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, failing="mkfs")
    image = tmp_path / "pj-0123abcd" / "disks" / "storage-1-beneath.img"
    image.parent.mkdir(parents=True)
    with pytest.raises(MachineError, match=r"mkfs\.ext4: no"):
        _disk.make_mirror(image, tmp_path / "place", disk(kind="ext4", mirror="md", size="1 MiB"), lock=0)
    assert machine.said[-1] == ("mdadm", "--stop", f"/dev/md/{NAME}")
    assert machine.loops == []


def test_a_record_tells_each_doubt_of_its_hosts_once_and_explains_what_mirrors_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explained(self: object, hosts: Hosts) -> object:
        return _flows.explained(Redundancy(2), by_client=False)

    monkeypatch.setattr(Host, "doubts", property(lambda host: (UNLIKE.doubt("no mirror beneath"),)))
    monkeypatch.setattr(Host, "copies_count", property(lambda host: 2))
    monkeypatch.setattr(simulated.SimulatedFileSystem, "amplification", explained)
    [record] = measured(
        tmp_path / "results", 'clients = 1\nrepetitions = 1\nsettle = "20 ms"', size="1 MiB"
    ).records()
    assert record.doubts.count("no mirror beneath") == 1
    assert record.amplification is not None
    assert record.amplification.write.disk_written_ratio == 4
    assert record.amplification.write.storage_received_ratio == 2
    assert record.amplification.read.disk_read_ratio == 1
