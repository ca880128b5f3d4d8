"""A load that recites. https://en.wikipedia.org/wiki/Poetry"""

from dataclasses import replace
from pathlib import Path

from pydantic.dataclasses import dataclass

from perjoule.model import OPTIONS, Outcome
from perjoule.workloads.simulated import SimulatedLoad

EXAMPLE = '[[workload]]\nkind = "poem"\nverses = 3\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Poem(SimulatedLoad):
    """Each client recites the same."""

    verses_count: int = 4
    """Number of verses."""

    def outcome(self, folder: Path) -> Outcome:
        """Say who recited."""
        return replace(super().outcome(folder), engine=f"poem of {self.verses_count} verses")
