"""A comparison as a page that works offline."""

from perjoule.figures import comparison as figure
from perjoule.model.format import percent
from perjoule.model.units import clients_text
from perjoule.report.document import document, headline
from perjoule.results.comparison import Comparison
from perjoule.results.comparison.table import change_lines, comparison_table
from perjoule.statistics.better import RELEVANT_RATIO

_SAID = {
    "better": "significantly better",
    "worse": "significantly worse",
    "no relevant difference": "with no relevant difference",
    "can't tell": "not significantly different",
    "": "not compared",
}


def page(comparison: Comparison) -> str:
    """Lay a comparison out as HTML."""
    marks = [
        figure.RatioMark(
            f"{row.filesystem}, {row.workload}, {clients_text(row.clients_count)}",
            row.metric,
            row.judged.ratio.mean,
            row.judged.ratio.low,
            row.judged.ratio.high,
            row.verdict,
        )
        for row in comparison.rows
        if not row.judged.refused
    ]
    title = f"{comparison.names[1]} over {comparison.names[0]}"
    notes = [
        "Points: ratio of geometric means; lines: 95 % interval. "
        f"The band marks irrelevant differences, {percent(RELEVANT_RATIO)} %.",
        *comparison.notes,
    ]
    drawings = {"comparison": figure.ratios(marks, RELEVANT_RATIO, title, notes)} if marks else {}
    return document(
        "comparison.html",
        title,
        drawings,
        comparison=comparison,
        headline=headline(("" if row.judged.refused else row.judged.word for row in comparison.rows), _SAID),
        changes=list(change_lines(comparison.changes)),
        laid=comparison_table(comparison),
        relevant_ratio=RELEVANT_RATIO,
    )
