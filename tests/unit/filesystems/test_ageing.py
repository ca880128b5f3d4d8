"""Ageing: the same files from the same seed, as full as configured, and the reason where that can't be."""

import errno
import hashlib
import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from perjoule import campaign, drivers
from perjoule.drivers.protocols import Completed, Host
from perjoule.filesystems import _ageing
from perjoule.filesystems._ageing import Ageing, files
from perjoule.model import Aged
from perjoule.model.errors import CampaignError, WorkloadError
from scripted import ScriptedHost
from typed import as_written

MIB = 1024**2


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_BYTES", 128 * 1024)
    monkeypatch.setattr(_ageing, "LOOK_S", 0.0)
    monkeypatch.setattr(_ageing, "FREED_S", 1.0)


class Disk(ScriptedHost):
    """A client whose programs run here, on a disk of 8 MiB that keeps each byte `copies` times and reports
    space late.

    What is left may follow what is used at this many bytes a look, as disks erase; and be as much less, after
    each round, as the fullest of several disks has more than others.
    """

    heavier = 1.0

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        copies: float = 1.0,
        late: int = 0,
        left_step: int = 8 * MIB,
        reserve: int = 0,
    ) -> None:
        super().__init__(name)
        self.left_bytes, self.left_step, self.weight = 8 * MIB, left_step, 1.0
        self.folder, self.copies, self.reserve = folder, copies, reserve
        self.seen: deque[int] = deque([0], maxlen=late + 1)

    @property
    def used_bytes(self) -> int:
        return round(
            self.copies * sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        )

    def run(self, argv: Sequence[str | Path], **more: Any) -> Completed:
        asked = json.loads(more["text"])
        folder = self.folder / Path(asked["folder"]).relative_to("/mnt")
        if asked["do"] == "look":
            self.seen.append(self.used_bytes)
            more_bytes = 8 * MIB - round(self.weight * self.seen[0]) - self.left_bytes
            self.left_bytes += max(-self.left_step, min(self.left_step, more_bytes))
            done = {"used_bytes": self.seen[0], "usable_bytes": self.seen[0] + self.left_bytes}
        elif asked["do"] == "fill":
            done = files.fill(folder, asked["seed"], asked["first"], asked["bytes"])
        else:
            done = files.churn(folder, asked["seed"], asked["round"])
            self.weight *= self.heavier
        return Completed(tuple(map(str, argv)), 0, json.dumps(done), "")


def aged(**options: Any) -> Aged:
    return as_written(Aged, **{"full": "90 %", **options})


def ageing(wanted: Aged, *clients: Host) -> Ageing:
    return Ageing(wanted, [(client, Path("/mnt")) for client in clients], 1.0, late_s=0.01)


def contents(folder: Path) -> dict[str, str]:
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in there}


def written(folder: Path, seed: str) -> dict[str, str]:
    assert files.fill(folder, seed, 0, 2 * MIB)["full"] is False
    files.churn(folder, seed, 0)
    return contents(folder)


def test_the_same_seed_makes_deletes_and_overwrites_the_same_and_another_one_does_not(tmp_path: Path) -> None:
    one, again, other = (
        written(tmp_path / name, seed) for name, seed in (("a", "7 0"), ("b", "7 0"), ("c", "8 0"))
    )
    assert one == again
    assert one != other


def test_files_are_of_many_sizes_half_of_them_below_the_geometric_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "LARGEST_BYTES", 16 * MIB)
    sizes = [files.size_bytes("1 0", number) for number in range(4000)]
    assert 16 * 1024 <= min(sizes) < 17 * 1024
    assert 15 * MIB < max(sizes) <= 16 * MIB
    assert median(sizes) == pytest.approx(512 * 1024, rel=0.15)


def test_a_round_deletes_a_third_and_overwrites_another_third_in_place(tmp_path: Path) -> None:
    files.fill(tmp_path, "1", 0, 2 * MIB)
    before = contents(tmp_path)
    done = files.churn(tmp_path, "1", 0)
    after = contents(tmp_path)
    assert done["deleted_count"] == len(before) // 3 == len(before) - len(after)
    assert sum(before[name] != after[name] for name in after) == len(before) // 3
    assert not done["full"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("copies", "late", "left_step"),
    [(1.0, 0, 8 * MIB), (2.0, 0, 8 * MIB), (1.33, 2, 8 * MIB), (1.0, 0, MIB // 4)],
)
def test_it_is_filled_to_its_share_whatever_a_byte_costs_and_however_late_space_is_reported(
    tmp_path: Path, copies: float, late: int, left_step: int
) -> None:
    disk = Disk("client-1", tmp_path, copies=copies, late=late, left_step=left_step)
    found = ageing(aged(overwrites=2, seed=3), disk).run()
    assert found["full_before_ratio"] == 0
    assert disk.used_bytes / (8 * MIB) == pytest.approx(0.9, abs=0.02)
    assert found["full_ratio"] == pytest.approx(disk.used_bytes / (8 * MIB))
    there = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found["files_count"] == len(there)
    assert isinstance(found["written_bytes"], int)
    assert isinstance(found["deleted_bytes"], int)
    assert found["written_bytes"] - found["deleted_bytes"] == sum(path.stat().st_size for path in there)
    assert (found["overwrites_count"], found["seed"]) == (2, 3)


def test_it_is_filled_to_its_share_again_when_disks_are_less_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Disk, "heavier", 1.15)
    found = ageing(aged(overwrites=2, seed=3), Disk("client-1", tmp_path)).run()
    assert found["full_ratio"] == pytest.approx(0.9, abs=0.01)
    assert isinstance(found["usable_bytes"], int)
    assert found["usable_bytes"] < 7.5 * MIB


def test_clients_share_the_work_each_with_files_of_its_own(tmp_path: Path) -> None:
    found = ageing(aged(overwrites=1), *(Disk(f"client-{n}", tmp_path) for n in (1, 2))).run()
    sizes = [
        sum(p.stat().st_size for p in (tmp_path / f"aged-client-{n}").rglob("*") if p.is_file())
        for n in (1, 2)
    ]
    assert sum(sizes) / (8 * MIB) == pytest.approx(0.9, abs=0.02)
    assert min(sizes) > 0.35 * sum(sizes)
    assert found["files_count"] == len(contents(tmp_path))


def test_a_file_system_that_can_not_be_filled_so_far_is_refused_with_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, write = Disk("client-1", tmp_path), files._write

    def full(path: Path, length: int, block: bytes) -> None:
        if disk.used_bytes + length > 0.7 * 8 * MIB:
            path.touch()
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, length, block)

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(WorkloadError) as refusal:
        ageing(aged(), disk).run()
    assert str(refusal.value).startswith("no space is left at 6")
    assert refusal.value.next.startswith('set full = "6')
    assert refusal.value.next.endswith(' %" or less')
    assert all(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()), "half a file was left"


def test_an_error_that_is_not_a_full_disk_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, length: int, block: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_write", broken)
    with pytest.raises(OSError, match="Input/output error"):
        files.fill(tmp_path, "1", 0, MIB)


def test_several_file_systems_of_clients_are_reported_as_one() -> None:
    one = {
        "full_ratio": 0.9,
        "usable_bytes": 100,
        "files_count": 3,
        "written_bytes": 90,
        "seed": 7,
        "overwrites_count": 2,
    }
    other = one | {"full_ratio": 0.91, "files_count": 4}
    told = {
        "full_ratio": 0.91,
        "usable_bytes": 200,
        "files_count": 7,
        "written_bytes": 180,
        "seed": 7,
        "overwrites_count": 2,
    }
    assert _ageing.together([one, other]) == told


TOP = """
[testbed]
kind = "virtual"
disk = "{disk}"
disk_size = "1 GiB"
[[workload]]
kind = "fio"
size = "4 MiB"
[[filesystem]]
"""


@pytest.mark.parametrize(
    ("disk", "filesystem", "made_bytes"),
    [
        ("xfs", 'kind = "moosefs"', 4 * 1024**3),
        ("directory", 'kind = "moosefs"', None),
        ("directory", 'kind = "glusterfs"', None),
        ("directory", 'kind = "moosefs"\nbeneath = {kind = "ext4", size = "1 GiB"}', 4 * 1024 * MIB),
        (
            "directory",
            'kind = "moosefs"\nbeneath = {kind = "ext4", size = "1 GiB", mirror = "md"}',
            8 * 1024 * MIB,
        ),
        ("directory", 'kind = "cephfs"\nosd_size = "1 GiB"', 6 * 1024**3),
        ("directory", 'kind = "local"\ntype = "ext4"\nsize = "512 MiB"', 512 * MIB),
    ],
)
def test_only_disks_that_are_made_for_it_may_be_filled(
    disk: str, filesystem: str, made_bytes: int | None
) -> None:
    asked = campaign.parse(TOP.format(disk=disk) + filesystem + '\naged = {full = "90 %", overwrites = 0}\n')
    trial = asked.trials[0]
    hosts, found = drivers.testbed(trial.testbed).planned(1), drivers.filesystem(trial.filesystem)
    assert found.made_bytes(hosts) == made_bytes
    if made_bytes is None:
        with pytest.raises(CampaignError, match="fills only disks that are made for the file system"):
            found.require_fit(hosts)
    else:
        found.require_fit(hosts)


@pytest.mark.parametrize(
    ("size", "full", "fits"), [("512 MiB", "90 %", False), ("1 GiB", "90 %", True), ("1 GiB", "95 %", False)]
)
def test_moosefs_is_not_filled_so_far_that_its_clients_would_wait_for_space(
    size: str, full: str, fits: bool
) -> None:
    text = (
        TOP.replace("1 GiB", size).format(disk="xfs")
        + f'kind = "moosefs"\naged = {{full = "{full}", overwrites = 0}}\n'
    )
    trial = campaign.parse(text).trials[0]
    hosts, found = drivers.testbed(trial.testbed).planned(1), drivers.filesystem(trial.filesystem)
    if fits:
        found.require_fit(hosts)
    else:
        with pytest.raises(
            CampaignError, match="makes no chunks on a disk with less than 80 MiB free, and 9"
        ):
            found.require_fit(hosts)


def test_moosefs_is_not_asked_to_delete() -> None:
    trial = campaign.parse(TOP.format(disk="xfs") + 'kind = "moosefs"\naged = {full = "90 %"}\n').trials[0]
    hosts, found = drivers.testbed(trial.testbed).planned(1), drivers.filesystem(trial.filesystem)
    with pytest.raises(
        CampaignError, match="too slowly to be filled again before its trials; set overwrites = 0 in aged"
    ):
        found.require_fit(hosts)


@pytest.mark.parametrize(
    ("filesystem", "told"),
    [
        ('kind = "rados"', "its clients have none"),
        ('kind = "seaweed_s3"', "its clients have none"),
        ('kind = "cephfs"\nstore = "memstore"', "aged fills disks, not memory"),
        ('kind = "directory"\npath = "/mnt"', 'filesystem directory has no option "aged"'),
    ],
)
def test_what_has_no_files_or_no_disks_of_ours_is_not_aged(filesystem: str, told: str) -> None:
    with pytest.raises(CampaignError, match=told):
        campaign.parse(TOP.format(disk="xfs") + filesystem + '\naged = {full = "90 %"}\n')
