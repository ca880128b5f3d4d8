"""A cluster that perjoule did not bring up for the campaign, measured by a user without root: here it stands
on virtual hosts, and the campaign knows only a mounted path and a key that may read.
"""

import json
import random
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from on_hosts import NOBODY, hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import (
    Completed,
    FileSystem,
    Host,
    Hosts,
    Killable,
    Mounted,
    Process,
    able,
)
from perjoule.model import Json
from perjoule.model.doubts import SHARED

pytestmark = pytest.mark.live
PERJOULE = Path(sys.executable).with_name("perjoule")
WHOLE_S = 15.0  # of a campaign with a load of seconds, most of it Ceph's counts of bytes, which come late
CAMPAIGN = """
name = "production"
repetitions = 1
settle = "200 ms"
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "{path}"
{kind} = {table}
[[workload]]
kind = "fio"
operation = "write"
size = "{size}"
transfer = "1 MiB"
duration = "{duration}"
"""


@dataclass
class Production:
    """A cluster, the host from which it is measured, and what its administrator gave to the user there."""

    hosts: Hosts
    mounted: Mounted
    home: Path  # of the user, on the client
    path: Path  # theirs in the file system
    kind: str
    table: str

    @property
    def client(self) -> Host:
        return self.hosts.clients[0]

    def listed(self, *words: str) -> list[str]:
        """What is in their folder, which only the client sees, as `find` chooses it."""
        find = ["find", self.path, "-ignore_readdir_race", "-mindepth", "1", *words]
        return self.client.run(find, timeout_s=20).stdout.splitlines()

    def command(self, *words: object) -> list[str | Path]:
        # of the group that may pass the folder above the mount
        group = self.mounted.directories[self.client.name].parent.stat().st_gid
        environment = (f"TMPDIR={self.home}", f"XDG_STATE_HOME={self.home}", f"HOME={self.home}")
        return [*NOBODY, f"--groups={group}", "env", *environment, PERJOULE, *map(str, words)]

    def campaign(self, name: str, *, size: str = "8 MiB", duration: str = "20 s", table: str = "") -> Path:
        file = self.home / f"{name}.toml"
        content = CAMPAIGN.format(
            path=self.path, kind=self.kind, table=table or self.table, size=size, duration=duration
        )
        self.client.put(content, file, owner="nobody")
        return file

    def measured(self, name: str, code: int = 0, **changed: str) -> tuple[dict[str, Any], Completed]:
        """Run a campaign and return its one record."""
        results = self.home / name
        command = self.command("run", self.campaign(name, **changed), "--into", results)
        done = self.client.run(command, timeout_s=120, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        (record,) = results.rglob("record.json")
        return json.loads(record.read_text()), done

    def started(self, name: str, **changed: str) -> Process:
        """Start a campaign."""
        command = self.command("run", self.campaign(name, **changed), "--into", self.home / name)
        return self.client.spawn(command, log=self.home / f"{name}.log")

    def kill(self, name: str, process: Process) -> None:
        """Kill a campaign's perjoule, if it still runs, and not its load; the host sees no other host's
        processes.
        """
        command = f"kill -9 $(pgrep -f 'run .*/{name}[.]toml')"
        until_s = time.monotonic() + 60
        while process.returncode is None:  # it may not have entered the host yet
            assert time.monotonic() < until_s, process.output()
            self.client.run(["sh", "-c", command], timeout_s=20, check=False)
            time.sleep(0.02)

    def behind(self) -> list[str]:
        """What is left of their runs on the client: programs, folders of runs, and what they filled."""
        ps = self.client.run(["ps", "-o", "stat=,args=", "-u", "65534"], timeout_s=20, check=False)
        programs = [line for line in ps.stdout.splitlines() if not line.startswith("Z")]
        find = ["find", self.home, "-maxdepth", "1", "-name", "perjoule-*", "-o", "-name", "pj*"]
        return [*self.listed(), *self.client.run(find, timeout_s=20).stdout.splitlines(), *programs]

    def begun(self, name: str, **changed: str) -> Process:
        """Start a campaign, and wait until its load writes."""
        process = self.started(name, **changed)
        until_s = time.monotonic() + 60
        while not self.listed("-type", "f", "-size", "+0"):
            assert process.returncode is None, process.output()
            assert time.monotonic() < until_s, process.output()
            time.sleep(0.05)
        return process


@contextmanager
def production(
    kind: str, options: dict[str, Json], **testbed: Json
) -> Generator[tuple[Hosts, Mounted, Path]]:
    """Bring a cluster up, with a folder in it and one on the client that belong to a user without rights."""
    driver = drivers.build("filesystems", kind, options)
    assert isinstance(driver, FileSystem)
    with hosts_of(**testbed).hold(1) as hosts, driver.mount(hosts) as mounted:
        client = hosts.clients[0]
        home = client.directory / "home"
        for folder in (home, mounted.directories[client.name] / "theirs"):
            client.run(["install", "-d", "-o", "65534", "-g", "65534", folder], timeout_s=20)
        yield hosts, mounted, home


def doubted(record: dict[str, Any]) -> dict[str, str]:
    """The doubts about the cluster, by id."""
    return {
        doubt["id"]: doubt["text"]
        for doubt in record["doubts"]
        if doubt["id"].startswith(SHARED.prefix + ".")
    }


@pytest.fixture(scope="module")
def ceph() -> Iterator[Production]:
    with production("cephfs", {"placement_groups": 8, "copies": 2}, servers=3) as (hosts, mounted, home):
        keyring = home / "keyring"
        (made,) = asked(hosts, "auth get-or-create client.watch mon 'allow r'")
        key = json.loads(made)[0]["key"]
        hosts.clients[0].put(f"[client.watch]\n\tkey = {key}\n", keyring, mode=0o600, owner="nobody")
        conf = hosts.clients[0].directory / "ceph" / "ceph.conf"
        table = f'{{conf = "{conf}", keyring = "{keyring}", user = "client.watch"}}'
        path = mounted.directories[hosts.clients[0].name] / "theirs"
        yield Production(hosts, mounted, home, path, "ceph", table)


def asked(hosts: Hosts, *questions: str) -> list[str]:
    """Ask the cluster as its administrator."""
    conf = hosts.management.directory / "ceph" / "ceph.conf"
    argv = ["ceph", "--conf", conf, "--format", "json"]
    printed = hosts.management.run(argv, text="\n".join((*questions, "")), timeout_s=60).stdout
    return [line for line in printed.splitlines() if line]


def administered(hosts: Hosts) -> dict[str, Any]:
    """What an administrator would miss: users and their rights, pools, maps, settings, objects."""
    *kept, df = asked(hosts, "auth ls", "osd dump", "config dump", "df")
    pools = {pool["name"]: pool["stats"]["objects"] for pool in json.loads(df)["pools"]}
    return {"kept": kept, "pools": sorted(pools), "data": pools["cephfs_data"]}


def quiet(hosts: Hosts) -> dict[str, Any]:
    """The same once no removed file is left, which takes Ceph a while."""
    until_s = time.monotonic() + 60
    while (found := administered(hosts))["data"]:
        assert time.monotonic() < until_s
        time.sleep(0.5)
    return found


def test_a_cluster_is_measured_with_its_state_by_a_user_without_root_and_left_as_it_was(
    ceph: Production,
) -> None:
    before = quiet(ceph.hosts)
    record, _ = ceph.measured("whole")
    assert doubted(record) == {}
    began, ended = record["states"]
    for state in (began, ended):
        assert (state["health"], state["lacks"]) == ("HEALTH_OK", "")
        assert state["version"].startswith("ceph version 1")
        assert state["parts"]["osd.0"].startswith("storage-1, up since map ")
        assert state["facts"]["pool"]["name"] == "cephfs_data"
    assert record["redundancy"]["copies_count"] == 2
    assert ended["written_bytes"] - began["written_bytes"] == pytest.approx(8 * 1024**2, rel=0.01)
    assert ceph.listed() == []
    assert quiet(ceph.hosts) == before


@pytest.mark.slow  # by day: tests/unit/execution/test_attached.py
def test_what_others_write_beside_a_load_is_doubted_with_its_share(ceph: Production) -> None:
    process = ceph.begun("beside", size="512 MiB", duration="3 s")
    others = ceph.mounted.directories[ceph.client.name] / "others"
    ceph.client.run(["dd", "if=/dev/zero", f"of={others}", "bs=1M", "count=64", "conv=fsync"], timeout_s=60)
    assert process.wait(timeout_s=60) == 0, process.output()
    ceph.client.run(["rm", others], timeout_s=20)
    (path,) = (ceph.home / "beside").rglob("record.json")
    record = json.loads(path.read_text())
    ours_bytes = sum(result["moved_bytes"] for result in record["outcome"]["results"])
    (doubt,) = (doubt for doubt in record["doubts"] if doubt["id"] == SHARED.others.id)
    assert doubt["values"]["others_bytes"] == pytest.approx(64 * 1024**2, rel=0.05)
    share_ratio = 64 * 1024**2 / (64 * 1024**2 + ours_bytes)
    assert doubt["values"]["share_ratio"] == pytest.approx(share_ratio, rel=0.1)


@pytest.mark.parametrize("kills_count", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_after_sigkill_at_any_moment_the_next_command_leaves_the_cluster_as_it_was(
    kills_count: int, ceph: Production
) -> None:
    """The first kill is in the midst of a load, the others at any moment between start and report."""
    before, chance, caught_count = quiet(ceph.hosts), random.Random(kills_count - 1), 0
    for kill in range(kills_count):
        name, delay_s = f"killed-{kills_count}-{kill}", 0.0
        if kill:
            delay_s, process = chance.uniform(0, WHOLE_S), ceph.started(name, duration="2 s")
            time.sleep(delay_s)
        else:
            process = ceph.begun(name, size="64 MiB", duration="60 s")
        assert process.returncode in (None, 0), process.output()
        caught_count += process.returncode is None
        ceph.kill(name, process)
        assert kill or ceph.listed(), "a kill in the midst of a load leaves its data until the next command"
        ceph.client.run(ceph.command("down"), timeout_s=60)
        assert ceph.behind() == [], f"{name}, killed after {delay_s:.3f} s"
        assert quiet(ceph.hosts) == before, f"{name}, killed after {delay_s:.3f} s"
    assert caught_count >= kills_count // 2, "most runs had ended before they were killed: make WHOLE_S less"


@pytest.mark.slow  # by day: a lost server of MooseFS, below
def test_an_osd_that_is_down_refuses_or_is_doubted_by_name(ceph: Production) -> None:
    victim = ceph.hosts.by_role("storage")[0]
    able(ceph.mounted, Killable).kill(victim)
    until_s = time.monotonic() + 60
    while "OSD_DOWN" not in asked(ceph.hosts, "health")[0]:
        assert time.monotonic() < until_s
        time.sleep(0.5)
    record, _ = ceph.measured("refused", code=4)
    assert record["status"] == "failed"
    assert "the cluster is degraded: osd.0 of " in record["reason"]
    assert "while_degraded = true" in record["reason"]
    assert ceph.listed() == []
    record, _ = ceph.measured("allowed", table=f"{ceph.table[:-1]}, while_degraded = true}}")
    assert doubted(record)[SHARED.degraded.id].startswith(
        "the cluster was degraded when the trial began: osd.0 of "
    )
    assert record["states"][0]["parts"]["osd.0"] == "storage-1, down, in"


@pytest.mark.parametrize(
    ("kind", "options", "table", "copies"),
    [
        pytest.param(
            "glusterfs",
            {},
            {"volume": "perjoule", "heal_unknown": True},
            {"data_count": 4, "parity_count": 1},
            marks=pytest.mark.slow,
        ),
        ("moosefs", {"goal": 2}, {}, {"copies_count": 2}),
    ],
    ids=["glusterfs", "moosefs"],
)
def test_gluster_and_moosefs_tell_their_state_and_a_lost_server_refuses(
    kind: str, options: dict[str, Json], table: dict[str, Json], copies: dict[str, int]
) -> None:
    with production(kind, options) as (hosts, mounted, home):
        asked_at, victim = hosts.by_role("storage")[:2]
        address = {"glusterfs": ("server", asked_at.address), "moosefs": ("master", hosts.metadata.address)}
        named = {**table, address[kind][0]: address[kind][1]}
        inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in named.items())
        path = mounted.directories[hosts.clients[0].name] / "theirs"
        there = Production(hosts, mounted, home, path, kind, f"{{{inline}}}")
        record, _ = there.measured("whole")
        assert doubted(record).keys() <= {SHARED.working.id}  # heals or removals
        began, ended = record["states"]
        assert (began["lacks"], ended["lacks"], began["parts"]) == ("", "", ended["parts"])
        assert record["redundancy"].items() >= copies.items()
        assert there.listed() == []
        able(mounted, Killable).kill(victim)
        attached = drivers.build("filesystems", "directory", {"path": str(path), kind: {**named}})
        assert isinstance(attached, FileSystem)
        cluster = getattr(attached, kind)
        until_s = time.monotonic() + 30
        while victim.address not in (lacks := cluster.state(hosts.clients[0], path, ()).lacks):
            assert time.monotonic() < until_s, lacks
            time.sleep(0.5)
        record, _ = there.measured("refused", code=4)
        assert "the cluster is degraded: " in record["reason"]
        assert victim.address in record["reason"]
