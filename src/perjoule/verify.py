"""Recompute what was printed from what was measured: checksums, outcomes from raw outputs, and the table.

Every number that is shown comes from the stored records and series through `perjoule.analysis`. So three things are checked: that
the stored files are those that the journal names, that the workload's raw outputs, read again, give the stored outcome and
goodput, and that the table which the report stored is what analysis gives today.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isclose

import numpy as np
from pydantic import ValidationError

from perjoule import campaign, drivers
from perjoule.analysis.cells import cells
from perjoule.analysis.points import points
from perjoule.analysis.stopping import campaign_widening
from perjoule.errors import PerjouleError
from perjoule.model import Cell, Record, Series
from perjoule.store import Results
from perjoule.store.journal import Entry, sha256

TOLERANCE_RATIO = 1e-9  # another numpy may add up in another order


@dataclass(frozen=True)
class Findings:
    """How many files and numbers were compared, and each difference in a sentence."""

    checked_count: int
    differences: tuple[str, ...]


def verify(results: Results) -> Findings:
    """Check a results folder, changing nothing. Raises MachineError when it can't be read at all."""
    checks = [*_files(results), *_outcomes(results), *_table(results)]
    return Findings(len(checks), tuple(difference for difference in checks if difference))


# Each check below yields "" when all is well, and a sentence when it is not.


def _files(results: Results) -> Iterator[str]:
    for entry in results.entries():
        folder = results.folder_of_attempt(entry.trial, entry.attempt)
        for name, digest in entry.files.items():
            path = folder / name
            try:
                yield "" if sha256(path) == digest else f"{path}: not the file that was kept (its checksum differs)"
            except OSError as error:
                yield f"{path}: {(error.strerror or 'unreadable').lower()}"
        for path in sorted(folder.glob("raw/**/*")):
            if path.is_file() and not path.is_symlink() and str(path.relative_to(folder)) not in entry.files:
                yield f"{path}: was not there when the attempt was kept"


def _outcomes(results: Results) -> Iterator[str]:
    for entry in results.entries():
        where = str(results.folder_of_attempt(entry.trial, entry.attempt))
        try:
            record = results.record(entry)
            yield from _identity(entry, record, where)
            if record.outcome is not None:
                again = drivers.workload(record.trial.workload).outcome(results.folder_of(record) / "raw")
                same = replace(again, series=()) == record.outcome
                yield "" if same else f"{where}: the raw outputs, read again, do not give the stored outcome"
                stored = {s.channel: s for s in results.series(record)}
                for series in again.series:
                    yield _same_series(series, stored.get(series.channel), where)
        except PerjouleError as error:
            yield str(error)
        except (KeyError, ValidationError):
            yield f"{where}: this perjoule can't build its workload any more, so its raw outputs were not read again"


def _identity(entry: Entry, record: Record, where: str) -> Iterator[str]:
    same = (entry.trial, entry.attempt, entry.status) == (record.trial.id, record.attempt, record.status)
    yield "" if same else f"{where}: the record is not of the trial, attempt or status that the journal names"


def _same_series(again: Series, stored: Series | None, where: str) -> str:
    if stored is None:
        return f"{where}: {again.channel.name} is in the raw outputs and not among the stored series"
    same = np.array_equal(again.rows(), stored.rows(), equal_nan=True)
    return "" if same else f"{where}: {again.channel.name} differs from the raw outputs"


def _table(results: Results) -> Iterator[str]:
    try:
        stored = results.table()
        if stored is None:  # no report was written yet
            return
        records = results.latest()
        asked = campaign.of_results(results.campaign_text, results.overrides, results.folder)
        found = [p for r in records if r.status == "valid" for p in points(r, results.series(r))]
        weight = asked.edp_weight if asked else 1
        computed = cells(records, found, edp_weight=weight, widening=campaign_widening(asked))
    except PerjouleError as error:
        yield str(error)
        return
    expected = {_row(cell): cell for cell in computed}
    rows = {_row(cell): cell for cell in stored}
    for row in sorted(expected.keys() | rows.keys()):
        if row not in rows or row not in expected:
            yield f"table: {row} is only {'in the table' if row in rows else 'among the records (write the report again)'}"
        else:
            yield from _same_cell(row, rows[row], expected[row])


def _row(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.workload}, {cell.direction}, {cell.clients_count} clients"


def _same_cell(row: str, stored: Cell, computed: Cell) -> Iterator[str]:
    yield "" if stored.failed_count == computed.failed_count else f"table: {row}: count of failed trials differs"
    yield "" if stored.doubts == computed.doubts else f"table: {row}: doubts differ"
    yield "" if stored.grade == computed.grade else f"table: {row}: the grade of its power differs"
    for name in sorted(stored.metrics.keys() | computed.metrics.keys()):
        one, other = stored.metrics.get(name), computed.metrics.get(name)
        if one is None or other is None:
            yield f"table: {row}: {name} is only {'in the table' if other is None else 'among the recomputed numbers'}"
            continue
        pairs = zip((one.mean, one.low, one.high, *one.values), (other.mean, other.low, other.high, *other.values), strict=False)
        same = len(one.values) == len(other.values) and all(isclose(a, b, rel_tol=TOLERANCE_RATIO) for a, b in pairs)
        yield "" if same else f"table: {row}: {name} is {one.mean:.6g} and recomputed {other.mean:.6g}"
