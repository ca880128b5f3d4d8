"""The wax of each combination."""

from perjoule.results.table import PLACE, Table, place, value_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View
from perjoule_another.wax import WAX


def _table(content: Content) -> Table:
    found = [(cell, interval) for cell in content.cells if (interval := cell.metrics.get(WAX.key))]
    return Table(
        (*PLACE, "g of wax"), tuple((*place(cell), value_text(interval, WAX.key)) for cell, interval in found)
    )


VIEW = View(
    rank=96,
    tables=(Shown(_table, "wax"),),
    flag=Flag("wax", "Grams of wax.", none="no trial has an energy", advice="light a candle"),
    title="Wax",
)
