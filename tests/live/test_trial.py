"""A file system measured by the installed command: a campaign of two trials, a write and a read, on
virtual hosts.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from day import by_day
from lacking import lacking
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem

pytestmark = pytest.mark.live

CAMPAIGN = """
name = "trial"
repetitions = 1
settle = "0.1 s"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
[[filesystem]]
kind = "{kind}"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "16 MiB"
[[meter]]
kind = "system"
"""


# By day others run campaigns in test_cli.py, test_attached.py, test_event_contract.py and test_cluster_helper.py.
@pytest.mark.parametrize("kind", by_day(["moosefs", "glusterfs", "cephfs", "nfs"], "nfs"))
def test_a_campaign_measures_a_write_and_a_read(kind: str, tmp_path: Path) -> None:
    filesystem = drivers.build("filesystems", kind, {})
    assert isinstance(filesystem, FileSystem)
    if missing := lacking(filesystem.checks()):
        pytest.skip(missing)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN.format(kind=kind))
    results = tmp_path / "results"
    argv = [Path(sys.executable).with_name("perjoule"), "run", tmp_path / "campaign.toml", "--into", results]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in results.rglob("record.json")]
    assert [record["status"] for record in records] == ["valid", "valid"], [
        record["reason"] for record in records
    ]
    verified = subprocess.run(
        [argv[0], "verify", results], capture_output=True, text=True, timeout=600, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
