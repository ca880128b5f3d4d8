"""MooseFS 3 or 4: a master, chunk servers and a FUSE client. https://moosefs.com, https://github.com/moosefs/moosefs

All daemons run as the user of the installed package, never as root; chunk servers show the master an authentication code and
clients a password, both new for each deployment. Who caches what:

- The client (mfsmount) keeps file data in its kernel's page cache (see the option `cache`), read-ahead buffers only while a file
  is open, and a write buffer only until close or fsync; attributes for 1 s.
- Chunk servers keep data in their kernel's page cache alone; the master keeps all metadata in memory, always.

So there is nothing to forget in user space: dropping the hosts' page caches is enough.
"""

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass as plain_dataclass
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Host, Hosts, Mounted
from perjoule.filesystems._beneath import beneath_facts, data_folder, lay, needs_beneath
from perjoule.filesystems._daemons import Daemon, Daemons, each, fuse, is_mounted, programs
from perjoule.filesystems._flows import explained
from perjoule.filesystems.moosefs import parse as words
from perjoule.model import OPTIONS, Amplification, Disk, Json, Redundancy
from perjoule.model.errors import CampaignError, MachineError, TransientError, WorkloadError
from perjoule.model.units import SECONDS, Seconds, quantity

EXAMPLE = '[[filesystem]]\nkind = "moosefs"\ngoal = 2\n'

PROGRAMS = {
    "mfsmaster": "moosefs-master",
    "mfschunkserver": "moosefs-chunkserver",
    "mfsmetalogger": "moosefs-metalogger",
    "mfsmount": "moosefs-client",
    "mfscli": "moosefs-cli",
}
SHORT_S = 20.0  # for commands that only ask

TrashTime = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, SECONDS)),
    Field(ge=0),
    WithJsonSchema({"type": "string", "examples": ["24 h"]}),
]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class MooseFS(FileSystem):
    """MooseFS with chunk servers on the storage hosts and the master on the metadata host."""

    goal: Annotated[int, Field(ge=1, le=9)] = 1
    """Copies of every chunk, each on another chunk server. Published throughputs can be above what two copies allow."""
    trash_s: TrashTime = 0.0
    """How long deleted files stay (rounded up to hours; MooseFS's default is 24 h); deleted data are freed in the background."""
    metalogger: bool = False
    """Whether a metalogger on the management host keeps a copy of the metadata."""
    cache: Literal["auto", "direct", "never", "always"] = "auto"
    """File data in the client's page cache: "auto" lets the master decide, "direct" bypasses it (mfscachemode)."""
    sync_on_close: bool = False
    """Whether chunk servers fsync a chunk before they close it; by default MooseFS does not (HDD_FSYNC_BEFORE_CLOSE)."""
    rebalance: bool = False
    """Whether the master balances the space used on chunk servers by moving chunks at any time, as is MooseFS's default. Off, so
    that no move falls into a measured window; copies that redundancy needs are still made."""
    beneath: Disk | None = None
    """A dedicated file system beneath the chunks of each chunk server, as in {kind = "xfs", block = "4 KiB"}; the host's own disk
    if omitted."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take."""

    def checks(self) -> tuple[Check, ...]:
        """The daemons, the tools and FUSE."""
        return (*programs(PROGRAMS), fuse(), *needs_beneath(self.beneath))

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Whole copies. A client's fsync waits until chunk servers have the data, which these then hold in their page cache."""
        return Redundancy(self.goal, acknowledged="in memory")

    def amplification(self, hosts: Hosts) -> Amplification:
        """The client writes to the first of a chain of chunk servers, each of which passes the data on to the next."""
        return explained(self.redundancy(hosts), by_client=False)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up; healthy means that the master knows the space of all chunk servers and every client has written."""
        storage = hosts.by_role("storage")
        if self.goal > len(storage):
            raise CampaignError(
                f"goal = {self.goal} needs {self.goal} chunk servers, but the testbed has {len(storage)} storage hosts",
                where="moosefs",
                next=f"set goal to at most {len(storage)}" if storage else "use a testbed with storage hosts",
            )
        deployment = _Deployment(self, hosts, _user(hosts.metadata), Daemons(self.patience_s))
        try:
            yield deployment.up()
        finally:
            deployment.down()


def _user(host: Host) -> str:
    """The user that the package made for its daemons: the owner of its data folder. Raises MachineError."""
    found = host.run(["stat", "-c", "%U", "/var/lib/mfs"], timeout_s=SHORT_S, check=False)
    user = found.stdout.strip()
    if found.returncode != 0 or user in ("root", "UNKNOWN"):
        raise MachineError(
            "no unprivileged user for MooseFS (the owner of /var/lib/mfs)", where=host.name, next="apt install moosefs-master"
        )
    return user


@plain_dataclass(frozen=True)
class _Deployment:
    """One MooseFS while it is up."""

    options: MooseFS
    hosts: Hosts
    user: str
    daemons: Daemons

    def up(self) -> "_Mounted":
        master_host, storage = self.hosts.metadata, self.hosts.by_role("storage")
        code, password = secrets.token_hex(16), secrets.token_hex(16)
        each(self.hosts.all, self._clean)
        lay(storage, self.options.beneath)
        each(dict.fromkeys([master_host, *storage, self.hosts.management]), self._folders)

        etc = _folder(master_host) / "etc"
        master_host.put(words.EMPTY_METADATA, _folder(master_host) / "master" / "metadata.mfs", owner=self.user)
        exports = words.exports_text([client.address for client in self.hosts.users], password)
        master_host.put(exports, etc / "mfsexports.cfg", mode=0o600, owner=self.user)
        settings = {"EXPORTS_FILENAME": etc / "mfsexports.cfg", "AUTH_CODE": code}
        settings |= {} if self.options.rebalance else words.no_rebalance(self._release())
        listens = {f"{port}_LISTEN_HOST": master_host.address for port in ("MATOML", "MATOCS", "MATOCL")}
        master = self._daemon(master_host, "mfsmaster", "master", settings | listens)
        self.daemons.wait("a listening master", lambda: "initialized properly" in master.process.output(), master)

        upstream = {"MASTER_HOST": master_host.address, "MASTER_RECONNECTION_DELAY": 1}

        def chunkserver(host: Host) -> Daemon:
            host.put(f"{self._chunks(host)}\n", _folder(host) / "etc" / "mfshdd.cfg", owner=self.user)
            settings = {
                "HDD_CONF_FILENAME": _folder(host) / "etc" / "mfshdd.cfg",
                "HDD_FSYNC_BEFORE_CLOSE": int(self.options.sync_on_close),
                "AUTH_CODE": code,
                "CSSERV_LISTEN_HOST": host.address,
                "BIND_HOST": host.address,
            }
            label = {"LABELS": name} if (name := self._label(host)) else {}
            return self._daemon(host, "mfschunkserver", "chunkserver", settings | upstream | label)

        chunkservers = each(storage, chunkserver)
        if self.options.metalogger:
            bind = {"BIND_HOST": self.hosts.management.address}
            self._daemon(self.hosts.management, "mfsmetalogger", "metalogger", bind | upstream)
        clients = each(self.hosts.users, lambda client: self._client(client, master_host.address, password))
        self.daemons.wait(
            f"{len(storage)} chunk servers with space", lambda: not self.missing(), master, *chunkservers, every_s=0.15
        )
        for client in clients:
            self.daemons.wait("a mount", partial(is_mounted, client.host, _mountpoint(client.host)), client)
        return self._mounted(master, clients)

    def _chunks(self, host: Host) -> Path:
        return data_folder(host, "moosefs", self.options.beneath) / "chunks"

    def missing(self) -> list[str]:
        """The storage hosts whose space the master doesn't know (yet, or any more): it puts copies only on those it knows."""
        rows = words.chunkserver_rows(self.ask("-SCS"))
        ready = [row["address"] for row in rows if row["total_bytes"]]
        return [host.name for host in self.hosts.by_role("storage") if host.address not in ready]

    def ask(self, *sections: str) -> str:
        """What the master says of itself, and of the chunk servers (-SCS), of chunks (-SIC).

        Raises:
            TransientError: the master did not answer, or a daemon died.
        """
        client, master = self.hosts.clients[0], self.hosts.metadata
        argv = ["mfscli", "-n", "-p", "-H", master.address, "-SIG", *sections]
        try:
            said = client.run(argv, timeout_s=SHORT_S).stdout
            reason = words.unanswered(said)
        except WorkloadError as error:
            said, reason = "", error.what
        if reason:
            self.daemons.alive()  # the better reason, if one has just died
            raise TransientError(f"did not answer {client.name}: {reason}", where=f"mfsmaster on {master.name}")
        return said

    def _release(self) -> int:
        """The major version of the master's program."""
        return words.release(self.hosts.metadata.run(["mfsmaster", "-v"], timeout_s=SHORT_S).stdout)

    def _clean(self, host: Host) -> None:
        with suppress(WorkloadError):  # a host that is gone has nothing left
            host.run(["rm", "-rf", "--one-file-system", "--", _folder(host)], timeout_s=SHORT_S)

    def _folders(self, host: Host) -> None:
        folder = _folder(host)
        rooms = [folder, *(folder / room for room in ("etc", "master", "chunkserver", "metalogger"))]
        rooms += [self._chunks(host)] if host in self.hosts.by_role("storage") else []
        host.run(["install", "-d", "-o", self.user, "-m", "750", *rooms], timeout_s=SHORT_S)
        as_user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        if host.run([*as_user, "test", "-w", rooms[-1]], timeout_s=SHORT_S, check=False).returncode != 0:
            what = f"MooseFS runs as user {self.user}, which can't reach {host.directory}"
            raise MachineError(what, where=host.name, next="let other users traverse the folders above it (chmod o+x)")

    def _daemon(self, host: Host, program: str, room: str, settings: Mapping[str, object]) -> Daemon:
        common: dict[str, object] = {"WORKING_USER": self.user, "DATA_PATH": _folder(host) / room, "DISABLE_OOM_KILLER": 0}
        config = _folder(host) / "etc" / f"{program}.cfg"
        host.put(words.config_text({**common, **settings}), config, mode=0o600, owner=self.user)
        log = _folder(host) / f"{host.name}-{program}.log"
        return self.daemons.start(host, program, [program, "-c", config, "-f", "start"], log=log)

    def _client(self, host: Host, master: str, password: str) -> Daemon:
        folder = _folder(host)
        config = folder / "client" / "mfsmount.cfg"
        host.run(["install", "-d", "-m", "700", config.parent, _mountpoint(host)], timeout_s=SHORT_S)
        # In a file, so that the password is in no argument list; mfspassfile refuses good passwords in 3.0.117.
        host.put(words.mount_text(master, password, self.options.cache, self._label(host)), config, mode=0o600)
        argv = ["mfsmount", "-f", "-o", f"mfscfgfile={config}", _mountpoint(host)]
        return self.daemons.start(host, "mfsmount", argv, log=folder / f"{host.name}-mfsmount.log")

    def _label(self, host: Host) -> str:
        """The label of a chunk server on a host that is a client, too, and is to read from its own; MooseFS has 26."""
        both = [user.name for user in self.hosts.users if user in self.hosts.by_role("storage")]
        return dict(zip(both, ascii_uppercase, strict=False)).get(host.name, "")

    def _mounted(self, master: Daemon, clients: Sequence[Daemon]) -> "_Mounted":
        first, root = clients[0].host, _mountpoint(clients[0].host)
        release = self._release()
        copies = words.storage_class(self.options.goal, release)
        if release >= 4:
            first.run(["mfscreatesclass", "-M", root, "-K", str(self.options.goal), copies], timeout_s=SHORT_S)
        first.run(["mfssetsclass", copies, root], timeout_s=SHORT_S)
        first.run(["mfssettrashtime", f"{self.options.trash_s:.0f}", root], timeout_s=SHORT_S)

        each(clients, lambda client: self.daemons.first_write(client, _mountpoint(client.host), master))
        goal, trash = (first.run([tool, root], timeout_s=SHORT_S).stdout for tool in ("mfsgetsclass", "mfsgettrashtime"))
        said = self.ask("-SCS")
        facts: dict[str, Json] = {
            **words.summary(said),
            "goal": words.last_number(goal),
            "trash_s": words.last_number(trash),
            "chunkservers": [{"host": self._name(row["address"]), **row} for row in words.chunkserver_rows(said)],
            "master": master.host.name,
            "metalogger": self.hosts.management.name if self.options.metalogger else None,
            "cache": self.options.cache,
            "sync_on_close": self.options.sync_on_close,
            "rebalance": self.options.rebalance,
            "user": self.user,
            **beneath_facts(self.hosts.by_role("storage")[0], self.options.beneath),
        }
        directories = {client.name: _mountpoint(client) for client in self.hosts.users}
        chunkservers = tuple(host.name for host in self.hosts.by_role("storage"))
        return _Mounted(directories, facts, chunkservers, self.daemons.logs(), self)

    def _name(self, address: Json) -> str:
        return next((host.name for host in self.hosts.all if host.address == address), "")

    def down(self) -> None:
        def unmount(client: Host) -> None:
            with suppress(WorkloadError):  # lazily: works with dead servers too
                client.run(["umount", "--lazy", _mountpoint(client)], timeout_s=SHORT_S, check=False)

        each(self.hosts.users, unmount)
        self.daemons.stop(timeout_s=0.2)  # their data is not needed any more, so they need not write it
        each(self.hosts.all, self._clean)


@plain_dataclass(frozen=True)
class _Mounted(Mounted):
    directories: Mapping[str, Path]
    facts: Mapping[str, Json]
    data_hosts: tuple[str, ...]
    logs: tuple[Path, ...]
    deployment: _Deployment

    def locate(self, path: Path) -> tuple[str, ...]:
        hosts = self.deployment.hosts
        addresses = words.copies(hosts.clients[0].run(["mfsfileinfo", path], timeout_s=SHORT_S).stdout)
        return tuple(host.name for host in hosts.all if host.address in addresses)

    def drop_caches(self) -> None:
        """Nothing to do: see the top of this file."""

    def alive(self) -> None:
        """Check that every daemon runs and that the master has all chunk servers: without one it goes on, with less."""
        self.deployment.daemons.alive()
        if missing := self.deployment.missing():
            self.deployment.daemons.alive()  # the better reason, if one has just died
            master = self.deployment.hosts.metadata.name
            raise TransientError(f"redundancy was lost: no chunk server on {', '.join(missing)}", where=f"mfsmaster on {master}")

    def busy(self) -> str:
        """Copies to be made or removed. Chunks of deleted files are not told: the master frees them in minutes, at leisure."""
        return words.chunk_work(self.deployment.ask("-SIC"))


def _folder(host: Host) -> Path:
    return host.directory / "moosefs"


def _mountpoint(client: Host) -> Path:
    return _folder(client) / "mnt"
