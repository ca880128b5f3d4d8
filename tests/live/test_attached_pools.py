"""Pools and buckets of a Ceph that others run: measured by a user without root, and left as they were."""

import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from day import by_day
from lacking import lacking
from on_hosts import NOBODY, hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import Completed, FileSystem, Hosts, Killable, Mounted, OffersBuckets, able
from perjoule.machine import buckets
from perjoule.model.doubts import SHARED
from perjoule.model.units import MIB

pytestmark = pytest.mark.live
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
size = "8 MiB"
object = "1 MiB"
"""
LOADS = {
    "pool": 'kind = "rados"\noperation = "write"\nduration = "20 s"',
    "bucket": 'kind = "s3"\noperation = "put"',
}
STORES = {"pool": "rados", "bucket": "rgw"}


@dataclass
class Production:
    """A cluster that stands, and what its administrator gave to the user on the client."""

    hosts: Hosts
    mounted: Mounted
    kind: str
    home: Path
    pool: str
    filesystem: str

    def asked(self, *questions: str) -> list[str]:
        """Ask the cluster as its administrator."""
        argv = ["ceph", "--conf", self.hosts.management.directory / "ceph" / "ceph.conf", "--format", "json"]
        done = self.hosts.management.run(argv, text="\n".join((*questions, "")), timeout_s=60)
        return [line for line in done.stdout.splitlines() if line]

    def administered(self) -> dict[str, Any]:
        """What an administrator would miss: users and their rights, pools, maps, settings, objects."""
        *kept, df = self.asked("auth ls", "osd dump", "config dump", "df")
        pools = {pool["name"]: pool["stats"]["objects"] for pool in json.loads(df)["pools"]}
        return {"kept": kept, "pools": sorted(pools), "data": self.listed()}

    def listed(self) -> list[str]:
        """All objects of the pool, with their namespaces."""
        conf = self.hosts.management.directory / "ceph" / "ceph.conf"
        argv = ["rados", "--conf", conf, "--pool", self.pool, "ls", "--all"]
        return sorted(self.hosts.management.run(argv, timeout_s=60).stdout.splitlines())

    def run(self, name: str, code: int = 0, more: str = "") -> tuple[list[dict[str, Any]], Completed]:
        """Run a campaign as the user, and return its records."""
        client, file = self.hosts.clients[0], self.home / f"{name}.toml"
        table = self.filesystem.replace("}", f"{more}}}")
        client.put(CAMPAIGN.format(filesystem=table, workload=LOADS[self.kind]), file, owner="nobody")
        environment = (f"TMPDIR={self.home}", f"XDG_STATE_HOME={self.home}", f"HOME={self.home}")
        command = [*NOBODY, "--clear-groups", "env", *environment, PERJOULE, "run", file]
        done = client.run([*command, "--into", self.home / name], timeout_s=200, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        paths = (self.home / name).rglob("record.json")
        return [json.loads(path.read_text()) for path in paths], done


@contextmanager
def production(kind: str) -> Generator[Production]:
    """Bring a store up, with data of others in its pool, and give a user keys."""
    store = drivers.build("filesystems", STORES[kind], {"placement_groups": 8, "copies": 2})
    assert isinstance(store, FileSystem)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    with hosts_of(servers=2).hold(1) as hosts, store.mount(hosts) as mounted:
        client, home = hosts.clients[0], hosts.clients[0].directory / "home"
        client.directory.chmod(0o755)
        client.run(["install", "-d", "-o", "65534", "-g", "65534", home], timeout_s=20)
        pool = mounted.pools[client.name].name if kind == "pool" else "default.rgw.buckets.data"
        there = Production(hosts, mounted, kind, home, pool, "")
        rights = f"osd 'allow rwx pool={pool} namespace=perjoule*'" if kind == "pool" else ""
        (made,) = there.asked(f"auth get-or-create client.watch mon 'allow r' {rights}")
        key = json.loads(made)[0]["key"]
        client.put(f"[client.watch]\n\tkey = {key}\n", home / "keyring", mode=0o600, owner="nobody")
        conf = (hosts.management.directory / "ceph" / "ceph.conf").read_text()
        lines = [line for line in conf.splitlines() if line.startswith(("[global]", "fsid", "mon_host"))]
        client.put("\n".join((*lines, "")), home / "ceph.conf", owner="nobody")
        table = f'ceph = {{pool = "{pool}", conf = "{home}/ceph.conf", keyring = "{home}/keyring"'
        table += ', user = "client.watch"}'
        there.filesystem = f'kind = "{kind}"\n{table}'
        if kind == "pool":
            argv = ["rados", "--conf", client.directory / "ceph" / "ceph.conf", "--pool", pool]
            argv += ["--name", f"client.{client.name}"]
            for name in ("theirs", "benchmark_data_theirs_1_object0", "perjoule-theirs"):
                client.run([*argv, "put", name, "/etc/hostname"], timeout_s=60)
        else:
            bucket = able(mounted, OffersBuckets).bucket(client.name)
            buckets.ask(client, bucket, "write", "theirs", timeout_s=60, text="x")
            client.put(client.read(bucket.credentials), home / "keys", mode=0o600, owner="nobody")
            there.filesystem += f'\nendpoint = "{bucket.endpoint}"\nbucket = "{bucket.name}"'
            there.filesystem += f'\ncredentials = "{home}/keys"'
        yield there


@pytest.mark.parametrize("kind", by_day(STORES, "pool"))
def test_a_store_is_measured_with_its_state_and_left_as_it_was(kind: str) -> None:
    with production(kind) as there:
        before = there.administered()
        records, _ = there.run("whole")
        (record,) = records
        assert (record["status"], record["reason"]) == ("valid", "")
        assert not [one for one in record["doubts"] if one["id"].startswith(f"{SHARED.prefix}.")]
        began, ended = record["states"]
        for state in (began, ended):
            assert (state["health"], state["lacks"]) == ("HEALTH_OK", "")
            assert state["facts"]["pool"]["name"] == there.pool
        (result,) = record["outcome"]["results"]
        assert result["moved_bytes"] >= 8 * MIB
        written_bytes = ended["written_bytes"] - began["written_bytes"]
        assert written_bytes == pytest.approx(result["moved_bytes"], rel=0.02)
        assert record["redundancy"]["copies_count"] == 2
        assert there.administered() == before


@pytest.mark.slow  # by day: a lost server of MooseFS, test_attached.py
@pytest.mark.parametrize("kind", STORES)
def test_a_store_without_an_osd_is_refused_and_left_as_it_was(kind: str) -> None:
    with production(kind) as there:
        before = there.listed()
        able(there.mounted, Killable).kill(there.hosts.by_role("storage")[0])
        until_s = time.monotonic() + 60
        while "OSD_DOWN" not in there.asked("health")[0]:
            assert time.monotonic() < until_s
            time.sleep(0.5)
        (record,), _ = there.run("refused", code=4)
        assert "the cluster is degraded: osd.0 of " in record["reason"]
        assert there.listed() == before
        (record,), _ = there.run("allowed", more=", while_degraded = true")
        assert record["states"][0]["lacks"].startswith("osd.0 of ")
        assert there.listed() == before
