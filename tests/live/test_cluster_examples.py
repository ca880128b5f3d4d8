"""An example that was written for virtual hosts, run there and on hosts over SSH: the table of the testbed alone differs."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from perjoule import drivers
from perjoule.campaign import read
from perjoule.drivers.protocols import Testbed
from perjoule.model.units import MIB
from perjoule.store import open_results
from places import EXAMPLES
from sshd import Lab

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="sshd is missing: apt install openssh-server"),
]

PERJOULE = Path(sys.executable).with_name("perjoule")
SMALL = {"repetitions": 1, "clients": [2], "settle": "100 ms", "quiet": "2 s"}
Trials = dict[tuple[str, str], tuple[tuple[str, str, int], ...]]


def measured(results: Path) -> Trials:
    """What each client moved in each trial, by file system and workload; all are valid, with samples of every meter."""
    folder, found = open_results(results), Trials()
    for record in folder.latest():
        assert (record.status, record.reason) == ("valid", "")
        assert record.outcome is not None
        assert {s.channel.meter for s in folder.series(record)} >= {"system", "modelled"}
        moved = sorted((r.host, r.direction, r.moved_bytes) for r in record.outcome.results)
        found[record.trial.filesystem.label, record.trial.workload.label] = tuple(moved)
    return found


def test_the_demo_runs_on_virtual_hosts_and_over_ssh(tmp_path: Path) -> None:
    asked = read(EXAMPLES / "demo.toml")
    kinds = {trial.filesystem.kind: drivers.filesystem(trial.filesystem) for trial in asked.trials}
    lacking = {check.name: check.fix for of in kinds.values() for check in of.checks() if check.needed and not check.ok}
    if lacking:
        pytest.skip("; ".join(f"{name}: {fix}" for name, fix in lacking.items()))
    document = tomlkit.parse((EXAMPLES / "demo.toml").read_text())
    del document["until"]
    document.update(SMALL)
    document["workload"][0]["size"] = "8 MiB"
    (tmp_path / "demo.toml").write_text(tomlkit.dumps(document))
    argv = [PERJOULE, "run", tmp_path / "demo.toml", "--into", tmp_path / "virtual"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False})
    assert isinstance(testbed, Testbed)
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder, testbed.hold(2) as hosts:
        place = Path(folder)
        place.chmod(0o755)
        lab = Lab(place)
        table: dict[str, Any] = {"kind": "cluster", **lab.options(lab.serve(hosts.all), 22)}
        document["testbed"] = table
        (place / "demo.toml").write_text(tomlkit.dumps(document))
        argv = [PERJOULE, "run", place / "demo.toml", "--into", place / "results"]
        done = hosts.management.run(argv, env={"XDG_STATE_HOME": folder}, timeout_s=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        over_ssh = measured(place / "results")
    assert measured(tmp_path / "virtual") == over_ssh
    assert len(over_ssh) == len({(t.filesystem.label, t.workload.label) for t in asked.trials}) == 6
    assert {moved for one in over_ssh.values() for _, _, moved in one} == {8 * MIB}
