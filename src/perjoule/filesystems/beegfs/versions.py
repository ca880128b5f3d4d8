"""The differences between BeeGFS 7 and 8: the management daemon and the tool.

7: a management in C++ with the configuration format of all other daemons, `beegfs-ctl` with a client's
configuration. https://doc.beegfs.io/7.2/ 8: a management in Rust with a TOML file and a database that is made
first, `beegfs` in Go that speaks gRPC to it. https://doc.beegfs.io/latest/,
https://github.com/ThinkParQ/beegfs-go, https://github.com/ThinkParQ/beegfs-rust
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from perjoule.filesystems.beegfs.parse import TCP, Kind, settings

MANAGEMENT, MANAGEMENT_PORT = "beegfs-mgmtd", 8008
SERVERS: dict[Kind, str] = {"meta": "beegfs-meta", "storage": "beegfs-storage"}
Argv = tuple[str, ...]


@dataclass(frozen=True)
class ReleaseSeries:
    """Input to the daemons and the tool of one series; every command's Argv begins with the tool's name."""

    name: str
    tool: str
    # what the tool says when it ends with 1 although its work is done; nothing when it never does
    pardoned: str
    file: str  # the name of the management's configuration
    management: Callable[[Path, Path], str]  # writes it, from where the management's store and the secret are
    # of a client's configuration, which the tool of 7 reads too, beside the common ones
    client_settings: Mapping[str, object]
    mirrored: str  # the pattern of files that are stored twice
    wants_uuid: bool  # whether a server registers only from a machine on which it finds a UUID
    words: Mapping[str, str]  # all commands, with what is filled in

    def command(self, name: str, **values: object) -> Argv:
        """Return the arguments that precede each of the following."""
        return tuple(part.format(**values) for part in self.words[name].split())

    def client(self, management: str, authentication: Path, cache: str) -> str:
        """Return the configuration of a client, which the tool of 7 also reads."""
        common = {
            "sysMgmtdHost": management,
            "connAuthFile": authentication,
            TCP.name: TCP.value,
            "tuneFileCacheType": cache,
        }
        return settings({**common, **self.client_settings})


def _management_of_7(store: Path, authentication: Path) -> str:
    # All targets are equal, however little space a test bed has: files are striped over all.
    names = product(("Meta", "Storage"), ("Space", "Inodes"), ("Low", "Emergency"))
    return settings(
        {
            "storeMgmtdDirectory": store,
            "storeAllowFirstRunInit": True,
            "sysAllowNewServers": True,
            "sysAllowNewTargets": True,
            "connAuthFile": authentication,
            "tuneMetaDynamicPools": False,
            "tuneStorageDynamicPools": False,
            **{f"tune{kind}{name}{limit}Limit": 0 for kind, name, limit in names},
            "runDaemonized": False,
            "logType": "logfile",
            "logStdFile": "",
            "logLevel": 3,
        }
    )


def _management_of_8(store: Path, authentication: Path) -> str:
    limits = "".join(
        f'[cap-pool-{kind}-limits]\ninodes-low = "0"\ninodes-emergency = "0"\nspace-low = '
        '"0"\nspace-emergency = "0"\n'
        for kind in ("meta", "storage")
    )
    return (
        f'db-file = "{store / "mgmtd.sqlite"}"\nauth-file = "{authentication}"\ntls-disable = true\n'
        f'log-target = "std"\nlog-level = "info"\n{limits}'
    )


SEVEN = ReleaseSeries(
    name="7",
    tool="beegfs-ctl",
    pardoned="",
    file="mgmtd.conf",
    management=_management_of_7,
    # Without a helper daemon: the log goes elsewhere, and a mount does not ask it for the check of sanity, which
    # the first write makes up for.
    client_settings={"logType": "syslog", "sysMountSanityCheckMS": 0},
    mirrored="buddymirror",
    wants_uuid=False,
    words={
        "prepare": "",
        "manage": f"{MANAGEMENT} cfgFile={{configuration}}",
        "call": "beegfs-ctl --cfgFile={client}",
        "targets": "--listtargets --state --spaceinfo --nodetype={kind}",
        "entry": "--getentryinfo --unmounted {path}",
        "create": "--createfile --unmounted --storagepoolid=inherit {path}",
        "stripe": "--setpattern --unmounted --chunksize={chunk_bytes} --numtargets={targets_count} --pattern={pattern} /",
        "group": "--addmirrorgroup --nodetype={kind} --primary={primary} --secondary={secondary} --groupid={number}",
        "mirror root": "--mirrormd --force",
        "bench": "--storagebench --alltargets --write --size={size_bytes} --blocksize={block_bytes} --threads=1",
        "bench status": "--storagebench --alltargets --status --verbose",
        "bench end": "--storagebench --alltargets --cleanup",
    },
)
EIGHT = ReleaseSeries(
    name="8",
    tool="beegfs",
    # 8.3.1 looks for a licence when a command has done its work, and a build from source has no library to
    # check one.
    pardoned="unable to verify licensed status",
    file="mgmtd.toml",
    management=_management_of_8,
    client_settings={},
    mirrored="mirrored",
    wants_uuid=True,
    words={
        "prepare": f"{MANAGEMENT} --config-file {{configuration}} --init",
        "manage": f"{MANAGEMENT} --config-file {{configuration}}",
        "call": "beegfs --mgmtd-addr {management}:8010 --auth-file {authentication} --tls-disable --mount none",
        "targets": "target list --raw --state --capacity --node-type {kind}",
        "entry": "entry info --raw --retro {path}",
        "create": "entry create file {path}",
        "stripe": "entry set --chunk-size {chunk_bytes} --num-targets {targets_count} --pattern {pattern} /",
        "group": "mirror create {kind}_{number} --node-type {kind} --num-id {number} --primary {kind}:{primary} "
        "--secondary {kind}:{secondary}",
        "mirror root": "mirror init --yes",
        "bench": "benchmark start --size {size_bytes} --block-size {block_bytes} --num-tasks 1",
        "bench status": "benchmark status --verbose",
        "bench end": "benchmark cleanup",
    },
)
ALL = (SEVEN, EIGHT)
