"""Bytes moved per user byte, next to what redundancy explains, and those that were lost on the way."""

from collections.abc import Sequence

from perjoule.model import Cell, Quantity
from perjoule.results.table import PLACE, Table, place
from perjoule.views.view import Flag, Shown, View

LOST = "sent, not received"


def amplification_table(cells: Sequence[Cell]) -> Table:
    """Lay out bytes per user byte, measured and (in parentheses) by redundancy alone; empty if redundancy
    is unknown.
    """
    from perjoule.measures.amplification import MEASURED, SUBJECTS
    from perjoule.measures.overhead import COUNTED

    def moved(cell: Cell, way: Quantity) -> tuple[float, ...]:
        keys = (COUNTED[way].of(role).key for role in ("client", "servers"))
        return tuple(cell.metrics[key].mean for key in keys if key in cell.metrics)

    def lost(cell: Cell) -> str:
        sent, received = moved(cell, "network_sent"), moved(cell, "network_received")
        return f"{sum(sent) - sum(received):.2f}" if len(sent) == len(received) == 2 else "–"

    rows: list[tuple[str, ...]] = []
    for cell in cells:
        pairs = [
            (cell.metrics.get(metric), cell.metrics.get(f"derived_{metric}")) for metric in MEASURED.values()
        ]
        if any(derived for _, derived in pairs):
            texts = (f"{m.mean:.2f} ({d.mean:.4g})" if m and d else "–" for m, d in pairs)
            rows.append((*place(cell), *texts, lost(cell)))
    return Table((*PLACE, *SUBJECTS.values(), LOST), tuple(rows))


VIEW = View(
    rank=250,
    flag=Flag(
        "bytes",
        help="Bytes moved per user byte, next to what redundancy explains.",
        none="no trial here has both counted bytes and a known redundancy",
        advice="see `perjoule docs how-numbers-are-made`",
    ),
    title="Bytes per user byte",
    folded=True,
    tables=(
        Shown(
            lambda content: amplification_table(content.cells),
            "Bytes per user byte",
            note="Measured from the baseline to the end of the tail; in parentheses, what redundancy alone explains. Network "
            "bytes include headers: up to 4.6 % more than the data, and 2.3 % of them in the other "
            "direction for acknowledgements. What hosts sent and none of them received went to others, or a queue dropped it "
            "and TCP sent it again.",
        ),
    ),
)
