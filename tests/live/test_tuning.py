"""Tuning for real: MooseFS on virtual hosts, and the settings that GlusterFS takes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import drivers, store
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import FileSystem, Tunable
from typed import table

pytestmark = pytest.mark.live

PERJOULE = Path(sys.executable).with_name("perjoule")
CAMPAIGN = """
name = "tiny"
seed = 1
settle = "50 ms"
quiet = 0
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
[[filesystem]]
kind = "moosefs"
[[workload]]
kind = "fio"
size = "4 MiB"
transfer = "1 MiB"
"""
KEYS = [mark for mark in fields_of("filesystem", "glusterfs")["volume"][1].metadata if isinstance(mark, Tunable)]


def glusterfs(volume: dict[str, str]) -> FileSystem:
    made = drivers.build("filesystems", "glusterfs", {"volume": volume})
    assert isinstance(made, FileSystem)
    return made


def test_a_real_file_system_is_tuned_by_real_trials(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(CAMPAIGN)
    into = tmp_path / "tuned"
    argv = [PERJOULE, "tune", "tiny.toml", "--for", "MiB/s", "--trials", "10", "--only", "cache", "--into", into, "--json"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["settings_count"] == 4
    assert not found["failed"]
    rounds = [store.open_results(path.parent) for path in into.glob("*/results.json")]
    records = [record for results in rounds for record in results.latest()]
    assert len(records) == found["trials_count"] <= 10
    assert {record.status for record in records} == {"valid"}
    assert {record.trial.filesystem.options.get("cache") for record in records} == {None, "direct", "never", "always"}
    assert {table(record.facts["filesystem"])["cache"] for record in records} == {"auto", "direct", "never", "always"}
    for results in rounds:
        subprocess.run([PERJOULE, "verify", results.folder], check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("end", [0, -1])
def test_glusterfs_takes_each_value_that_may_be_tried(end: int) -> None:
    wanted = {mark.key: str(mark.values[end]) for mark in KEYS}
    with hosts_of().hold(1) as hosts, glusterfs(wanted).mount(hosts) as mounted:
        options = table(mounted.facts["options"])
        assert {key: options.get(key) for key in wanted} == wanted


def test_glusterfs_has_by_itself_what_a_tuning_takes_for_its_default() -> None:
    with hosts_of().hold(1) as hosts, glusterfs({}).mount(hosts):
        socket = "--glusterd-sock=/run/gluster/glusterd.socket"
        argv = ["gluster", "--mode=script", socket, "volume", "get", "perjoule"]
        said = {mark.key: hosts.bricks[0].run([*argv, mark.key], timeout_s=30).stdout for mark in KEYS}
        defaults = {key: text.splitlines()[-1].split()[1] for key, text in said.items()}
        assert defaults == {mark.key: mark.otherwise for mark in KEYS}
