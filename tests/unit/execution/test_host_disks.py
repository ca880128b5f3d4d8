"""Storage hosts that are other machines: their disks have room for a campaign, and are watched if they
keep its data.
"""

import time
from collections.abc import Sequence

import pytest

from perjoule import campaign
from perjoule.drivers.protocols import Hosts
from perjoule.execution import host_disks
from perjoule.model import Campaign
from perjoule.model.errors import DiskFull, TransientError
from scripted import ScriptedHost

GIB = 1024**3
TEXT = """
clients = [1, 4]
[testbed]
kind = "virtual"
[[filesystem]]
kind = "moosefs"
[[workload]]
kind = "fio"
operation = "write"
size = "{size}"
transfer = "4 MiB"
"""


def asked(size: str = "1 GiB", filesystem: str = 'kind = "moosefs"') -> Campaign:
    return campaign.parse(TEXT.format(size=size).replace('kind = "moosefs"', filesystem), source="large.toml")


class Disk(ScriptedHost):
    free_bytes = 40 * GIB
    lost = False

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if self.lost:
            raise TransientError("the connection was lost", where=self.name)
        assert words == ["df", "--block-size=1", "--output=avail,size", str(self.directory)]
        return 0, f"       Avail    1B-blocks\n {self.free_bytes} {100 * GIB}\n"


def test_real_hosts_that_lack_room_for_their_share_are_named() -> None:
    hosts = Hosts((Disk("storage-1"), two := Disk("storage-2")))
    trials = asked("15 GiB").trials  # 60 GiB of four clients
    host_disks.require(trials, hosts)
    two.free_bytes = 35 * GIB
    said = (
        "storage-2: its share of the data, 30.06 GiB, does not fit below .*: 35 GiB free, of which 5 GiB "
        "stay in reserve"
    )
    with pytest.raises(DiskFull, match=said):
        host_disks.require(trials, hosts)


@pytest.mark.usefixtures("handled")
def test_a_disk_that_fills_up_on_a_host_stops_the_block_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_disks, "PERIOD_S", 0.01)
    hosts = Hosts((Disk("storage-1"), lost := Disk("storage-2"), full := Disk("storage-3"), Disk("client-1")))
    lost.lost = True  # which is its trial's matter
    said = (
        r"the disk of storage-3 \(.*\) is nearly full .2 GiB left.; stopped in time; free space, then run "
        r"`perjoule resume`"
    )
    with pytest.raises(DiskFull, match=said), host_disks.watched(asked().trials, hosts):
        time.sleep(2 * host_disks.PERIOD_S)
        full.free_bytes = 2 * GIB
        for _ in range(1000):
            time.sleep(0.01)


def test_hosts_that_keep_no_data_are_not_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_disks, "PERIOD_S", 0.01)
    full = Disk("storage-1")
    full.free_bytes = 0
    trials = asked(filesystem='kind = "directory"\npath = "/mnt/shared"').trials
    host_disks.require(trials, Hosts((full,)))
    with host_disks.watched(trials, Hosts((full,))):
        time.sleep(0.1)
    assert full.ran == []
