"""What a recalculation moved: the coefficients of modelled watts, and the rows that rest on them, before
and now.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from perjoule.model import Cell
from perjoule.model.format import estimate
from perjoule.model.metrics import IDLE, PER_JOULE, POWER
from perjoule.results.table import NAMES, PLACE, Table, heading, place, row_text, with_meter
from perjoule.store.recalculated import Recalculation
from perjoule.views.content import Content
from perjoule.views.view import Shown, View

MOVED = (POWER, *PER_JOULE, *IDLE)
NONE = Table((), ())


def coefficients_table(recalculation: Recalculation) -> Table:
    """Lay out each coefficient that has another value, with both."""
    from perjoule.catalogue.coefficients import EFFICIENCY

    rows = tuple(
        (
            cluster,
            name,
            *(f"{estimate(value)}{'' if name == EFFICIENCY else ' W'}" for value in (move.before, move.now)),
        )
        for cluster, moves in recalculation.coefficients.items()
        for name, move in moves.items()
    )
    return Table(("cluster", "coefficient", "before", "now"), rows, ("cluster", "coefficient"))


def rows_table(recalculation: Recalculation, cells: Sequence[Cell]) -> Table:
    """Lay out watts and work per joule of each row, before and now."""
    former = {place(cell): cell for cell in recalculation.cells}
    pairs = [(former[place(cell)], cell) for cell in cells if place(cell) in former]
    keys = [key for key in MOVED if any(key in cell.metrics for _, cell in pairs)]
    headers = [f"{heading(key)} {when}" for key in keys for when in ("before", "now")]
    rows = tuple(
        (*place(now), *(_text(cell, key) for key in keys for cell in (before, now)))
        for before, now in pairs
        if now.metrics
    )
    return Table((*PLACE, *headers), rows, NAMES)


def _text(cell: Cell, key: str) -> str:
    return with_meter(cell, key) if key in cell.metrics else row_text(cell, key)


def _intro(content: Content) -> str:
    recalculation = content.recalculation
    if recalculation is None:
        return ""
    days = sorted(
        {f"{datetime.fromtimestamp(record.clock.utc_s, UTC):%Y-%m-%d}" for record in content.records}
    )
    measured = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "an unknown day"
    return (
        f"Counters and loads were measured on {measured}. Their watts, which are modelled, were "
        f"recalculated on {recalculation.date} by {recalculation.by} with the coefficients that the "
        f"catalogue corrected. The journal of the original has the SHA-256 {recalculation.original}."
    )


def _coefficients(content: Content) -> Table:
    return coefficients_table(content.recalculation) if content.recalculation else NONE


def _rows(content: Content) -> Table:
    return rows_table(content.recalculation, content.cells) if content.recalculation else NONE


VIEW = View(
    rank=26,
    title="Recalculated watts",
    anchor="recalculated",
    intro=_intro,
    tables=(
        Shown(_coefficients, "Coefficients of modelled watts"),
        Shown(
            _rows,
            "What moved",
            note="Watts and work per joule of the servers without the switch, by today's definitions.",
        ),
    ),
)
