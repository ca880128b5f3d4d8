"""Servers of real file systems are killed, cut off and slowed down on virtual hosts, killed over SSH, and
come back.
"""

import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from day import by_day
from lacking import lacking
from on_hosts import hosts_of
from oracle.check import apart, checked, recomputed
from perjoule import campaign, drivers
from perjoule.execution import runner
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems.moosefs import _MooseFS
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.model import Record, healthy_since
from perjoule.results.verification import verify
from perjoule.store import Results, create, open_results
from perjoule.summary import summary
from sshd import NEEDS_SSHD, Lab

pytestmark = pytest.mark.live

TEXT = """
name = "hit"
repetitions = 1
clients = 1
seed = 1
settle = "500 ms"
quiet = "{quiet}"
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = {scale}
servers = 3
disk = "xfs"
disk_size = "4 GiB"
[[filesystem]]
{filesystem}
{load}
{events}
"""
PACED = """
[[workload]]
kind = "duty"
operation = "write"
load = "50 %"
full = "4 MiB/s"
transfer = "64 KiB"
duration = "8 s"
"""
TOLERANT = f"{PACED}tolerate_errors = true\n"
EVENT = '[[event]]\nat = "{at}"\nkind = "{kind}"\nhost = "storage-2"\n'
KILLED = EVENT.format(at="2 s", kind="kill") + EVENT.format(at="5 s", kind="back")
SLOWED = EVENT.format(at="3 s", kind="slow") + "factor = 10\n"
CUT = EVENT.format(at="2 s", kind="cut") + SLOWED + EVENT.format(at="4 s", kind="back")
MOOSEFS = 'kind = "moosefs"\ngoal = 2'
FAILED = EVENT.format(at="5 s", kind="fail") + EVENT.format(at="7 s", kind="back")
DATA_BYTES = 64 * 1024**2
STILL = f'[[workload]]\nkind = "idle"\ndata = "{DATA_BYTES} B"\nrest = "1 s"\nduration = "10 s"\n'
ORANGEFS = 'kind = "orangefs"'
MISSING = lacking(OrangeFS().checks())
WITH_ORANGEFS = pytest.mark.skipif(bool(MISSING), reason=MISSING)
HOSTS = {"glusterfs": "\nhosts = 3"}
FILESYSTEMS = {
    "moosefs": MOOSEFS,
    "glusterfs": 'kind = "glusterfs"',
    "cephfs": 'kind = "cephfs"\nplacement_groups = 16\nosd_size = "1 GiB"',
    "seaweedfs": 'kind = "seaweedfs"\nreplication = "001"\nvolume = "256 MiB"',  # a disk has room for three of 1 GiB
    "seaweed_s3": 'kind = "seaweed_s3"\nreplication = "001"',
}
PUTS = """
[[workload]]
kind = "s3"
operation = "put"
object = "64 KiB"
size = "1 GiB"
duration = "8 s"
tolerate_errors = true
"""
# whose clients fail calls that break off, or are of buckets
LOADS = {"orangefs": TOLERANT, "seaweed_s3": PUTS}
BY_NIGHT = pytest.param("orangefs", marks=[WITH_ORANGEFS, pytest.mark.slow])


def hit(
    folder: Path, filesystem: str, events: str, quiet: str = "60 s", *, load: str = PACED, scale: float = 0.5
) -> tuple[Results, Record]:
    wanted = campaign.parse(
        TEXT.format(filesystem=filesystem, load=load, events=events, quiet=quiet, scale=scale)
    )
    results = create(folder / "results", wanted.text, wanted.name, wanted.overrides)
    runner.run(wanted, results, lambda event: None)
    found = open_results(folder / "results")
    (record,) = found.latest()
    return found, record


# By day it happens over SSH, and on virtual hosts in test_event_contract.py.
@pytest.mark.parametrize("name", [*by_day(FILESYSTEMS), BY_NIGHT])
def test_a_killed_server_is_missed_comes_back_and_the_file_system_is_healthy_again(
    name: str, tmp_path: Path
) -> None:
    quiet = "5 s" if name == "glusterfs" else "60 s"
    filesystem, load = FILESYSTEMS.get(name, ORANGEFS), LOADS.get(name, PACED)
    results, record = hit(tmp_path, filesystem, KILLED, quiet, load=load)
    assert record.reason == ""
    assert [one.event.text for one in record.events] == ["kill storage-2", "back storage-2"]
    killed, back = record.events
    assert killed.planned_s <= killed.began_s <= killed.ended_s <= back.began_s
    if name in ("cephfs", "orangefs"):  # the others may have no data on it
        assert any(one.words for one in record.health)
    if name != "glusterfs":  # it may wait for minutes before it heals
        assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(results).differences == ()
    found = checked(results.folder)
    # of duty, the second calculation knows no more
    costs = found[found["metric"].str.startswith("event_", na=False)]
    if load != PUTS:  # of which clients note no latencies by stage
        assert costs["metric"].str.endswith("latency_p99_s").any()
    assert apart(costs).values.tolist() == []


@pytest.mark.slow
@WITH_ORANGEFS
def test_clients_of_orangefs_wait_for_a_killed_server_for_ten_seconds_and_then_get_an_error_which_is_counted(
    tmp_path: Path,
) -> None:
    long = TOLERANT.replace("8 s", "20 s")
    results, record = hit(tmp_path, ORANGEFS, KILLED.replace("5 s", "15 s"), load=long)
    assert record.reason == ""
    (cell,) = summary(results).cells
    found = {key: metric.mean for key, metric in cell.metrics.items() if key.startswith("event_")}
    print(
        found,
        [(round(one.answered_s - record.events[0].ended_s, 1), one.words) for one in record.health],
        record.doubts,
    )
    assert 1 <= found["event_errors_count"] <= 3
    assert 9 < found["event_longest_stall_s"] / record.scale < 16
    missed = [one.words for one in record.health if one.asked_s < record.events[1].began_s]
    assert missed[-1] == "no answer from storage-2"
    assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(results).differences == ()
    costs = checked(results.folder)
    costs = costs[costs["metric"].str.startswith("event_", na=False)]
    assert "event_errors_count" in set(costs["metric"])
    assert apart(costs).values.tolist() == []


@pytest.mark.slow  # by day: each of the three in test_event_contract.py
@pytest.mark.parametrize("filesystem", [MOOSEFS, pytest.param(ORANGEFS, marks=WITH_ORANGEFS)])
def test_a_server_that_was_cut_off_and_slow_is_back(filesystem: str, tmp_path: Path) -> None:
    _, record = hit(tmp_path, filesystem, CUT, load=TOLERANT if filesystem == ORANGEFS else PACED)
    assert record.reason == ""
    assert [one.event.kind for one in record.events] == ["cut", "slow", "back"]
    assert healthy_since(record.events, record.health) is not None, record.health


SCALES = {"glusterfs": 0.5}  # whose daemons take minutes to come up on a tenth of a board


REBUILT = [name for name in FILESYSTEMS if "fail" not in drivers.driver_class("filesystems", name).unable]


@pytest.mark.parametrize("name", by_day(REBUILT))
def test_a_failed_disk_is_rebuilt_and_moves_what_redundancy_explains(name: str, tmp_path: Path) -> None:
    filesystem, scale = FILESYSTEMS[name] + HOSTS.get(name, ""), SCALES.get(name, 0.1)
    results, record = hit(tmp_path, filesystem, FAILED, "100 s", load=STILL, scale=scale)
    assert record.reason == ""
    assert healthy_since(record.events, record.health) is not None, record.health
    (cell,) = summary(results).cells
    found = {key: metric.mean for key, metric in cell.metrics.items() if "rebuild" in key}
    print(name, found)
    assert 0 < found["rebuild_lost_bytes"] <= 1.1 * DATA_BYTES
    assert found["rebuild_network_ratio"] == pytest.approx(found["derived_rebuild_network_ratio"], rel=0.2)
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder))).values.tolist() == []


ADDED = '[[event]]\nat = "3 s"\nkind = "add"\nhost = "storage-3"\n'
# MooseFS accepts disks that differ by 2.6 % of 4 GiB, and takes minutes for much more than that
MORE_BYTES = 116 * 1024**2
TWO_ADDED = ADDED + ADDED.replace("storage-3", "storage-2")
GROWING = {
    "moosefs": (MOOSEFS, ADDED),
    "moosefs that rebalances": (MOOSEFS + "\nrebalance = true", ADDED),
    "glusterfs": ('kind = "glusterfs"\nlayout = "distributed"', ADDED),
    "glusterfs by a group": ('kind = "glusterfs"\nlayout = "replicated"', TWO_ADDED),
    "cephfs": (FILESYSTEMS["cephfs"], ADDED),
}


# By day test_event_contract.py adds one.
@pytest.mark.parametrize("name", by_day(GROWING))
def test_a_host_joins_and_takes_its_share(name: str, tmp_path: Path) -> None:
    filesystem, events = GROWING[name]
    load = STILL.replace(str(DATA_BYTES), str(MORE_BYTES)) if "rebalances" in name else STILL
    results, record = hit(tmp_path, filesystem, events, "100 s", load=load)
    assert record.reason == ""
    print(
        name,
        [(round(one.answered_s - record.events[-1].ended_s, 1), one.words) for one in record.health],
        record.doubts,
    )
    assert healthy_since(record.events, record.health) is not None, record.health
    joined = [happened.event.host for happened in record.events]
    assert list(record.data_hosts[-len(joined) :]) == joined
    assert not any(name in str(record.facts["filesystem"]) for name in joined)  # as it began
    for happened in record.events:
        assert happened.gained_bytes is not None
        if name == "moosefs":  # only new chunks go there
            assert happened.gained_bytes == 0
        else:
            assert 0 < happened.gained_bytes < 2 * DATA_BYTES
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder))).values.tolist() == []


SCRUBBED = FILESYSTEMS["cephfs"].replace("16", "4") + '\nconf = { "osd_scrub_backoff_ratio" = "0" }'
COMMANDS = '[[event]]\nat = "2 s"\nkind = "snapshot"\n[[event]]\nat = "3 s"\nkind = "scrub"\n'


@pytest.mark.slow  # by day: test_event_contract.py takes one, and scrubs
def test_cephfs_takes_a_snapshot_and_is_healthy_once_each_placement_group_is_scrubbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[
        dict[str, str]
    ] = []  # when Ceph scrubbed each placement group last, as reported before the scrub and then after it

    def noted(listed: Mapping[str, Any]) -> dict[str, str]:
        read.append(deep_scrubs(listed))
        return read[-1]

    deep_scrubs = answers.deep_scrubs
    monkeypatch.setattr(answers, "deep_scrubs", noted)
    results, record = hit(tmp_path, SCRUBBED, COMMANDS)
    assert record.reason == ""
    assert [one.event.text for one in record.events] == ["snapshot", "scrub"]
    commanded = record.events[-1]
    print([(round(one.answered_s - commanded.ended_s, 1), one.words) for one in record.health], record.doubts)
    before, *later = read
    assert len(before) > 4
    scrubbed = [all(now[group] > stamp for group, stamp in before.items()) for now in later]
    assert scrubbed[-1] and scrubbed == sorted(scrubbed)
    healthy = [one for one in record.health if one.asked_s > commanded.ended_s and not one.words]
    assert scrubbed.count(True) == len(healthy)
    assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(results).differences == ()


RADOS = 'kind = "rados"\nplacement_groups = 8\nosd_size = "2 GiB"\nconf = { "osd_scrub_backoff_ratio" = "0" }'
OBJECTS = """
[[workload]]
kind = "rados"
size = "2 GiB"
in_flight = 1
duration = "27 s"
"""
ALL_OF_RADOS = (
    '[[event]]\nat = "2 s"\nkind = "scrub"\n'
    + EVENT.format(at="14 s", kind="kill")
    + EVENT.format(at="16 s", kind="back")
    + EVENT.format(at="17 s", kind="cut")
    + SLOWED.replace("3 s", "18 s")
    + EVENT.format(at="19 s", kind="back")
    + EVENT.format(at="22 s", kind="fail")
    + EVENT.format(at="24 s", kind="back")
    + ADDED.replace("3 s", "25 s")
)


@pytest.mark.slow
def test_rados_bench_continues_whatever_happens_to_its_store_which_is_healthy_again(tmp_path: Path) -> None:
    results, record = hit(tmp_path, RADOS, ALL_OF_RADOS, "200 s", load=OBJECTS)
    print(
        {one.words: round(one.answered_s - record.events[-1].ended_s, 1) for one in record.health},
        record.doubts,
    )
    assert record.reason == ""
    assert [one.event.kind for one in record.events] == [
        "scrub",
        "kill",
        "back",
        "cut",
        "slow",
        "back",
        "fail",
        "back",
        "add",
    ]
    missed = [
        one.words
        for one in record.health
        if record.events[1].ended_s < one.asked_s < record.events[2].began_s
    ]
    assert any(missed), missed  # Ceph notices it a moment later
    assert healthy_since(record.events, record.health) is not None, record.health
    lost_bytes, gained_bytes = record.events[6].lost_bytes, record.events[8].gained_bytes
    (cell,) = summary(results).cells
    found = {key: metric.mean for key, metric in cell.metrics.items() if key.startswith("event_")}
    print(lost_bytes, gained_bytes, found)
    assert lost_bytes and gained_bytes
    assert found["event_during_bytes_per_s"] > 0
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder))).values.tolist() == []


@pytest.mark.slow  # by day: the snapshot of CephFS, and test_event_contract.py
def test_moosefs_takes_snapshots_of_all_data_and_none_of_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[list[str]] = []

    def taken(mounted: _MooseFS, name: str) -> None:
        client = mounted.hosts.clients[0]
        root = mounted.directories[client.name]
        take(mounted, name)
        for folder, but in ((root, "perjoule-*"), (root / name, "none")):
            found = [
                "find",
                folder,
                "-mindepth",
                "1",
                "-name",
                but,
                "-prune",
                "-o",
                "-type",
                "f",
                "-printf",
                "%f %s\\n",
            ]
            sizes.append(sorted(client.run(found, timeout_s=20).stdout.splitlines()))

    take = _MooseFS.snapshot
    monkeypatch.setattr(_MooseFS, "snapshot", taken)
    two = "".join(f'[[event]]\nat = "{at}"\nkind = "snapshot"\n' for at in ("2 s", "3 s"))
    still = '[[workload]]\nkind = "idle"\ndata = "4 MiB"\nrest = "0 s"\nduration = "4 s"\n'
    results, record = hit(tmp_path, MOOSEFS, two, "20 s", load=still)
    assert record.reason == ""
    assert [one.event.text for one in record.events] == ["snapshot", "snapshot"]
    assert healthy_since(record.events, record.health) is not None, record.health
    assert sizes[0] == sizes[1] == sizes[2] == sizes[3]
    assert sum(int(line.split()[-1]) for line in sizes[0]) == 4 * 1024**2
    assert verify(results).differences == ()


@contextmanager
def over_ssh(filesystem: str, events: str, load: str = PACED) -> Generator[tuple[Results, Record]]:
    document = tomlkit.parse(
        TEXT.format(filesystem=filesystem, load=load, events=events, quiet="5 s", scale=0.5)
    )
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder, hosts_of(servers=3).hold(1) as hosts:
        place = Path(folder)
        place.chmod(0o755)
        lab = Lab(place)
        table: dict[str, Any] = {"kind": "cluster", **lab.options(lab.serve(hosts.all), 22)}
        document["testbed"] = table
        (place / "hit.toml").write_text(tomlkit.dumps(document))
        argv = [
            Path(sys.executable).with_name("perjoule"),
            "run",
            place / "hit.toml",
            "--into",
            place / "results",
        ]
        done = hosts.management.run(argv, env={"XDG_STATE_HOME": folder}, timeout_s=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        results = open_results(place / "results")
        (record,) = results.latest()
        assert (record.status, record.reason) == ("valid", "")
        print(
            "over SSH: "
            f"{', '.join(f'{one.event.text} {one.late_s * 1e3:.0f} ms late' for one in record.events)}"
        )
        yield results, record


@NEEDS_SSHD
@pytest.mark.parametrize("name", [*by_day(FILESYSTEMS, "moosefs"), BY_NIGHT])
def test_over_ssh_the_same_campaign_kills_a_server_with_all_of_its_daemons_and_starts_them_again(
    name: str,
) -> None:
    load = LOADS.get(name, PACED)
    noted = {"goodput"} if load == PUTS else {"goodput", "latency", "calls"}
    with over_ssh(FILESYSTEMS.get(name, ORANGEFS), KILLED, load) as (results, record):
        assert [one.event.text for one in record.events] == ["kill storage-2", "back storage-2"]
        assert any(one.words for one in record.health), "nobody missed the server"
        assert verify(results).differences == ()
        assert noted <= {one.channel.quantity for one in results.series(record)}


@pytest.mark.slow
@NEEDS_SSHD
def test_over_ssh_a_host_joins_as_on_virtual_hosts() -> None:
    with over_ssh(FILESYSTEMS["cephfs"], ADDED, STILL) as (results, record):
        (added,) = record.events
        assert added.event.text == "add storage-3"
        assert added.gained_bytes is not None
        assert 0 < added.gained_bytes < 2 * DATA_BYTES
        assert verify(results).differences == ()
