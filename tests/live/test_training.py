"""Loads of training jobs for real, on a distributed file system and on folders: from campaigns to tables."""

import csv
import json
from pathlib import Path

import pytest

from lacking import lacking
from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem
from perjoule.execution import runner
from perjoule.results.verification import verify
from perjoule.store import Results, create, open_results
from perjoule.summary import summary

TOP = """
name = "jobs"
repetitions = 1
clients = 2
settle = "0.5 s"
quiet = 0
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.5
servers = 2
disk = "xfs"
disk_size = "2 GiB"
[[meter]]
kind = "system"
[[meter]]
kind = "modelled"
"""
MIB = 1024**2
GLUSTERFS = drivers.build("filesystems", "glusterfs", {})
assert isinstance(GLUSTERFS, FileSystem)
MISSING = lacking(GLUSTERFS.checks())
pytestmark = [pytest.mark.live, pytest.mark.skipif(bool(MISSING), reason=MISSING)]


def measured(folder: Path, text: str) -> Results:
    wanted = campaign.parse(text)
    runner.run(wanted, create(folder / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(folder / "results")
    assert {record.reason for record in results.latest()} == {""}
    assert verify(results).differences == ()
    return results


def lines(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_checkpoint_costs_what_its_ranks_noted(tmp_path: Path) -> None:
    text = f"""{TOP}
[[filesystem]]
kind = "glusterfs"
replicas = 2
[[workload]]
kind = "checkpoint"
operation = ["write", "read"]
ranks = 2
size = "12 MiB"
"""
    results = measured(tmp_path, text)
    metrics = {cell.direction: cell.metrics for cell in summary(results).cells}
    for record in results.latest():
        (direction,) = record.traits.directions
        raw = results.folder_of(record) / "raw"
        began_s, ended_s = [], []
        for client in ("client-1", "client-2"):
            start_s = float((raw / f"{client}.began.txt").read_text())
            for rank in (0, 1):
                assert sum(int(line["bytes"]) for line in lines(raw / f"{client}.{rank}.csv")) == 12 * MIB
                done = json.loads((raw / f"{client}.{rank}.json").read_text())
                ended_s.append(start_s + done["ended_s"])
            began_s.append(start_s)
        stall_s = 0.5 * (max(ended_s) - min(began_s))
        assert metrics[direction]["stall_s"].mean == pytest.approx(stall_s, abs=0.005)
        assert 0 < metrics[direction]["load_cpu_s"].mean < 4 * max(ended_s) - 4 * min(began_s)
        assert metrics[direction]["energy_per_checkpoint_j"].mean == pytest.approx(
            metrics[direction]["energy_j"].mean
        )
