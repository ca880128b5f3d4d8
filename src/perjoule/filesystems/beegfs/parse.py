"""BeeGFS's input and output, as pure functions.

The daemons' configuration is the same for 7 and 8; `versions` has the differences.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from perjoule.filesystems._said import unexpected
from perjoule.filesystems._settings import Setting

Kind = Literal["meta", "storage"]
KINDS: tuple[Kind, ...] = ("meta", "storage")
FIRST_GROUP = 101  # of mirrors; targets count from 1
# as all other file systems, between addresses whose link is known
TCP = Setting("connUseRDMA", "false", "comparability")


def groups(servers_count: int, first: int = 1) -> dict[int, tuple[int, int]]:
    """Number the pairs of servers, or of their targets, that mirror each other, each with its primary before
    its secondary.

    Args:
        servers_count: their number; numbers count from 1.
        first: the one that must be a primary: a group that owns the root directory already has it in its
            primary.
    """
    pairs = ((n, n + 1) for n in range(1, servers_count, 2))
    return {FIRST_GROUP + n: (b, a) if first == b else (a, b) for n, (a, b) in enumerate(pairs)}


def settings(values: Mapping[str, object]) -> str:
    """Write a configuration in the format of all daemons except the management of 8."""
    written = {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()
    }
    return "".join(f"{key} = {value}\n" for key, value in written.items())


def server(kind: Kind, *, store: Path, authentication: Path, management: str) -> str:
    """Return the configuration of a metadata or a storage server: in the foreground, its log to stdout."""
    folder = {"meta": "storeMetaDirectory", "storage": "storeStorageDirectory"}[kind]
    return settings(
        {
            "sysMgmtdHost": management,
            "connAuthFile": authentication,
            TCP.name: TCP.value,
            folder: store,
            "storeAllowFirstRunInit": True,
            "runDaemonized": False,
            "logType": "logfile",
            "logStdFile": "",
            "logNoDate": False,
            "logLevel": 3,
        }
    )


def identity(kind: Kind, number: int) -> dict[str, str]:
    """Return the files in a server's store that, before its first start, give it and its target their
    number.
    """
    return {"nodeNumID": f"{number}\n", **({"targetNumID": f"{number}\n"} if kind == "storage" else {})}


def finished_count(output: str) -> int:
    """Parse how many servers (7) or targets (8) have finished BeeGFS's storage benchmark, without errors.

    From `beegfs-ctl --storagebench --status --verbose` (7) and `beegfs benchmark status --verbose` (8).
    """
    if table := re.search(r"^\| (UNINITIALIZED .*)\|\n\+.*\n\|(.*)\|$", output, re.MULTILINE):
        counts = dict(zip(*(row.replace(" ", "").split("|") for row in table.groups()), strict=True))
        return int(counts["FINISHED"])
    if finished := re.search(r"^Finished:\s+(\d+)", output, re.MULTILINE):
        return int(finished[1])
    if "Server benchmark status:" in output:
        return 0
    raise unexpected(output, "benchmark status")


def version(log: str) -> str | None:
    """Parse the version that a server prints when it starts; a build from source may have none."""
    started = re.search(r">> Version: (\S+)", log)
    return started[1] if started else None
