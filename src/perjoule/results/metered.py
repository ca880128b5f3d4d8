"""Published watts beside what the power model says of them, as a table."""

from collections.abc import Iterator, Sequence

from perjoule.model.format import percent
from perjoule.papers.published.metered import sources
from perjoule.prediction.metered import (
    HELD_RATIO,
    KindScore,
    MeteredPoint,
    source_held_ratio,
    whole_held_ratio,
)
from perjoule.results.table import Table

_HEADERS = (
    "load",
    "sources",
    "points",
    "median",
    "worst",
    "above idle",
    "bands hold",
    "constant",
    "line",
    "verdict",
)


def metered_table(scores: Sequence[KindScore]) -> Table:
    """Lay out errors by kind of load."""
    rows = tuple(
        (
            score.kind,
            ", ".join(score.sources),
            str(score.count),
            _percent(score.median_ratio),
            _percent(score.worst_ratio),
            "–" if score.dynamic_ratio is None else _percent(score.dynamic_ratio),
            f"{percent(score.held_ratio)} %",
            _percent(score.constant_ratio),
            _percent(score.line_ratio),
            score.verdict,
        )
        for score in scores
    )
    return Table(_HEADERS, rows, ("load", "sources", "verdict"))


def metered_remarks(judged: Sequence[MeteredPoint]) -> Iterator[str]:
    """Say what calibrated the model, what the columns mean, and where the watts are from."""
    yield (
        "calibrated by two points of a source (reads, CPU, supplies), idle and all load (CPU, data sheet), ten "
        "seconds (writes), fewer disks (idle), the first load (scrub) or the other machines (another load; the shape "
        "of CPUs, by other makers and years), and judged by none of these; median, worst: of |predicted / measured "
        "- 1|; above idle: median over the watts above idle; line: the model without steps, bends, steady state and "
        "losses without load; verdict, of three points or more: fails, with a median above "
        f"{percent(HELD_RATIO)} %; as a constant, if one watt for all is as near"
    )
    held, alike = (percent(ratio(judged), 1) for ratio in (whole_held_ratio, source_held_ratio))
    yield f"bands hold {held} % of all {len(judged)} points; {alike} %, if each source counts alike"
    for name, source in sources().items():
        year = f", {source.year}" if source.year else ""
        yield f"{name}: {source.title}, {source.boundary}, {source.grade}{year}; {source.reference}; {source.license}"


def _percent(ratio: float) -> str:
    return f"{percent(ratio, 1)} %"
