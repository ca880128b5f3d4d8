"""What a recalculation changed: recalculated.json, beside results whose watts were modelled again from the
counters in them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perjoule.machine.untrusted import read_as
from perjoule.model import Cell
from perjoule.store.disk import spoken
from perjoule.store.place import OpenFolder
from perjoule.store.records import to_json

NAME = "recalculated.json"
KEY = "recalculated"  # in the environment of each record whose watts were
LAST_UTC_S = 4102444800.0  # 2100-01-01: a damaged file may state any moment


@dataclass(frozen=True)
class Correction:
    """The value of a coefficient before and now, in its SI unit."""

    before: float
    now: float


Moves = Mapping[str, Correction]  # by coefficient


@dataclass(frozen=True)
class Recalculation:
    """When watts were modelled again, of which results, and from which coefficients and numbers."""

    utc_s: float
    by: str  # perjoule and its version
    original: str  # SHA-256 of the journal of the original, which has those of all its files
    coefficients: Mapping[str, Moves]  # of each cluster
    samples_count: int = 0  # of modelled watts
    # of them, those whose work the counters only bound: it is that of the former watts
    between_count: int = 0
    cells: tuple[Cell, ...] = ()  # the table of the original, by the definitions of that day

    def __post_init__(self) -> None:
        """Refuse an impossible moment. Raises ValueError."""
        if not 0 <= self.utc_s < LAST_UTC_S:
            raise ValueError(f"utc_s is {self.utc_s!r}, which is impossible")

    @property
    def date(self) -> str:
        """The day in UTC: "2026-11-28"."""
        return f"{datetime.fromtimestamp(self.utc_s, UTC):%Y-%m-%d}"


def keep_recalculation(results: OpenFolder, recalculation: Recalculation) -> None:
    """Store it in a results folder. Raises OSError."""
    results.put(NAME, json.dumps(to_json(recalculation), indent=1) + "\n")


def recalculation_of(folder: Path) -> Recalculation | None:
    """Read that of a results folder; None if its watts are those that were modelled as it was measured.

    Raises MachineError.
    """
    path = folder / NAME
    if not path.exists():
        return None
    with spoken(path):
        return read_as(Recalculation, path)
