"""What perjoule prints of real campaigns is what a second calculation makes of the same files, for every
file system at hand.
"""

import subprocess
import sys
from pathlib import Path

import pytest

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
FILES = """
[[filesystem]]
kind = "moosefs"
[[filesystem]]
kind = "glusterfs"
[[filesystem]]
kind = "cephfs"
placement_groups = 16
osd_size = "1 GiB"
[[filesystem]]
kind = "local"
type = "ext4"
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "1 MiB"
size = "32 MiB"  # which takes so long that each host is read meanwhile, on a busy machine, too
"""
OBJECTS = """
[[filesystem]]
kind = "rados"
placement_groups = 16
osd_size = "1 GiB"
[[workload]]
kind = "rados"
operation = ["write", "seq"]
size = "16 MiB"
"""


def test_every_number_of_a_real_campaign_is_the_same_twice(tmp_path: Path) -> None:
    for name, tables in (("files", FILES), ("objects", OBJECTS)):
        campaign, folder = tmp_path / f"{name}.toml", tmp_path / name
        campaign.write_text(TOP + tables)
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
