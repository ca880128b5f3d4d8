"""GlusterFS: bricks without separate metadata servers, and a FUSE client. https://docs.gluster.org

glusterd and its bricks must be root (they own trusted.* attributes), in a mount namespace of each host's own,
in which its compiled-in paths are ours. Clients are admitted by address (auth.allow); bricks authenticate
with the password that glusterd made for the volume. TLS is not set up. Caches:

- The client holds small files (quick-read, up to 64 KiB each and 128 MiB in all), attributes for 1 s, with
  other options also data (io-cache) and data read ahead; its kernel has a page cache. `drop_caches` remounts
  every client, which drops all of it.
- Bricks keep data only in their kernel's page cache.
"""

import uuid
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Hosts, Port, TellsHealth, Tunable, WorksInBackground
from perjoule.filesystems._daemons import Daemon, last_words
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._options import Deployed
from perjoule.filesystems._settings import Setting
from perjoule.filesystems.glusterfs import parse as words
from perjoule.filesystems.glusterfs.layout import Kind, shape
from perjoule.filesystems.glusterfs.tuning import TUNING, require_permitted
from perjoule.machine.each import each
from perjoule.machine.mounts import has_own_mounts
from perjoule.machine.ports import listens
from perjoule.model import OPTIONS, WHOLE_FILE, Json, Redundancy, passed_on
from perjoule.model.errors import CampaignError, DaemonEnded, MachineError, TransientError, WorkloadError

__all__ = ["EXAMPLE", "TUNING", "GlusterFS"]

EXAMPLE = '[[filesystem]]\nkind = "glusterfs"\nlayout = "dispersed"\nredundancy = 1\n'

VOLUME = "perjoule"
UNSYNCED = "writes that bricks had not synced when they lost power"
# more marks than this on a host are work, whichever files they are of
MARKS_COUNT = 1000
# ours, and where it is mounted
ROOMS = {"state": "/var/lib/glusterd", "run": "/run/gluster", "log": "/var/log/glusterfs"}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class GlusterFS(Deployed):
    """One GlusterFS volume with bricks on every host with disks (storage hosts first, then the metadata
    host).
    """

    runs: ClassVar = {
        "bricks": {"glusterd": "glusterfs-server", "gluster": "glusterfs-cli"},
        "client": {"glusterfs": "glusterfs-client", "getfattr": "attr"},
    }
    hides: ClassVar = (*ROOMS.values(), "gsyncd of GlusterFS")
    daemons: ClassVar = ("glusterd", "glusterfsd")
    state: ClassVar = f"{ROOMS['state']}/glusterd.info"
    unit_bytes: ClassVar[float] = WHOLE_FILE  # its name's hash says on which replicas, or bricks of a code
    heals: ClassVar[bool] = True
    unable: ClassVar[Mapping[str, str]] = {
        "scrub": "its scrubber checks only files that bitrot detection has signed, minutes after they were written",
        "snapshot": "its snapshots need bricks on thin LVM volumes",
    }
    # it does it all: codes, or sends every copy; an arbiter gets names and attributes alone
    copied_by_client: ClassVar = True
    # a brick, glusterd and a self-heal daemon of 25 MB each were measured
    host_bytes: ClassVar[int] = 128 * 1024**2
    host_tasks_count: ClassVar[int] = 96

    layout: Kind = "dispersed"
    """"dispersed" is erasure coding, "replicated" whole copies, "arbiter" two copies and a third brick that
    knows which of them is right, "distributed" one copy of each file. With more bricks than one group needs,
    files are distributed over the groups.
    """
    redundancy_count: Annotated[int, Field(ge=1)] = 1
    """Bricks of each group that a dispersed volume may lose; less than half of them."""
    disperse_count: Annotated[int, Field(ge=3)] | None = None
    """Bricks in each group of a dispersed volume; as many as hosts if omitted."""
    replicas: Annotated[int, Field(ge=2)] = 2
    """Copies in a replicated volume; the number of bricks must be a multiple."""
    hosts_count: Annotated[int, Field(ge=1)] | None = None
    """Number of hosts with bricks; all hosts with disks if omitted."""
    bricks_per_host_count: Annotated[int, Field(ge=1, le=16)] = 1
    """Bricks on each of these hosts: 2 on 5 hosts make a dispersed volume of 2 x (4 + 1)."""
    volume: Annotated[
        Mapping[str, str],
        passed_on(require_permitted),
        Tunable(("4", "16", "32"), scale=True, key="performance.io-thread-count", otherwise="16"),
        Tunable(("1", "2", "4"), scale=True, key="client.event-threads", otherwise="2"),
        Tunable(("1", "2", "4"), scale=True, key="server.event-threads", otherwise="2"),
        Tunable(("1MB", "4MB", "16MB"), key="performance.write-behind-window-size", otherwise="1MB"),
        Tunable(("off", "on"), key="performance.read-ahead", otherwise="off"),
        Tunable(("off", "on"), key="performance.io-cache", otherwise="off"),
        Tunable(
            ("on", "off"), key="cluster.ensure-durability", otherwise="on", less_durable={"off": UNSYNCED}
        ),
    ] = field(default_factory=dict[str, str])
    """Further options of the volume, as in `gluster volume set` ({"performance.io-cache" = "on"}); those that
    tune
    (`perjoule docs permitted`)."""

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """That of glusterd, which is fixed for its peers and tools, and those of bricks."""
        return {"bricks": (Port(words.PORT, "glusterd"), Port(49152, "glusterfsd", last=60999))}

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """The redundancy of one group: bricks pass a client's fsync on to their disks, and it waits for
        all bricks of a group.
        """
        return shape(self, len(hosts.bricks)).redundancy

    def require_growth(self, hosts: Hosts, joining_count: int) -> None:
        """Refuse hosts that make no whole group."""
        if left_count := joining_count % (group_count := shape(self, len(hosts.bricks)).group_count):
            problem = (
                f"its bricks are added by groups of {group_count} hosts, and the number of hosts that join "
                f"is {joining_count}"
            )
            then = f"let {group_count - left_count} more join, or choose a layout of smaller groups"
            raise CampaignError(problem, where="glusterfs", next=then)

    def deployment(self, hosts: Hosts) -> "_GlusterFS":
        """Bricks in groups over the hosts with disks."""
        return _GlusterFS(self, hosts)


class _GlusterFS(Deployment[GlusterFS], TellsHealth, WorksInBackground):
    """One volume with the daemons that serve and mount it. Healthy means that all bricks are online."""

    kind = "glusterfs"
    data_files = ("-not", "-path", "*/.glusterfs/*")

    def plan(self) -> tuple[Host, ...]:
        self._layout = shape(self.options, len(self.hosts.bricks))
        return self.hosts.bricks[: self._layout.hosts_count]

    def __init__(self, options: GlusterFS, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.data_hosts = tuple(self.bearers[n].name for n in self._layout.data_hosts)
        self._members = tuple(dict.fromkeys([*self.bearers, *hosts.users]))
        self._uuids = {str(uuid.uuid4()): host.name for host in self.bearers}
        self._bricks = [
            (self.bearers[n], self.store(self.bearers[n], k) / f"brick-{k + 1}")
            for n, k in self._layout.bricks
        ]
        self._erased: Set[str] = frozenset()  # names of hosts whose bricks are lost
        self.logs_there = [(host, self._log(host, brick)) for host, brick in self._bricks]

    def require(self) -> None:
        """Refuse hosts that share this process's mounts: this machine's own GlusterFS would be hidden."""
        for host in self._members:
            if not has_own_mounts(host):
                problem = "GlusterFS needs a mount namespace of its own, because its paths are compiled in"
                raise MachineError(problem, where=host.name, next='use [testbed] kind = "virtual"')

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (Setting("gsyncd", "none", "start"),)

    def serve(self) -> None:
        first = self.bearers[0]
        self._release = words.version(first.run(["glusterd", "--version"], timeout_s=SHORT_S).stdout)
        self._gsyncd = Path(
            first.run(["glusterd", "--print-libexecdir"], timeout_s=SHORT_S).stdout.strip(), "gsyncd"
        )
        each(self._members, self._rooms)
        self._pool(self.bearers)
        settings = [
            text for item in {"auth.allow": self._allowed(), **self.options.volume}.items() for text in item
        ]
        create = partial(
            self._gluster, "volume", "create", VOLUME, *self._layout.words, *_places(self._bricks), "force"
        )
        self.daemons.retry("the volume", create)  # both fail while a peer is not connected
        self._gluster("volume", "set", VOLUME, *settings)
        self.daemons.retry("the volume's start", partial(self._gluster, "volume", "start", VOLUME, "force"))
        self.daemons.wait("all bricks online", lambda: not self._offline())

    def join(self, host: Host) -> None:
        """Take it into the pool. Once enough have joined for a group, their bricks are added and files spread
        over all groups.

        https://docs.gluster.org/en/latest/Administrator-Guide/Managing-Volumes/#expanding-volumes
        """
        self._members += (host,)
        self._uuids[str(uuid.uuid4())] = host.name
        bricks = [
            (host, self.store(host, n) / f"brick-{n + 1}") for n in range(self._layout.bricks_per_host_count)
        ]
        self._bricks += bricks
        self.logs_there = [*self.logs_there, *((host, self._log(host, brick)) for host, brick in bricks)]
        self._rooms(host)
        self._pool([host])
        self._gluster("volume", "set", VOLUME, "auth.allow", self._allowed())
        group_count = self._layout.group_count
        if (len(self.bearers) - self._layout.hosts_count) % group_count:
            return
        if self._layout.kind == "arbiter":
            self.data_hosts = self.data_hosts[:-1]
        rows = zip(
            *([(bearer, brick) for brick in self.stores(bearer)] for bearer in self.bearers[-group_count:]),
            strict=True,
        )
        added = _places([brick for row in rows for brick in row])  # those of a group are on different hosts
        self.daemons.retry(
            "further bricks", partial(self._gluster, "volume", "add-brick", VOLUME, *added, "force")
        )
        self.daemons.retry("a rebalance", partial(self._gluster, "volume", "rebalance", VOLUME, "start"))

    def attach(self, client: Host, place: Path) -> Daemon:
        log = self.log(client, "glusterfs")
        servers = [f"--volfile-server={brick.address}" for brick in self.bearers]
        argv = [
            "glusterfs",
            "-N",
            "--process-name",
            "fuse",
            *servers,
            f"--volfile-id={VOLUME}",
            "-l",
            log,
            place,
        ]
        return self.start(client, "glusterfs", argv)

    def report(self) -> dict[str, Json]:
        info = self._gluster("volume", "info", VOLUME, "--xml")
        return {
            "version": self._release,
            "layout": self._layout.kind,
            **words.volume_shape(info),
            "bricks": [f"{host.name}:{brick.name}" for host, brick in self._bricks],
            "options": words.volume_options(info),
        }

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold a file's data, in the order of the bricks; an arbiter holds none."""
        # pathinfo would show it too, but fails with ENOMEM on dispersed volumes in 10.3
        attribute = "node-uuid" if self._layout.kind == "distributed" else "list-node-uuids"
        argv = ["getfattr", "--absolute-names", "--only-values", "-n", f"trusted.glusterfs.{attribute}", path]
        stdout = self.hosts.clients[0].run(argv, timeout_s=SHORT_S).stdout
        return words.holders(stdout, self._uuids, arbiters_count=int(self._layout.kind == "arbiter"))

    def drop_caches(self) -> None:
        """Remount all clients, which drops their caches."""
        # The mark of a write is taken off a second later, by its client; a client that goes before leaves the
        # file to be healed.
        self.daemons.wait("bricks without pending writes", self._is_settled)
        self.remount()

    def lost(self) -> str:
        """Return the bricks that clients have lost since they mounted.

        Raises TransientError if a service is dead.
        """
        for service in self._offline():
            raise self._death(service)
        clients = [daemon for daemon in self.daemons if daemon.name == "glusterfs"]
        lost = [
            f"{client.host.name}: {brick}"
            for client in clients
            if (brick := words.lost_brick(client.process.output()))
        ]
        return "; ".join(lost)

    def absent(self) -> str:
        """Return the peers and bricks that do not serve, and those to which a client has no connection."""
        if not any(daemon.name == "glusterd" for daemon in self.daemons):
            return "no glusterd runs"
        connected_count = words.connected_count(self._gluster("pool", "list", timeout_s=SHORT_S))
        if connected_count < len(self.bearers):
            return f"{connected_count} of {len(self.bearers)} peers connected"
        if offline := self._offline():
            return ", ".join(
                f"{offender.name} on {self._uuids.get(offender.uuid, 'a host')} offline"
                for offender in offline
            )
        clients = [daemon for daemon in self.daemons if daemon.name == "glusterfs"]
        without = [
            f"{offender.host.name}: {bricks}"
            for offender in clients
            if (bricks := words.absent_bricks(offender.process.output()))
        ]
        return "; ".join(without)

    def stores(self, host: Host) -> tuple[Path, ...]:
        return tuple(brick for brick_host, brick in self._bricks if brick_host is host)

    def revive(self, host: Host) -> None:
        """Start glusterd without what it noted of its processes, as after a reboot: others have their
        numbers now.
        """
        host.run(["find", ROOMS["run"], "-name", "*.pid", "-delete"], timeout_s=SHORT_S)
        super().revive(host)

    def erase(self, host: Host) -> None:
        """Remove its bricks, which no other host stands in for."""
        self._erased = {*self._erased, host.name}
        super().erase(host)

    def replace(self, host: Host) -> None:
        """Give each brick an empty folder: the volume knows it by its path, so it is reset, not replaced
        by another.
        """
        other_host = next(daemon.host for daemon in self.daemons if daemon.name == "glusterd")
        super().replace(host)
        connected = partial(self._gluster, "pool", "list", host=other_host)
        self.daemons.wait(
            "a pool of connected peers", lambda: words.connected_count(connected()) == len(self.bearers)
        )
        for brick in self.stores(host):
            place = f"{host.address}:{brick}"
            reset = partial(self._gluster, "volume", "reset-brick", VOLUME, place, host=other_host)
            self.daemons.retry("an end of the old brick", partial(reset, "start"))
            self.daemons.retry("a new brick", partial(reset, place, "commit", "force"))
        self._erased = self._erased - {host.name}

    def degraded(self) -> str:
        """Return also the bricks that were erased."""
        lost = [f"no brick on {name}" for name in sorted(self._erased)]
        return "; ".join([*lost, *filter(None, [self.busy()])])

    def busy(self) -> str:
        """Return the background work of bricks: healing, or pending marks of the last writes; or a task of
        the volume.
        """
        works = [] if self._is_settled() else ["healing files, or finishing writes"]
        return "; ".join(
            [*works, *words.tasks(self._gluster("volume", "status", VOLUME, "--xml", timeout_s=SHORT_S))]
        )

    def _rooms(self, host: Host) -> None:
        folder = self.folder(host)
        host.run(
            ["install", "-d", *(folder / room for room in ROOMS), *self.stores(host), *ROOMS.values()],
            timeout_s=SHORT_S,
        )
        for room, path in ROOMS.items():
            self.bind(host, folder / room, Path(path))
        if (
            host in self.bearers
            and host.run(["test", "-e", self._gsyncd], timeout_s=SHORT_S, check=False).returncode == 0
        ):
            host.put(words.GSYNCD, folder / "gsyncd", mode=0o755)
            self.bind(host, folder / "gsyncd", self._gsyncd)

    def _pool(self, hosts: Sequence[Host]) -> None:
        """Start glusterd on these hosts, the last of `bearers`, and make one pool of all."""
        numbers = {name: number for number, name in self._uuids.items()}
        for host in hosts:
            host.put(
                words.info_text(numbers[host.name], self._release),
                self.folder(host) / "state" / "glusterd.info",
            )
        each(hosts, self._glusterd)
        # ours: others are not probed
        self.daemons.wait("glusterds that listen", lambda: all(each(hosts, _listens)))
        # Probed, not written into peers/ beforehand: a link that is refused at the start is tried again only
        # after 3 s.
        for host in (joining for joining in hosts if joining is not self.bearers[0]):
            self.daemons.retry(
                f"{host.name} in the pool", partial(self._gluster, "peer", "probe", host.address)
            )
        self.daemons.wait("a pool of connected peers", self._is_connected)

    def _allowed(self) -> str:
        return ",".join(host.address for host in self._members)

    def _glusterd(self, host: Host) -> None:
        config, log = self.folder(host) / "glusterd.vol", self.log(host, "glusterd")
        host.put(words.GLUSTERD, config)
        # As first process of a namespace of its own: bricks and self-heal daemons detach from it, but can't
        # outlive it.
        prefix = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.start(
            host,
            "glusterd",
            [*prefix, "glusterd", "-N", "-f", config, "-p", "/run/gluster/glusterd.pid", "-l", log],
        )

    def _gluster(self, *argv: str | Path, host: Host | None = None, timeout_s: float | None = None) -> str:
        socket = "--glusterd-sock=/run/gluster/glusterd.socket"
        argv = ("gluster", "--mode=script", socket, *argv)
        up = {daemon.host.name for daemon in self.daemons if daemon.name == "glusterd"}
        first = next(
            (bearer for bearer in self.bearers if bearer.name in up), self.bearers[0]
        )  # in the order of hosts, not of starts
        return (host or first).run(argv, timeout_s=timeout_s or self.patience_s).stdout

    def _is_connected(self) -> bool:
        """Return whether every host sees all others: otherwise a refusal by one may leave the others
        locked.
        """
        pools = each(self.bearers, lambda host: self._gluster("pool", "list", host=host))
        return all(words.connected_count(pool) == len(self.bearers) for pool in pools)

    def _offline(self) -> list[words.Service]:
        """Return the services of the volume that do not run; one without a name if none are known."""
        services = words.status(self._gluster("volume", "status", VOLUME, "--xml", timeout_s=SHORT_S))
        return (
            [service for service in services if not service.online]
            if services
            else [words.Service("volume", "", False)]
        )

    def _death(self, service: words.Service) -> TransientError:
        """Return which service of the volume does not run, and its last output."""
        host = next(
            (host for host in self.bearers if host.name == self._uuids.get(service.uuid)), self.bearers[0]
        )
        output = "nothing"
        with suppress(WorkloadError):
            output = last_words(host.read(self._log(host, service.path)).decode(errors="replace"))
        return DaemonEnded(f"the {service.name} is offline; it last said: {output}", where=host.name)

    def _log(self, host: Host, brick: Path | None) -> Path:
        """Return the log of a brick, or of its host's self-heal daemon."""
        return self.folder(host) / "log" / (f"bricks/{words.brick_log(brick)}" if brick else "glustershd.log")

    def _is_settled(self) -> bool:
        """Return whether no brick has a file marked as being written to."""
        return not any(each(self.bearers, self._is_marked))

    def _is_marked(self, host: Host) -> bool:
        """Return whether a brick of this host has a mark for a file that it still has."""
        indices = ["dirty", "xattrop"]  # in them a base file and a link to it for every marked file
        names = [argument for index in indices for argument in ("!", "-name", f"{index}-*")]
        files = [
            brick / ".glusterfs" / gfid[:2] / gfid[2:4] / gfid
            for brick in self.stores(host)
            for gfid in _listed(
                host,
                [brick / ".glusterfs" / "indices" / index for index in indices],
                ["-type", "f", *names, "-printf", r"%f\n"],
            )
        ]
        # A file that is removed before its mark leaves the mark, which the self-heal daemon takes off in its
        # next round, minutes later.
        return len(files) > MARKS_COUNT or bool(files and _listed(host, files, ["-maxdepth", "0"]))


def _listed(host: Host, paths: Sequence[Path], conditions: Sequence[str]) -> list[str]:
    """Return what `find` prints of paths, some of which may not exist."""
    return host.run(["find", *paths, *conditions], timeout_s=SHORT_S, check=False).stdout.split()


def _places(bricks: Sequence[tuple[Host, Path]]) -> list[str]:
    return [f"{host.address}:{brick}" for host, brick in bricks]


def _listens(host: Host) -> bool:
    return listens(host, words.PORT)
