"""How all file systems are deployed, so a driver only states what is special about its own.

A driver is two classes. The one that inherits `Deployed` (in `_options`) holds its options. The one that
inherits `Deployment` is the file system on some hosts: planned when it is made, up during the block of
`mount`, and gone afterwards.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from perjoule.drivers.protocols import (
    Ages,
    CachesOnServers,
    Growable,
    Host,
    Hosts,
    Killable,
    LosesDisks,
    Mounted,
    TellsHeld,
    Unmounts,
)
from perjoule.drivers.protocols.disks import disk_folder, disk_folders, disks_count, nth_name
from perjoule.filesystems._ageing import Ageing
from perjoule.filesystems._daemons import Daemon, Daemons, last_words
from perjoule.filesystems._settings import Setting, as_facts, in_force
from perjoule.machine.caches import left_by_zfs
from perjoule.machine.disks import facts
from perjoule.machine.each import each
from perjoule.machine.mounts import SHORT_S, findmnt, is_mounted
from perjoule.machine.ports import listeners, listens, require_free
from perjoule.machine.untrusted import understood
from perjoule.model import Aged, Json
from perjoule.model.errors import (
    CampaignError,
    MachineError,
    MountFailed,
    MountLost,
    NotAble,
    RedundancyLost,
    TimeLimit,
    WorkloadError,
)

if TYPE_CHECKING:
    from perjoule.filesystems._options import Deployed

CLOSED = (
    "closed"  # the folder of a mount: who could pass it might run a program that another host made root's
)
# A server may put a link in the place of a file: through none does a client's root write elsewhere.
# https://man7.org/linux/man-pages/man8/mount.8.html
NO_LINKS = ("mount", "-o", "remount,bind,nosymfollow")
STOP_S = 0.2  # for a daemon to end by itself: its data are not needed any more, so it need not write them

Options = TypeVar("Options", bound="Deployed")


class Deployment(
    Mounted, Ages, CachesOnServers, Growable, Killable, LosesDisks, TellsHeld, Unmounts, Generic[Options]
):
    """One file system on its hosts. A driver implements `serve`, `attach`, `report`, `locate`, and overrides
    what differs.

    Making one only plans: it raises CampaignError if the layout is impossible, and touches nothing.
    """

    kind: ClassVar[str]  # names its folder on each host
    space_late_s: ClassVar[float] = 2.0  # by which it reports its space in use late
    # words of find(1) that choose files with users' data among those in its stores
    data_files: ClassVar[tuple[str, ...]] = ()
    user = group = "root"  # that servers run as, and that owns their folders

    def __init__(self, options: Options, hosts: Hosts) -> None:
        self.options, self.hosts = options, hosts
        self.patience_s = options.patience_s / hosts.scale
        self.daemons = Daemons(self.patience_s)
        self.bearers = self.plan()
        if not self.bearers:
            raise CampaignError(
                "no host to store data on", where=self.kind, next="use a testbed with storage hosts"
            )
        self.data_hosts = tuple(host.name for host in self.bearers)
        self.directories = {user.name: self.folder(user) / CLOSED / "mnt" for user in hosts.users}
        self.facts = {}
        self.logs = ()
        self._bound: list[tuple[Host, Path]] = []  # paths of the system that show folders of ours
        self._attached: dict[str, Daemon | None] = {}  # of each client that has mounted, its running daemon

    def plan(self) -> tuple[Host, ...]:
        """Choose the hosts that carry data, those for `beneath`.

        Raises CampaignError when they can't carry the layout.
        """
        return self.hosts.by_role("storage")

    def require(self) -> None:
        """Refuse hosts that can't run it, before touching anything on them. Raises MachineError."""

    def require_clients(self) -> None:
        """Refuse clients that can't mount it, before touching anything on any host. Raises MachineError."""

    def require_ports(self, host: Host) -> None:
        """Refuse a host of which somebody else has a port that its servers need. Raises MachineError."""
        if host.mark and (numbers := self._ports(host)):
            require_free(host, numbers)

    def require_ours(self) -> None:
        """Require that those who listen on ports of its servers are ours. Raises MachineError."""
        for host in self.hosts.all:
            if host.mark and (numbers := self._ports(host)):
                for listener in listeners(host, numbers):
                    listener.require_ours(host)

    def wait_listening(self, host: Host, number: int) -> None:
        """Wait until a program of ours listens on a port of a host, before anybody speaks to it.

        Raises MachineError.
        """
        if host.mark:
            self.daemons.wait(f"a listener on port {number} of {host.name}", lambda: listens(host, number))

    def _ports(self, host: Host) -> list[int]:
        """Return the ports that its servers must have on a host."""
        placed = self.options.ports().items()
        return [
            port.number
            for place, ports in placed
            if host in self.hosts.at(place)
            for port in ports
            if not port.last
        ]

    @abstractmethod
    def serve(self) -> None:
        """Start the servers and wait until they are healthy."""

    def attach(self, client: Host, place: Path) -> Daemon | None:
        """Start what mounts it on a folder of a client: a daemon, or a command that ends when it is
        mounted.
        """
        raise NotImplementedError

    def unattached(self, client: Host) -> str:
        """Return what a client lacks of it, if no daemon of its own would say so; "" if it has it."""
        place = self.directories[client.name]
        return "" if is_mounted(client, place) else f"{place} is no longer mounted"

    def configure(self) -> None:
        """Set what only a client can set, after the mount and before the first write."""

    @abstractmethod
    def report(self) -> dict[str, Json]:
        """Return the facts, as the daemons report them."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return the settings that are not the file system's own, with those that only emulated hosts
        need.
        """
        return ()

    @property
    def changed(self) -> tuple[Setting, ...]:
        """Return those of `settings` that are in force on its hosts."""
        return in_force(self.settings, self.hosts)

    @property
    def caching(self) -> tuple[Host, ...]:
        """All servers; none where all hosts share a kernel, which clients have drop its caches."""
        return () if self.hosts.machine else self.hosts.servers

    def drop_caches(self) -> None:
        """Do nothing if only the hosts' kernels cache; otherwise see `remount`."""

    def lost(self) -> str:
        """Return what redundancy has lost although all daemons run, as the file system itself reports it;
        "" is nothing.
        """
        return ""

    def kill(self, host: Host) -> None:
        """End its daemons on a server by SIGKILL, but not what mounts it there."""
        self.daemons.kill(host, [self._attached.get(host.name)])

    def revive(self, host: Host) -> None:
        """Start them again, on their data."""
        self.daemons.revive(host)

    def stores(self, host: Host) -> tuple[Path, ...]:
        """Return the folders that hold users' data on a host, and nothing else; () where that is not
        known.
        """
        return ()

    def held_bytes(self, host: Host) -> int:
        """Add up the sizes of the files with users' data in its stores, those with several names once."""
        if not (stores := self.stores(host)):
            raise WorkloadError("the file system has no data here", where=host.name)
        argv = ["find", *stores, "-type", "f", *self.data_files, "-printf", "%D:%i %s\\n"]
        stdout = host.run(argv, timeout_s=self.patience_s).stdout
        with understood(f"find on {host.name}"):
            return sum(int(line.split()[1]) for line in set(stdout.splitlines()))

    def erase(self, host: Host) -> None:
        """Remove its stores, with what the host's memory has still to write to them."""
        host.run(["rm", "-rf", "--one-file-system", "--", *self.stores(host)], timeout_s=self.patience_s)

    def replace(self, host: Host) -> None:
        """Make its stores again, empty, and start its daemons on them."""
        self.make_theirs(host, *self.stores(host))
        self.revive(host)

    def add(self, host: Host) -> None:
        self.hosts = dataclasses.replace(self.hosts, all=(*self.hosts.all, host))
        self.bearers, self.data_hosts = (*self.bearers, host), (*self.data_hosts, host.name)
        self.require_ports(host)
        self._renew(host)
        with self.daemons.explained():
            self.join(host)
        self._note_logs()

    def join(self, host: Host) -> None:
        """Start its servers on a further host, the last of `bearers`, and have them take their share of
        the data.
        """
        raise NotAble(Growable.lack, where=host.name)

    def age(self, target: Aged) -> Mapping[str, Json]:
        clients = [(client, self.directories[client.name]) for client in self.hosts.clients]
        with self.daemons.explained():
            return Ageing(target, clients, self.hosts.scale, self.space_late_s).run()

    def alive(self) -> None:
        """Check that every daemon runs, every mount exists and redundancy is complete, but for events.

        Raises TransientError.
        """
        self.daemons.alive()
        for client in self._mounting():
            by_kernel = client.name in self._attached and self._attached[client.name] is None
            if by_kernel and (lack := self.unattached(client)):
                raise MountLost(lack, where=client.name)
        if not self.hit and (lost := self.lost()):
            self.daemons.alive()  # the better reason, if one has just died
            raise RedundancyLost(f"redundancy was lost: {lost}", where=self.kind)

    def up(self) -> None:
        """Start the servers until they are healthy."""
        each(self.hosts.all, self._renew)
        self.serve()

    def attach_all(self) -> None:
        """Mount it on every client, and have each write."""
        clients = self._mounting()
        each(clients, self._attach)
        self.configure()
        each(
            clients,
            lambda client: self.daemons.retry(
                f"a first write on {client.name}", partial(self.write_first, client)
            ),
        )
        self.note()

    def down(self) -> None:
        """End everything and remove its data; never fails on what is already broken."""
        each(self._mounting(), self.abandon)
        self.daemons.stop(timeout_s=STOP_S)
        if self.options.removes_files:
            each(self.hosts.all, self.clean)

    def abandon(self, client: Host) -> None:
        """Unmount on a client whatever still uses it, as far as possible."""
        # With dead servers, too: by force, or programs wait in the mount forever, and their files can't be
        # removed.
        with suppress(WorkloadError):
            client.run(
                ["umount", "--force", "--lazy", self.directories[client.name]], timeout_s=SHORT_S, check=False
            )

    def clean(self, host: Host) -> None:
        """Remove the content of its folder on a host."""
        bound = [path for bound_host, path in self._bound if bound_host is host]
        with suppress(WorkloadError):  # a host that is gone has nothing left
            if bound:
                host.run(["umount", "--lazy", "--quiet", *bound], timeout_s=SHORT_S, check=False)
            folders = [folder / self.kind for folder in disk_folders(host)]
            host.run(["rm", "-rf", "--one-file-system", "--", *folders], timeout_s=SHORT_S)

    def remount(self) -> None:
        """Remount on all clients, which drops their caches. Raises WorkloadError if a file is still open."""
        with self.daemons.explained():
            each(self._mounting(), self.detach)
            each(self._mounting(), self._attach)

    @contextmanager
    def unmounted(self) -> Generator[None]:
        """Unmount on all clients while the block runs. Raises WorkloadError if a file is still open."""
        with self.daemons.explained():
            each(self._mounting(), self.detach)
        yield
        with self.daemons.explained():
            each(self._mounting(), self._attach)

    def detach(self, client: Host) -> None:
        """Unmount on a client and let its daemon end by itself: it may write back after the kernel has
        released it.
        """
        client.run(["umount", self.directories[client.name]], timeout_s=self.patience_s)
        if daemon := self._attached.pop(client.name):
            try:
                daemon.process.wait(timeout_s=self.patience_s)
            except TimeoutError:
                raise TimeLimit(
                    f"{daemon.name} did not end within {self.patience_s:g} s", where=client.name
                ) from None
            self.daemons.drop(client, daemon.name)

    def folder(self, host: Host) -> Path:
        """Return its folder on a host, without data that have a file system of their own beneath."""
        return host.directory / self.kind

    def store(self, host: Host, number: int = 0) -> Path:
        """Return the folder of the data on one of a host's disks: on the disk beneath, or else in its folder.

        `number` counts from 0, and after the last disk comes the first.
        """
        disk = number % self.disks_count(host)
        if self.options.beneath and host in self.bearers:
            return host.directory / nth_name("beneath", disk) / self.kind
        return disk_folder(host.directory, disk) / self.kind

    def disks_count(self, host: Host) -> int:
        """Return over how many disks a host's data can be laid: a mirror makes one of two."""
        beneath = self.options.beneath
        return 1 if beneath and beneath.mirror != "none" else disks_count(host)

    def log(self, host: Host, name: str) -> Path:
        """Return the log of a daemon."""
        return self.folder(host) / f"{host.name}-{name}.log"

    def start(self, host: Host, name: str, argv: Sequence[str | Path]) -> Daemon:
        """Start a daemon that stays in the foreground; its output is its log."""
        return self.daemons.start(host, name, argv, log=self.log(host, name))

    @property
    def as_user(self) -> tuple[str, ...]:
        """Return the prefix that runs a command as the servers' user."""
        return ("setpriv", f"--reuid={self.user}", f"--regid={self.group}", "--clear-groups")

    def furnish(self, host: Host, *rooms: Path) -> None:
        """Make its folder on a host, and rooms of the servers' user, there or on disks.

        The folders around rooms are ours: what we write, run and mount there, that user can't replace.

        Raises MachineError if that user can't reach them.
        """
        around = dict.fromkeys([self.folder(host), *(room.parent for room in rooms)])
        self._make(host, "root", *around)
        if rooms:
            self.make_theirs(host, *rooms)
        reached = ["-w", rooms[-1]] if rooms else ["-x", self.folder(host)]
        if host.run([*self.as_user, "test", *reached], timeout_s=SHORT_S, check=False).returncode != 0:
            problem = f"{self.kind} runs as user {self.user}, which can't reach {host.directory}"
            raise MachineError(
                problem, where=host.name, next="let other users traverse the folders above it (chmod o+x)"
            )

    def make_theirs(self, host: Host, *rooms: Path) -> None:
        """Make folders of the servers' user, in ours."""
        self._make(host, self.user, *rooms)

    def _make(self, host: Host, owner: str, *folders: Path) -> None:
        argv = ["install", "-d", "-o", owner, "-g", self.group, "-m", "750", *folders]
        host.run(argv, timeout_s=SHORT_S)

    def mount(self, client: Host, place: Path, kind: str, source: str, options: str = "") -> None:
        """Mount it by a client's kernel.

        Raises TransientError with what `mount` reported, or with the end of a daemon.
        """
        argv = ["mount", "-t", kind, *(["-o", options] if options else []), source, place]
        completed = client.run(argv, timeout_s=self.patience_s, check=False)
        if completed.returncode != 0:
            self.daemons.alive()
            raise MountFailed(f"mount -t {kind} failed: {last_words(completed.stderr, 3)}", where=client.name)

    def bind(self, host: Host, folder: Path, path: Path) -> None:
        """Bind a folder to a system path until the end, on a host with its own mounts."""
        host.run(["mount", "--bind", folder, path], timeout_s=SHORT_S)
        self._bound.append((host, path))

    def mounts(self) -> dict[str, Json]:
        """Return each client's mount, as the client itself reports it: for facts."""
        return {name: findmnt(self.host(name), place) for name, place in self.directories.items()}

    def host(self, name: str) -> Host:
        """Return a host by its name."""
        return next(host for host in self.hosts.all if host.name == name)

    def _mounting(self) -> list[Host]:
        return [user for user in self.hosts.users if user.name in self.directories]

    def _attach(self, client: Host) -> None:
        place = self.directories[client.name]
        client.run(["mkdir", "-p", "-m", "700", "--", place.parent], timeout_s=SHORT_S)
        client.run(["mkdir", "-p", place], timeout_s=SHORT_S)
        self._attached[client.name] = self.attach(client, place)
        self.daemons.wait(f"the mount on {client.name}", lambda: not self.unattached(client))
        # where its kernel and mount can: Linux 5.10, util-linux 2.38
        client.run([*NO_LINKS, place], timeout_s=SHORT_S, check=False)

    def write_first(self, client: Host) -> None:
        """Have a client write a file and remove it."""
        probe = self.directories[client.name] / f".{client.name}-probe"
        client.run(
            ["dd", f"of={probe}", "conv=fsync", "status=none"], text="perjoule", timeout_s=self.patience_s
        )
        client.run(["rm", probe], timeout_s=self.patience_s)

    def note(self) -> None:
        """Record the facts and the logs."""
        self.facts, host = {**self.report(), "changed": as_facts(self.changed)}, self.bearers[0]
        if beneath := self.options.beneath:
            mirror = beneath.mirror if host.copies_count > 1 else "none"
            self.facts = {
                **self.facts,
                "beneath": {**facts(host, host.directory / "beneath"), "mirror": mirror},
            }
            remains = each(self.bearers, left_by_zfs) if mirror == "zfs" else []
            self.undropped = next((remain for remain in remains if remain), "")
        self._note_logs()

    def _renew(self, host: Host) -> None:
        """Remove what is left of another one, and make the disk for its data."""
        self.clean(host)
        if self.options.beneath and host in self.bearers:
            for number in range(self.disks_count(host)):
                host.disk(nth_name("beneath", number), self.options.beneath)

    def _note_logs(self) -> None:
        self.logs = tuple(dict.fromkeys(daemon.log for daemon in self.daemons))
