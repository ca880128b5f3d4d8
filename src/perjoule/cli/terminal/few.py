"""The few lines of a first measurement: a number each, whose it is, and what it lacks."""

from collections.abc import Iterator, Sequence

from perjoule.campaign.making.first import NAS, PowerShown
from perjoule.cli.terminal.display import show_line
from perjoule.model import Cell
from perjoule.model.doubts import METERS
from perjoule.model.format import number
from perjoule.model.metrics import ENERGY, PER_JOULE, POWER, RATES, metric_of
from perjoule.model.units import counted
from perjoule.results.limitations import in_rows, omissions
from perjoule.results.table import row_text, with_meter
from perjoule.store import Results
from perjoule.summary import summary

# of a meter whose powers give no energy: what its line may say instead
MEANS = (
    "if each number is the mean since the one before, write 'semantics=window mean&window=1 s'; else use its energy "
    "counter, or another meter"
)
_NO_ENERGY = {
    METERS.unsteady_averages(channel="").id,
    METERS.undersampled(channel="", period_s=1.0, refused=True).id,
}


def show_part(word: str, text: str) -> None:
    """Print what a word announces: a meter, a probe, a number."""
    show_line(f"  {word:8} {text}")


def show_cells(results: Results, boundary: PowerShown) -> None:
    """Print a line for each operation, then what is missing and what speaks against the numbers.

    Args:
        results: a folder with one file system and one client.
        boundary: whose power its meters show.
    """
    cells = summary(results).cells
    for cell in sorted(cells, key=lambda cell: cell.direction, reverse=True):  # writes first
        show_part(cell.direction, "   ".join(_numbers(cell)) + f"   ({'; '.join(_whose(cell, boundary))})")
    for line in (
        *_missing(cells, boundary.metered, boundary.remote),
        *in_rows("doubt in", cells, omitted=False),
    ):
        show_line(line)


def _numbers(cell: Cell) -> Iterator[str]:
    for key in (RATES[0], POWER, PER_JOULE[0]):
        if key not in cell.metrics:
            yield f"- {metric_of(key).unit.symbol}"
            continue
        # of the repetitions alone where the meter states no error, which a line below says
        text = row_text(cell, key) if cell.unstated else with_meter(cell, key)
        yield f"{text} {metric_of(key).unit.symbol}"


def _whose(cell: Cell, boundary: PowerShown) -> Iterator[str]:
    """Say how the watts were obtained, whose they are, and what this machine drew beside a NAS."""
    if ENERGY in cell.metrics:
        yield cell.grade
        yield "the NAS alone" if boundary.remote else "this machine with its disks"
        if boundary.supplies_count > 1:
            yield f"its {boundary.supplies_count} power supplies added"
    else:
        yield "no watts" if not boundary.metered else "watts are missing"
    beside = cell.metrics.get(f"clients_{ENERGY}")
    if boundary.remote and beside:
        clients = f"{counted(boundary.clients_count, 'client')}" if boundary.clients_count else "this machine"
        yield f"{clients} beside it: {number(beside.mean)} J"


def _missing(cells: Sequence[Cell], metered: Sequence[str], remote: bool) -> Iterator[str]:
    """Say why watts are missing and which line to write, then what else rows lack."""
    if metered and not all(ENERGY in cell.metrics for cell in cells):
        if remote and NAS not in metered:
            yield "watts: no meter shows the NAS; add --meter nas=URL, as in nas=shelly://192.168.1.50"
        elif silent := [doubt for cell in cells for doubt in cell.doubts if doubt.kind == METERS]:
            advice = MEANS if silent[0].id in _NO_ENERGY else "check the meter, then measure again"
            yield f"watts: {silent[0]}; {advice}"
        elif all(cell.grade == "" for cell in cells):
            yield (
                "watts: the meters show parts alone, as a processor; add one of the whole "
                f"{'NAS' if remote else 'machine'}, as in --meter shelly://192.168.1.50"
            )
    if any(cell.unstated for cell in cells):
        yield "the meter's own error is not in these intervals: state it, as in --meter 'shelly://...?accuracy=1 %'"
    if not all(ENERGY in cell.metrics for cell in cells):
        yield from omissions(cells)
