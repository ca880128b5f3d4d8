"""SeaweedFS 4 with folders: its filer, mounted in user space by `weed mount`.
https://github.com/seaweedfs/seaweedfs/wiki/FUSE-Mount

A master, a filer (names) and volume servers (data), all of them the program `weed`. A client cuts files into
chunks, of which each goes to a volume of SeaweedFS's choice, and through its first server to the others.
Servers trust every client, here only those of the hosts' own network. A client caches:

- chunks on its own disk (see `cache`), and names in LevelDB beside them, both until it unmounts
- chunks that it reads ahead, in memory, and file data in its kernel's page cache

Its fsync waits until all copies of all chunks are in the page caches of their servers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Hosts, Tunable
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._seaweed.cluster import SeaweedCluster
from perjoule.filesystems._seaweed.options import Seaweed, WholeMib
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB

EXAMPLE = '[[filesystem]]\nkind = "seaweedfs"\nreplication = "001"\n'

ROOM = "/perjoule"  # the folder of the filer that clients mount
COLLECTION = "perjoule"  # of the volumes of its files


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SeaweedFS(Seaweed):
    """SeaweedFS with volume servers on the storage hosts, the filer on the metadata host, and the master on
    the management host.
    """

    file_mips_s: ClassVar[float] = 900.0
    unable: ClassVar[Mapping[str, str]] = {**Seaweed.unable, "snapshot": "it has none"}

    chunk_bytes: Annotated[WholeMib, Tunable(("1 MiB", "2 MiB", "4 MiB", "8 MiB"), scale=True)] = 2 * MIB
    """Most bytes of a chunk (chunkSizeLimitMB)."""
    cache_bytes: WholeMib = 128 * MIB
    """Space for chunks on each client's own disk (cacheCapacityMB)."""

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """One program, on clients, too."""
        return {**super().names(), "client": ("weed",)}

    def require_fit(self, hosts: Hosts) -> None:
        """Refuse, too, to age it."""
        if self.aged:
            problem = "SeaweedFS was not aged yet: it frees the space of deleted files late"
            raise CampaignError(problem, where=_SeaweedFS.kind, next="remove aged")
        super().require_fit(hosts)

    def deployment(self, hosts: Hosts) -> "_SeaweedFS":
        """One folder that all clients mount."""
        return _SeaweedFS(self, hosts)


class _SeaweedFS(SeaweedCluster[SeaweedFS]):
    """One SeaweedFS with its mounts."""

    kind = "seaweedfs"

    def attach(self, client: Host, place: Path) -> Daemon:
        cache = self.folder(client) / "cache"
        client.run(["mkdir", "-p", cache], timeout_s=self.patience_s)
        limits = {
            "chunkSizeLimitMB": self.options.chunk_bytes // MIB,
            "cacheCapacityMB": self.options.cache_bytes // MIB,
        }
        argv = [*self._weed(client), "mount", f"-filer={self._filer}", f"-filer.path={ROOM}", f"-dir={place}"]
        argv += [f"-collection={COLLECTION}", f"-cacheDir={cache}"]
        argv.append(f"-localSocket={self.folder(client) / 'mount.sock'}")
        argv += [f"-{name}={count}" for name, count in limits.items()]
        return self.start(client, "weed-mount", argv)

    def configure(self) -> None:
        """Have a client write, with which the collection exists, and give it volumes on all servers."""
        client = self.hosts.clients[0]
        self.daemons.retry("a first write", lambda: self.write_first(client))
        self.grow_volumes([COLLECTION])

    def report(self) -> dict[str, Json]:
        return {
            **super().report(),
            "chunk_bytes": self.options.chunk_bytes,
            "cache_bytes": self.options.cache_bytes,
        }

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts with a file's chunks; () beyond about a thousand chunks, whose list is not told."""
        return self.holders(Path(ROOM, path.relative_to(self.directories[self.hosts.clients[0].name])))

    def drop_caches(self) -> None:
        """Remount on every client, which empties its cache."""
        self.remount()
