"""Tuning for real: MooseFS on virtual hosts, and the settings that GlusterFS and Ceph take."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from on_hosts import hosts_of, write
from perjoule import drivers, store
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import FileSystem, Hosts, Tunable
from perjoule.model import Json
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
KEYS = [
    mark for mark in fields_of("filesystem", "glusterfs")["volume"][1].metadata if isinstance(mark, Tunable)
]


def glusterfs(volume: dict[str, str]) -> FileSystem:
    made = drivers.build("filesystems", "glusterfs", {"volume": volume})
    assert isinstance(made, FileSystem)
    return made


@pytest.mark.slow  # by day: on simulated hosts: tests/pipeline/test_tuning.py
def test_a_real_file_system_is_tuned_by_real_trials(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(CAMPAIGN)
    into = tmp_path / "tuned"
    argv = [
        PERJOULE,
        "tune",
        "tiny.toml",
        "--for",
        "MiB/s",
        "--trials",
        "10",
        "--only",
        "cache",
        "--into",
        into,
        "--json",
    ]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["settings_count"] == 4
    assert not found["failed"]
    rounds = [store.open_results(path.parent) for path in into.glob("*/results.json")]
    records = [record for results in rounds for record in results.latest()]
    assert len(records) == found["trials_count"] <= 10
    assert {record.status for record in records} == {"valid"}
    assert {record.trial.filesystem.options.get("cache") for record in records} == {
        None,
        "direct",
        "never",
        "always",
    }
    assert {table(record.facts["filesystem"])["cache"] for record in records} == {
        "auto",
        "direct",
        "never",
        "always",
    }
    for results in rounds:
        subprocess.run([PERJOULE, "verify", results.folder], check=True, capture_output=True, timeout=60)


# of the values that may be tried
ENDS = [pytest.param(0, id="first", marks=pytest.mark.slow), pytest.param(-1, id="last")]


@pytest.mark.slow  # by day: Ceph's, below
@pytest.mark.parametrize("end", ENDS)
def test_glusterfs_takes_each_value_that_may_be_tried(end: int) -> None:
    wanted = {mark.key: str(mark.values[end]) for mark in KEYS}
    with hosts_of().hold(1) as hosts, glusterfs(wanted).mount(hosts) as mounted:
        options = table(mounted.facts["options"])
        assert {key: options.get(key) for key in wanted} == wanted


@pytest.mark.slow  # by day: the values that it takes, above
def test_glusterfs_has_by_itself_what_a_tuning_takes_for_its_default() -> None:
    with hosts_of().hold(1) as hosts, glusterfs({}).mount(hosts):
        socket = "--glusterd-sock=/run/gluster/glusterd.socket"
        argv = ["gluster", "--mode=script", socket, "volume", "get", "perjoule"]
        said = {mark.key: hosts.bricks[0].run([*argv, mark.key], timeout_s=30).stdout for mark in KEYS}
        defaults = {key: text.splitlines()[-1].split()[1] for key, text in said.items()}
        assert defaults == {mark.key: mark.otherwise for mark in KEYS}


CEPH = [mark for mark in fields_of("filesystem", "cephfs")["conf"][1].metadata if isinstance(mark, Tunable)]


def said_by_ceph(hosts: Hosts, keys: Iterable[str]) -> dict[str, str]:
    """The values that a client and an OSD have, as they say on their sockets."""
    found: dict[str, str] = {}
    for key in keys:
        host = hosts.clients[0] if key.startswith("client_") else hosts.by_role("storage")[0]
        folder = host.directory / "ceph" / "run"
        listed = host.run(["find", folder, "-name", "*.asok"], timeout_s=30).stdout.split()
        name = next(one for one in listed if "client.client" in one or "osd." in one)
        said = host.run(["ceph", "--admin-daemon", name, "config", "get", key], timeout_s=30).stdout
        found[key] = json.loads(said)[key]
    return found


@pytest.mark.parametrize("end", ENDS)
def test_cephs_daemons_and_clients_take_each_value_that_may_be_tried(end: int) -> None:
    wanted = {mark.key: str(mark.values[end]) for mark in CEPH}
    options: dict[str, Json] = {
        "conf": wanted,
        "object": "16 MiB",
        "stripe_unit": "1 MiB",
        "stripe_objects": 4,
    }
    made = drivers.build("filesystems", "cephfs", {**options, "placement_groups": 8})
    assert isinstance(made, FileSystem)
    with hosts_of().hold(1) as hosts, made.mount(hosts) as mounted:
        assert said_by_ceph(hosts, wanted) == wanted
        assert (
            mounted.facts["layout"]
            == "stripe_unit=1048576 stripe_count=4 object_size=16777216 pool=cephfs_data"
        )
        client = hosts.clients[0]
        path = mounted.directories[client.name] / "striped"
        write(client, path, 4)
        said = client.run(["getfattr", "--only-values", "-n", "ceph.file.layout", path], timeout_s=30).stdout
        assert said == mounted.facts["layout"]
        stat = client.run(["stat", "--format=%i", path], timeout_s=30).stdout
        named = [f"{int(stat):x}.{n:08x}" for n in range(4)]
        conf = hosts.management.directory / "ceph" / "ceph.conf"
        there = hosts.management.run(
            ["rados", "-c", conf, "-p", "cephfs_data", "ls"], timeout_s=30
        ).stdout.split()
        assert set(named) <= set(there)


@pytest.mark.slow  # by day: the values that it takes, above
def test_ceph_has_by_itself_what_a_tuning_takes_for_its_default() -> None:
    made = drivers.build("filesystems", "cephfs", {"placement_groups": 8})
    assert isinstance(made, FileSystem)
    with hosts_of().hold(1) as hosts, made.mount(hosts):
        # else it depends on the hosts
        wanted = {mark.key: mark.otherwise for mark in CEPH if mark.otherwise is not None}
        said = said_by_ceph(hosts, [*wanted, "bluestore_max_blob_size_hdd", "bluestore_max_blob_size_ssd"])
        kinds = {said.pop(f"bluestore_max_blob_size_{kind}") for kind in ("hdd", "ssd")}
        assert said.pop("bluestore_max_blob_size") == "0"  # as for the kind of disk
        assert {*kinds} == {wanted.pop("bluestore_max_blob_size")}
        assert said == wanted


@pytest.mark.slow  # by day: the values that Ceph takes, above
@pytest.mark.parametrize(("largest", "least_count", "most_count"), [("0", 0, 200), ("65536", 400, 10_000)])
def test_a_deferred_write_of_ceph_is_in_its_journal_first(
    largest: str, least_count: int, most_count: int
) -> None:
    """200 synced writes of 4 KiB with 2 copies: each OSD counts which of them, and of its own, went
    through the journal.
    """
    conf: dict[str, Json] = {"bluestore_prefer_deferred_size_hdd": largest}
    made = drivers.build("filesystems", "cephfs", {"placement_groups": 8, "copies": 2, "conf": conf})
    assert isinstance(made, FileSystem)
    with hosts_of().hold(1) as hosts, made.mount(hosts) as mounted:
        client = hosts.clients[0]
        for more in ((), ("conv=notrunc",)):
            path = mounted.directories[client.name] / "small"
            argv = ["dd", "if=/dev/zero", f"of={path}", "bs=4096", "count=100", "oflag=sync", *more]
            client.run(argv, timeout_s=60)
        deferred_count = 0
        for host in hosts.by_role("storage"):
            found = host.run(
                ["find", host.directory / "ceph" / "run", "-name", "*osd.*.asok"], timeout_s=30
            ).stdout.split()
            for name in found:
                said = host.run(["ceph", "--admin-daemon", name, "perf", "dump"], timeout_s=30).stdout
                deferred_count += json.loads(said)["bluestore"]["bluestore_write_deferred"]
    assert least_count <= deferred_count <= most_count
