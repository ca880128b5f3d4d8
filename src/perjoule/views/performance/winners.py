"""The best file system for each workload, or none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perjoule.model.format import above_text
from perjoule.model.metrics import metric_of
from perjoule.results.table import Table, pair_texts
from perjoule.views.view import Flag, Shown, View

if TYPE_CHECKING:
    from perjoule.statistics.winners import Finding


def winners_table(findings: Sequence["Finding"]) -> Table:
    """Lay out which file system is best for each workload, its lead over the average of the others, and the
    verdict.

    Columns that say nothing are left out: among whom, if always among all, and the direction, if each
    workload's name has it.
    """
    classes, directed = (
        any(finding.among for finding in findings),
        any(finding.direction not in finding.workload for finding in findings),
    )
    rows = tuple(
        (
            *((finding.among or "all",) if classes else ()),
            finding.workload,
            *((finding.direction,) if directed else ()),
            str(finding.clients_count),
            metric_of(finding.metric).label,
            "–" if finding.grades else finding.best,
            "–" if finding.grades else above_text(finding.over_average),
            *(("–", "–") if finding.grades else pair_texts(next(iter(finding.verdicts.values())))),
            finding.verdict,
        )
        for finding in findings
    )
    which = (*(("among",) if classes else ()), "workload", *(("direction",) if directed else ()), "clients")
    headers = (*which, "by", "best mean", "over average of others", "over the second", "p", "verdict")
    return Table(headers, rows, ("among", "workload", "direction", "by", "best mean", "verdict"))


VIEW = View(
    rank=25,
    flag=Flag(
        "winners",
        help="The best file system for each workload, or none.",
        none="no two file systems here did the same work",
        advice="see `perjoule docs compare`",
    ),
    title="Best for each workload",
    anchor="best",
    tables=(
        Shown(
            lambda content: winners_table(content.winners),
            "Best for each workload",
            style="last",
            note="Over the average of the others, with its 95 % interval. Over the second: the ratio of geometric means, "
            "with interval and p corrected for all pairs of file systems in all rows (Holm's rule). "
            "Significantly better: that interval excludes 1, and the ratio is at least 2 %. A class of "
            "workloads gives each of them the same weight.",
        ),
    ),
)
