"""One BeeGFS on its hosts: its servers, and what their own tool says of them."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts, Mounted
from perjoule.filesystems._beneath import beneath_facts, data_folder, lay
from perjoule.filesystems._daemons import Daemon, Daemons, each
from perjoule.filesystems.beegfs import client as clients
from perjoule.filesystems.beegfs import parse as words
from perjoule.filesystems.beegfs.cli import Tool
from perjoule.filesystems.beegfs.client import SHORT_S, folder, mountpoint
from perjoule.filesystems.beegfs.versions import SERVERS, Argv, Series
from perjoule.model import Disk, Json
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.model.units import MIB, bytes_text

USER, GROUP_ID = "nobody", "65534"  # its group's name is not the same everywhere
FOLDERS_COUNT = 67_000  # that a metadata server makes for itself, rounded up from 66 068 of 7.4.6
STOP_S = 0.2  # for a daemon to end by itself; its data is not needed any more
BENCH_BYTES = 16 * MIB  # that each target writes when the servers are all that can be tried
_AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={GROUP_ID}", "--clear-groups")

Job = tuple[words.Kind, int, Host]  # a server's kind and number, and where it runs


@dataclass(frozen=True)
class Wish:
    """The request and how BeeGFS is called here."""

    layout: words.Layout
    series: Series
    path: str  # where hosts look for programs
    cache: str
    beneath: Disk | None
    patience_s: float


class Cluster(Mounted):
    """One BeeGFS while it is up."""

    def __init__(self, hosts: Hosts, wish: Wish) -> None:
        self._hosts, self._wish, self._layout, self._series = hosts, wish, wish.layout, wish.series
        self._daemons = Daemons(wish.patience_s)
        self.tool = Tool(hosts.management, wish.series, path=wish.path, timeout_s=wish.patience_s)
        self._secret = secrets.token_hex(32)  # without it, neither servers nor clients speak to each other
        self._groups: dict[words.Kind, dict[int, tuple[int, int]]] = {kind: {} for kind in words.KINDS}
        self._attached = False
        self.directories = {}
        self.data_hosts = wish.layout.storage

    def up(self) -> None:
        """From nothing to servers that are well; nothing is mounted."""
        layout = self._layout
        each(self._hosts.all, _clean)
        jobs: list[Job] = [
            (kind, n, self._host(name)) for kind in words.KINDS for n, name in enumerate(layout.servers(kind), start=1)
        ]
        servers = list(dict.fromkeys(host for _, _, host in jobs))
        lay(servers, self._wish.beneath)
        each(dict.fromkeys([self._hosts.management, *servers]), self._furnish)
        management = self._manage()
        each(jobs, lambda job: self._prepare(*job))
        daemons = each(jobs, self._serve)  # at once, as each looks for the management for long
        self._daemons.wait("all targets Online and Good", self._well, management, *daemons, every_s=0.2)
        self._pair()
        self.tool.ask(
            self._series.stripe(layout)
        )  # before the root directory is mirrored: 7.4.6 loses step with its pair over it
        if self._groups["meta"]:
            daemons = self._mirror_root(management, jobs, daemons)
        # Fails until the metadata servers have heard of targets that mirror each other.
        self._daemons.wait(
            "a first file", lambda: self.tool.does(self._series.create("/.perjoule")), management, *daemons, every_s=0.2
        )
        self._daemons.wait("all targets Online and Good", self._well, management, *daemons, every_s=0.2)
        self.logs = self._daemons.logs()
        self.facts = self._facts(daemons)

    def attach(self) -> None:
        """Mount it on all clients. Raises MachineError if that is impossible, with the state of the servers."""
        problem, mend = clients.obstacle(self._hosts)
        if problem:
            moved = self.bench(BENCH_BYTES)
            targets = [target for kind in words.KINDS for target in self.tool.targets(kind)]
            well = f"BeeGFS {self._series.name} is up ({len(targets)} targets Online and Good"
            wrote = f"each of {len(moved.bytes_per_s)} for data wrote {bytes_text(BENCH_BYTES)} in its own benchmark)"
            raise MachineError(f"{well}, {wrote}, but nothing can mount it: {problem}", where="beegfs", next=mend)
        self._attached = True
        each(self._hosts.clients, self._mount)
        self.directories = {client.name: mountpoint(client) for client in self._hosts.clients}

    def down(self) -> None:
        """End everything; never fails over what is already broken.

        The folders of a metadata server go with the host's disk, in far less time than it takes to remove them.
        """
        each(self._hosts.clients if self._attached else (), clients.unmount)
        self._daemons.stop(timeout_s=STOP_S)

    def alive(self) -> None:
        """Check that every daemon still runs. Raises TransientError with the last words of one that died."""
        self._daemons.alive()

    def busy(self) -> str:
        """Whether mirrors are brought up to date again."""
        if not self._layout.mirror:
            return ""
        behind = [
            target.consistency for kind in words.KINDS for target in self.tool.targets(kind) if target.consistency != "Good"
        ]
        return f"mirrors not up to date: {', '.join(sorted(set(behind)))}" if behind else ""

    def drop_caches(self) -> None:
        """Nothing to do: see the top of the driver."""

    def locate(self, path: Path) -> tuple[str, ...]:
        """Names of the hosts that hold a file's data, in the order of its stripes; of mirrors, both."""
        return self.holders(f"/{path.relative_to(mountpoint(self._hosts.clients[0]))}")

    def holders(self, path: str) -> tuple[str, ...]:
        """The same for a path below the root of the file system, which needs no mount."""
        entry = self.tool.entry(path)
        groups = self._groups["storage"] if entry.pattern == words.MIRRORED else {n: (n,) for n in entry.numbers}
        return tuple(self._layout.storage[number - 1] for group in entry.numbers for number in groups[group])

    def bench(self, size_bytes: int) -> words.Bench:
        """Have every storage target write a file to its disk, without a client. Raises TransientError."""
        self.tool.ask(self._series.bench(size_bytes, min(size_bytes, MIB)))
        said: list[words.Bench] = []

        def finished() -> bool:
            said[:] = [words.bench(self.tool.ask(self._series.bench_status()))]
            return said[0].finished_count == len(said[0].bytes_per_s) == len(self._layout.storage)

        self._daemons.wait("the end of the storage benchmark", finished, every_s=0.1)
        self.tool.ask(self._series.bench_end())
        return said[0]

    def _furnish(self, host: Host) -> None:
        """Make the folders of a server and give it the secret."""
        room, store = folder(host), self._store(host)
        for place in (room, store):
            host.run(["install", "-d", "-o", USER, "-g", GROUP_ID, "-m", "750", place], timeout_s=SHORT_S)
        host.put(self._secret, room / "auth", mode=0o600, owner=USER)
        if host.run([*_AS_USER, "test", "-r", room / "auth"], timeout_s=SHORT_S, check=False).returncode != 0:
            what = f"BeeGFS runs as user {USER}, which can't reach {host.directory}"
            raise MachineError(what, where=host.name, next="let other users traverse the folders above it (chmod o+x)")

    def _store(self, host: Host) -> Path:
        beneath = self._wish.beneath if host.name in (*self._layout.metadata, *self._layout.storage) else None
        return data_folder(host, "beegfs", beneath)

    def _manage(self) -> Daemon:
        host = self._hosts.management
        room, store = folder(host), folder(host) / "management"
        host.run(["install", "-d", "-o", USER, "-g", GROUP_ID, "-m", "750", store], timeout_s=SHORT_S)
        management = self._series.management(room, room / "auth", store)
        host.put(management.configuration, room / management.file, owner=USER)
        host.put(self._series.client(host.address, room / "auth", self._wish.cache), room / "client.conf")
        if management.prepare:
            host.run([*self._found(), *_AS_USER, *management.prepare], timeout_s=self._wish.patience_s)
        return self._start(host, management.start)

    def _prepare(self, kind: words.Kind, number: int, host: Host) -> None:
        """Give a server its store, its number and its configuration."""
        room, store = folder(host), self._store(host) / kind
        host.run(["install", "-d", "-o", USER, "-g", GROUP_ID, "-m", "750", store], timeout_s=SHORT_S)
        for name, text in words.identity(kind, number).items():
            host.put(text, store / name, owner=USER)
        text = words.server(kind, store=store, authentication=room / "auth", management=self._hosts.management.address)
        host.put(text, room / f"{SERVERS[kind]}.conf", owner=USER)
        if kind == "meta":
            _has_room_for_folders(host, store)

    def _serve(self, job: Job) -> Daemon:
        kind, _, host = job
        return self._start(host, (SERVERS[kind], f"cfgFile={folder(host) / SERVERS[kind]}.conf"))

    def _start(self, host: Host, argv: Argv) -> Daemon:
        log = folder(host) / f"{host.name}-{argv[0]}.log"
        return self._daemons.start(host, argv[0], [*self._found(), *_AS_USER, *argv], log=log)

    def _well(self) -> bool:
        """Whether all targets are there, Online and Good, and no other."""
        for kind in words.KINDS:
            wanted = range(1, len(self._layout.servers(kind)) + 1)
            if {target.number: target.well for target in self.tool.targets(kind)} != dict.fromkeys(wanted, True):
                return False
        return True

    def _pair(self) -> None:
        """Have targets mirror each other, and metadata servers where there are several."""
        root = self.tool.entry("/").metadata
        self._groups = {"storage": self._layout.groups("storage"), "meta": self._layout.groups("meta", first=root)}
        for kind, groups in self._groups.items():
            for group, pair in groups.items():
                self.tool.ask(self._series.group(kind, group, *pair))

    def _mirror_root(self, management: Daemon, jobs: Sequence[Job], daemons: Sequence[Daemon]) -> list[Daemon]:
        """Mirror the root directory while only the server that has it runs, then restart all and let them synchronise.

        https://doc.beegfs.io/latest/advanced_topics/metadata_mirroring.html
        """
        root = ("meta", self.tool.entry("/").metadata)
        owner = next(daemon for job, daemon in zip(jobs, daemons, strict=True) if job[:2] == root)

        def mirrored() -> bool:
            return self.tool.does(self._series.mirror_root())  # fails until it has heard of its group

        def end(daemon: Daemon) -> None:
            # By itself: a metadata server that was killed waits for minutes before it serves again.
            daemon.process.stop(timeout_s=self._wish.patience_s)
            self._daemons.drop(daemon.host, daemon.name)

        each([daemon for daemon in daemons if daemon is not owner], end)
        self._daemons.wait("a mirrored root directory", mirrored, management, owner, every_s=0.3)
        end(owner)
        again = each(jobs, self._serve)
        self._daemons.wait("mirrors that are Online and Good", self._well, management, *again, every_s=0.2)
        return again

    def _mount(self, client: Host) -> None:
        def configuration(authentication: Path) -> str:
            return self._series.client(self._hosts.management.address, authentication, self._wish.cache)

        clients.mount(client, configuration, self._secret, timeout_s=self._wish.patience_s)

    def _facts(self, daemons: Sequence[Daemon]) -> dict[str, Json]:
        """What the daemons say of themselves, and where a file comes to lie."""
        layout, root = self._layout, self.tool.entry("/.perjoule")
        rows: list[Json] = [
            {
                "host": layout.servers(kind)[target.number - 1],
                "kind": kind,
                "number": target.number,
                "state": f"{target.reachability}, {target.consistency}",
                "total_bytes": target.total_bytes,
            }
            for kind in words.KINDS
            for target in self.tool.targets(kind)
        ]
        versions = [words.version(daemon.process.output()) for daemon in daemons]
        mirrors: list[Json] = [f"{kind} {a}+{b}" for kind, groups in self._groups.items() for a, b in groups.values()]
        return {
            "series": self._series.name,
            "version": next((version for version in versions if version), None),
            "management": self._hosts.management.name,
            "targets": rows,
            "pattern": root.pattern,
            "chunk_bytes": root.chunk_bytes,
            "stripe_targets_count": len(root.numbers),
            "mirrors": mirrors,
            "cache": self._wish.cache,
            "authentication": "a secret of this deployment",
            "user": USER,
            **beneath_facts(self._host(layout.storage[0]), self._wish.beneath),
        }

    def _found(self) -> list[str]:
        return ["env", f"PATH={self._wish.path}"]

    def _host(self, name: str) -> Host:
        return next(host for host in self._hosts.all if host.name == name)


def _has_room_for_folders(host: Host, store: Path) -> None:
    """Raises CampaignError: a metadata server would end with nothing but "Unable to create subdir"."""
    total, free = map(int, host.run(["stat", "-f", "-c", "%c %d", store], timeout_s=SHORT_S).stdout.split())
    if total and free < FOLDERS_COUNT:  # btrfs has no such limit and says 0
        what = f"a metadata server makes {FOLDERS_COUNT} folders before it starts, but its file system has {free} inodes left"
        raise CampaignError(
            what, where=host.name, next='make it larger (ext4: 2 GiB), or with more inodes: make = ["-i", "4096"]'
        )


def _clean(host: Host) -> None:
    with suppress(WorkloadError):  # a host that is gone has nothing left
        host.run(["rm", "-rf", "--one-file-system", "--", folder(host)], timeout_s=SHORT_S)
