"""A comparison as text, as a table, and as data."""

from collections.abc import Iterator, Sequence
from math import isfinite, isnan

from perjoule.model.format import with_interval
from perjoule.model.metrics import BY_LABEL
from perjoule.results.comparison import Comparison, ComparisonRow
from perjoule.results.table import NAMES, PLACE, Table, pair_texts
from perjoule.statistics.better import MOST_COUNT, Verdict
from perjoule.statistics.changes import Difference

HEADERS = (*PLACE, "metric", "before", "after", "ratio (95 %)", "p", "g", "verdict", "n more")


def change_lines(changes: Sequence[Difference], declared: Sequence[str] = ()) -> Iterator[str]:
    """Return a line for each difference, and for each declared difference that is not one."""
    if not changes:
        yield "no difference in options, software, machine or deployment"
    for change in sorted(changes, key=lambda c: (c.declared or c.follows, c.name)):
        how = "declared" if change.declared else "follows" if change.follows else "NOT DECLARED"
        yield f"{change.name}: {change.before or 'nothing'} -> {change.after or 'nothing'} ({how})"
    for name in declared:
        if not any(f"{change.name}.".startswith(f"{name}.") for change in changes):
            yield f"{name}: declared, but the same in both"


def comparison_table(comparison: Comparison) -> Table:
    """Lay out a comparison, a row for each metric of each combination."""
    return Table(HEADERS, tuple(_cells(row) for row in comparison.rows), (*NAMES, "metric", "verdict"))


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    per = BY_LABEL[row.metric].unit.per
    place = (row.filesystem, row.workload, row.direction, str(row.clients_count), row.metric)
    pairs = zip((row.before, row.after), row.by_median, strict=True)
    values = [with_interval(value, per, by_median=by_median) for value, by_median in pairs]
    verdict = row.judged
    if verdict.refused:
        return (*place, *values, "–", "–", "–", row.verdict, "–")
    effect = "–" if isnan(row.effect) else f"{row.effect:+.1f}"
    method = ", paired" if verdict.estimate.method == "paired" else ""
    return (*place, *values, *pair_texts(verdict), effect, row.verdict + method, _more(verdict))


def _more(verdict: Verdict) -> str:
    if verdict.word != "can't tell":
        return "–"
    more = verdict.more_count()
    return "?" if isnan(more) else f"> {MOST_COUNT}" if not isfinite(more) else str(int(more))


def as_data(comparison: Comparison) -> dict[str, object]:
    """Return a comparison as data for JSON."""
    return {
        "before": comparison.names[0],
        "after": comparison.names[1],
        "changes": comparison.changes,
        "rows": [_row_data(row) for row in comparison.rows],
        "doubts": comparison.doubts,
        "outliers": comparison.outliers,
    }


def _row_data(row: ComparisonRow) -> dict[str, object]:
    row_data: dict[str, object] = {
        "filesystem": row.filesystem,
        "workload": row.workload,
        "direction": row.direction,
        "clients_count": row.clients_count,
        "metric": BY_LABEL[row.metric].key,
        "before": row.before.values,
        "after": row.after.values,
        "before_reality": row.reality[0],
        "after_reality": row.reality[1],
        "verdict": row.verdict,
    }
    judged = row.judged
    if judged.refused:
        return row_data
    labels = {"word": judged.word, "method": judged.estimate.method, "comparisons_count": judged.count}
    numbers = {
        "ratio": judged.ratio.mean,
        "low": judged.ratio.low,
        "high": judged.ratio.high,
        "p": judged.p,
        "effect": row.effect,
    }
    return row_data | labels | numbers | {"more_count": judged.more_count()}
