"""A paper's numbers in a figure of what was measured here."""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.model import Cell

LARGEST = "largest"  # instead of a number of clients


@dataclass(frozen=True)
class PaperNumber:
    """A number that a paper prints, and the cell where the same was measured."""

    cell: Cell
    value: float  # in SI units
    text: str  # as printed, with its place
    # the largest measured value, if this one is the largest with any number of clients
    largest: float | None = None

    @property
    def column(self) -> int | str:
        """Where on an axis of clients it belongs."""
        return self.cell.clients_count if self.largest is None else LARGEST


def columns(cells: Sequence[Cell], printed: Sequence[PaperNumber]) -> list[int | str]:
    """Return the axis of clients, with a last place for largest values if there are any."""
    counts: list[int | str] = [*sorted({cell.clients_count for cell in cells})]
    return [*counts, *([LARGEST] if any(number.largest is not None for number in printed) else [])]
