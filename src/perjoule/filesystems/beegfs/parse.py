"""BeeGFS's input and output, as pure functions.

The daemons' configuration is the same for 7 and 8; `versions` has the differences.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perjoule.filesystems._said import found, unexpected
from perjoule.filesystems._settings import Setting
from perjoule.model.units import BYTES, quantity

Kind = Literal["meta", "storage"]
KINDS: tuple[Kind, ...] = ("meta", "storage")
FIRST_GROUP = 101  # of mirrors; targets count from 1
# as all other file systems, between addresses whose link is known
TCP = Setting("connUseRDMA", "false", "comparability")
MIRRORED = "Buddy Mirror"  # the pattern of a file that has a mirror


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


@dataclass(frozen=True)
class StorageTarget:
    """A server's store, as the management reports it."""

    number: int
    reachability: str
    consistency: str
    total_bytes: int | None = None

    @property
    def well(self) -> bool:
        """Whether it is usable and complete."""
        return (self.reachability, self.consistency) == ("Online", "Good")


def targets(output: str) -> tuple[StorageTarget, ...]:
    """Parse the tables of `beegfs-ctl --listtargets --state --spaceinfo` (7) and `beegfs target list --state
    --capacity` (8).

    Raises:
        WorkloadError: there is no such table, or one of its rows has other columns than its head.
    """
    head: list[str] = []
    rows: list[StorageTarget] = []
    for line in output.splitlines():
        # Cells of 8 have spaces in them ("5s ago") and two or more between them; those of 7 have one at least
        # between them.
        cells = re.split(r"\s{2,}" if head[:1] == ["id"] else r"\s+", line.strip())
        if cells[0].lower() in ("targetid", "id"):
            head = [cell.lower() for cell in line.split()]
        elif head and re.fullmatch(r"(?:[a-z]+:)?\d+", cells[0]):
            if len(cells) != len(head):
                raise unexpected(line, "list of targets")
            rows.append(_target(dict(zip(head, cells, strict=True))))
    if not head:
        raise unexpected(output, "list of targets")
    return tuple(rows)


def _target(row: Mapping[str, str]) -> StorageTarget:
    def cell(*names: str) -> str:
        return next((row[name] for name in names if name in row), "-")

    total = cell("total", "space")
    return StorageTarget(
        number=_number(cell("targetid", "id")),
        reachability=cell("reachability"),
        consistency=cell("consistency"),
        total_bytes=None if total == "-" else round(quantity(total, BYTES, bare=True)),
    )


def _number(text: str) -> int:
    """Parse "1", "s:1" and "m:1"; 0 for an unmapped one."""
    digits = text.rpartition(":")[2]
    return int(digits) if digits.isdecimal() else 0


@dataclass(frozen=True)
class BeegfsEntry:
    """The placement of a file or folder on its servers."""

    pattern: str  # "RAID0" or MIRRORED
    chunk_bytes: int
    numbers: tuple[int, ...]  # of a file's targets, or of its groups where it is mirrored; a folder has none
    metadata: int  # the metadata server that has it


def entry(output: str) -> BeegfsEntry:
    """Parse `beegfs-ctl --getentryinfo` (7) and `beegfs entry info --retro` (8). Raises WorkloadError."""
    program = "entry info"
    chunk = found(r"^\+ Chunksize: (\d+[kKMG]?)", output, program)
    listed = re.split(
        r"^\+ (?:Storage targets|Storage mirror buddy groups):\s*$", output, maxsplit=1, flags=re.MULTILINE
    )
    numbers = re.findall(r"^\s*\+ (\d+)(?: @ .*)?$", listed[1], re.MULTILINE) if len(listed) > 1 else []
    return BeegfsEntry(
        pattern=found(r"^\+ Type: (.+?)\s*$", output, program),
        chunk_bytes=round(quantity(re.sub("[KMG]", r"\g<0>iB", chunk.upper()), BYTES, bare=True)),
        numbers=tuple(map(int, numbers)),
        metadata=int(
            found(r"^(?:Metadata node|Current primary metadata node): .*\[ID: (\d+)\]", output, program)
        ),
    )


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
