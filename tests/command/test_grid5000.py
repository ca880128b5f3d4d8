"""A campaign on nodes of Grid'5000, and what becomes of its job when perjoule is ended; the API is a stand-in,
nodes are this machine.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from grid_api import LOGIN, GridApi, grid_api
from lending import make_home, perjoule
from sshd import until

CAMPAIGN = """
name = "grid"
clients = [2]
repetitions = 1
settle = "100 ms"
quiet = "1 s"
[testbed]
kind = "grid5000"
site = "lyon"
work = "{folder}/work"
hosts = [{{cluster = "taurus", role = "client", count = 2}}]
[[filesystem]]
kind = "directory"
path = "{folder}/files"
[[workload]]
kind = "fio"
operation = "write"
size = "4 MiB"
transfer = "64 KiB"
rate = "1 MiB/s"
[[meter]]
kind = "kwollect"
on = ["clients"]
rate = "4 Hz"
user = "{user}"
password_file = "{folder}/password"
"""


@pytest.fixture
def grid(tmp_path: Path) -> Iterator[GridApi]:
    """A site, a campaign there, and the home of its user."""
    home = make_home(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "password").write_text(LOGIN[1])
    (tmp_path / "grid.toml").write_text(CAMPAIGN.format(folder=tmp_path, user=LOGIN[0]))
    with grid_api(home) as site:
        yield site


def test_a_campaign_has_the_watts_of_its_nodes_and_gives_them_back(grid: GridApi, tmp_path: Path) -> None:
    run = perjoule(tmp_path, "run", "grid.toml", "--into", "results")
    output, _ = run.communicate()
    assert run.returncode == 0, output
    assert grid.alive == []
    (record,) = [json.loads(path.read_text()) for path in (tmp_path / "results").rglob("record.json")]
    assert record["facts"]["testbed"]["grid5000"]["job"] == 1900000
    shown, _ = perjoule(tmp_path, "show", "results", "--json").communicate()
    (row,) = json.loads(shown)["rows"]
    metrics = row["metrics"]
    assert metrics.get("mean_w", {}).get("mean") == pytest.approx(101 + 202), (metrics, record["doubts"])
    assert metrics["energy_j"]["grade"] == "wall"


def test_a_job_ends_with_perjoule(grid: GridApi, tmp_path: Path) -> None:
    grid.waits_count = 10**9
    run = perjoule(tmp_path, "run", "grid.toml")
    until(lambda: bool(grid.alive))
    run.send_signal(signal.SIGTERM)
    output, _ = run.communicate(timeout=30)
    assert "Traceback" not in output
    assert (len(grid.jobs), grid.alive) == (1, [])


def test_the_next_command_ends_the_job_of_a_perjoule_that_was_killed(grid: GridApi, tmp_path: Path) -> None:
    grid.waits_count = 10**9
    run = perjoule(tmp_path, "run", "grid.toml")
    until(lambda: bool(grid.alive))
    run.kill()
    run.communicate()
    assert grid.alive == [1900000]
    down = perjoule(tmp_path, "down")
    output, _ = down.communicate()
    assert (down.returncode, grid.alive) == (0, [])
    assert "Grid'5000 job 1900000 on lyon" in output
