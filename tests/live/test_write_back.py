"""Writes on real file systems: what was on disk when the clients' fsync returned, and how long the disks
took for the rest.
"""

from pathlib import Path

import pytest

from day import by_day
from perjoule import campaign
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.model.doubts import IN_FLIGHT
from perjoule.model.units import MIB
from perjoule.store import create, open_results

pytestmark = [pytest.mark.live, pytest.mark.alone]

CAMPAIGN = """
name = "write-back"
clients = 2
repetitions = 1
settle = "200 ms"
quiet = 0
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.2
disk = "{disk}"
disk_size = "4 GiB"
[[filesystem]]
{filesystem}
[[workload]]
kind = "fio"
operation = "write"
transfer = "4 MiB"
size = "64 MiB"
"""
CEPHFS = 'kind = "cephfs"\nplacement_groups = 64\ncopies = 2\nacknowledged = 1\nosd_size = "1 GiB"'


def measured(folder: Path, filesystem: str, disk: str = "xfs") -> dict[str, float]:
    wanted = campaign.parse(CAMPAIGN.format(filesystem=filesystem, disk=disk))
    runner.run(wanted, create(folder / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(folder / "results")
    (record,) = results.records()
    (point,) = points(record, results.series(record))
    assert IN_FLIGHT.durable_unknown() not in point.doubts
    return dict(point.metrics)


@pytest.mark.parametrize("disk", by_day(["xfs", "ext4", "btrfs"], "xfs"))
def test_moosefs_acknowledges_what_its_disks_do_not_hold(tmp_path: Path, disk: str) -> None:
    found = measured(tmp_path, 'kind = "moosefs"\ngoal = 1', disk)
    assert found["durable_ratio"] < 0.3
    late_bytes = 2 * 64 * MIB * (1 - found["durable_ratio"])
    # the write-back can't be faster than the four capped disks: 280 MiB/s each, in emulated time
    assert found["duration_s"] - found["burst_duration_s"] > late_bytes / (1.2 * 4 * 280 * MIB)
    assert found["efficiency_bytes_per_j"] < 0.95 * found["burst_efficiency_bytes_per_j"]
    assert found["energy_j"] > found["burst_energy_j"]


@pytest.mark.slow  # by day: MooseFS, above; tests/unit/execution/test_write_back.py
def test_cephfs_s_disks_hold_what_it_acknowledges(tmp_path: Path) -> None:
    found = measured(tmp_path, CEPHFS)
    assert found["durable_ratio"] > 0.9
    assert found["duration_s"] == pytest.approx(found["burst_duration_s"], rel=0.1)
