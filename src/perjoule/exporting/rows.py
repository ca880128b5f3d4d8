"""Results as one long table for any program: a row for each trial, direction and metric, and one for each
cell and metric.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from perjoule.machine.spreadsheets import marked
from perjoule.model import Cell, Doubt, Trial
from perjoule.model.metrics import metric_of
from perjoule.store import Results
from perjoule.summary.computing import points_of

# pyarrow ships no types; every use of it is on this page.
_pa = cast("Any", pa)
_pq = cast("Any", pq)


class ExportRow(NamedTuple):
    """One number.

    For a cell `value` is the mean, `low` and `high` are its 95 % interval (infinite when n = 1).
    """

    of: str  # "trial" or "cell"
    testbed: str  # "" of a cell
    filesystem: str
    workload: str
    direction: str
    clients_count: int
    repetition: int | None
    trial: str  # its id; "" of a cell
    metric: str
    unit: str
    value: float
    low: float | None
    high: float | None
    n: int
    grade: str  # of the energy
    doubts: str  # joined by "; ", so that no cell of a CSV has a line break
    doubt_ids: str  # of the doubts, each id once, joined by "; "
    reality: str  # of what was measured: "real", "emulated", "simulated"


def rows(results: Results, cells: Sequence[Cell]) -> Iterator[ExportRow]:
    """Return all rows: trials in the order in which they were kept, then cells.

    Args:
        results: a folder.
        cells: its table.
    """
    for point in points_of(results, results.latest()):
        for metric, value in point.metrics.items():
            names, of = _words(point.trial, point.direction), metric_of(metric)
            came = point.grade_of(of.boundary), "; ".join(point.doubts), ids(point.doubts), point.reality
            yield ExportRow("trial", *names, metric, of.unit.si, value, None, None, 1, *came)
    for cell in cells:
        names_of_cell = ("", cell.filesystem, cell.workload, cell.direction, cell.clients_count, None, "")
        for metric, interval in cell.metrics.items():
            numbers = (interval.mean, interval.low, interval.high, len(interval.values))
            of = metric_of(metric)
            came = cell.grade_of(of.boundary), "; ".join(cell.doubts), ids(cell.doubts), cell.reality
            yield ExportRow("cell", *names_of_cell, metric, of.unit.si, *numbers, *came)


def ids(doubts: Sequence[Doubt]) -> str:
    """Name the ids of doubts; older ones have none."""
    return "; ".join(dict.fromkeys(doubt.id for doubt in doubts if doubt.id))


def csv_text(table: Sequence[ExportRow]) -> str:
    """Lay rows out as CSV (RFC 4180); numbers in full, empty where absent, and no text is a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(ExportRow._fields)
    writer.writerows([marked(cell) if isinstance(cell, str) else cell for cell in row] for row in table)
    return text.getvalue()


def arrow(
    cell_rows: Sequence[Sequence[object]], columns: Mapping[str, object] = ExportRow.__annotations__
) -> Any:
    """Return rows as a `pyarrow.Table`.

    Args:
        cell_rows: a value for each column.
        columns: their Python types by name.
    """
    types = {
        int: _pa.int64(),
        int | None: _pa.int64(),
        float: _pa.float64(),
        float | None: _pa.float64(),
        str: _pa.string(),
    }
    schema = _pa.schema(
        [(name, types[cast("type", kind)]) for name, kind in columns.items()],
        metadata={"perjoule": "export 1"},
    )
    values = [list(column) for column in zip(*cell_rows, strict=True)] or [[] for _ in columns]
    return _pa.Table.from_arrays(
        [_pa.array(column, type=field.type) for column, field in zip(values, schema, strict=True)],
        schema=schema,
    )


def write_parquet(cell_rows: Sequence[ExportRow], path: Path) -> None:
    """Write rows as Parquet. Raises OSError."""
    with path.open("wb") as file:
        _pq.write_table(arrow(cell_rows), file, compression="zstd")


def _words(trial: Trial, direction: str) -> tuple[str, str, str, str, int, int, str]:
    labels = (trial.testbed.label, trial.filesystem.label, trial.workload.label)
    return (*labels, direction, trial.clients_count, trial.repetition, trial.id)
