"""Power that the meters do not explain: the difference between one and others that cover the same devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perjoule.model.format import number, percent
from perjoule.results.table import Table
from perjoule.views.power.budget import FLAG
from perjoule.views.view import Shown, View

if TYPE_CHECKING:
    from perjoule.summary.metered import MeteredTrial
    from perjoule.trial.same_devices import Unexplained


def unexplained_table(metered: Sequence["MeteredTrial"]) -> Table:
    """Lay out the difference between a meter and others that cover the same devices, the mean over trials."""
    pairs_of: dict[tuple[str, tuple[str, ...]], list[Unexplained]] = {}
    for trial in metered:
        for pair in trial.unexplained:
            pairs_of.setdefault((pair.total, pair.parts), []).append(pair)
    rows: list[tuple[str, ...]] = []
    for (total, parts), pairs in pairs_of.items():
        count = len(pairs)
        total_w, parts_w = sum(p.total_w for p in pairs) / count, sum(p.parts_w for p in pairs) / count
        share = percent((total_w - parts_w) / total_w, 1) if total_w else "–"
        rows.append(
            (
                total,
                ", ".join(parts),
                number(total_w),
                number(parts_w),
                number(total_w - parts_w),
                share,
                str(count),
            )
        )
    name_headers = ("meter", "others of the same devices")
    return Table((*name_headers, "W", "sum in W", "unexplained W", "%", "trials"), tuple(rows), name_headers)


VIEW = View(
    rank=195,
    flag=FLAG,
    title="Power that the meters do not explain",
    folded=True,
    tables=(
        Shown(lambda content: unexplained_table(content.metered), "Power that the meters do not explain"),
    ),
)
