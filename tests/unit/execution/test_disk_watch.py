"""A disk that fills up stops a campaign, here and on its hosts."""

import time
from pathlib import Path

import pytest

from perjoule.execution import disk_watch
from perjoule.model.errors import DiskFull

GIB = 1024**3


@pytest.mark.usefixtures("handled")
def test_a_disk_that_fills_up_stops_the_block_and_is_named(
    disk: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_watch, "PERIOD_S", 0.01)
    said = (
        f"the disk of {tmp_path} is nearly full .2 GiB left.; stopped in time; free space, then run "
        "`perjoule resume`"
    )
    with pytest.raises(DiskFull, match=said), disk_watch.watched([tmp_path / "not" / "yet"]):
        time.sleep(2 * disk_watch.PERIOD_S)  # half of the reserve of 5 GiB, and more, is free
        disk["free"] = 2 * GIB
        for _ in range(1000):  # a signal that comes just before a sleep begins is handled after it
            time.sleep(0.01)


def test_an_interrupt_stays_one(disk: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), disk_watch.watched([tmp_path]):
        raise KeyboardInterrupt


@pytest.mark.usefixtures("handled")
def test_a_folder_that_is_gone_ends_no_watch_of_the_others() -> None:
    def gone() -> tuple[int, int]:
        raise FileNotFoundError

    disks = {"gone": gone, "the disk of storage-1": lambda: (2 * GIB, 100 * GIB)}
    with (
        pytest.raises(DiskFull, match="storage-1"),
        disk_watch.watched_disks(disks, 0.01),
    ):
        for _ in range(1000):
            time.sleep(0.01)
