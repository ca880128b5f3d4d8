"""The numbers of a results folder: records to points to cells, computed once and kept.

A trial's numbers are computed when it ends, the cells when somebody asks for them. Both are kept in the
folder's `summary/`, each with a digest of all its inputs: size and time of each file, and perjoule's own
code. If the digest differs, the numbers are computed again, so `summary/` can be deleted at any time.
`perjoule verify` never reads it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perjoule.model import Cell, Record
from perjoule.model.doubts import Doubt
from perjoule.store import Results
from perjoule.summary import _kept

if TYPE_CHECKING:
    from perjoule.summary.trial import TrialSummary


@dataclass(frozen=True)
class Summary:
    """The content of a results folder's table."""

    cells: tuple[Cell, ...]
    scales: tuple[float, ...] = ()  # of testbeds that are emulated
    doubts: tuple[Doubt, ...] = ()  # of the campaign as a whole


def summary(
    results: Results, trials: "Callable[[], Sequence[tuple[Record, TrialSummary]]] | None" = None
) -> Summary:
    """Return the cells of a results folder, and the rest of its table.

    `trials` returns its latest records with their numbers, which may have been read. Raises MachineError,
    CampaignError.
    """
    digest, place = _kept.digest(results), _kept.place(results, "cells")
    cells = _kept.read(place, digest, Summary)
    if cells is None:
        # which takes longer to import than all the rest of `perjoule show`
        from perjoule.summary.computing import computed

        cells = computed(results, trials() if trials else None)
        _kept.write(place, digest, cells)
    return cells


def report_is_current(results: Results) -> bool:
    """Whether the folder's report is of the numbers as they are now, and unchanged since."""
    return _kept.read(_kept.place(results, "report"), _kept.digest_with_report(results), bool) is True


def mark_report(results: Results) -> None:
    """Record that the folder's report has just been written."""
    _kept.write(_kept.place(results, "report"), _kept.digest_with_report(results), True)
