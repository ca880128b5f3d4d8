"""Clusters that perjoule did not bring up for a campaign, measured by a user without root: here they stand on
virtual hosts, and the campaign knows only a mounted path or a store, and keys of few rights.
"""

import json
import sys
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from on_hosts import NOBODY, hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import (
    Completed,
    FileSystem,
    Host,
    Hosts,
    Mounted,
    NamesCluster,
    OffersBuckets,
    Process,
    TellsState,
    able,
)
from perjoule.machine import buckets
from perjoule.model import Json

PERJOULE = Path(sys.executable).with_name("perjoule")
CAMPAIGN = """
name = "production"
repetitions = 1
settle = "200 ms"
[testbed]
kind = "local"
[[filesystem]]
{filesystem}
[[workload]]
{workload}
"""
# of what a user measures on a store that stands: the kind of file system that perjoule brings up for it
STORES = {"pool": "rados", "bucket": "rgw", "image": "rados"}
ENDED_S = 60.0  # by when a killed program has been seen to end, and Ceph to have removed what it was told to
QUESTIONS = ("auth ls", "osd dump", "config dump")
# whether a pool can hold images, for which Ceph makes a snapshot, and removes it seconds later
UNCHECKED = "--rbd_validate_pool=false"


@dataclass
class Production(ABC):
    """A cluster, the host from which it is measured, and what its administrator gave to the user there."""

    hosts: Hosts
    mounted: Mounted
    home: Path  # of the user, on the client
    groups: str  # of the user, as `setpriv` is told
    filesystem: str  # the lines of the campaign's table

    @property
    def client(self) -> Host:
        """The host from which it is measured."""
        return self.hosts.clients[0]

    def command(self, *words: object) -> list[str | Path]:
        """The user's command."""
        environment = (f"TMPDIR={self.home}", f"XDG_STATE_HOME={self.home}", f"HOME={self.home}")
        environment += (f"PERJOULE_PROGRAMS={self.home}",)  # whose ceph.conf is the user's own
        return [*NOBODY, self.groups, "env", *environment, PERJOULE, *map(str, words)]

    def campaign(self, name: str, workload: str, filesystem: str = "") -> Path:
        """Write a campaign of a name."""
        file = self.home / f"{name}.toml"
        content = CAMPAIGN.format(filesystem=filesystem or self.filesystem, workload=workload)
        self.client.put(content, file, owner="nobody")
        return file

    def ran(self, name: str, campaign: Path, code: int = 0) -> tuple[list[dict[str, Any]], Completed]:
        """Run a campaign to its end, and return its records."""
        results = self.home / name
        done = self.client.run(self.command("run", campaign, "--into", results), timeout_s=300, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return self.records(name), done

    def records(self, name: str) -> list[dict[str, Any]]:
        """What a campaign has measured."""
        return [json.loads(path.read_text()) for path in (self.home / name).rglob("record.json")]

    def started(self, name: str, campaign: Path) -> Process:
        """Start a campaign."""
        command = self.command("run", campaign, "--into", self.home / name)
        return self.client.spawn(command, log=self.home / f"{name}.log")

    def kill(self, name: str, process: Process) -> None:
        """Kill a campaign's perjoule, if it still runs, and not its load; the host sees no other host's
        processes.
        """
        command = f"kill -9 $(pgrep -f 'run .*/{name}[.]toml')"
        until_s = time.monotonic() + ENDED_S
        while process.returncode is None:  # it may not have entered the host yet
            assert time.monotonic() < until_s, process.output()
            self.client.run(["sh", "-c", command], timeout_s=20, check=False)
            time.sleep(0.02)

    @abstractmethod
    def administered(self) -> dict[str, Any]:
        """What an administrator would miss, by name."""

    def behind(self) -> list[str]:
        """What is left of their runs on the client: programs, and folders of runs."""
        ps = self.client.run(["ps", "-o", "stat=,args=", "-u", "65534"], timeout_s=20, check=False)
        programs = [line for line in ps.stdout.splitlines() if not line.startswith("Z")]
        find = ["find", self.home, "-maxdepth", "1", "-name", "perjoule-*", "-o", "-name", "pj*"]
        return [*self.client.run(find, timeout_s=20).stdout.splitlines(), *programs]


@dataclass
class Folder(Production):
    """A folder of the user's in a file system."""

    path: Path
    kind: str  # the cluster's

    def listed(self, *words: str) -> list[str]:
        """What is in their folder, which only the client sees, as `find` chooses it."""
        find = ["find", self.path, "-ignore_readdir_race", "-mindepth", "1", *words]
        return self.client.run(find, timeout_s=20).stdout.splitlines()

    def administered(self) -> dict[str, Any]:
        """Of a Ceph once no removed file is left, which takes it a while; of others what they say of their parts."""
        if self.kind == "ceph":
            until_s = time.monotonic() + ENDED_S
            while (count := objects_count(self.hosts, "cephfs_data")) and time.monotonic() < until_s:
                time.sleep(0.5)
            return {**administered(self.hosts), "objects in cephfs_data": count}
        return dict(self.cluster().state().parts)

    def cluster(self) -> TellsState:
        """The cluster, as the campaign names it."""
        options = tomllib.loads(self.filesystem)
        driver = drivers.build("filesystems", options.pop("kind"), options)
        cluster = able(driver, NamesCluster).cluster(self.client)
        assert cluster is not None
        return cluster

    def behind(self) -> list[str]:
        """Also what they filled."""
        return [*self.listed(), *super().behind()]


@dataclass
class Store(Production):
    """A pool of a Ceph, and what the user may do there."""

    pool: str

    def listed(self) -> list[str]:
        """All objects of the pool, with their namespaces."""
        argv = ["rados", "--conf", conf_of(self.hosts), "--pool", self.pool, "ls", "--all"]
        return sorted(self.hosts.management.run(argv, timeout_s=60).stdout.splitlines())

    def administered(self) -> dict[str, Any]:
        return {**administered(self.hosts), "data": self.listed()}


def conf_of(hosts: Hosts) -> Path:
    """The administrator's ceph.conf."""
    return hosts.management.directory / "ceph" / "ceph.conf"


def asked(hosts: Hosts, *questions: str) -> list[str]:
    """Ask a Ceph as its administrator."""
    argv = ["ceph", "--conf", conf_of(hosts), "--format", "json"]
    printed = hosts.management.run(argv, text="\n".join((*questions, "")), timeout_s=60).stdout
    return [line for line in printed.splitlines() if line]


def administered(hosts: Hosts) -> dict[str, Any]:
    """What the administrator of a Ceph would miss, by question: users and their rights, pools, maps, settings."""
    return dict(zip(QUESTIONS, asked(hosts, *QUESTIONS), strict=True))


def objects_count(hosts: Hosts, pool: str) -> int:
    """How many objects Ceph counts in a pool, some seconds late."""
    (df,) = asked(hosts, "df")
    return next(row["stats"]["objects"] for row in json.loads(df)["pools"] if row["name"] == pool)


@contextmanager
def production(
    kind: str, options: dict[str, Json], **testbed: Json
) -> Generator[tuple[Hosts, Mounted, Path]]:
    """Bring a cluster up, with a folder on the client that belongs to a user without rights."""
    driver = drivers.build("filesystems", kind, options)
    assert isinstance(driver, FileSystem)
    with hosts_of(**testbed).hold(1) as hosts, driver.mount(hosts) as mounted:
        client = hosts.clients[0]
        home = client.directory / "home"
        client.directory.chmod(0o755)
        client.run(["install", "-d", "-o", "65534", "-g", "65534", home], timeout_s=20)
        yield hosts, mounted, home


def watching(hosts: Hosts, home: Path, rights: str = "") -> str:
    """Give the user a key that may read, and these rights, and return the options that name it."""
    client = hosts.clients[0]
    (made,) = asked(hosts, f"auth get-or-create client.watch mon 'allow r' {rights}")
    key = json.loads(made)[0]["key"]
    client.put(f"[client.watch]\n\tkey = {key}\n", home / "keyring", mode=0o600, owner="nobody")
    lines = conf_of(hosts).read_text().splitlines()
    kept = [line for line in lines if line.startswith(("[global]", "fsid", "mon_host"))]
    client.put("\n".join((*kept, "")), home / "ceph.conf", owner="nobody")
    return f'conf = "{home}/ceph.conf", keyring = "{home}/keyring", user = "client.watch"'


def folder(hosts: Hosts, mounted: Mounted, home: Path, kind: str, table: str) -> Folder:
    """Make a folder of the user's in a file system that is mounted."""
    client = hosts.clients[0]
    root = mounted.directories[client.name]
    path = root / "theirs"
    client.run(["install", "-d", "-o", "65534", "-g", "65534", path], timeout_s=20)
    lines = f'kind = "directory"\npath = "{path}"\n{kind} = {table}'
    root.parent.chmod(0o711)  # of our mount, for this user, too
    # of the group that may pass the folder above that
    return Folder(hosts, mounted, home, f"--groups={root.parent.parent.stat().st_gid}", lines, path, kind)


@contextmanager
def ceph_folder() -> Generator[Folder]:
    """A folder in a CephFS, with two copies on three hosts."""
    with production("cephfs", {"placement_groups": 8, "copies": 2}, servers=3) as (hosts, mounted, home):
        yield folder(hosts, mounted, home, "ceph", f"{{{watching(hosts, home)}}}")


@contextmanager
def other_folder(kind: str, options: dict[str, Json], table: dict[str, Json]) -> Generator[Folder]:
    """A folder in a GlusterFS or MooseFS, which are asked at their first server or their master."""
    with production(kind, options) as (hosts, mounted, home):
        first = hosts.by_role("storage")[0]
        address = {"glusterfs": ("server", first.address), "moosefs": ("master", hosts.metadata.address)}
        named = {**table, address[kind][0]: address[kind][1]}
        inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in named.items())
        yield folder(hosts, mounted, home, kind, f"{{{inline}}}")


@contextmanager
def store(kind: str) -> Generator[Store]:
    """A pool with data of others in it, for namespaces or images of the user's, or behind a bucket."""
    with production(STORES[kind], {"placement_groups": 8, "copies": 2}, servers=2) as (hosts, mounted, home):
        client = hosts.clients[0]
        buckets_pool = "default.rgw.buckets.data"
        pool = buckets_pool if kind == "bucket" else mounted.pools[client.name].name
        rights = {
            "pool": f"osd 'allow rwx pool={pool} namespace=perjoule*'",
            "image": f"osd 'profile rbd pool={pool}'",
        }
        named = watching(hosts, home, rights.get(kind, ""))
        table = f'kind = "{kind}"\nceph = {{pool = "{pool}", {named}}}'
        there = Store(hosts, mounted, home, "--clear-groups", table, pool)
        if kind == "bucket":
            bucket = able(mounted, OffersBuckets).bucket(client.name)
            buckets.ask(client, bucket, "write", "theirs", timeout_s=60, text="x")
            client.put(client.read(bucket.credentials), home / "keys", mode=0o600, owner="nobody")
            there.filesystem += f'\nendpoint = "{bucket.endpoint}"\nbucket = "{bucket.name}"'
            there.filesystem += f'\ncredentials = "{home}/keys"'
        elif kind == "image":
            there.filesystem += '\nsize = "64 MiB"'
            _fill(
                hosts,
                pool,
                "rbd",
                *([UNCHECKED, "create", "--size", "8", name] for name in ("theirs", "gone")),
            )
            _fill(hosts, pool, "rbd", ["rm", "--no-progress", "gone"])  # Ceph has the tables of a pool in use
        else:
            names = ("theirs", "benchmark_data_theirs_1_object0", "perjoule-theirs")
            _fill(hosts, pool, "rados", *(["put", name, "/etc/hostname"] for name in names))
        yield there


def _fill(hosts: Hosts, pool: str, tool: str, *commands: Sequence[str]) -> None:
    for words in commands:
        argv = [tool, "--conf", conf_of(hosts), "--pool", pool, *words]
        hosts.management.run(argv, timeout_s=60)
