"""One OrangeFS on its hosts, from nothing to mounted and back."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts, Mounted, wait_error
from perjoule.filesystems._beneath import beneath_facts, lay
from perjoule.filesystems._daemons import Daemon, Daemons, each, is_mounted
from perjoule.filesystems.orangefs import parse as words
from perjoule.model import Disk, Json
from perjoule.model.errors import MachineError, WorkloadError

USER, GROUP_ID = "nobody", "65534"  # its group's name is not the same everywhere
DEVICE = Path("/dev/pvfs2-req")  # between the kernel client and its daemon
CACHED_S = 5  # pvfs2fuse's own: it can be had or not, but not be changed
STOP_S = 0.2  # for a daemon to end by itself; its data is forgotten anyway
SHORT_S = 20.0  # for commands that ask the host alone


class Cluster(Mounted):
    """One OrangeFS while it is up."""

    def __init__(self, hosts: Hosts, layout: words.Layout, *, prefix: str, beneath: Disk | None, patience_s: float) -> None:
        self._hosts, self._layout, self._prefix, self._patience_s = hosts, layout, prefix, patience_s
        # A metadata server that finds no data server when it starts tries again a second or two later.
        places = {server.name: "metadata" in server.roles for server in layout.servers}
        self._turns = [[host for host in hosts.all if places.get(host.name) is turn] for turn in (False, True)]
        self._stores = {server.name: server.stores for server in layout.servers if server.stores}
        self.data_hosts = tuple(server.name for server in layout.servers if "data" in server.roles)
        self._beneath = beneath
        self._daemons = Daemons(patience_s)
        self._client_daemons: dict[str, Daemon] = {}  # of each client, the running one

    def up(self) -> None:
        """From nothing to mounted on every client."""
        clients = self._hosts.clients
        if self._layout.client == "kernel":
            _refuse_shared_kernel(clients)
        each(self._hosts.all, _clean)
        lay([host for host in self._hosts.all if host.name in self._stores], self._beneath)
        servers = [server for turn in self._turns for server in each(turn, self._serve)]
        each(clients, self._mount)
        self.directories = {client.name: _mountpoint(client) for client in clients}
        self.logs = self._daemons.logs()
        self.facts = self._facts(servers[0], self._answer(servers))

    def down(self) -> None:
        """End everything and forget its data; never fails over what is already broken."""

        def unmount(client: Host) -> None:
            with suppress(WorkloadError):  # lazily: works with dead servers too
                client.run(["umount", "--lazy", _mountpoint(client)], timeout_s=SHORT_S, check=False)

        each(self._hosts.clients, unmount)
        self._daemons.stop(timeout_s=STOP_S)
        each(self._hosts.all, _clean)

    def alive(self) -> None:
        """Check that every daemon still runs. Raises TransientError with the last words of one that died."""
        self._daemons.alive()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Names of the hosts that hold a file's data, in the order of its strips."""
        names = {server.address: server.name for server in self._layout.servers}
        return tuple(names[address] for address in self._spread(path).data)

    def drop_caches(self) -> None:
        """Remount on every client, which ends its cache of names and attributes with its process."""
        if self._layout.attribute_cache:
            each(self._hosts.clients, self._unmount)
            each(self._hosts.clients, self._mount)

    def _serve(self, host: Host) -> Daemon:
        """Make a server's storage, start it and wait until it listens."""
        room = folder(host)
        rooms = [room, *filter(None, [self._stores.get(host.name)])]
        host.run(["install", "-d", "-o", USER, "-g", GROUP_ID, "-m", "750", *rooms], timeout_s=SHORT_S)
        host.put(words.configuration(self._layout, scale=self._hosts.scale), room / "fs.conf", owner=USER)
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={GROUP_ID}", "--clear-groups"]
        if host.run([*as_user, "test", "-r", room / "fs.conf"], timeout_s=SHORT_S, check=False).returncode != 0:
            what = f"OrangeFS runs as user {USER}, which can't reach {host.directory}"
            raise MachineError(what, where=host.name, next="let other users traverse the folders above it (chmod o+x)")
        argv = [*as_user, *self._program("pvfs2-server"), "-a", host.name]
        host.run([*argv, "-f", room / "fs.conf"], timeout_s=self._patience_s)
        log = room / f"{host.name}-pvfs2-server.log"
        server = self._daemons.start(host, "pvfs2-server", [*argv, "-d", room / "fs.conf"], log=log)
        self._daemons.wait("a server that is ready", lambda: words.READY in server.process.output(), server)
        return server

    def _mount(self, client: Host) -> None:
        room, mountpoint, layout = folder(client), _mountpoint(client), self._layout
        log = room / f"{client.name}-client.log"
        client.run(["install", "-d", "-m", "755", room, mountpoint], timeout_s=SHORT_S)
        client.put(words.table(layout.servers[0], mountpoint), room / "pvfs2tab")
        program = self._program(words.CLIENTS[layout.client], client)
        if layout.client == "fuse":
            # Told where to mount from, it caches attributes for 5 s; when it has to look that up in pvfs2tab, it does not.
            source = ["-o", f"fs_spec={words.url(layout.servers[0])}"] if layout.attribute_cache else []
            argv = [*program, mountpoint, "-f", "-o", "big_writes", *source]
            daemon = self._daemons.start(client, "pvfs2fuse", argv, log=log)
            self._daemons.wait(f"the mount on {client.name}", lambda: is_mounted(client, mountpoint), daemon)
        else:
            cached = [f"--{cache}-timeout={CACHED_S * 1000 if layout.attribute_cache else 0}" for cache in ("acache", "ncache")]
            argv = [*program, *cached, "--logtype=file", f"--logfile={log}"]
            daemon = self._daemons.start(client, "pvfs2-client-core", argv, log=log)
            mount = ["mount", "-t", "pvfs2", words.url(layout.servers[0]), mountpoint]

            def mounted() -> bool:
                return bool(client.run(mount, timeout_s=self._patience_s))  # fails while the daemon is not ready

            self._daemons.wait(f"the mount on {client.name}", mounted, daemon)
        self._client_daemons[client.name] = daemon
        self._daemons.first_write(daemon, mountpoint)

    def _unmount(self, client: Host) -> None:
        """Unmount and end the client's daemon, which keeps nothing that is not yet written."""
        client.run(["umount", _mountpoint(client)], timeout_s=self._patience_s)
        daemon = self._client_daemons[client.name]
        if self._layout.client == "fuse":
            try:
                daemon.process.wait(timeout_s=self._patience_s)
            except TimeoutError:
                raise wait_error(f"the end of {daemon.name} on {client.name}", self._patience_s, daemon.said()) from None
        self._daemons.drop(client, daemon.name)

    def _answer(self, servers: Sequence[Daemon]) -> str:
        """What all servers say of themselves, as soon as every one does."""
        said: list[str] = []

        def complete() -> bool:
            said[:] = [self._ask("pvfs2-statfs", "-m", str(_mountpoint(self._hosts.clients[0])))]
            return set(words.modes(said[0])) == {server.address for server in self._layout.servers}

        self._daemons.wait("an answer of all servers", complete, *servers)
        return said[0]

    def _facts(self, server: Daemon, statfs: str) -> dict[str, Json]:
        client, layout = self._hosts.clients[0], self._layout
        probe = _mountpoint(client) / ".perjoule-probe"
        client.run(["touch", probe], timeout_s=self._patience_s)
        spread = self._spread(probe)
        client.run(["rm", probe], timeout_s=self._patience_s)
        modes = words.modes(statfs)
        serving: list[Json] = [{"host": s.name, "address": s.address, "mode": modes[s.address]} for s in layout.servers]
        return {
            "version": words.version(server.process.output()),
            **words.space(statfs),
            "servers": serving,
            "distribution": spread.distribution,
            "strip_bytes": spread.strip_bytes,
            "data_servers_count": len(spread.data),
            "trove": layout.trove,
            "sync_data": layout.sync_data,
            "client": layout.client,
            "direct_io": layout.client == "fuse",
            "fsync": "ignored by pvfs2fuse" if layout.client == "fuse" else "passed to the servers",
            "attribute_cache_s": CACHED_S if layout.attribute_cache else 0,
            "user": USER,
            **beneath_facts(next((h for h in self._hosts.all if h.name in self._stores), client), self._beneath),
        }

    def _spread(self, path: Path) -> words.Spread:
        return words.spread(self._ask("pvfs2-viewdist", "-f", str(path)))

    def _ask(self, program: str, *arguments: str) -> str:
        client = self._hosts.clients[0]
        return client.run([*self._program(program, client), *arguments], timeout_s=self._patience_s).stdout

    def _program(self, name: str, client: Host | None = None) -> list[str]:
        """A program of OrangeFS with what it needs in its environment: its libraries, and on clients its pvfs2tab."""
        libraries = [f"LD_LIBRARY_PATH={self._prefix}/lib"] if self._prefix else []
        table = [f"PVFS2TAB_FILE={folder(client) / 'pvfs2tab'}"] if client else []
        return ["env", *libraries, *table, words.program(name, self._prefix)]


def _refuse_shared_kernel(clients: Sequence[Host]) -> None:
    """Raises MachineError: a kernel has one device for one pvfs2-client-core."""
    kernels = {client.read(Path("/proc/sys/kernel/random/boot_id")) for client in clients}
    if len(kernels) < len(clients):
        raise MachineError(
            "clients that share one kernel can't each have a kernel client of OrangeFS",
            where="orangefs",
            next='set client = "fuse", or use one client',
        )


def _clean(host: Host) -> None:
    with suppress(WorkloadError):  # a host that is gone has nothing left
        host.run(["rm", "-rf", "--one-file-system", "--", folder(host)], timeout_s=SHORT_S)


def folder(host: Host) -> Path:
    """Everything of OrangeFS on a host."""
    return host.directory / "orangefs"


def _mountpoint(client: Host) -> Path:
    return folder(client) / "mount"
