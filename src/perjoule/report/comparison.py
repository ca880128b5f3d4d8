"""A comparison as text, as a table, as data, and as a page that works offline."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from math import isfinite, isnan

from perjoule.analysis.better import MOST_COUNT, RELEVANT_RATIO, Verdict
from perjoule.analysis.changes import Change
from perjoule.analysis.stopping import METRICS
from perjoule.figures import comparison as figure
from perjoule.report.document import document, drawn, html_list, html_table
from perjoule.results.comparison import PER, Comparison, Row
from perjoule.results.table import Table, pair_texts, with_interval

WORDS = ("file system", "workload", "direction", "metric", "verdict")
HEADERS = (*WORDS[:3], "clients", "metric", "before", "after", "ratio (95 %)", "p", "g", "verdict", "n more")
NOTE = (
    "Ratio of geometric means, after over before. Intervals and p are corrected for all comparisons made together: between two "
    "file systems of a campaign, all pairs that did the same work; between two folders, all rows of a metric. Better or "
    f"worse: the interval excludes 1 and the ratio is at least {RELEVANT_RATIO:.0%}; no relevant difference: the interval lies "
    "within that. g is Hedges' effect size. n more: further repetitions of each that would settle it if mean and scatter stay "
    "the same. "
    "Outliers are shown and never dropped."
)


def change_lines(changes: Sequence[Change], declared: Sequence[str] = ()) -> Iterator[str]:
    """Return a line for each difference, and for each declared difference that is not one."""
    if not changes:
        yield "no difference in options, software, machine or deployment"
    for one in sorted(changes, key=lambda c: (c.declared or c.follows, c.name)):
        how = "declared" if one.declared else "follows" if one.follows else "NOT DECLARED"
        yield f"{one.name}: {one.before or 'nothing'} -> {one.after or 'nothing'} ({how})"
    for name in declared:
        if not any(f"{one.name}.".startswith(f"{name}.") for one in changes):
            yield f"{name}: declared, but the same in both"


def comparison_table(found: Comparison) -> Table:
    """Lay out a comparison, a row for each metric of each combination."""
    return Table(HEADERS, tuple(_cells(row) for row in found.rows))


def _cells(row: Row) -> tuple[str, ...]:
    per = PER.get(row.metric, 1.0)
    place = (row.filesystem, row.workload, row.direction, str(row.clients_count), row.metric)
    values = with_interval(row.before, per), with_interval(row.after, per)
    found = row.judged
    if found.refused:
        return (*place, *values, "–", "–", "–", row.verdict, "–")
    effect = "–" if isnan(row.effect) else f"{row.effect:+.1f}"
    method = ", paired" if found.estimate.method == "paired" else ""
    return (*place, *values, *pair_texts(found), effect, row.verdict + method, _more(found))


def _more(found: Verdict) -> str:
    if found.word != "can't tell":
        return "–"
    more = found.more_count()
    return "?" if isnan(more) else f"> {MOST_COUNT}" if not isfinite(more) else str(int(more))


def as_data(found: Comparison) -> dict[str, object]:
    """Return a comparison as JSON data; values that are not finite are null."""
    return {
        "before": found.names[0],
        "after": found.names[1],
        "changes": [asdict(one) for one in found.changes],
        "rows": [_row_data(row) for row in found.rows],
        "doubts": found.doubts,
        "outliers": found.outliers,
    }


def _row_data(row: Row) -> dict[str, object]:
    told: dict[str, object] = {
        "filesystem": row.filesystem,
        "workload": row.workload,
        "direction": row.direction,
        "clients": row.clients_count,
        "metric": METRICS[row.metric],
        "before": row.before.values,
        "after": row.after.values,
        "verdict": row.verdict,
    }
    one = row.judged
    if one.refused:
        return told
    numbers = {"ratio": one.ratio.mean, "low": one.ratio.low, "high": one.ratio.high, "p": one.p, "effect": row.effect}
    numbers["more_count"] = one.more_count()
    words = {"word": one.word, "method": one.estimate.method, "comparisons": one.count}
    return told | words | {name: value if isfinite(value) else None for name, value in numbers.items()}


def page(found: Comparison) -> str:
    """Lay a comparison out as HTML."""
    marks = [
        figure.Mark(
            f"{row.filesystem}, {row.workload}, {row.clients_count}",
            row.metric,
            row.judged.ratio.mean,
            row.judged.ratio.low,
            row.judged.ratio.high,
            row.verdict,
        )
        for row in found.rows
        if not row.judged.refused
    ]
    title = f"{found.names[1]} over {found.names[0]}"
    notes = [
        f"Points: ratio of geometric means; lines: 95 % interval. The band marks irrelevant differences, {RELEVANT_RATIO:.0%}."
    ]
    drawings = {"comparison": figure.ratios(marks, RELEVANT_RATIO, title, notes)} if marks else {}
    return document(title, "\n".join(_body(found, title, list(drawings))), drawings)


def _body(found: Comparison, title: str, drawings: Sequence[str]) -> Iterator[str]:
    yield f'<header><div><h1>{escape(title)}</h1></div><button id="theme">light / dark</button></header>'
    yield f"<h2>Changes</h2>{html_list(change_lines(found.changes))}<h2>Effect</h2>"
    laid = comparison_table(found)
    yield html_table(laid.headers, laid.rows, [header in WORDS for header in laid.headers])
    yield f"<p><small>{escape(NOTE)}</small></p>"
    yield from map(drawn, drawings)
    for heading, lines in (("Doubts", found.doubts), ("Outliers, kept", found.outliers)):
        if lines:
            yield f"<h2>{heading}</h2>{html_list(lines)}"
