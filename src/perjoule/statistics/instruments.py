"""Errors of meters in ratios between campaigns: those of one instrument cancel, those of two do not.

A source of error begins with its meter's name (`energy.budget.Budget.shared`), which says what instrument it is
within one campaign alone. In two of them it is the same one if its tables are alike, with all options: an address
or a serial number is among these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perjoule.model import Cell, Json, Record


def told_apart(
    cells: Sequence[Cell], records: Iterable[Record], others: Iterable[Record], campaign: str
) -> tuple[Cell, ...]:
    """Return cells in which errors of meters that share but a name with those of other campaigns bear the
    campaign's.

    Args:
        cells: of a campaign.
        records: of the same one.
        others: records of campaigns that it is compared with.
        campaign: its name.
    """
    ours, theirs = _meters(records), _meters(others)
    apart = {name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]}
    if not apart:
        return tuple(cells)

    def told(errors: Mapping[str, float]) -> dict[str, float]:
        return {
            f"{campaign}: {source}" if source.partition(": ")[0] in apart else source: error
            for source, error in errors.items()
        }

    return tuple(
        replace(cell, shared={metric: told(errors) for metric, errors in cell.shared.items()})
        for cell in cells
    )


def _meters(records: Iterable[Record]) -> Mapping[str, Sequence[Json]]:
    """Return what the tables of meters say, each once, by the name that they give to channels."""
    tables: dict[str, list[Json]] = {}
    for record in records:
        for meter in record.trial.meters:
            of_name = tables.setdefault(str(meter.options.get("name") or meter.kind), [])
            if meter.identity() not in of_name:
                of_name.append(meter.identity())
    return tables
