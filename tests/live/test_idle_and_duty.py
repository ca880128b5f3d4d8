"""Idle and paced file systems for real, on virtual hosts and over SSH: from campaigns to tables."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day import by_day
from oracle.check import apart, checked, recomputed
from perjoule import campaign
from perjoule.execution import runner
from perjoule.results.verification import verify
from perjoule.store import Results, create, open_results
from perjoule.summary import summary
from sshd import NEEDS_SSHD, on_loopback, toml

pytestmark = pytest.mark.live

TOP = """
name = "quiet"
repetitions = 1
clients = 1
seed = 1
settle = "1 s"
quiet = "5 s"
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.5
servers = 2
disk = "xfs"
disk_size = "4 GiB"
"""
FILESYSTEMS = {
    "moosefs": 'kind = "moosefs"',
    "glusterfs": 'kind = "glusterfs"',
    "cephfs": 'kind = "cephfs"\nplacement_groups = 16\nosd_size = "1 GiB"',
}
IDLE = """
[[workload]]
kind = "idle"
duration = "8 s"
rest = "1 s"
least_gap = "1 s"
mounted = [true, false]
"""
DUTY = """
[[workload]]
kind = "duty"
operation = "{operation}"
load = ["0 %", "25 %", "100 %"]
transfer = "256 KiB"
size = "16 MiB"
duration = "3 s"
"""


def measured(folder: Path, text: str) -> Results:
    wanted = campaign.parse(text)
    results = create(folder / "results", wanted.text, wanted.name, wanted.overrides)
    runner.run(wanted, results, lambda event: None)
    found = open_results(folder / "results")
    assert {record.reason for record in found.latest()} == {""}
    return found


@pytest.mark.slow  # by day: tests/pipeline/test_idle_and_duty.py, and test_workload_contract.py
@pytest.mark.parametrize("name", FILESYSTEMS)
def test_an_idle_file_system_has_the_same_numbers_twice_with_clients_and_without(
    name: str, tmp_path: Path
) -> None:
    results = measured(tmp_path, f"{TOP}[[filesystem]]\n{FILESYSTEMS[name]}\n{IDLE}")
    cells = {(cell.filesystem, cell.workload): cell for cell in summary(results).cells}
    assert len(cells) == 2
    for cell in cells.values():
        means = {key: found.mean for key, found in cell.metrics.items()}
        assert cell.direction == "idle"
        assert means["duration_s"] == pytest.approx(4, rel=0.1)
        assert means["idle_w"] > 0
        assert means["usable_w_per_byte"] >= means["raw_w_per_byte"] > 0
        assert means["idle_switches_storage_hz"] > 0
        assert means["idle_network_received_storage_bytes_per_s"] > 0  # heartbeats
        assert 0 <= means["sleepable_storage_ratio"] <= 1
        assert means["longest_gap_storage_s"] <= means["duration_s"] * 1.001
        assert any("keep their own time" in doubt for doubt in cell.doubts)
    assert verify(results).differences == ()
    again = recomputed(checked(results.folder))
    assert apart(again).values.tolist() == []


# Not MooseFS's reads: its read-ahead fills the link with later data while a read waits for up to 3 s, as long
# as this load.
PACED = {"read": 'kind = "glusterfs"\nlayout = "distributed"', "write": 'kind = "moosefs"'}


@pytest.mark.slow  # by day: tests/pipeline/test_idle_and_duty.py, and test_workload_contract.py
@pytest.mark.alone  # other tests leave the load less of the processor than an idle cluster takes
@pytest.mark.parametrize("operation", PACED)
def test_a_paced_load_reaches_its_share_for_real(operation: str, tmp_path: Path) -> None:
    filesystem = PACED[operation]
    results = measured(tmp_path, f"{TOP}[[filesystem]]\n{filesystem}\n{DUTY.format(operation=operation)}")
    cells = {round(cell.metrics["asked_load_ratio"].mean, 2): cell for cell in summary(results).cells}
    assert cells[0.25].metrics["load_ratio"].mean == pytest.approx(0.25, rel=0.1)
    assert cells[1.0].metrics["load_ratio"].mean > 0.5, "the maximum was not one that lasts"
    assert cells[0.0].direction == "idle"
    assert cells[1.0].direction == operation
    powers = [cells[load].metrics["mean_w"].mean for load in (0.0, 0.25, 1.0)]
    assert powers[0] < powers[2]
    assert 0 < cells[1.0].metrics["proportionality_ratio"].mean < 1
    assert cells[0.25].metrics["energy_per_byte_j"].mean > cells[1.0].metrics["energy_per_byte_j"].mean
    assert verify(results).differences == ()


@pytest.fixture
def options(tmp_path: Path) -> Iterator[dict[str, Any]]:
    (tmp_path / "lab").mkdir()
    with on_loopback(tmp_path / "lab") as found:
        yield found


OVER_SSH = {
    "idle": 'kind = "idle"\nduration = "2 s"\nrest = "0 s"',
    "duty": 'kind = "duty"\nload = "50 %"\nsize = "8 MiB"\nduration = "2 s"',
}


@NEEDS_SSHD
@pytest.mark.parametrize("kind", by_day(OVER_SSH, "idle"))
def test_both_run_over_ssh(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "ssh.toml").write_text(
        toml(options, f'kind = "directory"\npath = "{tmp_path / "files"}"', OVER_SSH[kind])
    )
    perjoule = str(Path(sys.executable).with_name("perjoule"))
    argv = [perjoule, "run", str(tmp_path / "ssh.toml"), "--into", str(tmp_path / "results")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (record, *_) = open_results(tmp_path / "results").latest()
    assert record.reason == ""
    if record.traits.directions == ("idle",):
        counted = [
            s for s in open_results(tmp_path / "results").series(record) if s.channel.quantity == "switches"
        ]
        assert counted
        assert all(s.value[-1] > s.value[0] for s in counted)
