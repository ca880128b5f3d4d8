"""What BeeGFS's tools say of targets, files and folders: `beegfs-ctl` of 7 and `beegfs` of 8, as pure
functions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from perjoule.filesystems._said import found, unexpected
from perjoule.model.units import BYTES, quantity


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
    --capacity` (8), also without sizes.

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

    pattern: str  # "RAID0" or "Buddy Mirror"; later releases of 8 write "raid0" and "buddy-mirror"
    chunk_bytes: int
    numbers: tuple[int, ...]  # of a file's targets, or of its groups where it is mirrored; a folder has none
    metadata: int  # the metadata server that has it

    @property
    def mirrored(self) -> bool:
        """Whether a second target has all of it."""
        return self.pattern.lower().replace("-", " ") == "buddy mirror"


def entry(output: str) -> BeegfsEntry:
    """Parse `beegfs-ctl --getentryinfo` (7) and `beegfs entry info --retro` (8). Raises WorkloadError."""
    program = "entry info"
    chunk = found(r"^\+ Chunksize: (\d+[kKMG]?)", output, program)
    listed = re.split(
        r"^\+ (?:Storage targets|Storage mirror buddy groups):\s*$", output, maxsplit=1, flags=re.MULTILINE
    )
    numbers = re.findall(r"^[ \t]*\+ (\d+)(?: @ .*)?$", listed[1], re.MULTILINE) if len(listed) > 1 else []
    return BeegfsEntry(
        pattern=found(r"^\+ Type: (.*\S)", output, program),
        chunk_bytes=round(quantity(re.sub("[KMG]", r"\g<0>iB", chunk.upper()), BYTES, bare=True)),
        numbers=tuple(map(int, numbers)),
        metadata=int(
            found(r"^(?:Metadata node|Current primary metadata node): .*\[ID: (\d+)\]", output, program)
        ),
    )
