"""A Ceph cluster on its hosts, from bring-up to tear-down: all of RADOS, and the metadata server if
requested.
"""

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from perjoule.drivers.protocols import (
    Host,
    Hosts,
    MakesPools,
    Pool,
    Scrubs,
    TellsHealth,
    WorksInBackground,
)
from perjoule.drivers.protocols.networks import cluster_address
from perjoule.filesystems._ceph import commands
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.conf import configuration, settings
from perjoule.filesystems._ceph.control import absent, degraded
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._settings import Setting
from perjoule.machine.each import each
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import Json
from perjoule.model.errors import MachineError, NoAnswer, NotReady
from perjoule.model.units import MIB, bytes_text

# A new store needs no check, and each time BlueStore closes its device it waits for a poll to end: 250 ms
# unless told otherwise.
QUICK_MKFS = ("--bluestore_fsck_on_mkfs=false", "--bdev_aio_poll_ms=5")
SLICE_S = 2.0  # between two looks at whether all daemons live, at scale 1
HEALTH_S = 10.0  # for a word on the health of a cluster that was healthy, at scale 1
USED_RATIO = 0.9  # of what is free on a host's disk, for sparse files: an OSD that finds its disk full dies
OBJECTS_AT_ONCE = 256
PG_LIST: commands.Command = {"prefix": "pg dump", "dumpcontents": ["pgs"], "target": "mgr"}


class CephCluster(Deployment[ceph.Ceph], MakesPools, Scrubs, TellsHealth, WorksInBackground):
    """One Ceph cluster; its clients use its pools."""

    kind = "ceph"
    user = group = "ceph"
    space_late_s = 12.0  # managers report every 5 s, and monitors then

    def plan(self) -> tuple[Host, ...]:
        self.layout = self.options.layout(self.hosts)
        return tuple(map(self.host, self.layout.hosts()))

    def __init__(self, options: ceph.Ceph, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.data_hosts = self.layout.hosts(self.layout.pools[0].device_class)  # the first pool is of data
        users = {
            client.name: (f"client.{client.name}", self.folder(client) / "ceph.conf")
            for client in hosts.clients
        }
        self.pools = {
            pool.client: Pool(pool.name, *users[pool.client]) for pool in self.layout.pools if pool.client
        }
        self.directories = {} if self.pools else self.directories
        self._deleted: set[str] = set()  # clients whose pools are
        self._scrubbed_before: Mapping[str, str] = {}  # of each placement group
        self._slice_s = SLICE_S / hosts.scale
        self._keys: Mapping[str, str] = {}  # of each daemon and client

    def serve(self) -> None:
        """Bring it up until it is healthy; each step waits only for what it needs."""
        layout = self.layout
        self._new_keys()
        each(self._using(), self._furnish)
        each(
            [self._start_monitors, *(partial(self._make_store, osd) for osd in layout.osds)],
            lambda work: work(),
        )
        if layout.mds:
            self._serve(self.host(layout.mds), "mds.a", "ceph-mds")
        each(layout.osds, lambda osd: self._serve(self.host(osd.host), osd.name, "ceph-osd"))
        self.ask([], self._ready([]), "OSDs that are up")
        self.ask(commands.creation(layout))
        self.ask([], self._ready(layout.pools), "a healthy cluster")
        if layout.standby:  # only now, or it might become the active one
            self._serve(self.host(layout.standby), "mds.b", "ceph-mds")
            self.daemons.wait("a metadata server that stands by", self._standing_by)

    def _using(self) -> tuple[Host, ...]:
        """Return the hosts that need ceph.conf: clients of gateways don't."""
        hosts = self.hosts
        names = {client.name for client in hosts.users if self.layout.gateways}
        return tuple(host for host in hosts.all if host.name not in names)

    def _standing_by(self) -> bool:
        status = self.ask([[{"prefix": "status"}]])[0][0]
        return int(status["fsmap"]["up:standby"]) > 0

    def _ready(self, pools: Sequence[ceph.CephPool]) -> Mapping[str, int]:
        """Return the state to wait for: all daemons, and every placement group of these pools."""
        return {
            "osds_count": len(self.layout.osds),
            "placement_groups_count": sum(map(self.layout.groups_count, pools)),
            "mds_count": int(bool(self.layout.mds)),
        }

    def make_pool(self, client: str) -> None:
        """Make a client's pool, unless it exists, and wait until it is healthy."""
        if client in self._deleted:
            self.ask(commands.pools(self.layout, [self._pool_of(client)]))
            self._deleted.discard(client)
            pools = [pool for pool in self.layout.pools if pool.client not in self._deleted]
            self.ask([], self._ready(pools), f"a healthy pool of {client}")

    def delete_pool(self, client: str) -> None:
        """Delete a client's pool with all its objects, if it exists; OSDs remove them afterwards."""
        if client not in self._deleted:
            self.ask(commands.removal(self._pool_of(client)))
            self._deleted.add(client)

    def _pool_of(self, client: str) -> ceph.CephPool:
        return next(pool for pool in self.layout.pools if pool.client == client)

    @property
    def settings(self) -> tuple[Setting, ...]:
        return settings(self.layout)

    def report(self) -> dict[str, Json]:
        stage = [{"prefix": prefix} for prefix in answers.FACTS]
        *replies, settings = self.ask(
            [[*stage, {"prefix": "config diff", "target": self.layout.osds[0].name}]]
        )[0]
        facts = answers.facts(dict(zip(answers.FACTS, replies, strict=True)), settings)
        if len(self.layout.monitors) == 1:
            return facts
        agreed = self.ask([[{"prefix": "status"}]])[0][0]["quorum_names"]
        return facts | {"monitors": {m.name: m.host for m in self.layout.monitors if m.id in agreed}}

    def lost(self) -> str:
        """Return what the monitor reports as missing."""
        status = self.ask([[{"prefix": "status"}]], patience_s=HEALTH_S / self.hosts.scale)[0][0]
        return degraded(status, len(self.layout.osds))

    def absent(self) -> str:
        status = self.ask([[{"prefix": "status"}]], patience_s=HEALTH_S / self.hosts.scale)[0][0]
        return absent(status, len(self.layout.osds), int(bool(self.layout.mds)))

    def stores(self, host: Host) -> tuple[Path, ...]:
        return tuple(self.store(host, n) / osd.name for n, osd in enumerate(self._osds(host)))

    def held_bytes(self, host: Host) -> int:
        """Add up the objects, or their parts, of the placement groups on its OSDs, as the OSDs last
        reported them.
        """
        stage = [{"prefix": "pg ls-by-osd", "osd": osd.id, "target": "mgr"} for osd in self._osds(host)]
        parts = {pool.name: pool.redundancy.data_count or 1 for pool in self.layout.pools}
        pools, *listings = self.ask([[{"prefix": "osd lspools"}, *stage]])[0]
        return answers.held_bytes(listings, {pool["poolnum"]: parts[pool["poolname"]] for pool in pools})

    def replace(self, host: Host) -> None:
        """Make new OSDs under the numbers and keys of the old ones, so that no other data move.

        https://docs.ceph.com/en/pacific/rados/operations/add-or-rm-osds/#replacing-an-osd
        """
        old = self._osds(host)
        new = {osd.id: ceph.Osd(osd.id, osd.host, osd.device_class) for osd in old}
        self.layout = dataclasses.replace(
            self.layout, osds=tuple(new.get(osd.id, osd) for osd in self.layout.osds)
        )
        self.ask(commands.replacement(tuple(new.values()), self._secrets(old)))
        self.make_theirs(host, *self.stores(host))
        each(new.values(), self._make_store)
        self.revive(host)

    def join(self, host: Host) -> None:
        """Make its OSDs, which take their share of placement groups once they are up.

        https://docs.ceph.com/en/pacific/rados/operations/add-or-rm-osds/#adding-osds
        """
        first_id = 1 + max(osd.id for osd in self.layout.osds)
        new = tuple(ceph.Osd(first_id + n, host.name, "hdd") for n in range(self.options.osds_per_host_count))
        self.layout = dataclasses.replace(self.layout, osds=(*self.layout.osds, *new))
        self._new_keys()
        self._furnish(host)
        each(new, self._make_store)
        self.ask(commands.addition(new, self._secrets(new)))
        each(new, lambda osd: self._serve(host, osd.name, "ceph-osd"))

    def _new_keys(self) -> None:
        """Make a key for each daemon and client that has none."""
        self._caps = commands.capabilities(self.layout, tuple(client.name for client in self.hosts.users))
        new = {
            entity: commands.new_key(int(time.time())) for entity in self._caps if entity not in self._keys
        }
        self._keys = {**self._keys, **new}

    def _secrets(self, osds: Sequence[ceph.Osd]) -> Mapping[int, str]:
        return {osd.id: json.dumps({"cephx_secret": self._keys[osd.name]}) for osd in osds}

    def scrub(self) -> None:
        """Have each OSD scrub its placement groups deeply: metadata and data, of all copies or parts.

        https://docs.ceph.com/en/pacific/rados/operations/health-checks/#pg-not-deep-scrubbed
        """
        listed, _ = self.ask([[PG_LIST], [{"prefix": "osd deep-scrub", "who": "all"}]])
        self._scrubbed_before = answers.deep_scrubs(listed[0])

    def unscrubbed(self) -> str:
        """Return how many placement groups still have the time of an earlier deep scrub."""
        if not self._scrubbed_before:
            return ""
        scrubs = answers.deep_scrubs(self.ask([[PG_LIST]])[0][0])
        due_count = sum(scrubs.get(group) == before for group, before in self._scrubbed_before.items())
        return f"{due_count} of {len(scrubs)} PGs to scrub" if due_count else ""

    def _osds(self, host: Host) -> tuple[ceph.Osd, ...]:
        return tuple(osd for osd in self.layout.osds if osd.host == host.name)

    def degraded(self) -> str:
        """All that is missing is work in the background."""
        return self.busy()

    def busy(self) -> str:
        """Return the background work of placement groups: scrub, recovery, backfill, snapshot trimming."""
        return answers.background(self.ask([[{"prefix": "status"}]])[0][0])

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold an object, given as POOL/OBJECT: of its copies or parts, in order."""
        return self.holders(str(path.parent), [path.name])

    def holders(self, pool: str, objects: Sequence[str]) -> tuple[str, ...]:
        """Return the hosts that hold any of these objects."""
        names = {osd.id: osd.host for osd in self.layout.osds}
        holding: dict[str, None] = {}
        for n in range(0, len(objects), OBJECTS_AT_ONCE):
            stage = [
                {"prefix": "osd map", "pool": pool, "object": o} for o in objects[n : n + OBJECTS_AT_ONCE]
            ]
            # a part that is on no OSD has a number that none has
            holding |= {
                names[osd]: None for place in self.ask([stage])[0] for osd in place["acting"] if osd in names
            }
            if len(holding) == len(self.layout.hosts()):
                break
        return tuple(holding)

    def drop_caches(self) -> None:
        """Empty the OSDs' data caches."""
        self.ask([[{"prefix": "cache drop", "target": osd.name} for osd in self.layout.osds]])

    def _furnish(self, host: Host) -> None:
        """Make folders, ceph.conf and keys for one host's own daemons."""
        management = host is self.hosts.management
        osds = [osd.name for osd in self._osds(host)]
        rooms = ["run", "crash"]
        monitors = host.name in {monitor.host for monitor in self.layout.monitors}
        rooms += ["mon"] if monitors else []
        rooms += ["mgr", "modules"] if management else []
        servers = {self.layout.mds: "mds.a", self.layout.standby: "mds.b"}
        rooms += ["mds"] if host.name in servers else []
        rooms += ["rgw"] if host.name in self.layout.gateways else []
        home, stores = self.folder(host), self.store(host)
        self.furnish(host, *(home / room for room in rooms), *self.stores(host))
        most_count = -(-len(osds) // self.disks_count(host))  # on one disk
        size_bytes = _osd_bytes(host, stores, self.options, most_count) if osds else 0
        text = configuration(
            self.layout,
            home,
            host.address,
            cluster_address=cluster_address(host),
            changed=self.changed,
            osd_bytes=size_bytes,
            stores=stores,
        )
        further = zip(osds, self.stores(host), strict=True) if self.disks_count(host) > 1 else ()
        text += "".join(f"[{osd}]\nosd_data = {store}\n" for osd, store in further)
        host.put(text, home / "ceph.conf")
        entities = [*osds, *([servers[host.name]] if "mds" in rooms else []), f"client.{host.name}"]
        entities += [commands.gateway_name(host.name)]
        keys = self._keys if monitors else {e: self._keys[e] for e in entities if e in self._keys}
        host.put(commands.keyring(keys, self._caps), home / "keyring", mode=0o600, owner="ceph")
        if management:
            host.put(Path(__file__).with_name("control.py").read_text(), home / "control.py")

    def _start_monitors(self) -> None:
        """Start all monitors with all keys; then, through them, register the OSDs and their places."""
        each(self.layout.monitors, self._start_monitor)
        self._serve(self.hosts.management, "mgr.a", "ceph-mgr")
        for monitor in self.layout.monitors:
            self.wait_listening(self.host(monitor.host), ceph.MONITOR_PORT)
        self.ask(commands.placement(self.layout))

    def _start_monitor(self, monitor: ceph.Monitor) -> None:
        """Start a monitor: once most of them speak to each other, the first one's keys are those of all.

        https://docs.ceph.com/en/pacific/dev/mon-bootstrap/
        """
        host = self.host(monitor.host)
        home = self.folder(host)
        argv: list[str | Path] = ["monmaptool", "--create", "--fsid", self.layout.fsid]
        for member in self.layout.monitors:
            argv += ["--addv", member.id, f"[v2:{member.address}:{ceph.MONITOR_PORT}/0]"]
        host.run([*argv, home / "monmap"], timeout_s=self.patience_s)
        mkfs = ["--mkfs", "--monmap", home / "monmap", "--keyring", home / "keyring"]
        host.run([*self._daemon(host, monitor.name, "ceph-mon"), *mkfs], timeout_s=self.patience_s)
        self._serve(host, monitor.name, "ceph-mon")

    def _make_store(self, osd: ceph.Osd) -> None:
        """Make an OSD's empty store; needs no monitor yet."""
        host = self.host(osd.host)
        mkfs = ["--mkfs", "--no-mon-config", "--osd-uuid", osd.uuid, *QUICK_MKFS]
        host.run([*self._daemon(host, osd.name, "ceph-osd"), *mkfs], timeout_s=self.patience_s)

    def _serve(self, host: Host, name: str, program: str) -> None:
        self.start(host, name, [*self._daemon(host, name, program), "-f"])

    def _daemon(self, host: Host, name: str, program: str) -> list[str | Path]:
        """Return a daemon's command, as user `ceph`.

        Each may be process 1 of its host, so pids can't distinguish two of them.
        """
        arguments = [
            "-c",
            self.folder(host) / "ceph.conf",
            "-n",
            name,
            "--setuser",
            "ceph",
            "--setgroup",
            "ceph",
        ]
        return ["env", "CEPH_USE_RANDOM_NONCE=1", program, *arguments]

    def ask(
        self,
        stages: Sequence[Sequence[commands.Command]],
        ready: Mapping[str, int] | None = None,
        name: str = "the cluster",
        *,
        patience_s: float | None = None,
    ) -> list[list[Any]]:
        """Send commands, those of a stage together, or wait until ready, while all daemons live.

        Raises:
            TransientError: a daemon died, refused, did not answer or was not ready in time, with its message.
        """
        host, patience_s = self.hosts.management, patience_s or self.patience_s
        conf, until_s = self.folder(host) / "ceph.conf", time.monotonic() + patience_s
        request = {
            "conf": str(conf),
            "patience_s": patience_s,
            "slice_s": self._slice_s,
            "stages": stages,
            "ready": ready,
        }
        text, place = json.dumps(request), f"ceph on {host.name}"
        while True:
            completed = host.run(
                [ceph.PYTHON, self.folder(host) / "control.py"], timeout_s=2 * patience_s, text=text
            )
            with understood(place):
                reply = json_from(completed.stdout)
                missing, fault, answers = reply["missing"], reply["error"], reply["answers"]
            if not missing and not fault:
                return answers
            self.daemons.alive()
            if fault:
                raise NoAnswer(str(fault), where=place)
            if time.monotonic() > until_s:
                raise NotReady(f"{name} not reached within {patience_s:g} s; missing: {missing}", where=place)


def _osd_bytes(host: Host, stores: Path, options: ceph.Ceph, osds_count: int) -> int:
    """Return the size of each of a host's OSDs.

    Raises MachineError if the host's disk is too small for them.
    """
    if options.store == "memstore":
        return options.osd_size_bytes
    stdout = host.run(["df", "--output=avail", "-B1", stores], timeout_s=30).stdout
    with understood(f"df on {host.name}"):
        free_bytes = int(USED_RATIO * int(stdout.split()[-1]) / osds_count) // MIB * MIB
    if free_bytes < ceph.SMALLEST_OSD_BYTES:
        raise MachineError(
            f"only {bytes_text(free_bytes)} are free for each OSD below {stores}",
            where=host.name,
            next=(
                f"free space or give the testbed larger disks, {bytes_text(ceph.SMALLEST_OSD_BYTES)} for "
                "each OSD at least"
            ),
        )
    return min(free_bytes, options.osd_size_bytes)
