"""A results folder as Arrow tables, for a notebook: what `perjoule.read` returns.

pandas (`table.to_pandas()`), Polars (`polars.from_arrow(table)`) and DuckDB (by a table's name in a query) take
them as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from perjoule.exporting.rows import ExportRow, arrow, rows
from perjoule.model.errors import CampaignError
from perjoule.store import Results, open_results
from perjoule.store.disk import spoken
from perjoule.store.samples import read_table
from perjoule.summary import summary

_OF_TRIALS = ("testbed", "filesystem", "workload", "direction", "clients_count", "repetition", "trial")
_OF_CELLS = ("filesystem", "workload", "direction", "clients_count")
_LAST = ("doubts", "doubt_ids", "reality")


@dataclass(frozen=True)
class Measurements:
    """The numbers of a results folder, in SI units, computed when they are asked for.

    Metrics are named by their keys: `perjoule docs metrics`. Tables are `pyarrow.Table`s.
    """

    results: Results

    @cached_property
    def _rows(self) -> tuple[ExportRow, ...]:
        return tuple(rows(self.results, summary(self.results).cells))

    def numbers(self) -> Any:
        """Return every number, a row each: the table that `perjoule export` writes, whose columns
        `perjoule docs results-folder` lists.
        """
        return arrow(self._rows)

    def trials(self) -> Any:
        """Return a row for each valid trial and direction, and a column for each metric.

        A metric that a trial lacks is null. Grades are in `numbers`: they may differ between metrics.
        """
        trial_rows = [row for row in self._rows if row.of == "trial"]
        return _wide(trial_rows, _OF_TRIALS, {"": "value"})

    def cells(self) -> Any:
        """Return a row for each cell, the repetitions of one configuration, and for each metric the columns
        METRIC (mean), METRIC_low and METRIC_high (its 95 % interval, infinite for one repetition) and
        METRIC_n (number of values).
        """
        cell_rows = [row for row in self._rows if row.of == "cell"]
        return _wide(cell_rows, _OF_CELLS, {"": "value", "_low": "low", "_high": "high", "_n": "n"})

    def series(self, trial: str) -> Any:
        """Return all samples of a trial's latest attempt, a row each.

        Args:
            trial: its id, as in the column `trial` of `trials`.

        Raises:
            CampaignError: there is no such trial.
            MachineError: its samples can't be read.
        """
        records = {record.trial.id: record for record in self.results.latest()}
        if trial not in records:
            raise CampaignError(f'no trial has the id "{trial}"', where=str(self.results.folder))
        path = self.results.folder_of(records[trial]) / "series.parquet"
        with spoken(path):
            return read_table(path)


def read(folder: str | Path) -> Measurements:
    """Open a results folder for a notebook; `perjoule.read` is the same.

    Raises:
        MachineError: it is not a results folder, or it is damaged.
    """
    return Measurements(open_results(Path(folder)))


def _wide(narrow: Sequence[ExportRow], keys: Sequence[str], columns_of_metric: dict[str, str]) -> Any:
    """Return a row for each combination of keys, and columns for each metric: its key and an ending."""
    wide: dict[tuple[object, ...], dict[str, object]] = {}
    for row in narrow:
        numbers = wide.setdefault(tuple(getattr(row, key) for key in keys), {})
        for ending, field in columns_of_metric.items():
            numbers[row.metric + ending] = getattr(row, field)
        numbers.update((key, getattr(row, key)) for key in _LAST)
    metrics = dict.fromkeys(row.metric for row in narrow)
    names = [metric + ending for metric in metrics for ending in columns_of_metric]
    return arrow(
        [(*of, *(numbers.get(name) for name in (*names, *_LAST))) for of, numbers in wide.items()],
        {
            **{key: ExportRow.__annotations__[key] for key in keys},
            **{name: int | None if name.endswith("_n") else float | None for name in names},
            **{key: ExportRow.__annotations__[key] for key in _LAST},
        },
    )
