"""GlusterFS: bricks without separate metadata servers, and a FUSE client. https://docs.gluster.org

glusterd and its bricks must be root (they own trusted.* attributes), in a mount namespace of each host's own, where its
compiled-in paths are ours. Clients are allowed in by address (auth.allow); bricks among themselves show the password that
glusterd made for the volume. TLS is not set up. Who caches what:

- The client holds small files (quick-read, up to 64 KiB each and 128 MiB in all), attributes for 1 s, with other options also
  data (io-cache) and data read ahead; its kernel has a page cache. `drop_caches` mounts every client anew, which forgets it all.
- Bricks keep data in their kernel's page cache alone.
"""

import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.errors import CampaignError, MachineError, TransientError, WorkloadError
from perjoule.filesystems import _gluster_words as words
from perjoule.filesystems._daemons import Daemon, Daemons, each, fuse, is_mounted, last_words, programs
from perjoule.filesystems._flows import coded, copied
from perjoule.model import OPTIONS, Amplification, Json
from perjoule.protocols import Check, FileSystem, Host, Hosts, Mounted
from perjoule.units import Seconds

EXAMPLE = '[[filesystem]]\nkind = "glusterfs"\nlayout = "dispersed"\nredundancy = 1\n'

PROGRAMS = {"glusterd": "glusterfs-server", "gluster": "glusterfs-cli", "glusterfs": "glusterfs-client", "getfattr": "attr"}
VOLUME = "perjoule"
ROOMS = {"state": "/var/lib/glusterd", "run": "/run/gluster", "log": "/var/log/glusterfs"}  # ours, and where it is mounted
SHORT_S = 20.0  # for commands that only ask


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class GlusterFS(FileSystem):
    """One GlusterFS volume with a brick on every host with disks (storage hosts first, then the metadata host)."""

    layout: Literal["dispersed", "replicated", "distributed"] = "dispersed"
    """"dispersed" is erasure coding over all bricks, "replicated" whole copies, "distributed" one copy of each file."""
    redundancy: Annotated[int, Field(ge=1)] = 1
    """Bricks that a dispersed volume may lose; less than half of them."""
    replicas: Annotated[int, Field(ge=2)] = 2
    """Copies in a replicated volume; the number of bricks must be a multiple."""
    bricks_count: Annotated[int, Field(ge=1)] | None = None
    """How many hosts carry a brick; all with disks when left out."""
    volume: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further options of the volume, as in `gluster volume set` ({"performance.io-cache" = "on"})."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take."""

    def checks(self) -> tuple[Check, ...]:
        """The daemons, the tools and FUSE."""
        return (*programs(PROGRAMS), fuse())

    def amplification(self, hosts: Hosts) -> Amplification:
        """The client does it all: it codes, or sends every copy itself."""
        if self.layout == "dispersed":
            return coded(len(hosts.bricks[: self.bricks_count]) - self.redundancy, self.redundancy, by_client=True)
        return copied(self.replicas if self.layout == "replicated" else 1, by_client=True)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up; healthy means that all bricks are online and every client has written a file."""
        bricks = hosts.bricks[: self.bricks_count]
        check_layout(self, len(bricks))
        libexec = bricks[0].run(["glusterd", "--print-libexecdir"], timeout_s=SHORT_S).stdout.strip()
        deployment = _Deployment(self, hosts, bricks, Daemons(self.patience_s), Path(libexec) / "gsyncd")
        deployment.require_own_mounts()
        try:
            yield deployment.up()
        finally:
            deployment.down()


def check_layout(options: GlusterFS, hosts_count: int) -> None:
    """Refuse what can't be laid out on so many hosts with disks. Raises CampaignError."""
    wrong, then = "", ""
    if hosts_count < (options.bricks_count or 1):
        wrong = f"{options.bricks_count or 1} bricks wanted, but {hosts_count} hosts have disks"
        then = f"set bricks to at most {hosts_count}" if hosts_count else "take a testbed with storage hosts"
    elif options.layout == "dispersed" and 2 * options.redundancy >= hosts_count:
        wrong = f"redundancy = {options.redundancy} is half or more of {hosts_count} bricks"
        most = (hosts_count - 1) // 2
        then = f"set redundancy to at most {most}" if most else "a dispersed volume needs at least 3 bricks"
    elif options.layout == "replicated" and hosts_count % options.replicas:
        wrong = f"{hosts_count} bricks can't be shared out among groups of {options.replicas} replicas"
        fitting = hosts_count - hosts_count % options.replicas
        then = f"set bricks = {fitting}" if fitting else f"set replicas to at most {hosts_count}"
    if wrong:
        raise CampaignError(wrong, where="glusterfs", next=then)


@plain_dataclass(frozen=True)
class _Deployment:
    """One GlusterFS while it is up."""

    options: GlusterFS
    hosts: Hosts
    bricks: tuple[Host, ...]
    daemons: Daemons
    gsyncd: Path

    @property
    def members(self) -> tuple[Host, ...]:
        """All hosts where something of GlusterFS runs."""
        return tuple(dict.fromkeys([*self.bricks, *self.hosts.clients]))

    def require_own_mounts(self) -> None:
        """Refuse hosts that share this process's mounts: this machine's own GlusterFS would be hidden. Raises MachineError."""
        here = str(Path("/proc/self/ns/mnt").readlink())
        for host in self.members:
            if host.run(["readlink", "/proc/self/ns/mnt"], timeout_s=SHORT_S).stdout.strip() == here:
                what = "GlusterFS needs a mount namespace of its own, because its paths are compiled in"
                raise MachineError(what, where=host.name, next='take [testbed] kind = "virtual"')

    def up(self) -> "_Mounted":
        first = self.bricks[0]
        release = words.version(first.run(["glusterd", "--version"], timeout_s=SHORT_S).stdout)
        uuids = {host.name: str(uuid.uuid4()) for host in self.bricks}
        each(self.members, self._rooms)
        for host in self.bricks:
            host.put(words.info_text(uuids[host.name], release), _folder(host) / "state" / "glusterd.info")
        daemons = each(self.bricks, self._glusterd)
        glusterd = daemons[0]
        self.daemons.wait("glusterds that listen", lambda: all(each(self.bricks, _listens)), *daemons)
        # Probed, not written into peers/ beforehand: a link that is refused at the start is tried again only after 3 s.
        for host in self.bricks[1:]:
            self.daemons.wait(f"{host.name} in the pool", partial(self._done, "peer", "probe", host.address), glusterd)
        self.daemons.wait("a pool of connected peers", self._is_connected, *daemons)
        self._make_volume(glusterd)
        self.daemons.wait("all bricks online", lambda: not self.offline(), glusterd)
        clients = each(self.hosts.clients, self._client)
        for client in clients:
            self._wait_mounted(client)
        each(clients, lambda client: self.daemons.first_write(client, _mountpoint(client.host)))
        directories = {client.name: _mountpoint(client) for client in self.hosts.clients}
        return _Mounted(directories, self._facts(release), self._logs(), self, {u: name for name, u in uuids.items()})

    def _rooms(self, host: Host) -> None:
        folder = _folder(host)
        host.run(["rm", "-rf", "--one-file-system", "--", folder], timeout_s=SHORT_S)
        rooms = [folder / room for room in (*ROOMS, "mnt", "brick")]
        host.run(["install", "-d", *rooms, *ROOMS.values()], timeout_s=SHORT_S)
        for room, path in ROOMS.items():
            host.run(["mount", "--bind", folder / room, path], timeout_s=SHORT_S)
        if host in self.bricks and host.run(["test", "-e", self.gsyncd], timeout_s=SHORT_S, check=False).returncode == 0:
            host.put(words.GSYNCD, folder / "gsyncd", mode=0o755)
            host.run(["mount", "--bind", folder / "gsyncd", self.gsyncd], timeout_s=SHORT_S)

    def _glusterd(self, host: Host) -> Daemon:
        config, log = _folder(host) / "glusterd.vol", _folder(host) / "log" / f"{host.name}-glusterd.log"
        host.put(words.GLUSTERD, config)
        # As first process of a namespace of its own: bricks and self-heal daemons detach from it, but can't outlive it.
        own = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        argv = [*own, "glusterd", "-N", "-f", config, "-p", "/run/gluster/glusterd.pid", "-l", log]
        return self.daemons.start(host, "glusterd", argv, log=log)

    def _gluster(self, *argv: str | Path, host: Host | None = None) -> str:
        socket = "--glusterd-sock=/run/gluster/glusterd.socket"
        argv = ("gluster", "--mode=script", socket, *argv)
        return (host or self.bricks[0]).run(argv, timeout_s=self.daemons.patience_s).stdout

    def _done(self, *argv: str) -> bool:
        """Have something done that fails while a peer is not connected."""
        self._gluster(*argv)
        return True

    def _is_connected(self) -> bool:
        """Whether every host sees all others: else what one of them refuses may leave the others locked."""
        pools = each(self.bricks, lambda host: self._gluster("pool", "list", host=host))
        return all(words.connected_count(pool) == len(self.bricks) for pool in pools)

    def _make_volume(self, glusterd: Daemon) -> None:
        options = self.options
        bricks = [f"{host.address}:{_brick(host)}" for host in self.bricks]
        shape = words.create_words(options.layout, redundancy=options.redundancy, replicas=options.replicas, bricks=bricks)
        allowed = ",".join(host.address for host in self.members)
        settings = [word for item in {"auth.allow": allowed, **options.volume}.items() for word in item]

        self.daemons.wait("the volume", partial(self._done, "volume", "create", VOLUME, *shape), glusterd)
        self._gluster("volume", "set", VOLUME, *settings)
        self.daemons.wait("the volume's start", partial(self._done, "volume", "start", VOLUME, "force"), glusterd)

    def offline(self) -> list[words.Service]:
        """The services of the volume that do not run; one without a name when none are known."""
        services = words.status(self._gluster("volume", "status", VOLUME, "--xml"))
        return [service for service in services if not service.online] if services else [words.Service("volume", "", False)]

    def _client(self, host: Host) -> Daemon:
        """Start a client; it mounts when it has reached the bricks."""
        log = _folder(host) / "log" / f"{host.name}-client.log"
        servers = [f"--volfile-server={brick.address}" for brick in self.bricks]
        argv = ["glusterfs", "-N", "--process-name", "fuse", *servers, f"--volfile-id={VOLUME}", "-l", log, _mountpoint(host)]
        return self.daemons.start(host, "glusterfs", argv, log=log)

    def _wait_mounted(self, client: Daemon) -> None:
        """Wait until a client's mount is there. Raises TransientError."""
        self.daemons.wait("a mount", lambda: is_mounted(client.host, _mountpoint(client.host)), client)

    def _facts(self, release: str) -> dict[str, Json]:
        info = self._gluster("volume", "info", VOLUME, "--xml")
        return {
            "version": release,
            "layout": self.options.layout,
            **words.volume_shape(info),
            "bricks": [host.name for host in self.bricks],
            "options": words.volume_options(info),
        }

    def _logs(self) -> tuple[Path, ...]:
        bricks = (_folder(host) / "log" / "bricks" / words.brick_log(_brick(host)) for host in self.bricks)
        return (*self.daemons.logs(), *bricks)

    def death(self, service: words.Service, names: Mapping[str, str]) -> TransientError:
        """Say which service of the volume does not run, and its last words."""
        host = next((host for host in self.bricks if host.name == names.get(service.uuid)), self.bricks[0])
        log = f"bricks/{words.brick_log(_brick(host))}" if service.name == "brick" else "glustershd.log"
        try:
            said = last_words(host.read(_folder(host) / "log" / log).decode(errors="replace"))
        except WorkloadError:
            said = "nothing"
        return TransientError(f"the {service.name} is offline; it last said: {said}", where=host.name)

    def _is_settled(self) -> bool:
        """Whether no brick has a file marked as being written to."""
        indices = ["dirty", "xattrop"]  # in them a base file and a link to it for every marked file

        def marked(host: Host) -> str:
            folders = [_brick(host) / ".glusterfs" / "indices" / index for index in indices]
            names = [word for index in indices for word in ("!", "-name", f"{index}-*")]
            return host.run(["find", *folders, "-type", "f", *names], timeout_s=SHORT_S, check=False).stdout.strip()

        return not any(each(self.bricks, marked))

    def work(self) -> str:
        """What bricks do of their own accord: healing, or marks of the last writes yet to be taken off; a task of the volume."""
        found = [] if self._is_settled() else ["heals files, or writes are not finished"]
        return "; ".join([*found, *words.tasks(self._gluster("volume", "status", VOLUME, "--xml"))])

    def remount(self) -> None:
        """Mount all clients anew, so that they forget everything. Raises WorkloadError when a file is still open."""
        # The mark of a write is taken off a second later, by its client; a client that goes before leaves the file to be healed.
        self.daemons.wait("bricks without pending writes", self._is_settled)

        def again(host: Host) -> Daemon:
            host.run(["umount", _mountpoint(host)], timeout_s=SHORT_S)
            self.daemons.drop(host, "glusterfs")
            return self._client(host)

        for client in each(self.hosts.clients, again):
            self._wait_mounted(client)

    def down(self) -> None:
        """End everything and leave nothing."""

        def unmount(client: Host) -> None:
            with suppress(WorkloadError):  # lazily: works with dead bricks too
                client.run(["umount", "--lazy", _mountpoint(client)], timeout_s=SHORT_S, check=False)

        each(self.hosts.clients, unmount)
        self.daemons.stop(timeout_s=0.2)
        each(self.members, self._clear)

    def _clear(self, host: Host) -> None:
        with suppress(WorkloadError):
            host.run(["umount", "--lazy", "--quiet", *ROOMS.values(), self.gsyncd], timeout_s=SHORT_S, check=False)
            host.run(["rm", "-rf", "--one-file-system", "--", _folder(host)], timeout_s=SHORT_S)


@plain_dataclass(frozen=True)
class _Mounted(Mounted):
    directories: Mapping[str, Path]
    facts: Mapping[str, Json]
    logs: tuple[Path, ...]
    deployment: _Deployment
    names: Mapping[str, str]  # of hosts by UUID

    def locate(self, path: Path) -> tuple[str, ...]:
        # pathinfo would tell it too, but fails with ENOMEM on dispersed volumes in 10.3
        attribute = "node-uuid" if self.deployment.options.layout == "distributed" else "list-node-uuids"
        argv = ["getfattr", "--absolute-names", "--only-values", "-n", f"trusted.glusterfs.{attribute}", path]
        return words.holders(self.deployment.hosts.clients[0].run(argv, timeout_s=SHORT_S).stdout, self.names)

    def drop_caches(self) -> None:
        self.deployment.remount()

    def alive(self) -> None:
        self.deployment.daemons.alive()
        for service in self.deployment.offline():
            raise self.deployment.death(service, self.names)

    def busy(self) -> str:
        return self.deployment.work()


def _folder(host: Host) -> Path:
    return host.directory / "glusterfs"


def _brick(host: Host) -> Path:
    return _folder(host) / "brick"


def _mountpoint(client: Host) -> Path:
    return _folder(client) / "mnt"


def _listens(host: Host) -> bool:
    return bool(host.run(["ss", "-Hltn", "sport = :24007"], timeout_s=SHORT_S).stdout.strip())
