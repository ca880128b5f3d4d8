"""Examples that were written for virtual hosts, run there and on hosts over SSH: the table of the testbed alone differs."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from tomlkit import TOMLDocument

from lacking import lacking
from on_hosts import hosts_of
from perjoule import drivers
from perjoule.campaign import read
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.store import Results, open_results
from places import EXAMPLES
from sshd import NEEDS_SSHD, Lab

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

PERJOULE = Path(sys.executable).with_name("perjoule")
SMALL = {"repetitions": 1, "clients": [2], "settle": "100 ms", "quiet": "2 s"}
# Workloads, and the times of events, in seconds instead of minutes.
SHORT: dict[str, tuple[dict[str, Any], ...]] = {
    "idle": ({"duration": "3 s", "least_gap": "1 s"},),
    "duty": ({"load": ["0 %", "50 %"], "size": "8 MiB", "duration": "2 s"}, {"hour": "100 ms", "size": "8 MiB"}),
    "events": ({"full": "4 MiB/s", "duration": "6 s"},),
}
EVENTS_S = (2, 4)
Trials = dict[tuple[str, str], tuple[tuple[str, str, int], ...]]


def example(name: str) -> TOMLDocument:
    """The example, or a skip that says what it needs."""
    kinds = {trial.filesystem.kind: drivers.filesystem(trial.filesystem) for trial in read(EXAMPLES / f"{name}.toml").trials}
    if missing := lacking(check for of in kinds.values() for check in of.checks()):
        pytest.skip(missing)
    return tomlkit.parse((EXAMPLES / f"{name}.toml").read_text())


def over_ssh(document: TOMLDocument, place: Path, *, servers: int) -> Results:
    """Run a campaign on virtual hosts that are reached over SSH, whose table replaces that of the testbed."""
    with hosts_of(servers=servers).hold(2) as hosts:
        lab = Lab(place)
        table: dict[str, Any] = {"kind": "cluster", **lab.options(lab.serve(hosts.all), 22)}
        document["testbed"] = table
        (place / "example.toml").write_text(tomlkit.dumps(document))
        argv = [PERJOULE, "run", place / "example.toml", "--into", place / "results"]
        done = hosts.management.run(argv, env={"XDG_STATE_HOME": str(place)}, timeout_s=400, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return open_results(place / "results")


def measured(folder: Results, *meters: str) -> Trials:
    """What each client moved in each trial, by file system and workload; all are valid, with samples of these meters."""
    found = Trials()
    for record in folder.latest():
        assert (record.status, record.reason) == ("valid", "")
        assert record.outcome is not None
        assert {s.channel.meter for s in folder.series(record)} >= {*meters}
        moved = sorted((r.host, r.direction, r.moved_bytes) for r in record.outcome.results)
        found[record.trial.filesystem.label, record.trial.workload.label] = tuple(moved)
    return found


def test_the_demo_runs_on_virtual_hosts_and_over_ssh(tmp_path: Path) -> None:
    document = example("demo")
    del document["until"]
    document.update(SMALL)
    document["workload"][0]["size"] = "8 MiB"
    (tmp_path / "demo.toml").write_text(tomlkit.dumps(document))
    argv = [PERJOULE, "run", tmp_path / "demo.toml", "--into", tmp_path / "virtual"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        Path(folder).chmod(0o755)
        there = measured(over_ssh(document, Path(folder), servers=4), "system", "modelled")
    assert measured(open_results(tmp_path / "virtual"), "system", "modelled") == there
    assert len(there) == len({(t.filesystem.label, t.workload.label) for t in read(EXAMPLES / "demo.toml").trials}) == 6
    assert {moved for one in there.values() for _, _, moved in one} == {8 * MIB}


@pytest.mark.parametrize("name", SHORT)
def test_idle_paced_and_hit_file_systems_run_over_ssh(name: str) -> None:
    """The first of the example's file systems; the others differ by what the demo has."""
    document = example(name)
    document.update(SMALL)
    del document["filesystem"][1:]
    for workload, shorter in zip(document["workload"], SHORT[name], strict=True):
        workload.update(shorter)
    for event, at_s in zip(document.get("event", ()), EVENTS_S, strict=False):
        event["at"] = f"{at_s} s"
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "day.csv").write_text((EXAMPLES / "day.csv").read_text())
        results = over_ssh(document, place, servers=4)
        asked = {(trial.filesystem.label, trial.workload.label) for trial in read(place / "example.toml").trials}
        assert measured(results, "system").keys() == asked
        happened = {tuple(one.event.text for one in record.events) for record in results.latest()}
        assert happened == {("kill storage-2", "back storage-2") if name == "events" else ()}
        assert verify(results).differences == ()
