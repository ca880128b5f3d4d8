"""Whether a stored table is what is computed now: every row, column and number, but for rounding."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from math import isfinite

from perjoule.model import Cell
from perjoule.model.metrics import EDP_RATIO, WARM_UP_ROUNDS, metric_of, package_of
from perjoule.model.metrics import METRICS as all_metrics
from perjoule.model.units import clients_text
from perjoule.results.likeness import differing
from perjoule.store.records import to_json

SHARE = 0.01  # of an error in a number: what the smallest of them are differences of
# among what a table lacks: any metric; another pattern stands for metrics that were defined otherwise
METRICS = "*"
_NEW_IN_2 = frozenset({METRICS, "ran", "servers_count", "redundancy", "widening"})
# Watts of what was simulated had the grade of the meter or the model, dynamic energy could be by the baseline
# alone, the best energy-delay product was that of the lowest mean where rows print medians, CPU time was that
# of the whole trial, and steady rounds had the bytes of those before them. Errors of time changed power in
# idle time, too, and counters were dated when read. TPP was that of the servers alone. Disks and processors lacked
# what was counted since idle time, and percentiles of several users were means of theirs.
_NEW_IN_3 = frozenset(
    {
        "reality",
        "grade",
        "grades",
        "omitted",
        "shared",
        "doubts",
        "dynamic_*",
        EDP_RATIO,
        "cpu_*_s_per_byte",
        "*tpp_*",
        "*uncertainty*",
        "device_*",
        "cpu_package_*",
        "part_*",
        "latency_p*",
        "user/*/latency_p*",
    }
)
_OF_ROUNDS_IN_3 = frozenset({"network_*_ratio", "disk_read_*_ratio", "disk_written_*_ratio"})
# what tables of older formats do not have, or have in other words
LACKING = {1: _NEW_IN_2 | _NEW_IN_3, 2: _NEW_IN_3}


class Note(str):
    """A sentence about what can't be compared, which is not a difference."""


class Redefined(Note):
    """A metric that has another definition since the format of a stored table."""


class Older(Note):
    """A column or metric that the format of a stored table did not have, or had in other words."""


def differing_cells(
    stored: Sequence[Cell], computed: Sequence[Cell], lacking: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Compare a table with what is computed now; `lacking` are columns that its format did not have, {"*"}
    any metric.
    """
    expected, rows, scales = _by_row(computed), _by_row(stored), _scales(computed)
    for row in sorted(expected.keys() | rows.keys()):
        if row not in rows or row not in expected:
            yield (
                f"table: {row} is only "
                f"{'in the table' if row in rows else 'among the records (write the report again)'}"
            )
        elif len(rows[row]) != len(expected[row]):
            yield (
                f"table: {row} is {len(rows[row])} times in the table and {len(expected[row])} times among "
                "the records"
            )
        else:
            for stored_cell, computed_cell in zip(rows[row], expected[row], strict=True):
                yield from _same_cell(row, stored_cell, computed_cell, scales, lacking)


def _by_row(all_cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    by_row: dict[str, list[Cell]] = {}
    for cell in all_cells:
        by_row.setdefault(_row(cell), []).append(cell)
    return by_row


def _row(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.workload}, {cell.direction}, {clients_text(cell.clients_count)}"


def _scales(all_cells: Sequence[Cell]) -> dict[str, float]:
    """Return the largest amount that each metric may be a difference of: of any in its unit, if that is one
    of energy.

    Where all are 0, it is the SI unit: 0 and 1e-18 are the same share of a CPU.
    """
    largest: dict[str, float] = {}
    for cell in all_cells:
        for name, interval in cell.metrics.items():
            kind = _kind(name)
            sizes = map(abs, (interval.low, interval.high, *interval.values))
            largest[kind] = max(largest.get(kind, 0.0), *filter(isfinite, sizes))
    return {kind: size or 1.0 for kind, size in largest.items()}


def _kind(name: str) -> str:
    unit = metric_of(name).unit.si
    return unit if unit in ("J", "W", "J s") else name


def _same_cell(
    row: str, stored: Cell, computed: Cell, scales: Mapping[str, float], lacking: frozenset[str]
) -> Iterator[str]:
    lacking |= _OF_ROUNDS_IN_3 if lacking and WARM_UP_ROUNDS in stored.metrics else frozenset()
    for column in (field.name for field in fields(Cell) if field.name != "metrics"):
        difference = differing(
            to_json(getattr(stored, column)), to_json(getattr(computed, column)), SHARE, column
        )
        if difference and column in lacking:
            yield Older(column)
        else:
            yield f"table: {row}: {difference}" if difference else ""
    for name in sorted(stored.metrics.keys() | computed.metrics.keys()):
        before, after = stored.metrics.get(name), computed.metrics.get(name)
        if before is None and after is not None and METRICS in lacking:
            yield Older(name)
            continue
        if after is None and name.rpartition("/")[2] not in all_metrics:
            yield Note(f"{name} is of a measure that is not here, and was not compared")
            continue
        if before is None and (package := package_of(name)):
            yield Note(
                f"{name} is of {package}, without which the table was written; `perjoule report` writes it "
                "again"
            )
            continue
        if before is None or after is None:
            difference = (
                f"{name} is only {'in the table' if after is None else 'among the recomputed numbers'}"
            )
        elif before == after:
            difference = ""
        else:
            difference = differing(to_json(before), to_json(after), scales[_kind(name)], name)
        if difference and _redefined(name, lacking):
            yield Redefined(name)
        else:
            yield f"table: {row}: {difference}" if difference else ""


def _redefined(name: str, lacking: frozenset[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in lacking - {METRICS})
