"""MooseFS 3 or 4: a master, chunk servers and a FUSE client. https://moosefs.com,
https://github.com/moosefs/moosefs

All daemons run as the user of the installed package, never as root; chunk servers authenticate to the master
with a code and clients with a password, both new for each deployment. Caches:

- The client (mfsmount) keeps file data in its kernel's page cache (see the option `cache`), read-ahead
  buffers only while a file is open, and a write buffer only until close or fsync; attributes for 1 s.
- Chunk servers keep data only in their kernel's page cache; the master always keeps all metadata in memory.

So there is no user-space cache to drop: dropping the hosts' page caches is enough.
"""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Check,
    Host,
    Hosts,
    Port,
    TakesSnapshots,
    TellsHealth,
    Tunable,
    WorksInBackground,
)
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._options import Deployed
from perjoule.filesystems._settings import Setting
from perjoule.filesystems.moosefs import parse as words
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Json, Redundancy
from perjoule.model.errors import CampaignError, MachineError, NoAnswer, WorkloadError
from perjoule.model.units import SecondsOrZero, bytes_text

EXAMPLE = '[[filesystem]]\nkind = "moosefs"\ngoal = 2\n'
CLIENTS_PORT = 9421  # of its master
# of a disk: its master wants more than a chunk, 64 MiB, and disks fill unevenly
LEAST_FREE_BYTES = 80 * 1024**2
PAGES = "chunks in the page caches of servers that lose power"
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")  # useradd(8)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class MooseFS(Deployed):
    """MooseFS with chunk servers on the storage hosts and the master on the metadata host."""

    runs: ClassVar = {
        "metadata": {"mfsmaster": "moosefs-master"},
        "storage": {"mfschunkserver": "moosefs-chunkserver"},
        "management": {"mfsmetalogger": "moosefs-metalogger"},
        "client": {"mfsmount": "moosefs-client", "mfscli": "moosefs-cli"},
    }
    tools: ClassVar = {
        "client": (
            "mfscreatesclass",
            "mfsfileinfo",
            "mfsgetsclass",
            "mfsgettrashtime",
            "mfsmakesnapshot",
            "mfssetsclass",
            "mfssettrashtime",
        )
    }
    daemons: ClassVar = ("mfsmaster", "mfschunkserver", "mfsmetalogger")
    heals: ClassVar[bool] = True
    unable: ClassVar[Mapping[str, str]] = {
        "scrub": "its chunk servers test chunks all the time, and no command begins a round"
    }
    unit_bytes: ClassVar[float] = words.CHUNK_BYTES
    # it writes to the first of a chain of chunk servers, each of which passes the data on
    copied_by_client: ClassVar = False
    # its master at 458 MiB and a client at 413 were measured
    largest_host_bytes: ClassVar[int] = 480 * 1024**2

    goal: Annotated[int, Field(ge=1, le=9)] = 1
    """Copies of every chunk, each on another chunk server.

    Published throughputs can be above what two copies allow.
    """
    trash_s: SecondsOrZero = 0.0
    """How long deleted files are kept (rounded up to hours; MooseFS's default is 24 h); data are freed in
    the background.
    """
    metalogger: bool = False
    """Whether a metalogger on the management host keeps a copy of the metadata."""
    cache: Annotated[
        Literal["auto", "direct", "never", "always"], Tunable(("auto", "direct", "never", "always"))
    ] = "auto"
    """File data in the client's page cache: "auto" lets the master decide, "direct" bypasses it
    (mfscachemode).
    """
    sync_on_close: Annotated[bool, Tunable((False, True), less_durable={False: PAGES})] = False
    """Whether chunk servers fsync a chunk before they close it; by default MooseFS does not
    (HDD_FSYNC_BEFORE_CLOSE).
    """
    rebalance: bool = False
    """Whether the master may move chunks between chunk servers at any time to even out space, MooseFS's
    default. If off, no move
    falls into a measured window; copies that redundancy needs are still made."""

    def checks(self) -> tuple[Check, ...]:
        """Check for a metalogger only where one would run."""
        return tuple(check for check in super().checks() if self.metalogger or check.name != "mfsmetalogger")

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """The master's, for metaloggers, chunk servers and clients, and that of chunk servers."""
        return {
            "metadata": tuple(Port(number, "mfsmaster") for number in (9419, 9420, CLIENTS_PORT)),
            "storage": (Port(9422, "mfschunkserver"),),
        }

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Whole copies.

        A client's fsync waits until chunk servers have the data, which are then in their page cache.
        """
        return Redundancy(self.goal, acknowledged="in memory")

    def require_fit(self, hosts: Hosts) -> None:
        """Refuse, too, to fill disks so far that the master puts no new chunk on them: a client would wait
        for space forever.

        And to delete: its servers had not freed the space of deleted files after 10 minutes, with limits of
        deletion raised, too.
        """
        super().require_fit(hosts)
        made_bytes = self.made_bytes(hosts)
        if not self.aged or not self.aged.full_ratio or not made_bytes:
            return
        if self.aged.overwrites_count:
            problem = (
                "MooseFS frees the space of deleted files too slowly to be filled again before its trials"
            )
            raise CampaignError(problem, where="moosefs", next="set overwrites = 0 in aged")
        disk_bytes = made_bytes // len(hosts.by_role("storage"))
        if (left_bytes := round((1 - self.aged.full_ratio) * disk_bytes)) < LEAST_FREE_BYTES:
            problem = f"MooseFS makes no chunks on a disk with less than {bytes_text(LEAST_FREE_BYTES)} free"
            problem += f", and {100 * self.aged.full_ratio:g} % full leaves {bytes_text(left_bytes)} of {bytes_text(disk_bytes)}"
            least = bytes_text(LEAST_FREE_BYTES / (1 - self.aged.full_ratio))
            raise CampaignError(
                problem, where="moosefs", next=f"use disks of more than {least}, or a smaller share"
            )

    def deployment(self, hosts: Hosts) -> "_MooseFS":
        """Chunk servers on the storage hosts, at least as many as copies."""
        return _MooseFS(self, hosts)


class _MooseFS(Deployment[MooseFS], TakesSnapshots, TellsHealth, WorksInBackground):
    """One MooseFS. Healthy means that the master knows the space of all chunk servers."""

    kind = "moosefs"
    space_late_s = 5.0
    data_files = ("-name", "chunk_*")
    _grown = False  # hosts have joined

    def plan(self) -> tuple[Host, ...]:
        goal, storage = self.options.goal, self.hosts.by_role("storage")
        if goal > len(storage):
            problem = (
                f"goal = {goal} needs {goal} chunk servers, but the testbed has {len(storage)} storage hosts"
            )
            then = f"set goal to at most {len(storage)}" if storage else "use a testbed with storage hosts"
            raise CampaignError(problem, where=self.kind, next=then)
        return storage

    def require(self) -> None:
        """Find the user of the package's daemons: the owner of its data folder."""
        master = self.hosts.metadata
        stat = master.run(["stat", "-c", "%U", "/var/lib/mfs"], timeout_s=SHORT_S, check=False)
        self.user = self.group = stat.stdout.strip()
        # it goes into configurations of other hosts, which would run daemons as whom they name
        if stat.returncode != 0 or self.user in ("root", "UNKNOWN") or not _USER.fullmatch(self.user):
            problem = "no unprivileged user for MooseFS (the owner of /var/lib/mfs)"
            raise MachineError(problem, where=master.name, next="apt install moosefs-master")

    @property
    def settings(self) -> tuple[Setting, ...]:
        limits = {} if self.options.rebalance else words.no_rebalance(self._release)
        return (
            # All chunk servers are there before the first write, so the master need not wait for them.
            Setting("REPLICATIONS_DELAY_INIT", "0", "start", "mfsmaster"),
            *(Setting(name, value, "comparability", "mfsmaster") for name, value in limits.items()),
            *(
                []
                if self.options.trash_s
                else [Setting("trash time", "0 s", "comparability", "mfssettrashtime")]
            ),
            Setting("MASTER_RECONNECTION_DELAY", "1", "emulation", "upstream"),
            # Hosts share the memory of one machine, or have little: what takes too much of it is to end, not
            # its neighbour.
            Setting("DISABLE_OOM_KILLER", "0", "emulation", "daemons"),
            Setting("mfsallowoomkiller", "set", "emulation", "mfsmount"),
        )

    def _changed_in(self, place: str) -> dict[str, object]:
        return {setting.name: setting.value for setting in self.changed if setting.place == place}

    def serve(self) -> None:
        host, management = self.hosts.metadata, self.hosts.management
        self._release = words.release(host.run(["mfsmaster", "-v"], timeout_s=SHORT_S).stdout)
        self._code, self._password = secrets.token_hex(16), secrets.token_hex(16)
        self.furnish(host, self.folder(host) / "mfsmaster")
        host.put(words.EMPTY_METADATA, self.folder(host) / "mfsmaster" / "metadata.mfs", owner=self.user)
        exports = self.folder(host) / "mfsexports.cfg"
        text = words.exports_text([user.address for user in self.hosts.users], self._password)
        host.put(text, exports, mode=0o600, owner=self.user)
        settings = {"EXPORTS_FILENAME": exports, "AUTH_CODE": self._code, **self._changed_in("mfsmaster")}
        settings |= {f"{port}_LISTEN_HOST": host.address for port in ("MATOML", "MATOCS", "MATOCL")}
        master = self._daemon(host, "mfsmaster", settings)
        self.daemons.wait("a listening master", lambda: "initialized properly" in master.process.output())
        self.wait_listening(host, CLIENTS_PORT)
        each(self.bearers, self._chunkserver)
        if self.options.metalogger:
            self._daemon(management, "mfsmetalogger", {"BIND_HOST": management.address, **self._upstream()})
        space = f"{len(self.bearers)} chunk servers with space"

        def ready() -> bool:
            status = self._ask("-SCS")
            return not self._missing(status) and words.counts_all(status)

        self.daemons.wait(space, ready, every_s=0.15)

    def join(self, host: Host) -> None:
        """Start a chunk server, which gets new chunks; older ones only if the master may move them."""
        self._grown = True
        self._chunkserver(host)

    def attach(self, client: Host, place: Path) -> Daemon:
        config = self.folder(client) / "mfsmount.cfg"
        # In a file, so that the password is in no argument list; mfspassfile refuses good passwords in
        # 3.0.117.
        text = words.mount_text(
            self.hosts.metadata.address,
            self._password,
            self.options.cache,
            self._label(client),
            self._changed_in("mfsmount"),
        )
        client.put(text, config, mode=0o600)
        return self.start(client, "mfsmount", ["mfsmount", "-f", "-o", f"mfscfgfile={config}", place])

    def configure(self) -> None:
        copies = words.storage_class(self.options.goal, self._release)
        if self._release >= 4:
            self._on_root("mfscreatesclass", "-M", after=("-K", str(self.options.goal), copies))
        self._on_root("mfssetsclass", copies)
        self._on_root("mfssettrashtime", f"{self.options.trash_s:.0f}")

    def report(self) -> dict[str, Json]:
        status, names = self._ask("-SCS"), {host.address: host.name for host in self.bearers}
        return {
            **words.summary(status),
            "goal": words.last_number(self._on_root("mfsgetsclass")),
            "trash_s": words.last_number(self._on_root("mfsgettrashtime")),
            "chunkservers": [
                {"host": names.get(str(row["address"]), ""), **row} for row in words.chunkserver_rows(status)
            ],
            "master": self.hosts.metadata.name,
            "metalogger": self.hosts.management.name if self.options.metalogger else None,
            "cache": self.options.cache,
            "sync_on_close": self.options.sync_on_close,
            "rebalance": self.options.rebalance,
            "user": self.user,
        }

    def locate(self, path: Path) -> tuple[str, ...]:
        addresses = words.copies(self.hosts.clients[0].run(["mfsfileinfo", path], timeout_s=SHORT_S).stdout)
        return tuple(host.name for host in self.hosts.all if host.address in addresses)

    def lost(self) -> str:
        """Return the chunk servers that the master doesn't have: it continues without them."""
        missing = self._missing(self._ask("-SCS"))
        return f"no chunk server on {', '.join(missing)}" if missing else ""

    def absent(self) -> str:
        return self.lost()

    def busy(self) -> str:
        """Return copies to be made or removed.

        Chunks of deleted files are not reported: the master frees them within minutes.
        """
        return words.chunk_work(self._ask("-SIC"))

    def degraded(self) -> str:
        """Return copies to be made: one too many is removed some minutes later, and harms nobody.

        Where hosts have joined and the master may move chunks, also how uneven it is.
        """
        spreads = self._grown and self.options.rebalance
        status = self._ask("-SIC", *(["-SCS"] if spreads else []))
        moving = words.uneven(status) if spreads else ""
        return "; ".join(
            filter(None, [words.chunk_work(status, ("missing", "undergoal", "endangered")), moving])
        )

    def stores(self, host: Host) -> tuple[Path, ...]:
        if host not in self.bearers:
            return ()
        return tuple(self.store(host, number) / "chunks" for number in range(self.disks_count(host)))

    def snapshot(self, name: str) -> None:
        """Copy what is in its root folder to a new folder there, without its data:
        https://moosefs.com/manpages/mfsmakesnapshot/
        """
        client = self.hosts.clients[0]
        root = self.directories[client.name]
        listed = client.run(
            ["find", root, "-mindepth", "1", "-maxdepth", "1", "-not", "-name", "perjoule-*"],
            timeout_s=SHORT_S,
        )
        client.run(["mkdir", root / name], timeout_s=SHORT_S)
        client.run(["mfsmakesnapshot", *listed.stdout.splitlines(), root / name], timeout_s=self.patience_s)

    def _missing(self, status: str) -> list[str]:
        """Return the storage hosts whose space the master doesn't know (yet, or any more), and which so
        get no copies.
        """
        ready = [row["address"] for row in words.chunkserver_rows(status) if row["total_bytes"]]
        return [host.name for host in self.bearers if host.address not in ready]

    def _ask(self, *sections: str) -> str:
        """Query the master's status, and that of chunk servers (-SCS), of chunks (-SIC).

        Raises:
            TransientError: the master did not answer, or a daemon died.
        """
        client, master = self.hosts.clients[0], self.hosts.metadata
        argv = ["mfscli", "-n", "-p", "-H", master.address, "-SIG", *sections]
        try:
            output = client.run(argv, timeout_s=SHORT_S).stdout
            reason = words.unanswered(output)
        except WorkloadError as error:
            output, reason = "", error.what
        if reason:
            self.daemons.alive()  # the better reason, if one has just died
            raise NoAnswer(f"did not answer {client.name}: {reason}", where=f"mfsmaster on {master.name}")
        return output

    def _on_root(self, tool: str, *before: str, after: tuple[str, ...] = ()) -> str:
        """Have one of the client's tools read or set a property of the root folder."""
        client = self.hosts.clients[0]
        return client.run([tool, *before, self.directories[client.name], *after], timeout_s=SHORT_S).stdout

    def _upstream(self) -> dict[str, object]:
        return {"MASTER_HOST": self.hosts.metadata.address, **self._changed_in("upstream")}

    def _chunkserver(self, host: Host) -> None:
        stores, disks = self.stores(host), self.folder(host) / "mfshdd.cfg"
        self.furnish(host, *stores)
        host.put("".join(f"{chunks}\n" for chunks in stores), disks, owner=self.user)
        settings = {
            "HDD_CONF_FILENAME": disks,
            "HDD_FSYNC_BEFORE_CLOSE": int(self.options.sync_on_close),
            "AUTH_CODE": self._code,
            "CSSERV_LISTEN_HOST": host.address,
            "BIND_HOST": host.address,
        }
        label = {"LABELS": name} if (name := self._label(host)) else {}
        self._daemon(host, "mfschunkserver", settings | self._upstream() | label)

    def _label(self, host: Host) -> str:
        """Return the label of a chunk server whose host is also a client and should read from its own;
        MooseFS has 26.
        """
        both = [user.name for user in self.hosts.users if user in self.bearers]
        return dict(zip(both, ascii_uppercase, strict=False)).get(host.name, "")

    def _daemon(self, host: Host, program: str, settings: Mapping[str, object]) -> Daemon:
        data_folder, config = self.folder(host) / program, self.folder(host) / f"{program}.cfg"
        self.furnish(host, data_folder)
        common: dict[str, object] = {
            "WORKING_USER": self.user,
            "DATA_PATH": data_folder,
            **self._changed_in("daemons"),
        }
        host.put(words.config_text({**common, **settings}), config, mode=0o600, owner=self.user)
        # With -a a master that was killed reads its metadata and the log of changes since; without, it does
        # not start again.
        restoring = ["-a"] if program == "mfsmaster" else []
        return self.start(host, program, [program, "-c", config, *restoring, "-f", "start"])
