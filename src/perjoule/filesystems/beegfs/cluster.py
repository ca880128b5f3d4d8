"""One BeeGFS on its hosts: its servers, and the reports of their own tool."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.drivers.protocols import Host, Hosts, WorksInBackground
from perjoule.filesystems import _beegfs
from perjoule.filesystems._daemons import Daemon, last_words
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._settings import Setting
from perjoule.filesystems.beegfs import parse as words
from perjoule.filesystems.beegfs.client import obstacle
from perjoule.filesystems.beegfs.versions import ALL, MANAGEMENT_PORT, SERVERS, Argv
from perjoule.machine.each import each
from perjoule.machine.untrusted import understood
from perjoule.model import Json
from perjoule.model.errors import CampaignError, MachineError, ProgramFailed
from perjoule.model.units import MIB, bytes_text

if TYPE_CHECKING:
    from perjoule.filesystems.beegfs import BeeGFS

LEAST_CHUNK_BYTES = 64 * 1024
FOLDERS_COUNT = 67_000  # that a metadata server makes for itself, rounded up from 66 068 of 7.4.6
FIRST_FILE = "/.perjoule"  # shows the pattern of the root directory's files, until a client can remove it
POLL_S = 0.2  # between two calls of the tool
BENCH_BYTES = 16 * MIB  # that each target writes when the servers are all that can be tried

Job = tuple[words.Kind, int, Host]  # a server's kind and number, and where it runs


class BeegfsCluster(Deployment["BeeGFS"], WorksInBackground):
    """One BeeGFS while it is up."""

    kind = "beegfs"
    user, group = "nobody", "65534"  # its group's name is not the same everywhere

    def plan(self) -> tuple[Host, ...]:
        """Order the servers: a server's number is its position, from 1, and so is its target's."""
        options, data_hosts = self.options, self.options.data(self.hosts)
        if options.chunk_bytes < LEAST_CHUNK_BYTES or options.chunk_bytes.bit_count() != 1:
            problem = f"chunk = {options.chunk_bytes} B is not a power of two of 64 KiB at least"
            raise CampaignError(problem, where=self.kind, next='set chunk to "64 KiB", "128 KiB", ...')
        if options.mirror and len(data_hosts) % 2:
            problem = f"mirror = true needs pairs of hosts, but data would be on {len(data_hosts)}"
            other_roles = "both" if options.roles == "separate" else "separate"
            raise CampaignError(
                problem,
                where=self.kind,
                next=f'use an even number of storage hosts, or try roles = "{other_roles}"',
            )
        self.servers: dict[words.Kind, tuple[Host, ...]] = {
            "meta": options.metadata(self.hosts) if data_hosts else (),
            "storage": data_hosts,
        }
        return tuple(dict.fromkeys([*self.servers["meta"], *data_hosts]))

    def __init__(self, options: "BeeGFS", hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.data_hosts = tuple(host.name for host in self.servers["storage"])
        self._secret = secrets.token_hex(32)  # without it, neither servers nor clients speak to each other
        self._jobs: list[Job] = [
            (kind, n, host) for kind, on in self.servers.items() for n, host in enumerate(on, start=1)
        ]
        self._groups: dict[words.Kind, dict[int, tuple[int, int]]] = {kind: {} for kind in words.KINDS}

    def require(self) -> None:
        """Find the installed series, by its tool on the management host."""
        host, tools = self.hosts.management, {series.tool: series for series in ALL}
        argv = ["bash", "-c", 'PATH=$1; shift; type -P -- "$@"', "perjoule-tools", self.options.path, *tools]
        stdout = host.run(argv, timeout_s=SHORT_S, check=False).stdout
        names = [Path(line).name for line in stdout.splitlines()]
        if not (series_names := [tools[name] for name in names if name in tools]):
            problem = f"neither {' nor '.join(tools)} is installed"
            raise MachineError(problem, where=host.name, next=f"install {self.options.installation}")
        self.series = series_names[0]
        if self.series.wants_uuid:
            each(self.bearers, self._require_uuid)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """TCP on all hosts."""
        return (words.TCP,)

    def serve(self) -> None:
        """Start the servers until they are healthy."""
        each(dict.fromkeys([self.hosts.management, *self.bearers]), self._furnish)
        self._manage()
        self.wait_listening(self.hosts.management, MANAGEMENT_PORT)
        each(self._jobs, self._prepare)
        self._daemons = each(self._jobs, self._serve)  # at once, as each looks for the management for long
        self._wait_well()
        self._pair()
        pattern = self.series.mirrored if self.options.mirror else "raid0"
        # Before the root directory is mirrored: 7.4.6 loses step with its pair over it.
        self.ask(
            "stripe",
            chunk_bytes=self.options.chunk_bytes,
            targets_count=self.options.targets_count,
            pattern=pattern,
        )
        if self._groups["meta"]:
            self._mirror_root()
        # Fails until the metadata servers have heard of targets that mirror each other.
        self.daemons.retry("a first file", lambda: self.ask("create", path=FIRST_FILE), every_s=POLL_S)
        self._wait_well()
        self._first_file = self.entry(FIRST_FILE)
        self.note()

    def attach_all(self) -> None:
        """Mount it on all clients.

        Raises MachineError if that is impossible, with the state of the servers.
        """
        problem, fix = obstacle(self.hosts)
        if problem:
            self.bench()
            well = f"BeeGFS {self.series.name} is up ({len(self.targets())} targets Online and Good"
            wrote = (
                f"each of {len(self.data_hosts)} for data wrote {bytes_text(BENCH_BYTES)} in its own "
                "benchmark)"
            )
            raise MachineError(
                f"{well}, {wrote}, but nothing can mount it: {problem}", where=self.kind, next=fix
            )
        super().attach_all()

    def attach(self, client: Host, place: Path) -> None:
        """Mount it by the client's kernel module, which reads the secret from a file."""
        room = self.folder(client)
        client.put(self._secret, room / "client.auth", mode=0o600)
        configuration = self.series.client(
            self.hosts.management.address, room / "client.auth", self.options.cache
        )
        client.put(configuration, room / "client.conf")
        self.mount(client, place, "beegfs", "beegfs_nodev", f"cfgFile={room / 'client.conf'}")

    def configure(self) -> None:
        """Remove the file that showed the pattern: the tool can make one without a mount, but remove none."""
        client = self.hosts.clients[0]
        first_file = self.directories[client.name] / FIRST_FILE.lstrip("/")
        client.run(["rm", "--", first_file], timeout_s=self.patience_s)

    def report(self) -> dict[str, Json]:
        """Return the daemons' reports, and the placement of a file."""
        versions = (words.version(daemon.process.output()) for daemon in self._daemons)
        return {
            "series": self.series.name,
            "version": next(filter(None, versions), None),
            "management": self.hosts.management.name,
            "targets": [
                {
                    "host": self.servers[kind][target.number - 1].name,
                    "kind": kind,
                    "number": target.number,
                    "state": f"{target.reachability}, {target.consistency}",
                    "total_bytes": target.total_bytes,
                }
                for kind, target in self.targets()
            ],
            "pattern": self._first_file.pattern,
            "chunk_bytes": self._first_file.chunk_bytes,
            "stripe_targets_count": len(self._first_file.numbers),
            "mirrors": [
                f"{kind} {a}+{b}" for kind, groups in self._groups.items() for a, b in groups.values()
            ],
            "cache": self.options.cache,
            "authentication": "a secret of this deployment",
            "user": self.user,
        }

    def busy(self) -> str:
        """Return the mirrors that are still being resynchronised."""
        if not self.options.mirror:
            return ""
        behind = {target.consistency for _, target in self.targets()} - {"Good"}
        return f"mirrors not up to date: {', '.join(sorted(behind))}" if behind else ""

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold a file's data, in the order of its stripes; of mirrors, both."""
        return self.holders(f"/{path.relative_to(self.directories[self.hosts.clients[0].name])}")

    def holders(self, path: str) -> tuple[str, ...]:
        """The same for a path below the root of the file system, which needs no mount."""
        entry = self.entry(path)
        groups = self._groups["storage"] if entry.mirrored else {n: (n,) for n in entry.numbers}
        return tuple(self.data_hosts[number - 1] for group in entry.numbers for number in groups[group])

    def bench(self) -> None:
        """Have every storage target write a file to its disk, without a client. Raises TransientError."""
        self.ask("bench", size_bytes=BENCH_BYTES, block_bytes=MIB)
        self.daemons.wait(
            "its benchmark", lambda: words.finished_count(self.ask("bench status")) == len(self.data_hosts)
        )
        self.ask("bench end")

    def ask(self, command: str, **values: object) -> str:
        """Query or command the servers from the management host, as root, without a mount.

        Raises WorkloadError.
        """
        host, room = self.hosts.management, self.folder(self.hosts.management)
        call = self.series.command(
            "call", management=host.address, authentication=room / "auth", client=room / "client.conf"
        )
        argv = self.series.command(command, **values)
        completed = host.run(
            [*self.options.environment, *call, *argv], timeout_s=self.patience_s, check=False
        )
        if completed.returncode != 0 and not (
            self.series.pardoned and self.series.pardoned in completed.stderr
        ):
            output = last_words(completed.stderr, 2)
            problem = (
                f"{self.series.tool} {argv[0]} ended with exit code {completed.returncode}; it last said: "
                f"{output}"
            )
            raise ProgramFailed(problem, where=host.name)
        return completed.stdout

    def targets(self) -> list[tuple[words.Kind, _beegfs.StorageTarget]]:
        """Return all targets as the management reports them, each with its kind."""
        return [
            (kind, target)
            for kind in words.KINDS
            for target in _beegfs.targets(self.ask("targets", kind=kind))
        ]

    def entry(self, path: str) -> _beegfs.BeegfsEntry:
        """Return how an entry lies on the servers, by its path below the root of the file system."""
        return _beegfs.entry(self.ask("entry", path=path))

    def _require_uuid(self, host: Host) -> None:
        """Refuse a server that shows its daemons no UUID: that of DMI is root's alone, and then they take what
        blkid has cached (`getMachineUUID` in UUID.h of 8.3.1).

        Raises MachineError.
        """
        argv = ["blkid", "-o", "value", "-s", "UUID", "-s", "PARTUUID"]
        as_server = [*self.options.environment, *self.as_user]
        if not host.run([*as_server, *argv], timeout_s=SHORT_S, check=False).stdout.strip():
            problem = (
                f"it shows user {self.user} no UUID of a disk, without which servers of 8 don't register"
            )
            raise MachineError(problem, where=host.name, next="run blkid there as root, which caches them")

    def _furnish(self, host: Host) -> None:
        """Make the folder of a server and give it the secret."""
        self.furnish(host)
        host.put(self._secret, self.folder(host) / "auth", mode=0o600, owner=self.user)

    def _manage(self) -> None:
        host, room = self.hosts.management, self.folder(self.hosts.management)
        self.furnish(host, store := room / "management")
        configuration = room / self.series.file
        host.put(self.series.management(store, room / "auth"), configuration, owner=self.user)
        host.put(self.series.client(host.address, room / "auth", self.options.cache), room / "client.conf")
        if prepare := self.series.command("prepare", configuration=configuration):
            host.run([*self.options.environment, *self.as_user, *prepare], timeout_s=self.patience_s)
        self._start(host, self.series.command("manage", configuration=configuration))

    def _prepare(self, job: Job) -> None:
        """Give a server its store, its number and its configuration."""
        kind, number, host = job
        room, store = self.folder(host), self.store(host) / kind
        self.furnish(host, store)
        for name, text in words.identity(kind, number).items():
            host.put(text, store / name, owner=self.user)
        text = words.server(
            kind, store=store, authentication=room / "auth", management=self.hosts.management.address
        )
        host.put(text, room / f"{SERVERS[kind]}.conf", owner=self.user)
        if kind == "meta":
            _has_room_for_folders(host, store)

    def _serve(self, job: Job) -> Daemon:
        kind, _, host = job
        return self._start(host, (SERVERS[kind], f"cfgFile={self.folder(host) / SERVERS[kind]}.conf"))

    def _start(self, host: Host, argv: Argv) -> Daemon:
        return self.start(host, argv[0], [*self.options.environment, *self.as_user, *argv])

    def _wait_well(self) -> None:
        """Wait until all targets, and no others, are Online and Good."""
        expected = {(kind, number, True) for kind, number, _ in self._jobs}

        def well() -> bool:
            return {(kind, target.number, target.well) for kind, target in self.targets()} == expected

        self.daemons.wait("all targets Online and Good", well, every_s=POLL_S)

    def _pair(self) -> None:
        """Make targets mirror each other, and metadata servers if there are several."""
        if self.options.mirror:
            root = self.entry("/").metadata
            for kind, hosts in self.servers.items():
                self._groups[kind] = words.groups(len(hosts), root if kind == "meta" else 1)
                for number, (a, b) in self._groups[kind].items():
                    self.ask("group", kind=kind, number=number, primary=a, secondary=b)

    def _mirror_root(self) -> None:
        """Mirror the root directory while only its server runs, then restart all and let them synchronise.

        https://doc.beegfs.io/latest/advanced_topics/metadata_mirroring.html
        """
        root = ("meta", self.entry("/").metadata)
        owner = next(daemon for job, daemon in zip(self._jobs, self._daemons, strict=True) if job[:2] == root)

        def end(daemon: Daemon) -> None:
            # By itself: a metadata server that was killed waits for minutes before it serves again.
            daemon.process.stop(timeout_s=self.patience_s)
            self.daemons.drop(daemon.host, daemon.name)

        each([daemon for daemon in self._daemons if daemon is not owner], end)
        # It fails until the server has heard of its group.
        self.daemons.retry("a mirrored root directory", lambda: self.ask("mirror root"), every_s=POLL_S)
        end(owner)
        self._daemons = each(self._jobs, self._serve)
        self._wait_well()


def _has_room_for_folders(host: Host, store: Path) -> None:
    """Raises CampaignError: too few inodes; a metadata server would end with only "Unable to create
    subdir".
    """
    stdout = host.run(["stat", "-f", "-c", "%c %d", store], timeout_s=SHORT_S).stdout
    with understood(f"stat on {host.name}"):
        total, free = map(int, stdout.split())
    if total and free < FOLDERS_COUNT:  # btrfs has no such limit and says 0
        problem = (
            f"a metadata server makes {FOLDERS_COUNT} folders before it starts, but its file system has "
            f"{free} inodes left"
        )
        then = 'make it larger (ext4: 2 GiB), or with more inodes: make = ["-i", "4096"]'
        raise CampaignError(problem, where=host.name, next=then)
