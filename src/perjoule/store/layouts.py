"""The file among a trial's raw outputs that says which layout its read found."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from perjoule.machine.untrusted import read_as

FILE = "layout.json"


@dataclass(frozen=True)
class Layout:
    """The name of a layout, and the hosts that hold each of its files, as far as the file system says."""

    layout: str
    holders: Mapping[str, tuple[str, ...]]

    @property
    def placement(self) -> str:
        """Files with their hosts."""
        return "; ".join(f"{file}: {', '.join(hosts) or '?'}" for file, hosts in sorted(self.holders.items()))

    @property
    def located(self) -> bool:
        """Whether the file system said of each file which hosts hold it."""
        return bool(self.holders) and all(self.holders.values())

    def keep(self, raw: Path) -> None:
        """Write it into the folder of a trial's raw outputs."""
        (raw / FILE).write_text(json.dumps(asdict(self)))


def kept_layout(raw: Path) -> Layout | None:
    """Read it from there; None for a trial that read nothing, or of an older version."""
    file = raw / FILE
    return read_as(Layout, file) if file.exists() else None
