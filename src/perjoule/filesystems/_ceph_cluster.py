"""A Ceph cluster on its hosts, from nothing to mounted and back."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from perjoule.errors import MachineError, TransientError, WorkloadError
from perjoule.filesystems import _ceph_answers as answers
from perjoule.filesystems import _ceph_layout as ceph
from perjoule.filesystems._ceph_conf import configuration
from perjoule.filesystems._daemons import Daemon, Daemons, each, is_mounted
from perjoule.protocols import Host, Hosts, Mounted, wait_error
from perjoule.units import MIB, bytes_text

PYTHON = "/usr/bin/python3"  # the system's, which has librados
LAYOUT_OF = (
    "import os, sys; s = os.stat(sys.argv[1]); print(s.st_ino, s.st_size, os.getxattr(sys.argv[1], 'ceph.file.layout').decode())"
)
STOP_S = 0.1  # for a daemon to end by itself; its data is forgotten anyway
SLICE_S = 2.0  # between two looks at whether all daemons live, at scale 1
USED_RATIO = 0.9  # of what is free on a host's disk, for sparse files: an OSD that finds its disk full dies
OBJECTS_AT_ONCE = 256


class Cluster(Mounted):
    """One Ceph cluster, from nothing to mounted and back."""

    def __init__(self, hosts: Hosts, layout: ceph.Layout, *, patience_s: float) -> None:
        self._hosts, self._layout = hosts, layout
        self._by_name = {host.name: host for host in hosts.all}
        self._patience_s, self._slice_s = patience_s / hosts.scale, SLICE_S / hosts.scale
        self._servers, self._clients = Daemons(self._patience_s), Daemons(self._patience_s)
        self._fuses: dict[str, Daemon] = {}  # of each client, the running one

    def up(self) -> None:
        """From nothing to mounted on every client; each step waits for what it needs and no longer."""
        clients = tuple(client.name for client in self._hosts.clients)
        self._caps = ceph.capabilities(self._layout, clients)
        self._keys = {entity: ceph.new_key(int(time.time())) for entity in self._caps}
        each(self._hosts.all, self._furnish)
        each([self._start_monitor, *(partial(self._make_store, osd) for osd in self._layout.osds)], lambda work: work())
        self._serve(self._hosts.metadata, "mds.a", "ceph-mds")
        each(self._layout.osds, lambda osd: self._serve(self._by_name[osd.host], osd.name, "ceph-osd"))
        ready = {"osds_count": len(self._layout.osds), "placement_groups_count": 0}
        self._ask([], ready, "OSDs that are up")
        self._ask(ceph.creation(self._layout))
        self._ask([], ready | {"placement_groups_count": 2 * self._layout.placement_groups_count}, "a healthy CephFS")
        each(self._hosts.clients, self._mount)
        self.directories = {client.name: _folder(client) / "mount" for client in self._hosts.clients}
        self.logs = self._servers.logs() + self._clients.logs()
        stage = [{"prefix": prefix} for prefix in answers.FACTS]
        *said, settings = self._ask([[*stage, {"prefix": "config diff", "target": self._layout.osds[0].name}]])[0]
        self.facts = answers.facts(dict(zip(answers.FACTS, said, strict=True)), settings)

    def down(self) -> None:
        """End everything and forget its data; never fails over what is already broken."""
        with suppress(WorkloadError):
            each(self._hosts.clients, lambda host: host.run(["umount", "-l", _folder(host) / "mount"], timeout_s=30, check=False))
        self._clients.stop(timeout_s=STOP_S)
        self._servers.stop(timeout_s=STOP_S)
        with suppress(WorkloadError):
            each(self._hosts.all, lambda host: host.run(["rm", "-rf", "--one-file-system", _folder(host)], timeout_s=30))

    def alive(self) -> None:
        """Check that every daemon still runs. Raises TransientError with the last words of one that died."""
        self._servers.alive()
        self._clients.alive()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Names of the hosts that hold a file's data: of its objects' copies, first copies first."""
        said = self._hosts.clients[0].run([PYTHON, "-c", LAYOUT_OF, path], timeout_s=self._patience_s).stdout
        file = answers.file(said)
        objects = file.objects()
        names = {osd.id: osd.host for osd in self._layout.osds}
        found: dict[str, None] = {}
        for n in range(0, len(objects), OBJECTS_AT_ONCE):
            stage = [{"prefix": "osd map", "pool": file.pool, "object": o} for o in objects[n : n + OBJECTS_AT_ONCE]]
            found |= {names[osd]: None for place in self._ask([stage])[0] for osd in place["acting"]}
            if len(found) == len(self._layout.hosts("hdd")):
                break
        return tuple(found)

    def drop_caches(self) -> None:
        """Mount anew on every client, which ends its cache with its process, and empty the OSDs' caches of data.

        The MDS keeps the metadata of files in memory, as it does while it serves.
        """
        each(self._hosts.clients, self._unmount)
        self._ask([[{"prefix": "cache drop", "target": osd.name} for osd in self._layout.osds]])
        each(self._hosts.clients, self._mount)

    def _furnish(self, host: Host) -> None:
        """Folders, ceph.conf and the keys of one host's own daemons."""
        folder, management = _folder(host), host is self._hosts.management
        osds = [osd.name for osd in self._layout.osds if osd.host == host.name]
        rooms = ["run", "log", "crash", *osds]
        rooms += ["mon", "mgr", "modules"] if management else []
        rooms += ["mds"] if host is self._hosts.metadata else []
        host.run(["install", "-d", "-o", "ceph", "-g", "ceph", folder, *(folder / room for room in rooms)], timeout_s=30)
        size_bytes = _osd_bytes(host, self._layout, len(osds)) if osds else 0
        text = configuration(self._layout, folder, host.address, osd_bytes=size_bytes)
        host.put(text, folder / "ceph.conf")
        entities = [*osds, *(["mds.a"] if "mds" in rooms else []), f"client.{host.name}"]
        keys = self._keys if management else {e: self._keys[e] for e in entities if e in self._keys}
        host.put(ceph.keyring(keys, self._caps), folder / "keyring", mode=0o600, owner="ceph")
        if management:
            host.put(Path(__file__).with_name("_ceph_control.py").read_text(), folder / "control.py")

    def _start_monitor(self) -> None:
        """The monitor, with all keys; then, over it, the OSDs and their places."""
        host, layout = self._hosts.management, self._layout
        folder = _folder(host)
        monitor = ["--fsid", layout.fsid, "--addv", "a", f"[v2:{layout.monitor}:3300/0]"]
        host.run(["monmaptool", "--create", *monitor, folder / "monmap"], timeout_s=self._patience_s)
        mkfs = ["--mkfs", "--monmap", folder / "monmap", "--keyring", folder / "keyring"]
        host.run([*_daemon(host, "mon.a", "ceph-mon"), *mkfs], timeout_s=self._patience_s)
        self._serve(host, "mon.a", "ceph-mon")
        self._serve(host, "mgr.a", "ceph-mgr")
        self._ask(ceph.placement(layout))

    def _make_store(self, osd: ceph.Osd) -> None:
        """An OSD's empty store; needs no monitor yet."""
        host = self._by_name[osd.host]
        mkfs = ["--mkfs", "--no-mon-config", "--osd-uuid", osd.uuid, *ceph.QUICK_MKFS]
        host.run([*_daemon(host, osd.name, "ceph-osd"), *mkfs], timeout_s=self._patience_s)

    def _serve(self, host: Host, name: str, program: str) -> None:
        self._servers.start(host, name, [*_daemon(host, name, program), "-f"], log=_folder(host) / "log" / f"{name}.log")

    def _mount(self, client: Host) -> None:
        folder = _folder(client)
        mount = folder / "mount"
        client.run(["mkdir", "-p", mount], timeout_s=30)
        argv = ["ceph-fuse", "-f", "-c", folder / "ceph.conf", "-n", f"client.{client.name}", "--client_mountpoint=/", mount]
        self._fuses[client.name] = daemon = self._clients.start(client, "ceph-fuse", argv, log=folder / "log" / "ceph-fuse.log")
        self._clients.wait(f"the mount on {client.name}", lambda: is_mounted(client, mount), daemon)
        self._clients.first_write(daemon, mount)

    def _unmount(self, client: Host) -> None:
        """Unmount and let ceph-fuse end by itself: it writes back what is dirty after the kernel has let go."""
        client.run(["umount", _folder(client) / "mount"], timeout_s=self._patience_s)
        daemon = self._fuses[client.name]
        try:
            daemon.process.wait(timeout_s=self._patience_s)
        except TimeoutError:
            raise wait_error(f"the end of ceph-fuse on {client.name}", self._patience_s, daemon.said()) from None
        self._clients.drop(client, daemon.name)

    def _ask(
        self,
        stages: Sequence[Sequence[ceph.Command]],
        ready: Mapping[str, int] | None = None,
        what: str = "a monitor that answers",
    ) -> list[list[Any]]:
        """Send commands, those of a stage together, or wait until ready, while all daemons live.

        Raises:
            TransientError: a daemon died, refused or was not ready in time, in its own words.
        """
        host = self._hosts.management
        conf, until_s = _folder(host) / "ceph.conf", time.monotonic() + self._patience_s
        request = {"conf": str(conf), "patience_s": self._patience_s, "slice_s": self._slice_s, "stages": stages, "ready": ready}
        text = json.dumps(request)
        while True:
            said = host.run([PYTHON, _folder(host) / "control.py"], timeout_s=2 * self._patience_s, text=text)
            reply = json.loads(said.stdout)
            if not reply["missing"] and not reply["error"]:
                return reply["answers"]
            self._servers.alive()
            if reply["error"]:
                raise TransientError(reply["error"], where=f"ceph on {host.name}")
            if time.monotonic() > until_s:
                raise wait_error(what, self._patience_s, reply["missing"])


def _folder(host: Host) -> Path:
    return host.directory / "ceph"


def _daemon(host: Host, name: str, program: str) -> list[str | Path]:
    """A daemon's command, as user `ceph`. Every one may be process 1 of its host, so its number can't tell two of them apart."""
    own = ["-c", _folder(host) / "ceph.conf", "-n", name, "--setuser", "ceph", "--setgroup", "ceph"]
    return ["env", "CEPH_USE_RANDOM_NONCE=1", program, *own]


def _osd_bytes(host: Host, layout: ceph.Layout, osds_count: int) -> int:
    """How large each of a host's OSDs may be. Raises MachineError when the host's disk is too small for them."""
    if layout.store == "memstore":
        return layout.osd_size_bytes
    said = host.run(["df", "--output=avail", "-B1", host.directory], timeout_s=30).stdout
    free_bytes = int(USED_RATIO * int(said.split()[-1]) / osds_count) // MIB * MIB
    if free_bytes < ceph.SMALLEST_OSD_BYTES:
        raise MachineError(
            f"there are only {bytes_text(free_bytes)} for each OSD below {host.directory}",
            where=host.name,
            next=f"free space or give the testbed larger disks, {bytes_text(ceph.SMALLEST_OSD_BYTES)} for each OSD at least",
        )
    return min(free_bytes, layout.osd_size_bytes)
