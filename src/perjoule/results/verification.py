"""Recompute printed numbers from measurements: checksums, outcomes from raw outputs, and the table.

Every number shown comes from the stored records and series through `perjoule.analysis`. So three things are checked: that the
stored files are those that the journal lists, all of them and no others; that the workload's raw outputs, parsed again, give the
stored outcome, goodput and latencies; and that the report's stored table is what the analysis gives now, in every column.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from math import isclose
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from perjoule import drivers
from perjoule.analysis.ageing import ageing, energy_j
from perjoule.analysis.points import points
from perjoule.model import Cell, Json, Point, Record, Series
from perjoule.model.errors import PerjouleError
from perjoule.model.units import clients_text, spaced_percents
from perjoule.store import Results
from perjoule.store.ageing import ageing_series
from perjoule.store.clearing import ATTEMPT
from perjoule.store.journal import Entry, sha256
from perjoule.store.records import to_json, with_time
from perjoule.summary.campaign import campaign_of
from perjoule.summary.computing import cells_of

TOLERANCE_RATIO = 1e-9  # another numpy may add up in another order
ALWAYS = ("record.json", "series.parquet")  # in every attempt


@dataclass(frozen=True)
class Findings:
    """The number of files and numbers compared, and each difference in a sentence."""

    checked_count: int
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what could not be checked


def verify(results: Results) -> Findings:
    """Check a results folder, changing nothing. Raises MachineError if it can't be read at all."""
    entries, reported = results.entries(), _reported(results)
    last = {entry.trial: entry.attempt for entry in entries}
    counted = [reported and entry.attempt == last[entry.trial] for entry in entries]
    attempts = [_read_again(results, entry, counted=one) for entry, one in zip(entries, counted, strict=True)]
    outcomes = [check for attempt in attempts for check in attempt.checks]
    latest = [attempt for attempt, one in zip(attempts, counted, strict=True) if one]
    checks = [*_files(results), *outcomes, *_table(results, latest)]
    notes = () if reported else ("no report has been written yet, so there is no table to check",)
    return Findings(len(checks), tuple(difference for difference in checks if difference), notes)


# Each check below yields "" when all is well, and a sentence when it is not.


def _files(results: Results) -> Iterator[str]:
    entries = results.entries()
    for (trial, attempt), count in Counter((entry.trial, entry.attempt) for entry in entries).items():
        yield "" if count == 1 else f"{results.journal}: {count} lines list attempt {attempt} of {trial}"
    kept = {results.folder_of_attempt(entry.trial, entry.attempt) for entry in entries}
    for path in sorted((results.folder / "trials").glob("*/attempt-*")):
        if path not in kept and ATTEMPT.fullmatch(path.name):
            yield f"{path}: no line of the journal lists this attempt"
    for entry in entries:
        yield from _files_of(entry, results.folder_of_attempt(entry.trial, entry.attempt))


def _files_of(entry: Entry, folder: Path) -> Iterator[str]:
    for name, digest in entry.files.items():
        path = folder / name
        try:
            yield "" if sha256(path) == digest else f"{path}: differs from the file that was kept (checksum mismatch)"
        except OSError as error:
            yield f"{path}: {(error.strerror or 'unreadable').lower()}"
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and not p.is_symlink()}
    for name in sorted({*ALWAYS, *(one for one in there if not one.startswith("logs/"))} - entry.files.keys()):
        why = "it was not there when the attempt was kept, or the journal was changed"
        yield f"{folder / name}: its checksum is not in the journal; {why}"


@dataclass(frozen=True)
class _Attempt:
    """An attempt read again: what differs, its record, and the points that the table needs; None if it can't be read."""

    checks: tuple[str, ...]
    record: Record | None = None
    points: tuple[Point, ...] | None = None


def _read_again(results: Results, entry: Entry, *, counted: bool) -> _Attempt:
    """Read an attempt and check its outcome; of one without an outcome, its checksums say all. `counted`: it is in the table."""
    where = str(results.folder_of_attempt(entry.trial, entry.attempt))
    try:
        record = results.record(entry)
    except PerjouleError as error:
        return _Attempt((str(error),))
    timed, checks = with_time(record), [_identity(entry, record, where)]
    checks += _aged(results, record, where)
    if record.outcome is None:
        return _Attempt(tuple(checks), timed, ())
    found = series = None
    try:
        series = results.series(record)
        found = points(timed, series) if counted and timed.status == "valid" else ()
    except PerjouleError as error:
        checks.append(str(error))
    return _Attempt((*checks, *_outcome(results, record, series, where)), timed, found)


def _aged(results: Results, record: Record, where: str) -> Iterator[str]:
    """Check the joules of what a file system went through before its trials."""
    found = ageing(record)
    if found is None:
        yield from [f"{where}: what its file system went through is not whole"] if "aged" in record.facts else []
        return
    try:
        again_j = energy_j(record, ageing_series(results.folder, found.folder))
    except (OSError, ValueError) as error:
        yield f"{where}: the samples of the ageing of its file system can't be read: {error}"
        return
    same = again_j is None if found.energy_j is None else again_j is not None and _alike(found.energy_j, again_j)
    yield (
        ""
        if same
        else f"{where}: the ageing of its file system took {_short(found.energy_j)} J and recomputed {_short(again_j)} J"
    )


def _outcome(results: Results, record: Record, series: Sequence[Series] | None, where: str) -> Iterator[str]:
    try:
        again = drivers.workload(record.trial.workload).outcome(results.folder_of(record) / "raw")
    except PerjouleError as error:
        yield str(error)
        return
    except (KeyError, ValidationError):
        yield f"{where}: this perjoule can no longer build its workload, so its raw outputs were not re-read"
        return
    same = replace(again, series=()) == record.outcome
    yield "" if same else f"{where}: re-reading the raw outputs does not give the stored outcome"
    if series is not None:
        stored = {one.channel: one for one in series}
        for one in again.series:
            yield _same_series(one, stored.get(one.channel), where)


def _identity(entry: Entry, record: Record, where: str) -> str:
    same = (entry.trial, entry.attempt, entry.status) == (record.trial.id, record.attempt, record.status)
    return "" if same else f"{where}: the record does not match the trial, attempt or status in the journal"


def _same_series(again: Series, stored: Series | None, where: str) -> str:
    if stored is None:
        return f"{where}: {again.channel.name} is in the raw outputs but not among the stored series"
    same = np.array_equal(again.rows(), stored.rows(), equal_nan=True)
    return "" if same else f"{where}: {again.channel.name} differs from the raw outputs"


def _table(results: Results, latest: Sequence[_Attempt]) -> Iterator[str]:
    known = [(one.record, one.points) for one in latest if one.record and one.points is not None]
    try:
        stored = results.table()
        if stored is None:
            if _reported(results):
                yield f"{results.folder / 'table.json'}: missing, so the report's numbers can't be checked"
            return
        if len(known) < len(latest):
            return
        asked = campaign_of(results)
        computed = cells_of(asked, [record for record, _ in known], [point for _, own in known for point in own])
    except PerjouleError as error:
        yield str(error)
        return
    expected, rows = _by_row(computed), _by_row(stored)
    for row in sorted(expected.keys() | rows.keys()):
        if row not in rows or row not in expected:
            yield f"table: {row} is only {'in the table' if row in rows else 'among the records (write the report again)'}"
        elif len(rows[row]) != len(expected[row]):
            yield f"table: {row} is {len(rows[row])} times in the table and {len(expected[row])} times among the records"
        else:
            for one, other in zip(rows[row], expected[row], strict=True):
                yield from _same_cell(row, one, other)


def _reported(results: Results) -> bool:
    return any((results.folder / name).exists() for name in ("table.json", "report.html"))


def _by_row(all_cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in all_cells:
        found.setdefault(_row(cell), []).append(cell)
    return found


def _row(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.workload}, {cell.direction}, {clients_text(cell.clients_count)}"


def _same_cell(row: str, stored: Cell, computed: Cell) -> Iterator[str]:
    for column in (field.name for field in fields(Cell) if field.name != "metrics"):
        one, other = (to_json(getattr(cell, column)) for cell in (stored, computed))
        yield "" if _alike(one, other) else f"table: {row}: {column} is {_short(one)} and recomputed {_short(other)}"
    for name in sorted(stored.metrics.keys() | computed.metrics.keys()):
        one, other = stored.metrics.get(name), computed.metrics.get(name)
        if one is None or other is None:
            yield f"table: {row}: {name} is only {'in the table' if other is None else 'among the recomputed numbers'}"
            continue
        pairs = zip((one.mean, one.low, one.high, *one.values), (other.mean, other.low, other.high, *other.values), strict=False)
        same = len(one.values) == len(other.values) and all(isclose(a, b, rel_tol=TOLERANCE_RATIO) for a, b in pairs)
        yield "" if same else f"table: {row}: {name} is {one.mean:.6g} and recomputed {other.mean:.6g}"


def _alike(one: Json, other: Json) -> bool:
    """Return whether two JSON values are equal except for rounding, and for the space before a percent sign."""
    match one, other:
        case bool(), bool():
            return one == other
        case ((int() | float()), (int() | float())):
            return isclose(one, other, rel_tol=TOLERANCE_RATIO)
        case str(), str():
            return one == other or spaced_percents(one) == spaced_percents(other)
        case list(), list():
            return len(one) == len(other) and all(map(_alike, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
        case _:
            return one == other


def _short(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
