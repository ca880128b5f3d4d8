"""Loads of training jobs for real, on a distributed file system and on folders: from campaigns to tables."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day import by_day
from lacking import lacking
from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem
from perjoule.execution import runner
from perjoule.results.verification import verify
from perjoule.store import Results, create, open_results
from perjoule.summary import summary
from sshd import NEEDS_SSHD, on_loopback, toml

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


@pytest.mark.slow  # by day: test_workload_contract.py; tests/unit/workloads
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


@pytest.mark.slow  # by day: test_workload_contract.py; tests/unit/workloads
def test_epochs_cost_what_their_batches_noted(tmp_path: Path) -> None:
    text = f"""{TOP}
[[filesystem]]
kind = "glusterfs"
replicas = 2
[[workload]]
kind = "training"
files = 24
sample = "512 KiB"
deviation = "128 KiB"
batch = 3
workers = 2
accelerators = 2
compute = "50 ms"
epochs = 2
"""
    results = measured(tmp_path, text)
    (cell,) = summary(results).cells
    (record,) = results.latest()
    raw = results.folder_of(record) / "raw"
    utilisations, moved_bytes, samples_count, ended_s, began_s = [], 0, 0, [], []
    for client in ("client-1", "client-2"):
        began_s.append(float((raw / f"{client}.began.txt").read_text()))
        for rank in (0, 1):
            calls = lines(raw / f"{client}.{rank}.csv")
            moved_bytes += sum(int(call["bytes"]) for call in calls)
            samples_count += len(calls)
            ended_s.append(began_s[-1] + json.loads((raw / f"{client}.{rank}.json").read_text())["ended_s"])
            for epoch in ("0", "1"):
                batches = [b for b in lines(raw / f"{client}.{rank}.batches.csv") if b["epoch"] == epoch]
                assert [batch["samples"] for batch in batches] == ["3", "3"]
                took_s = float(batches[1]["ended_s"]) - float(batches[0]["ended_s"])
                utilisations.append(0.05 / took_s)
    emulated_s = 0.5 * (max(ended_s) - min(began_s))
    assert samples_count == 2 * 24
    assert all(0 < ratio <= 1 for ratio in utilisations)
    found = {key: cell.metrics[key].mean for key in cell.metrics}
    assert found["accelerator_ratio"] == pytest.approx(sum(utilisations) / len(utilisations))
    assert found["samples_per_s"] == pytest.approx(samples_count / emulated_s, rel=0.01)
    assert found["throughput_bytes_per_s"] == pytest.approx(moved_bytes / emulated_s, rel=0.01)
    assert found["energy_per_epoch_j"] == pytest.approx(found["energy_j"] / 2)
    assert found["compute_s"] == pytest.approx(0.025)


@pytest.mark.slow  # by day: test_workload_contract.py; tests/unit/workloads
def test_a_token_costs_what_its_requests_noted(tmp_path: Path) -> None:
    text = f"""{TOP}
[[filesystem]]
kind = "glusterfs"
replicas = 2
[[workload]]
kind = "kv_cache"
model = "tiny-1b"
share = "1 %"
users = 4
requests = 12
ranks = 2
"""
    results = measured(tmp_path, text)
    (cell,) = summary(results).cells
    (record,) = results.latest()
    raw = results.folder_of(record) / "raw"
    generated_count, ended_s, began_s = 0, [], []
    moved_bytes = {"": 0, ".writes": 0}
    took_s: dict[str, list[float]] = {"": [], ".writes": []}
    for client in ("client-1", "client-2"):
        began_s.append(float((raw / f"{client}.began.txt").read_text()))
        for rank in (0, 1):
            ended_s.append(began_s[-1] + json.loads((raw / f"{client}.{rank}.json").read_text())["ended_s"])
            generated_count += sum(int(r["generated"]) for r in lines(raw / f"{client}.{rank}.requests.csv"))
            for table in moved_bytes:
                calls = lines(raw / f"{client}.{rank}{table}.csv")
                moved_bytes[table] += sum(int(call["bytes"]) for call in calls)
                took_s[table] += [float(call["took_s"]) for call in calls]
    emulated_s = 0.5 * (max(ended_s) - min(began_s))
    found = {key: interval.mean for key, interval in cell.metrics.items()}
    assert cell.direction == "mixed"
    assert found["energy_per_token_j"] == pytest.approx(found["energy_j"] / generated_count)
    assert found["tokens_read_per_s"] * 24 * 1024 * found["duration_s"] == pytest.approx(moved_bytes[""])
    assert found["user/decode/throughput_bytes_per_s"] == pytest.approx(
        moved_bytes[""] / emulated_s, rel=0.01
    )
    assert found["user/decode/share_ratio"] == pytest.approx(moved_bytes[""] / sum(moved_bytes.values()))
    for metric, percent, each_s in (
        ("block_read_p95_s", 95, sorted(took_s[""])),
        ("block_read_p99_s", 99, sorted(took_s[""])),
        ("latency_p50_s", 50, sorted(took_s[""] + took_s[".writes"])),
        ("latency_p99_s", 99, sorted(took_s[""] + took_s[".writes"])),
    ):
        assert found[metric] == pytest.approx(0.5 * each_s[-(-percent * len(each_s) // 100) - 1])


@pytest.fixture
def options(tmp_path: Path) -> Iterator[dict[str, Any]]:
    (tmp_path / "lab").mkdir()
    with on_loopback(tmp_path / "lab") as of_lab:
        yield of_lab


OVER_SSH = {
    "training": 'kind = "training"\nfiles = 12\nsample = "128 KiB"\nbatch = 2\ncompute = "10 ms"\nepochs = 2',
    "checkpoint": 'kind = "checkpoint"\noperation = "read"\nranks = 2\nsize = "4 MiB"\ndirect = true',
    "kv_cache": 'kind = "kv_cache"\nmodel = "tiny-1b"\nshare = "1 %"\nusers = 3\nrequests = 6',
}


# By day test_workload_contract.py runs each on virtual hosts.
@NEEDS_SSHD
@pytest.mark.parametrize("kind", by_day(OVER_SSH))
def test_each_runs_over_ssh(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "ssh.toml").write_text(
        toml(options, f'kind = "directory"\npath = "{tmp_path / "files"}"', OVER_SSH[kind])
    )
    perjoule = str(Path(sys.executable).with_name("perjoule"))
    argv = [perjoule, "run", str(tmp_path / "ssh.toml"), "--into", str(tmp_path / "results")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = open_results(tmp_path / "results")
    assert [record.reason for record in results.latest()] == [""]
    assert verify(results).differences == ()
