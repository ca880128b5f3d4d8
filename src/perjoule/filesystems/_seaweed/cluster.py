"""A SeaweedFS on its hosts, from bring-up to tear-down: master, volume servers and filer, all of them the
program `weed`.

Servers run as user `nobody`. Caches:

- Volume servers keep data in their kernel's page cache alone; the filer keeps names in LevelDB.

Volume servers don't sync what they write: a write returns when all copies are in their page caches. The space
of removed files is free only after the master had volumes compacted, in the background.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from perjoule.drivers.protocols import Host, TellsHealth
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import SHORT_S, Deployment
from perjoule.filesystems._seaweed import parse as answers
from perjoule.filesystems._seaweed.options import FILER, GRPC, MASTER, VOLUMES, Seaweed
from perjoule.filesystems._settings import Setting
from perjoule.machine.each import each
from perjoule.model import Json
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB

S = TypeVar("S", bound=Seaweed)


class SeaweedCluster(Deployment[S], TellsHealth):
    """One SeaweedFS. Its servers are healthy when the master knows the filer and all volume servers."""

    user, group = "nobody", "65534"
    data_files = ("-name", "*.dat")
    most_volumes_count = 0  # of a server; 0: as many full ones as its disk has room for

    def plan(self) -> tuple[Host, ...]:
        copies_count, data = self.options.copies_count, self.options.data(self.hosts)
        if copies_count > len(data):
            problem = (
                f'replication = "{self.options.replication}" needs {copies_count} volume servers, but there '
                f"are {len(data)}"
            )
            advice = f'set replication = "00{max(len(data) - 1, 0)}", or more servers'
            raise CampaignError(problem, where=self.kind, next=advice)
        return data

    def serve(self) -> None:
        each(self.hosts.all, lambda host: self.furnish(host, self._tmp(host)))
        host = self.hosts.management
        limits = (f"-volumeSizeLimitMB={self.options.volume_bytes // MIB}", "-telemetry=false")
        rooms = (f"-mdir={self.folder(host) / 'master'}", "-peers=none")
        replication = f"-defaultReplication={self.options.replication}"
        self._serve(host, "master", f"-port={MASTER}", *rooms, replication, *limits)
        self.wait_listening(host, MASTER + GRPC)
        each(self.bearers, self._serve_volumes)
        host = self.hosts.metadata
        rooms = (f"-defaultStoreDir={self.folder(host) / 'filer'}",)
        self._serve(host, "filer", f"-port={FILER}", self._master, *rooms, self._socket(host, "filer"))
        self.daemons.wait("a filer that its master knows", lambda: self._filer in self._ask("cluster.ps"))
        self.daemons.wait_out("all volume servers", self.lost)

    @property
    def settings(self) -> tuple[Setting, ...]:
        growth = f"master.volume_growth.copy_{self.options.copies_count}"
        return (
            Setting("volumeSizeLimitMB", str(self.options.volume_bytes // MIB), "start"),
            Setting(growth, "1", "start"),
            Setting("telemetry", "false", "comparability"),
        )

    def report(self) -> dict[str, Json]:
        held = answers.volumes(self._ask("volume.list"))
        printed = self.hosts.metadata.run([*self._weed(), "version"], timeout_s=SHORT_S).stdout
        return {
            "version": answers.version(printed),
            "master": self.hosts.management.name,
            "filer": self.hosts.metadata.name,
            "replication": self.options.replication,
            "volume_bytes": self.options.volume_bytes,
            "volumes": {host.name: len(held.get(host.address, ())) for host in self.bearers},
            "user": self.user,
        }

    def holders(self, path: Path) -> tuple[str, ...]:
        """Return the hosts with a file's data, by its path in the filer."""
        listed = self._ask("volume.list", f"fs.meta.cat '{path}'")
        held, chunks = answers.volumes(listed), answers.chunks(listed)
        return tuple(host.name for host in self.bearers if held.get(host.address, set()) & chunks)

    def grow_volumes(self, collections: Iterable[str]) -> None:
        """Give each server as many volumes of each collection as were asked for.

        By itself, the master chooses them by chance, as it does here for further copies. Each collection has
        been written to.
        """
        listed, commands = self._ask("volume.list"), list[str]()
        for collection in collections:
            held = answers.volumes(listed, collection)
            for host in self.bearers:
                count = self.options.volumes_count - len(held.get(host.address, ()))
                place = f"-dataNode {host.address}:{VOLUMES}"
                if count > 0:
                    commands.append(f"volume.grow -collection {collection} -count {count} {place}")
        self._ask(*commands)

    def lost(self) -> str:
        """Return the volume servers that the master doesn't have."""
        members = self._ask("cluster.ps")
        missing = [host.name for host in self.bearers if f"{host.address}:{VOLUMES} " not in members]
        return f"no volume server on {', '.join(missing)}" if missing else ""

    def absent(self) -> str:
        if lost := self.lost():
            return lost
        return "" if self._filer in self._ask("cluster.ps") else f"no filer on {self.hosts.metadata.name}"

    def degraded(self) -> str:
        """Return the volumes with too few copies; without copies, what is absent is nowhere else."""
        if self.options.copies_count == 1:
            return self.lost()
        few = answers.thin(answers.volumes(self._ask("volume.list")), self.options.copies_count)
        return f"too few copies of {len(few)} volumes" if few else ""

    def stores(self, host: Host) -> tuple[Path, ...]:
        return (self.store(host) / "volumes",) if host in self.bearers else ()

    @property
    def _master(self) -> str:
        return f"-master={self.hosts.management.address}:{MASTER}"

    @property
    def _filer(self) -> str:
        return f"{self.hosts.metadata.address}:{FILER}"

    def _socket(self, host: Host, name: str) -> str:
        return f"-localSocket={self._tmp(host) / name}.sock"

    def _tmp(self, host: Host) -> Path:
        """Return where servers put what they make by themselves."""
        return self.folder(host) / "tmp"

    def _weed(self, host: Host | None = None, *, serves: bool = False) -> tuple[str, ...]:
        """Return the program with its environment: what it writes by itself goes to the host's folder.

        What servers write there, programs of ours don't read.
        """
        at = host or self.hosts.metadata
        room = self._tmp(at) if serves else self.folder(at)
        growth = (f"WEED_MASTER_VOLUME_GROWTH_COPY_{n}=1" for n in (1, 2, 3))
        return (*self.options.environment, f"HOME={room}", f"TMPDIR={room}", *growth, "weed", "-logtostderr")

    def _serve(self, host: Host, name: str, *options: str, room: Path | None = None) -> Daemon:
        self.furnish(host, room or self.folder(host) / name)
        argv = [*self.as_user, *self._weed(host, serves=True), name, f"-ip.bind={host.address}", *options]
        address = [f"-ip={host.address}"] if name != "s3" else []
        return self.start(host, f"weed-{name}", [*argv, *address])

    def _serve_volumes(self, host: Host) -> None:
        (store,) = self.stores(host)
        most = f"-max={self.most_volumes_count}"
        options = (f"-dir={store}", most, f"-port={VOLUMES}", self._master, "-preStopSeconds=0")
        self._serve(host, "volume", *options, room=store)

    def _ask(self, *commands: str) -> str:
        """Have SeaweedFS's own shell run commands."""
        text = "".join(f"{command}\n" for command in commands)
        argv = [*self._weed(), "shell", self._master]
        return self.hosts.metadata.run(argv, text=text, timeout_s=self.patience_s).stdout
