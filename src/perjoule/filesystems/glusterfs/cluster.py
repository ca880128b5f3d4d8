"""A GlusterFS volume on its hosts, from nothing to mounted and back."""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts, Mounted
from perjoule.filesystems._beneath import beneath_facts, data_folder, lay
from perjoule.filesystems._daemons import Daemon, Daemons, each, is_mounted, last_words
from perjoule.filesystems.glusterfs import parse as words
from perjoule.filesystems.glusterfs.layout import Layout
from perjoule.model import Disk
from perjoule.model.errors import MachineError, TransientError, WorkloadError

VOLUME = "perjoule"
CLIENT = "glusterfs"
ROOMS = {"state": "/var/lib/glusterd", "run": "/run/gluster", "log": "/var/log/glusterfs"}  # ours, and where it is mounted
SHORT_S = 20.0  # for commands that only ask


class Cluster(Mounted):
    """One GlusterFS volume with the daemons that serve and mount it."""

    def __init__(
        self, hosts: Hosts, layout: Layout, volume: Mapping[str, str], *, beneath: Disk | None, patience_s: float
    ) -> None:
        self._hosts, self._layout, self._volume, self._beneath = hosts, layout, volume, beneath
        self._bearers = hosts.bricks[: layout.hosts_count]  # the hosts that carry bricks
        self.data_hosts = tuple(self._bearers[n].name for n in layout.data_hosts)
        self._members = tuple(dict.fromkeys([*self._bearers, *hosts.users]))
        self._daemons = Daemons(patience_s)

    def _bricks(self, host: Host) -> list[Path]:
        return [self._brick(host, number) for n, number in self._layout.bricks if self._bearers[n] is host]

    def _brick(self, host: Host, number: int) -> Path:
        return data_folder(host, "glusterfs", self._beneath) / f"brick-{number + 1}"

    def require_own_mounts(self) -> None:
        """Refuse hosts that share this process's mounts: this machine's own GlusterFS would be hidden. Raises MachineError."""
        here = str(Path("/proc/self/ns/mnt").readlink())
        for host in self._members:
            if host.run(["readlink", "/proc/self/ns/mnt"], timeout_s=SHORT_S).stdout.strip() == here:
                what = "GlusterFS needs a mount namespace of its own, because its paths are compiled in"
                raise MachineError(what, where=host.name, next='use [testbed] kind = "virtual"')

    def up(self) -> None:
        """From nothing to mounted on every client."""
        said = self._bearers[0].run(["glusterd", "--version"], timeout_s=SHORT_S).stdout
        release, names = words.version(said), [host.name for host in self._bearers]
        libexec = self._bearers[0].run(["glusterd", "--print-libexecdir"], timeout_s=SHORT_S).stdout.strip()
        self._gsyncd = Path(libexec) / "gsyncd"
        self._names = {str(uuid.uuid4()): name for name in names}
        lay(self._bearers, self._beneath)
        each(self._members, self._rooms)
        for host, number in zip(self._bearers, self._names, strict=True):
            host.put(words.info_text(number, release), _folder(host) / "state" / "glusterd.info")
        daemons = each(self._bearers, self._glusterd)
        self._daemons.wait("glusterds that listen", lambda: all(each(self._bearers, _listens)), *daemons)
        # Probed, not written into peers/ beforehand: a link that is refused at the start is tried again only after 3 s.
        for host in self._bearers[1:]:
            self._daemons.wait(f"{host.name} in the pool", partial(self._done, "peer", "probe", host.address), daemons[0])
        self._daemons.wait("a pool of connected peers", self._is_connected, *daemons)
        self._make_volume(daemons[0])
        self._daemons.wait("all bricks online", lambda: not self._offline(), daemons[0])
        clients = each(self._hosts.users, self._client)
        for client in clients:
            self._wait_mounted(client)
        each(clients, lambda client: self._daemons.first_write(client, _mountpoint(client.host)))
        self.directories = {client.name: _mountpoint(client) for client in self._hosts.users}
        brick_logs = (_log(host, brick) for host in self._bearers for brick in self._bricks(host))
        self.logs = (*self._daemons.logs(), *brick_logs)
        info = self._gluster("volume", "info", VOLUME, "--xml")
        self.facts = {
            "version": release,
            "layout": self._layout.kind,
            **words.volume_shape(info),
            "bricks": [f"{names[n]}:{self._brick(self._bearers[n], number).name}" for n, number in self._layout.bricks],
            "options": words.volume_options(info),
            **beneath_facts(self._bearers[0], self._beneath),
        }

    def down(self) -> None:
        """End everything and leave nothing."""

        def unmount(client: Host) -> None:
            with suppress(WorkloadError):  # lazily: works with dead bricks too
                client.run(["umount", "--lazy", _mountpoint(client)], timeout_s=SHORT_S, check=False)

        each(self._hosts.users, unmount)
        self._daemons.stop(timeout_s=0.2)
        each(self._members, self._clear)

    def locate(self, path: Path) -> tuple[str, ...]:
        """Names of the hosts that hold a file's data, in the order of the bricks; an arbiter holds none."""
        # pathinfo would show it too, but fails with ENOMEM on dispersed volumes in 10.3
        attribute = "node-uuid" if self._layout.kind == "distributed" else "list-node-uuids"
        argv = ["getfattr", "--absolute-names", "--only-values", "-n", f"trusted.glusterfs.{attribute}", path]
        said = self._hosts.clients[0].run(argv, timeout_s=SHORT_S).stdout
        return words.holders(said, self._names, arbiters_count=int(self._layout.kind == "arbiter"))

    def drop_caches(self) -> None:
        """Remount all clients, so that they forget everything. Raises WorkloadError when a file is still open."""
        # The mark of a write is taken off a second later, by its client; a client that goes before leaves the file to be healed.
        self._daemons.wait("bricks without pending writes", self._is_settled)

        def again(host: Host) -> Daemon:
            host.run(["umount", _mountpoint(host)], timeout_s=SHORT_S)
            self._daemons.drop(host, CLIENT)
            return self._client(host)

        for client in each(self._hosts.users, again):
            self._wait_mounted(client)

    def alive(self) -> None:
        """Check that every daemon runs and that no client has lost a brick since it mounted.

        Raises:
            TransientError: with the last words of what died, or which brick a client lost.
        """
        self._daemons.alive()
        for service in self._offline():
            raise self._death(service)
        for client in (daemon for daemon in self._daemons if daemon.name == CLIENT):
            if lost := words.lost_brick(client.process.output()):
                raise TransientError(f"redundancy was lost: {lost}", where=client.host.name)

    def busy(self) -> str:
        """What bricks do of their own accord: healing, or marks of the last writes yet to be taken off; a task of the volume."""
        found = [] if self._is_settled() else ["healing files, or finishing writes"]
        return "; ".join([*found, *words.tasks(self._gluster("volume", "status", VOLUME, "--xml", timeout_s=SHORT_S))])

    def _rooms(self, host: Host) -> None:
        folder = _folder(host)
        host.run(["rm", "-rf", "--one-file-system", "--", folder], timeout_s=SHORT_S)
        rooms = [*(folder / room for room in (*ROOMS, "mnt")), *self._bricks(host)]
        host.run(["install", "-d", *rooms, *ROOMS.values()], timeout_s=SHORT_S)
        for room, path in ROOMS.items():
            host.run(["mount", "--bind", folder / room, path], timeout_s=SHORT_S)
        if host in self._bearers and host.run(["test", "-e", self._gsyncd], timeout_s=SHORT_S, check=False).returncode == 0:
            host.put(words.GSYNCD, folder / "gsyncd", mode=0o755)
            host.run(["mount", "--bind", folder / "gsyncd", self._gsyncd], timeout_s=SHORT_S)

    def _glusterd(self, host: Host) -> Daemon:
        config, log = _folder(host) / "glusterd.vol", _folder(host) / "log" / f"{host.name}-glusterd.log"
        host.put(words.GLUSTERD, config)
        # As first process of a namespace of its own: bricks and self-heal daemons detach from it, but can't outlive it.
        own = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        argv = [*own, "glusterd", "-N", "-f", config, "-p", "/run/gluster/glusterd.pid", "-l", log]
        return self._daemons.start(host, "glusterd", argv, log=log)

    def _gluster(self, *argv: str | Path, host: Host | None = None, timeout_s: float | None = None) -> str:
        socket = "--glusterd-sock=/run/gluster/glusterd.socket"
        argv = ("gluster", "--mode=script", socket, *argv)
        return (host or self._bearers[0]).run(argv, timeout_s=timeout_s or self._daemons.patience_s).stdout

    def _done(self, *argv: str) -> bool:
        """Have something done that fails while a peer is not connected."""
        self._gluster(*argv)
        return True

    def _is_connected(self) -> bool:
        """Whether every host sees all others: else what one of them refuses may leave the others locked."""
        pools = each(self._bearers, lambda host: self._gluster("pool", "list", host=host))
        return all(words.connected_count(pool) == len(self._bearers) for pool in pools)

    def _make_volume(self, glusterd: Daemon) -> None:
        bricks = [f"{self._bearers[n].address}:{self._brick(self._bearers[n], number)}" for n, number in self._layout.bricks]
        allowed = ",".join(host.address for host in self._members)
        settings = [word for item in {"auth.allow": allowed, **self._volume}.items() for word in item]

        create = ["volume", "create", VOLUME, *self._layout.words, *bricks, "force"]
        self._daemons.wait("the volume", partial(self._done, *create), glusterd)
        self._gluster("volume", "set", VOLUME, *settings)
        self._daemons.wait("the volume's start", partial(self._done, "volume", "start", VOLUME, "force"), glusterd)

    def _offline(self) -> list[words.Service]:
        """The services of the volume that do not run; one without a name when none are known."""
        services = words.status(self._gluster("volume", "status", VOLUME, "--xml", timeout_s=SHORT_S))
        return [service for service in services if not service.online] if services else [words.Service("volume", "", False)]

    def _client(self, host: Host) -> Daemon:
        """Start a client; it mounts when it has reached the bricks."""
        log = _folder(host) / "log" / f"{host.name}-client.log"
        servers = [f"--volfile-server={brick.address}" for brick in self._bearers]
        argv = [CLIENT, "-N", "--process-name", "fuse", *servers, f"--volfile-id={VOLUME}", "-l", log, _mountpoint(host)]
        return self._daemons.start(host, CLIENT, argv, log=log)

    def _wait_mounted(self, client: Daemon) -> None:
        """Wait until a client's mount is there. Raises TransientError."""
        self._daemons.wait("a mount", lambda: is_mounted(client.host, _mountpoint(client.host)), client)

    def _death(self, service: words.Service) -> TransientError:
        """Say which service of the volume does not run, and its last words."""
        host = next((host for host in self._bearers if host.name == self._names.get(service.uuid)), self._bearers[0])
        try:
            said = last_words(host.read(_log(host, service.path)).decode(errors="replace"))
        except WorkloadError:
            said = "nothing"
        return TransientError(f"the {service.name} is offline; it last said: {said}", where=host.name)

    def _is_settled(self) -> bool:
        """Whether no brick has a file marked as being written to."""
        indices = ["dirty", "xattrop"]  # in them a base file and a link to it for every marked file

        def marked(host: Host) -> str:
            folders = [brick / ".glusterfs" / "indices" / index for brick in self._bricks(host) for index in indices]
            names = [word for index in indices for word in ("!", "-name", f"{index}-*")]
            return host.run(["find", *folders, "-type", "f", *names], timeout_s=SHORT_S, check=False).stdout.strip()

        return not any(each(self._bearers, marked))

    def _clear(self, host: Host) -> None:
        with suppress(WorkloadError):
            host.run(["umount", "--lazy", "--quiet", *ROOMS.values(), self._gsyncd], timeout_s=SHORT_S, check=False)
            host.run(["rm", "-rf", "--one-file-system", "--", _folder(host)], timeout_s=SHORT_S)


def _folder(host: Host) -> Path:
    return host.directory / "glusterfs"


def _log(host: Host, brick: Path | None) -> Path:
    """Of a brick, or of its host's self-heal daemon."""
    return _folder(host) / "log" / (f"bricks/{words.brick_log(brick)}" if brick else "glustershd.log")


def _mountpoint(client: Host) -> Path:
    return _folder(client) / "mnt"


def _listens(host: Host) -> bool:
    return bool(host.run(["ss", "-Hltn", "sport = :24007"], timeout_s=SHORT_S).stdout.strip())
