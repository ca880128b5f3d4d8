"""OrangeFS 2.9 and 2.10: servers for metadata and for data, and a FUSE or a kernel client.
https://www.orangefs.org, https://github.com/waltligon/orangefs

Servers run as user `nobody` and trust every client, here only those of the hosts' own network; those of a
build with security keys or certificates refuse our configuration, which names none. Caches:

- pvfs2fuse keeps no file data, because it always mounts with direct_io; it keeps names for 60 s and
  attributes for 10 s (see `attribute_cache`). The kernel's client keeps file data in the page cache since
  Linux 5.2.
- Servers keep data and metadata only in their kernel's page cache.

pvfs2fuse serves one request at a time, of at most 128 KiB, and its fsync does nothing: written data are in
the page caches of servers, and on their disks only with `sync_data`. With `trove = "directio"` servers sync no
data, even if the kernel's client asks for it (dbpf-bstream-direct.c). Metadata in LMDB reach disks when the
server's kernel writes them back (MDB_MAPASYNC in dbpf-db-lmdb.c), those in Berkeley DB at once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Hosts, Port, TellsHealth, Tunable
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._journals import Beneath
from perjoule.filesystems._options import SelfBuilt
from perjoule.filesystems._settings import Setting
from perjoule.filesystems.orangefs import parse as words
from perjoule.machine.each import each
from perjoule.machine.mounts import device_check, fuse
from perjoule.model import OPTIONS, Json, Redundancy
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import Bytes

EXAMPLE = '[[filesystem]]\nkind = "orangefs"\nstripe = "64 KiB"\n'

# its device is made by its daemon, so nothing else shows that it is loaded
MODULE = Path("/sys/module/orangefs")
BIG_WRITES = Setting("big_writes", "set", "comparability")  # else of 4 KiB, which no other client has
# pvfs2fuse's own (ncache.c, acache.c of 2.9.8 and 2.10): they can be had or not, but not be changed
FUSE_NAMES_S, FUSE_ATTRIBUTES_S = 60, 10
KERNEL_CACHED_S = 5  # both, as we tell pvfs2-client-core

Distribution = Literal["simple_stripe", "twod_stripe", "basic_dist"]
PAGES = "data in the page caches of servers that lose power"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class OrangeFS(SelfBuilt):
    """OrangeFS on the hosts of a testbed."""

    variable: ClassVar = "PERJOULE_ORANGEFS_PREFIX"
    installation: ClassVar = "OrangeFS 2.9.8 or 2.10 (see `perjoule docs orangefs`)"
    daemons: ClassVar = ("pvfs2-server",)
    in_user_space: ClassVar = False
    copied_by_client: ClassVar = True  # it spreads one copy over the data servers
    heals: ClassVar[bool] = True
    unable: ClassVar[Mapping[str, str]] = {
        "add": "its servers and clients read at their start which servers there are, and which handles are on which",
        "scrub": "it keeps no checksums of data",
        "snapshot": "it has none",
    }

    stripe_bytes: Annotated[Bytes, Tunable(("64 KiB", "256 KiB", "1 MiB", "4 MiB"), scale=True)] = 64 * 1024
    """Bytes of a file on one server before the next one follows (strip_size)."""
    distribution: Annotated[Distribution, Tunable(("simple_stripe", "twod_stripe", "basic_dist"))] = (
        "simple_stripe"
    )
    """How files are spread: round robin over all data servers, in two dimensions over groups of them, or
    each file on one.
    """
    client: Literal["fuse", "kernel"] = "fuse"
    """"fuse": pvfs2fuse with big_writes; "kernel": the module orangefs with pvfs2-client-core, one client
    per kernel.
    """
    direct: bool | None = None
    """Whether the mount bypasses the client's page cache (direct_io). pvfs2fuse always does; the kernel
    client has no such
    mount option: there a workload opens its files with direct I/O. If omitted, the client's default applies.
    """
    attribute_cache: bool = True
    """Whether clients cache names (60 s) and attributes such as sizes (10 s), the default of pvfs2fuse; the
    kernel's client 5 s. Without it, every request first queries the metadata server, but changes by another
    client are visible at once."""
    trove: Annotated[
        Literal["alt-aio", "directio"], Tunable(("alt-aio", "directio"), less_durable={"alt-aio": PAGES})
    ] = "alt-aio"
    """How servers do their I/O (TroveMethod): through their page cache with threads, or bypassing it, and then
    without fsync."""
    sync_data: Annotated[bool, Tunable((False, True), less_durable={False: PAGES})] = False
    """Whether servers fsync data before they acknowledge a write (TroveSyncData); with "directio" they never
    do."""
    beneath: Beneath = None
    """A dedicated file system beneath the data of each data server, as in {kind = "xfs", block = "4 KiB"};
    the host's own disk if
    omitted. Metadata are on the latter."""

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The servers, and on clients the tools and the client."""
        return {
            "metadata": (words.SERVER,),
            "data": (words.SERVER,),
            "client": (*words.TOOLS, words.CLIENTS[self.client]),
        }

    def checks(self) -> tuple[Check, ...]:
        """Check also what the client needs in the kernel."""
        kernel = device_check("OrangeFS in the kernel", MODULE, "modprobe orangefs")
        return (*super().checks(), fuse() if self.client == "fuse" else kernel)

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """That of all servers."""
        places = ("metadata", "storage") if self.roles == "separate" else ("bricks",)
        return {place: (Port(words.PORT, "pvfs2-server"),) for place in places}

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy.

        The fsync of pvfs2fuse does nothing, so data may be only in the servers' memory; the kernel's works, but
        not with directio. Past the page cache, too, data are safe only after an fsync (open(2), O_DIRECT).
        """
        durable = self.trove == "alt-aio" and (self.client == "kernel" or self.sync_data)
        return Redundancy(acknowledged="on disk" if durable else "in memory")

    @property
    def fsync(self) -> str:
        """Return what becomes of a client's fsync."""
        if self.client == "fuse":
            return "ignored by pvfs2fuse"
        return "ignored by the servers" if self.trove == "directio" else "passed to the servers"

    @property
    def cached_s(self) -> tuple[int, int]:
        """Return how long clients keep names and attributes that another client may have changed."""
        if not self.attribute_cache:
            return 0, 0
        return (
            (FUSE_NAMES_S, FUSE_ATTRIBUTES_S) if self.client == "fuse" else (KERNEL_CACHED_S, KERNEL_CACHED_S)
        )

    def deployment(self, hosts: Hosts) -> "_OrangeFS":
        """Servers on the metadata host and the hosts with data."""
        return _OrangeFS(self, hosts)


class _OrangeFS(Deployment[OrangeFS], TellsHealth):
    """One OrangeFS. Healthy means that all servers answer."""

    kind = "orangefs"
    user, group = "nobody", "65534"  # its group's name is not the same everywhere

    def plan(self) -> tuple[Host, ...]:
        direct, client = self.options.direct, self.options.client
        if direct not in (None, client == "fuse"):
            fix = "remove it: pvfs2fuse always mounts with direct_io"
            if client == "kernel":
                fix = "remove it, and let the workload open its files with direct I/O"
            problem = f'direct = {str(direct).lower()} can\'t be with client = "{client}"'
            raise CampaignError(problem, where=self.kind, next=fix)
        return self.options.data(self.hosts)

    def require_clients(self) -> None:
        """Refuse those that share a kernel, because a kernel has one device for one pvfs2-client-core."""
        if self.options.client == "kernel":
            kernels = {client.read(Path("/proc/sys/kernel/random/boot_id")) for client in self.hosts.users}
            if len(kernels) < len(self.hosts.users):
                problem = "clients that share one kernel can't each have a kernel client of OrangeFS"
                raise MachineError(problem, where=self.kind, next='set client = "fuse", or use one client')

    @property
    def servers(self) -> tuple[words.OrangefsServer, ...]:
        """All servers, those of metadata first."""
        keeps: dict[words.Role, tuple[Host, ...]] = {
            "metadata": self.options.metadata(self.hosts),
            "data": self.bearers,
        }
        return tuple(
            words.OrangefsServer(
                host.name,
                host.address,
                self._room(self.folder(host)),
                tuple(role for role, keepers in keeps.items() if host in keepers),
                self._room(self.store(host)),
            )
            for host in dict.fromkeys([*keeps["metadata"], *keeps["data"]])
        )

    def serve(self) -> None:
        # A metadata server that finds no data server when it starts tries again a second or two later.
        metadata = self.options.metadata(self.hosts)
        turns = [host for host in self.bearers if host not in metadata], metadata
        self._servers = [server for turn in turns for server in each(turn, self._serve)]

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (words.RETRIES, words.PAUSE_MS, *([BIG_WRITES] if self.options.client == "fuse" else []))

    def attach(self, client: Host, place: Path) -> Daemon:
        options, url = self.options, words.url(self.servers[0])
        client.put(words.table(self.servers[0], place), self.folder(client) / "pvfs2tab")
        if options.client == "fuse":
            # Told where to mount from, it caches; when it has to look that up in pvfs2tab, it does not.
            source = ["-o", f"fs_spec={url}"] if options.attribute_cache else []
            return self.start(
                client,
                "pvfs2fuse",
                [*self._lead(client), "pvfs2fuse", place, "-f", "-o", BIG_WRITES.name, *source],
            )
        log = self.log(client, "pvfs2-client-core")
        names_s, attributes_s = options.cached_s
        cached = [f"--ncache-timeout={names_s * 1000}", f"--acache-timeout={attributes_s * 1000}"]
        argv = [*self._lead(client), "pvfs2-client-core", *cached, "--logtype=file", f"--logfile={log}"]
        daemon = self.start(client, "pvfs2-client-core", argv)
        # It fails while the daemon is not ready.
        self.daemons.retry(f"the mount on {client.name}", lambda: self.mount(client, place, "pvfs2", url))
        return daemon

    def detach(self, client: Host) -> None:
        """Unmount; the kernel client's daemon, which holds no unwritten data, does not end by itself."""
        if self.options.client == "kernel":
            client.run(["umount", self.directories[client.name]], timeout_s=self.patience_s)
            self.daemons.drop(client, "pvfs2-client-core")
        else:
            super().detach(client)

    def report(self) -> dict[str, Json]:
        options, statfs = self.options, self._answer()
        client = self.hosts.clients[0]
        probe = self.directories[client.name] / ".perjoule-probe"
        client.run(["touch", probe], timeout_s=self.patience_s)
        spread = self._spread(probe)
        # 2.10 comes up with it
        client.run(["rm", "-r", "-f", probe, probe.with_name("lost+found")], timeout_s=self.patience_s)
        modes = words.modes(statfs)
        names_s, attributes_s = options.cached_s
        keeper = options.metadata(self.hosts)[0]
        database = self._room(self.folder(keeper)) / words.DATABASE
        lmdb = keeper.run(["test", "-d", database], timeout_s=self.patience_s, check=False).returncode == 0
        return {
            "version": words.version(self._servers[0].process.output()),
            **words.space(statfs),
            "servers": [
                {"host": s.name, "address": s.address, "mode": modes[s.address]} for s in self.servers
            ],
            "distribution": spread.distribution,
            "strip_bytes": spread.strip_bytes,
            "data_servers_count": len(spread.data),
            "trove": options.trove,
            "sync_data": options.sync_data,
            "client": options.client,
            "direct_io": options.client == "fuse",
            "fsync": options.fsync,
            "metadata_database": "LMDB" if lmdb else "Berkeley DB",
            "names_cached_s": names_s,
            "attributes_cached_s": attributes_s,
            "user": self.user,
        }

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold a file's data, in the order of its strips."""
        names = {server.address: server.name for server in self.servers}
        return tuple(names[address] for address in self._spread(path).data)

    def absent(self) -> str:
        """Return the servers that do not answer."""
        servers = self.servers
        silent = [
            server.name
            for server, answers in zip(servers, each(servers, self._answers), strict=True)
            if not answers
        ]
        return f"no answer from {', '.join(silent)}" if silent else ""

    def degraded(self) -> str:
        """Return the same: what a server keeps is nowhere else, so without one it is never whole."""
        return self.absent()

    def drop_caches(self) -> None:
        """Remount on every client, which ends its cache of names and attributes with its process."""
        if self.options.attribute_cache:
            self.remount()

    @staticmethod
    def _room(folder: Path) -> Path:
        """Return where in a folder of ours a server makes its own."""
        return folder / "server"

    def _serve(self, host: Host) -> Daemon:
        """Make a server's storage, start it and wait until it listens."""
        configuration = self.folder(host) / "fs.conf"
        self.furnish(host, self._room(self.folder(host)), self._room(self.store(host)))
        host.put(
            words.configuration(self.options, self.servers, scale=self.hosts.scale),
            configuration,
            owner=self.user,
        )
        argv = [*self._lead(), *self.as_user, "pvfs2-server", "-a", host.name]
        host.run([*argv, "-f", configuration], timeout_s=self.patience_s)
        server = self.start(host, "pvfs2-server", [*argv, "-d", configuration])
        self.daemons.wait("a server that is ready", lambda: words.READY in server.process.output())
        return server

    def _answers(self, server: words.OrangefsServer) -> bool:
        """Ask one server for its configuration, as a client does; half a second is enough, where
        `pvfs2-statfs` tries for ten.
        """
        client = self.hosts.clients[0]
        argv = [*self._lead(client), *words.check_server(server)]
        return client.run(argv, timeout_s=self.patience_s, check=False).returncode == 0

    def _answer(self) -> str:
        """Return the reports of all servers, once every one answers."""
        outputs, addresses = [""], {server.address for server in self.servers}

        def complete() -> bool:
            outputs[0] = self._ask("pvfs2-statfs", "-m", self.directories[self.hosts.clients[0].name])
            return set(words.modes(outputs[0])) == addresses

        self.daemons.wait("an answer of all servers", complete)
        return outputs[0]

    def _spread(self, path: Path) -> words.FileSpread:
        return words.spread(self._ask("pvfs2-viewdist", "-f", path))

    def _ask(self, *argv: str | Path) -> str:
        client = self.hosts.clients[0]
        return client.run([*self._lead(client), *argv], timeout_s=self.patience_s).stdout

    def _lead(self, client: Host | None = None) -> tuple[str, ...]:
        """Return the prefix of a program that sets its environment, on clients including its pvfs2tab."""
        table = (f"PVFS2TAB_FILE={self.folder(client) / 'pvfs2tab'}",) if client else ()
        return (*self.options.environment, *table)
