"""OrangeFS's input and output, as pure functions."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from perjoule.filesystems._said import found, unexpected
from perjoule.filesystems._settings import Setting

if TYPE_CHECKING:
    from perjoule.filesystems.orangefs import OrangeFS

PORT = 3334
NAME = "orangefs"  # of the file system, in the URL that clients mount
READY = "PVFS2 Server ready."
# in a server's room: a folder of LMDB, or a file of Berkeley DB
DATABASE = Path("metadata", "storage_attributes.db")

Role = Literal["metadata", "data"]
ROLES: tuple[Role, ...] = ("metadata", "data")
Client = Literal["fuse", "kernel"]
SERVER, TOOLS = "pvfs2-server", ("pvfs2-statfs", "pvfs2-viewdist", "pvfs2-check-server")
CLIENTS: dict[Client, str] = {"fuse": "pvfs2fuse", "kernel": "pvfs2-client-core"}

# As pvfs2-genconfig of 2.10 writes it, but for names, places, time limits (longer where emulated time is
# slower), retries (ten times as often for the same 10 s: else a server or client that comes a moment too
# early waits for 2 s) and the log: in the foreground servers log to stderr, yet they refuse to start without
# a LogFile that they may open.
_CONFIGURATION = """\
<Defaults>
	UnexpectedRequests 50
	EventLogging none
	EnableTracing no
	LogStamp datetime
	BMIModules bmi_tcp
	FlowModules flowproto_multiqueue
	PerfUpdateInterval 1000
	ServerJobBMITimeoutSecs {server_s:.0f}
	ServerJobFlowTimeoutSecs {server_s:.0f}
	ClientJobBMITimeoutSecs {client_s:.0f}
	ClientJobFlowTimeoutSecs {client_s:.0f}
	ClientRetryLimit {retries}
	ClientRetryDelayMilliSecs {pause_ms}
	PrecreateBatchSize 0,1024,1024,1024,32,1024,0
	PrecreateLowThreshold 0,256,256,256,16,256,0
	TCPBindSpecific yes
	<Security>
		TurnOffTimeouts yes
	</Security>
</Defaults>
<Aliases>
{aliases}
</Aliases>
<FileSystem>
	Name {name}
	ID 1040292890
	RootHandle 1048576
	FileStuffing no
	DistrDirServersInitial 1
	DistrDirServersMax 1
	DistrDirSplitSize 100
	<MetaHandleRanges>
{metadata}
	</MetaHandleRanges>
	<DataHandleRanges>
{data}
	</DataHandleRanges>
	<StorageHints>
		TroveSyncMeta yes
		TroveSyncData {sync}
		TroveMethod {trove}
	</StorageHints>
	<Distribution>
{distribution}
	</Distribution>
</FileSystem>
{servers}"""
_SERVER = """\
<ServerOptions>
	Server {name}
	DataStorageSpace {store}/data
	MetadataStorageSpace {folder}/metadata
	LogFile /dev/null
</ServerOptions>
"""
FIRST_HANDLE, LAST_HANDLE = 3, 2**63 - 1
RETRIES, PAUSE_MS = (
    Setting("ClientRetryLimit", "50", "start"),
    Setting("ClientRetryDelayMilliSecs", "200", "start"),
)


@dataclass(frozen=True)
class OrangefsServer:
    """One server, known by its host's name."""

    name: str
    address: str
    folder: Path
    roles: tuple[Role, ...]
    store: Path  # where its data lie


def configuration(options: "OrangeFS", servers: Sequence[OrangefsServer], *, scale: float = 1.0) -> str:
    """Write fs.conf, the one file that all servers read (and clients get from them); time limits grow with
    emulated time.
    """
    strip_bytes = None if options.distribution == "basic_dist" else options.stripe_bytes
    keepers = {role: [s.name for s in servers if role in s.roles] for role in ROLES}
    width = (LAST_HANDLE - FIRST_HANDLE) // sum(map(len, keepers.values()))
    firsts = itertools.count(FIRST_HANDLE, width)
    ranges = {
        role: "\n".join(
            f"\t\tRange {name} {first}-{first + width - 1}"
            for name, first in zip(names, firsts, strict=False)
        )
        for role, names in keepers.items()
    }
    strip = ["\t\tParam strip_size", f"\t\tValue {strip_bytes}"] if strip_bytes else []
    return _CONFIGURATION.format(
        name=NAME,
        retries=RETRIES.value,
        pause_ms=PAUSE_MS.value,
        server_s=30 / min(1.0, scale),
        client_s=300 / min(1.0, scale),
        aliases="\n".join(f"\tAlias {s.name} tcp://{s.address}:{PORT}" for s in servers),
        metadata=ranges["metadata"],
        data=ranges["data"],
        sync="yes" if options.sync_data else "no",
        trove=options.trove,
        distribution="\n".join([f"\t\tName {options.distribution}", *strip]),
        servers="\n".join(_SERVER.format(name=s.name, folder=s.folder, store=s.store) for s in servers),
    )


def url(server: OrangefsServer) -> str:
    """Return what clients mount: any one server supplies the rest."""
    return f"tcp://{server.address}:{PORT}/{NAME}"


def check_server(server: OrangefsServer) -> tuple[str, ...]:
    """Return the command that fails unless a server supplies its configuration."""
    return "pvfs2-check-server", "-h", server.address, "-f", NAME, "-n", "tcp", "-p", str(PORT)


def table(server: OrangefsServer, mountpoint: Path) -> str:
    """Return a pvfs2tab, by which OrangeFS's own tools find the file system of a path."""
    return f"{url(server)} {mountpoint} pvfs2 defaults,noauto 0 0\n"


@dataclass(frozen=True)
class FileSpread:
    """The placement of one file on its servers."""

    distribution: str
    strip_bytes: int | None
    data: tuple[str, ...]  # addresses, in the order of their strips


def spread(viewdist: str) -> FileSpread:
    """Parse the output of `pvfs2-viewdist -f FILE`. Raises WorkloadError."""
    name = found(r"^dist_name = (\w+)$", viewdist, "pvfs2-viewdist")
    strip = re.search(r"strip_size:(\d+)", viewdist)
    datafiles = re.findall(r"^Datafile \d+ - tcp://([^:\s]+):\d+", viewdist, re.MULTILINE)
    if not datafiles:
        raise unexpected(viewdist, "pvfs2-viewdist")
    return FileSpread(name, int(strip[1]) if strip else None, tuple(datafiles))


def space(statfs: str) -> dict[str, int]:
    """Parse total and available bytes, from `pvfs2-statfs -m MOUNTPOINT`. Raises WorkloadError."""
    names = ("total", "available")
    return {
        f"{name}_bytes": int(found(rf"^\tbytes {name}:\s+(\d+)$", statfs, "pvfs2-statfs")) for name in names
    }


def modes(statfs: str) -> dict[str, str]:
    """Parse what each server serves, by address ("only metadata", "only I/O data", ...), from `pvfs2-statfs`.

    Raises:
        WorkloadError: it does not say so of each.
    """
    modes_of = dict(
        re.findall(r"^server: tcp://([^:\s]+):\d+\n(?:\t.*\n)*?\tmode: serving (.+)$", statfs, re.MULTILINE)
    )
    if not modes_of or modes_of.keys() != set(
        re.findall(r"^server: tcp://([^:\s]+):\d+$", statfs, re.MULTILINE)
    ):
        raise unexpected(statfs, "pvfs2-statfs")
    return modes_of


def version(log: str) -> str | None:
    """Parse the version that a server prints when it starts."""
    started = re.search(r"PVFS2 Server on node \S+ version (\S+) starting", log)
    return started[1] if started else None
