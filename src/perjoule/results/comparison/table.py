"""A comparison as text, as a table, and as data."""

from collections.abc import Iterator, Sequence
from math import isfinite, isnan

from perjoule.model.format import with_interval
from perjoule.model.metrics import BY_LABEL
from perjoule.results.comparison import Comparison, Row
from perjoule.results.table import NAMES, PLACE, Table, pair_texts
from perjoule.statistics.better import MOST_COUNT, Verdict
from perjoule.statistics.changes import Change

HEADERS = (*PLACE, "metric", "before", "after", "ratio (95 %)", "p", "g", "verdict", "n more")


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
    return Table(HEADERS, tuple(_cells(row) for row in found.rows), (*NAMES, "metric", "verdict"))


def _cells(row: Row) -> tuple[str, ...]:
    per = BY_LABEL[row.metric].unit.per
    place = (row.filesystem, row.workload, row.direction, str(row.clients_count), row.metric)
    pairs = zip((row.before, row.after), row.by_median, strict=True)
    values = [with_interval(value, per, by_median=by_median) for value, by_median in pairs]
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
    """Return a comparison as data for JSON."""
    return {
        "before": found.names[0],
        "after": found.names[1],
        "changes": found.changes,
        "rows": [_row_data(row) for row in found.rows],
        "doubts": found.doubts,
        "outliers": found.outliers,
    }


def _row_data(row: Row) -> dict[str, object]:
    told: dict[str, object] = {
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
    one = row.judged
    if one.refused:
        return told
    words = {"word": one.word, "method": one.estimate.method, "comparisons_count": one.count}
    numbers = {"ratio": one.ratio.mean, "low": one.ratio.low, "high": one.ratio.high, "p": one.p, "effect": row.effect}
    return told | words | numbers | {"more_count": one.more_count()}
