"""Where BeeGFS 7 and 8 differ: the management daemon and the tool.

7: a management in C++ with the configuration of all other daemons, `beegfs-ctl` with a client's configuration.
https://doc.beegfs.io/7.2/
8: a management in Rust with a TOML file and a database that is made first, `beegfs` in Go that speaks gRPC to it.
https://doc.beegfs.io/latest/, https://github.com/ThinkParQ/beegfs-go, https://github.com/ThinkParQ/beegfs-rust
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from perjoule.filesystems.beegfs.parse import Kind, Layout, settings

MANAGEMENT = "beegfs-mgmtd"
SERVERS: dict[Kind, str] = {"meta": "beegfs-meta", "storage": "beegfs-storage"}
Argv = tuple[str, ...]


@dataclass(frozen=True)
class Management:
    """How a management daemon is configured and started."""

    configuration: str
    file: str  # the configuration's name
    prepare: Argv  # what has to be run once before it; nothing when empty
    start: Argv


class Series(ABC):
    """What is said to the daemons and the tool of one series; every command's Argv begins with the tool's name."""

    name: str
    tool: str
    pardoned: str  # what the tool says when it ends with 1 although its work is done; nothing when it never does

    @abstractmethod
    def management(self, room: Path, authentication: Path, store: Path) -> Management:
        """The management daemon, its configuration in `room`."""

    @abstractmethod
    def client(self, management: str, authentication: Path, cache: str) -> str:
        """The configuration of a client, which the tool of 7 reads too."""

    @abstractmethod
    def command(self, management: str, authentication: Path, client: Path) -> Argv:
        """How the tool is called: what precedes each of the following."""

    @abstractmethod
    def targets(self, kind: Kind) -> Argv:
        """Ask for the state and space of all targets of a kind."""

    @abstractmethod
    def entry(self, path: str) -> Argv:
        """Ask how an entry lies on the servers, by its path below the root of the file system."""

    @abstractmethod
    def create(self, path: str) -> Argv:
        """Create an empty file, without a mount."""

    @abstractmethod
    def stripe(self, layout: Layout) -> Argv:
        """Set how files below the root directory are striped from now on."""

    @abstractmethod
    def group(self, kind: Kind, number: int, primary: int, secondary: int) -> Argv:
        """Make two targets, or metadata servers, mirror each other."""

    @abstractmethod
    def mirror_root(self) -> Argv:
        """Mirror the root directory's metadata."""

    @abstractmethod
    def bench(self, size_bytes: int, block_bytes: int) -> Argv:
        """Have every storage target write a file of this size to its disk, in the background."""

    @abstractmethod
    def bench_status(self) -> Argv:
        """Ask how far that is."""

    @abstractmethod
    def bench_end(self) -> Argv:
        """Remove what it wrote."""


class Seven(Series):
    """BeeGFS 7: recorded from 7.4.6."""

    name, tool, pardoned = "7", "beegfs-ctl", ""

    def management(self, room: Path, authentication: Path, store: Path) -> Management:
        file = "mgmtd.conf"
        # All targets are equal, however little space a test bed has: files are striped over all.
        limits = {
            f"tune{kind}{what}{limit}Limit": 0
            for kind in ("Meta", "Storage")
            for what in ("Space", "Inodes")
            for limit in ("Low", "Emergency")
        }
        configuration = {
            "storeMgmtdDirectory": store,
            "storeAllowFirstRunInit": True,
            "sysAllowNewServers": True,
            "sysAllowNewTargets": True,
            "connAuthFile": authentication,
            "tuneMetaDynamicPools": False,
            "tuneStorageDynamicPools": False,
            **limits,
            "runDaemonized": False,
            "logType": "logfile",
            "logStdFile": "",
            "logLevel": 3,
        }
        return Management(settings(configuration), file, (), (MANAGEMENT, f"cfgFile={room / file}"))

    def client(self, management: str, authentication: Path, cache: str) -> str:
        return settings(
            {
                "sysMgmtdHost": management,
                "connAuthFile": authentication,
                "connUseRDMA": False,
                "logType": "syslog",  # not through a helper daemon
                "tuneFileCacheType": cache,
            }
        )

    def command(self, management: str, authentication: Path, client: Path) -> Argv:
        return (self.tool, f"--cfgFile={client}")

    def targets(self, kind: Kind) -> Argv:
        return ("--listtargets", "--state", "--spaceinfo", f"--nodetype={kind}")

    def entry(self, path: str) -> Argv:
        return ("--getentryinfo", "--unmounted", path)

    def create(self, path: str) -> Argv:
        return ("--createfile", "--unmounted", "--storagepoolid=inherit", path)

    def stripe(self, layout: Layout) -> Argv:
        pattern = "buddymirror" if layout.mirror else "raid0"
        wanted = (f"--chunksize={layout.chunk_bytes}", f"--numtargets={layout.targets_count}", f"--pattern={pattern}")
        return ("--setpattern", "--unmounted", *wanted, "/")

    def group(self, kind: Kind, number: int, primary: int, secondary: int) -> Argv:
        pair = (f"--primary={primary}", f"--secondary={secondary}", f"--groupid={number}")
        return ("--addmirrorgroup", f"--nodetype={kind}", *pair)

    def mirror_root(self) -> Argv:
        return ("--mirrormd", "--force")

    def bench(self, size_bytes: int, block_bytes: int) -> Argv:
        return ("--storagebench", "--alltargets", "--write", f"--size={size_bytes}", f"--blocksize={block_bytes}", "--threads=1")

    def bench_status(self) -> Argv:
        return ("--storagebench", "--alltargets", "--status", "--verbose")

    def bench_end(self) -> Argv:
        return ("--storagebench", "--alltargets", "--cleanup")


class Eight(Series):
    """BeeGFS 8: answers recorded from 8.3.1, commands and configuration from its documents and source."""

    # 8.3.1 looks for a licence when a command has done its work, and a build from source has no library to check one.
    name, tool, pardoned = "8", "beegfs", "unable to verify licensed status"

    def management(self, room: Path, authentication: Path, store: Path) -> Management:
        file = "mgmtd.toml"
        limits = "".join(
            f'[cap-pool-{kind}-limits]\ninodes-low = "0"\ninodes-emergency = "0"\nspace-low = "0"\nspace-emergency = "0"\n'
            for kind in ("meta", "storage")
        )
        configuration = (
            f'db-file = "{store / "mgmtd.sqlite"}"\nauth-file = "{authentication}"\ntls-disable = true\n'
            f'log-target = "std"\nlog-level = "info"\n{limits}'
        )
        start = (MANAGEMENT, "--config-file", str(room / file))
        return Management(configuration, file, (*start, "--init"), start)

    def client(self, management: str, authentication: Path, cache: str) -> str:
        return settings(
            {"sysMgmtdHost": management, "connAuthFile": authentication, "connUseRDMA": False, "tuneFileCacheType": cache}
        )

    def command(self, management: str, authentication: Path, client: Path) -> Argv:
        where = ("--mgmtd-addr", f"{management}:8010", "--auth-file", str(authentication), "--tls-disable")
        return (self.tool, *where, "--mount", "none")

    def targets(self, kind: Kind) -> Argv:
        return ("target", "list", "--raw", "--state", "--capacity", "--node-type", kind)

    def entry(self, path: str) -> Argv:
        return ("entry", "info", "--raw", "--retro", path)

    def create(self, path: str) -> Argv:
        return ("entry", "create", "file", path)

    def stripe(self, layout: Layout) -> Argv:
        pattern = "mirrored" if layout.mirror else "raid0"
        wanted = ("--chunk-size", str(layout.chunk_bytes), "--num-targets", str(layout.targets_count), "--pattern", pattern)
        return ("entry", "set", *wanted, "/")

    def group(self, kind: Kind, number: int, primary: int, secondary: int) -> Argv:
        pair = ("--num-id", str(number), "--primary", f"{kind}:{primary}", "--secondary", f"{kind}:{secondary}")
        return ("mirror", "create", f"{kind}_{number}", "--node-type", kind, *pair)

    def mirror_root(self) -> Argv:
        return ("mirror", "init", "--yes")

    def bench(self, size_bytes: int, block_bytes: int) -> Argv:
        return ("benchmark", "start", "--size", str(size_bytes), "--block-size", str(block_bytes), "--num-tasks", "1")

    def bench_status(self) -> Argv:
        return ("benchmark", "status", "--verbose")

    def bench_end(self) -> Argv:
        return ("benchmark", "cleanup")


ALL: tuple[Series, ...] = (Seven(), Eight())
