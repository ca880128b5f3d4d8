"""Examples that were written for virtual hosts, run there and on hosts over SSH: the table of the testbed
alone differs.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from tomlkit import TOMLDocument

from day import by_day
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


@dataclass(frozen=True)
class Short:
    """What makes an example a matter of seconds, instead of its own values; of its file systems one is
    used, or all.
    """

    workloads: tuple[dict[str, Any], ...] = ({},)
    filesystem: int | None = 0
    options: dict[str, Any] = field(default_factory=dict[str, Any])  # of the file system
    top: dict[str, Any] = field(default_factory=dict[str, Any])
    events_s: tuple[int, ...] = ()
    happened: tuple[str, ...] = ()
    left_out_count: int = 0  # of its last workloads, which are of other file systems


FIO = ({"size": "8 MiB"},)
DEVICE = {"transfer": ["4 MiB"], "direct": True, "size": "16 MiB", "duration": "600 ms"}
SHORT = {
    "access-patterns": Short(
        ({"transfer": ["1 MiB"], "size": "8 MiB"},),
        1,
        {"beneath": {"kind": "ext4", "block": "1 KiB", "size": "1 GiB"}},
    ),
    "added-hosts": Short(
        ({"data": "8 MiB", "duration": "4 s"},),
        events_s=(1, 1),
        happened=("add storage-3", "add storage-4"),
        top={"quiet": "60 s"},
    ),
    # on the disks of others nothing is filled, so the file system needs disks of its own
    "aged": Short(
        FIO,
        1,
        {
            "beneath": {"kind": "xfs", "size": "320 MiB"},
            "aged": {"full": ["0 %", "80 %"], "overwrites": 0, "seed": 7},
        },
    ),
    # of hosts over SSH one is for management; three monitors: test_rados.py
    "cubieboard": Short(
        (
            {
                "size": "8 MiB",
                "duration": "60 s",
                "read_duration": "60 s",
                "pools_made_apart": "500 ms",
                "pools_deleted_apart": "500 ms",
                "time_limit": "120 s",
            },
        ),
        0,
        {"monitors": 1},
        left_out_count=1,  # of the NAS
    ),
    "degraded-reads": Short(
        ({"full": "4 MiB/s", "duration": "4 s"},), 2, events_s=(2,), happened=("kill storage-2",)
    ),
    "demo": Short(FIO, None),
    "duty": Short(
        ({"load": ["0 %", "50 %"], "size": "8 MiB", "duration": "2 s"}, {"hour": "100 ms", "size": "8 MiB"})
    ),
    "events": Short(
        ({"full": "4 MiB/s", "duration": "6 s"},),
        events_s=(2, 4),
        happened=("kill storage-2", "back storage-2"),
    ),
    "green-storage": Short(({"size": "8 MiB"},), 1),
    "hep": Short(tuple({"size": "16 MiB"} for _ in range(3))),
    "hep-pc": Short(({"size": "16 MiB", "files": 16},), 0),  # the boards: the PC is a machine of its own
    "idle": Short(({"duration": "3 s", "least_gap": "1 s"},)),
    "mixed-users": Short(({"window": "4 s", "only": ["", "analysis"]},), top={"shrink": 8}),
    "nas": Short(FIO),
    "scaling": Short(FIO, top={"servers": [2, 4]}),
    "scrub": Short(({"data": "8 MiB", "duration": "3 s"},), events_s=(1,), happened=("scrub",)),
    "ssd-vs-hdd": Short((DEVICE, DEVICE), options={"size": "64 MiB"}),
    "stores": Short(({"size": "8 MiB"}, {"size": "8 MiB"}), None),
    "training": Short(
        (
            {"share": "0.1 %", "compute": "2 ms", "files": 28},
            {"share": "0.02 %", "ranks": 1},
            {"share": "0.2 %", "requests": 8},
        ),
    ),
}
REFUSED = {"failed-disk": "fail storage-2 can't happen on this testbed cluster"}
Trials = dict[tuple[str, str], tuple[tuple[str, str, int], ...]]


def example(name: str) -> TOMLDocument:
    """The example, or a skip that says what it needs."""
    kinds = {
        trial.filesystem.kind: drivers.filesystem(trial.filesystem)
        for trial in read(EXAMPLES / f"{name}.toml").trials
    }
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
    """What each client moved in each trial, by file system and workload; all are valid, with samples of
    these meters.
    """
    found = Trials()
    for record in folder.latest():
        assert (record.status, record.reason) == ("valid", "")
        assert record.outcome is not None
        assert {s.channel.meter for s in folder.series(record)} >= {*meters}
        moved = sorted((r.host, r.direction, r.moved_bytes) for r in record.outcome.results)
        found[record.trial.filesystem.label, record.trial.workload.label] = tuple(moved)
    return found


def shortened(name: str) -> TOMLDocument:
    """The example, in seconds; or a skip that says what it needs."""
    short, document = SHORT[name], example(name)
    document.pop("until", None)
    document.update(SMALL | short.top)
    if short.filesystem is not None:
        del document["filesystem"][short.filesystem + 1 :], document["filesystem"][: short.filesystem]
        document["filesystem"][0].update(short.options)
    del document["workload"][len(document["workload"]) - short.left_out_count :]
    for workload, shorter in zip(document["workload"], short.workloads, strict=True):
        workload.update(shorter)
    for event, at_s in zip(document.get("event", ()), short.events_s, strict=True):
        event["at"] = f"{at_s} s"
    return document


def test_each_example_for_virtual_hosts_runs_over_ssh_or_is_refused() -> None:
    virtual = {
        path.stem for path in EXAMPLES.glob("*.toml") if read(path).trials[0].testbed.kind == "virtual"
    }
    assert SHORT.keys() | REFUSED.keys() == virtual


@pytest.mark.parametrize("name", REFUSED)
def test_what_real_hosts_can_not_do_is_refused(name: str, tmp_path: Path) -> None:
    document = tomlkit.parse((EXAMPLES / f"{name}.toml").read_text())
    roles = [*["storage"] * 5, "metadata", "management", *["client"] * 2]
    hosts = [
        {"name": f"{role}-{n}", "address": f"192.0.2.{n}", "role": role} for n, role in enumerate(roles, 1)
    ]
    document["testbed"] = {"kind": "cluster", "hosts": hosts}
    (tmp_path / "example.toml").write_text(tomlkit.dumps(document))
    done = subprocess.run(
        [PERJOULE, "check", tmp_path / "example.toml"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert REFUSED[name] in done.stderr


@pytest.mark.slow  # by day: its file systems: test_cluster.py, test_cluster_helper.py and test_events.py
def test_the_demo_runs_on_virtual_hosts_and_over_ssh(tmp_path: Path) -> None:
    document = shortened("demo")
    (tmp_path / "demo.toml").write_text(tomlkit.dumps(document))
    argv = [PERJOULE, "run", tmp_path / "demo.toml", "--into", tmp_path / "virtual"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        Path(folder).chmod(0o755)
        there = measured(over_ssh(document, Path(folder), servers=4), "system", "modelled")
    assert measured(open_results(tmp_path / "virtual"), "system", "modelled") == there
    assert (
        len(there)
        == len({(t.filesystem.label, t.workload.label) for t in read(EXAMPLES / "demo.toml").trials})
        == 6
    )
    assert {moved for one in there.values() for _, _, moved in one} == {8 * MIB}


# By day test_events.py runs events over SSH, and test_cluster.py each kind of load.
@pytest.mark.parametrize("name", by_day(name for name in SHORT if name != "demo"))
def test_an_example_runs_over_ssh(name: str) -> None:
    """One of the example's file systems; the others differ by what the demo has."""
    document = shortened(name)
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "day.csv").write_text((EXAMPLES / "day.csv").read_text())
        results = over_ssh(document, place, servers=4)
        asked = {
            (trial.filesystem.label, trial.workload.label) for trial in read(place / "example.toml").trials
        }
        assert measured(results, "system").keys() == asked
        happened = {tuple(one.event.text for one in record.events) for record in results.latest()}
        assert happened == {SHORT[name].happened}
        assert verify(results).differences == ()
