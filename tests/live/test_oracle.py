"""What perjoule prints of real campaigns is what a second calculation makes of the same files, for every
file system at hand.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from day import by_day
from oracle.check import apart, checked, recomputed

pytestmark = pytest.mark.live

TOP = """
name = "oracle"
clients = 2
repetitions = 2
seed = 1
settle = "0.5 s"
[testbed]
kind = "virtual"
scale = 0.2
disk = "xfs"
disk_size = "4 GiB"
"""
FILESYSTEMS = {
    "moosefs": 'kind = "moosefs"',
    "glusterfs": 'kind = "glusterfs"',
    "cephfs": 'kind = "cephfs"\nplacement_groups = 16\nosd_size = "1 GiB"',
    "local": 'kind = "local"\ntype = "ext4"',
    "rados": 'kind = "rados"\nplacement_groups = 16\nosd_size = "1 GiB"',
}
FILES = """
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "1 MiB"
size = "32 MiB"  # which takes so long that each host is read meanwhile, on a busy machine, too
"""
OBJECTS = """
[[workload]]
kind = "rados"
operation = ["write", "seq"]
size = "16 MiB"
"""


# By day the same is held for simulated campaigns with events and for made-up meters.
@pytest.mark.parametrize("name", by_day(FILESYSTEMS))
def test_every_number_of_a_real_campaign_is_the_same_twice(name: str, tmp_path: Path) -> None:
    campaign, folder = tmp_path / "real.toml", tmp_path / "results"
    load = OBJECTS if name == "rados" else FILES
    campaign.write_text(f"{TOP}[[filesystem]]\n{FILESYSTEMS[name]}{load}")
    perjoule = str(Path(sys.executable).with_name("perjoule"))
    done = subprocess.run(
        [perjoule, "run", str(campaign), "--into", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = recomputed(checked(folder))
    assert apart(found).values.tolist() == []
    assert {"energy_j", "common_throughput_bytes_per_s", "tpp_ratio"} <= set(
        found.loc[found["theirs"].notna(), "metric"]
    )
