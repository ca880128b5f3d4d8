"""Recompute printed numbers from measurements: checksums, outcomes from raw outputs, and the table.

Every number shown comes from the stored records and series through `perjoule.measures`. So it is checked that
the stored files are those that the journal lists, all of them and no others; that each trial is one of the
campaign's, whose text is the one that was run; that the workload's raw outputs, parsed again, give the stored
outcome, goodput and latencies; that modelled watts follow from counters and the catalogue; and that the
report's stored table is what the analysis gives now, in every column.

What an older format did not keep (`ADDED`) can't be compared: a note says so.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from perjoule import drivers
from perjoule.measures.points import points
from perjoule.model import Campaign, Point, Record, Series
from perjoule.model.errors import PerjouleError
from perjoule.model.records import FORMAT
from perjoule.results import belonging, modelled_watts
from perjoule.results.likeness import close, differing, differing_rows
from perjoule.results.table import few
from perjoule.results.table_likeness import LACKING, Note, Older, Redefined, differing_cells
from perjoule.store import Results
from perjoule.store.ageing import ageing_series
from perjoule.store.clearing import ATTEMPT
from perjoule.store.journal import JournalEntry, sha256
from perjoule.store.recalculated import recalculation_of
from perjoule.store.records import to_json, with_time
from perjoule.summary.campaign import campaign_of
from perjoule.summary.computing import cells_of
from perjoule.trial.ageing import ageing, energy_j

ALWAYS = ("record.json", "series.parquet")  # in every attempt


WRITE_AGAIN = "`perjoule report` writes it again"
# the format since which a quantity of raw outputs is among the stored series
ADDED = {"latency": 2, "calls": 2}
REDATED_FORMAT = 2  # the format since which the bytes of a read's long last call are those of its end
REDATED_COUNT = 2  # samples at the end of a log that this divides otherwise
Calculation = Callable[[Record, Sequence[Series]], Sequence[Point]]


@dataclass(frozen=True)
class Findings:
    """The number of files and numbers compared, and each difference in a sentence."""

    checked_count: int
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what could not be checked


def verify(results: Results, calculation: Calculation = points) -> Findings:
    """Check a results folder, changing nothing. Raises MachineError if it can't be read at all.

    Args:
        results: the folder.
        calculation: the points of a trial, for whoever keeps them with more numbers of that trial.
    """
    entries, reported, campaign = results.entries(), _reported(results), campaign_of(results)
    last = {entry.trial: entry.attempt for entry in entries}
    counted = [reported and entry.attempt == last[entry.trial] for entry in entries]
    attempts = [
        _read_again(results, entry, calculation, counted=in_table)
        for entry, in_table in zip(entries, counted, strict=True)
    ]
    outcomes = [check for attempt in attempts for check in attempt.checks]
    latest = [attempt for attempt, in_table in zip(attempts, counted, strict=True) if in_table]
    records = [attempt.record for attempt in attempts if attempt.record]
    checks = [
        *_files(results, entries),
        *belonging.check(results, campaign, records),
        *outcomes,
        *_table(results, campaign, latest),
    ]
    notes: list[str] = [
        check for check in checks if isinstance(check, Note) and not isinstance(check, Older | Redefined)
    ]
    if redefined := dict.fromkeys(check for check in checks if isinstance(check, Redefined)):
        changes = (
            f"have other definitions since format {results.table_format()} of table.json, and were not "
            "compared"
        )
        notes.append(f"{few([*redefined])} {changes}; {WRITE_AGAIN}")
    if older := dict.fromkeys(check for check in checks if isinstance(check, Older)):
        notes.append(
            f"table.json is of an older format, without, or in other words: {', '.join(older)}; {WRITE_AGAIN}"
        )
    if recalculation := recalculation_of(results.folder):
        notes.append(
            f"the numbers before the recalculation of {recalculation.date} are those of the original, which "
            "is not here"
        )
    if not reported:
        notes.append("no report has been written yet, so there is no table to check")
    elif any(check.startswith("table: ") for check in checks) and results.table_format() < FORMAT:
        notes.append(
            f"definitions of numbers changed since format {results.table_format()} of table.json; "
            f"{WRITE_AGAIN}"
        )
    differences = tuple(check for check in checks if check and not isinstance(check, Note))
    return Findings(
        sum(not isinstance(check, Note) for check in checks), differences, tuple(dict.fromkeys(notes))
    )


# Each check below yields "" when all is well, a sentence when it is not, and a note where nothing can be
# compared.


def _files(results: Results, entries: Sequence[JournalEntry]) -> Iterator[str]:
    for (trial, attempt), count in Counter((entry.trial, entry.attempt) for entry in entries).items():
        yield "" if count == 1 else f"{results.journal}: {count} lines list attempt {attempt} of {trial}"
    listed = {results.folder_of_attempt(entry.trial, entry.attempt) for entry in entries}
    for path in sorted((results.folder / "trials").glob("*/attempt-*")):
        if path not in listed and ATTEMPT.fullmatch(path.name):
            yield f"{path}: no line of the journal lists this attempt"
    for entry in entries:
        yield from _files_of(entry, results.folder_of_attempt(entry.trial, entry.attempt))


def _files_of(entry: JournalEntry, folder: Path) -> Iterator[str]:
    for name, digest in entry.files.items():
        path = folder / name
        try:
            yield (
                ""
                if sha256(path) == digest
                else f"{path}: differs from the file that was kept (checksum mismatch)"
            )
        except OSError as error:
            yield f"{path}: {(error.strerror or 'unreadable').lower()}"
    present = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and not p.is_symlink()}
    for name in sorted(
        {*ALWAYS, *(name_there for name_there in present if not name_there.startswith("logs/"))}
        - entry.files.keys()
    ):
        why = "it was not there when the attempt was kept, or the journal was changed"
        yield f"{folder / name}: its checksum is not in the journal; {why}"


@dataclass(frozen=True)
class _Attempt:
    """An attempt read again: what differs, its record, and the points that the table needs; None if it
    can't be read.
    """

    checks: tuple[str, ...]
    record: Record | None = None
    points: Sequence[Point] | None = None


def _read_again(
    results: Results, entry: JournalEntry, calculation: Calculation, *, counted: bool
) -> _Attempt:
    """Read an attempt and check its outcome; of one without an outcome, its checksums say all. `counted`:
    it is in the table.
    """
    place = str(results.folder_of_attempt(entry.trial, entry.attempt))
    try:
        record = results.record(entry)
    except PerjouleError as error:
        return _Attempt((str(error),))
    timed, checks = with_time(record), [_identity(entry, record, place)]
    checks += _aged(results, record, place)
    if record.outcome is None:
        return _Attempt(tuple(checks), timed, ())
    trial_points = series = None
    try:
        series = results.series(record)
        trial_points = calculation(timed, series) if counted and timed.status == "valid" else ()
    except PerjouleError as error:
        checks.append(str(error))
    return _Attempt((*checks, *_outcome(results, record, series, place)), timed, trial_points)


def _aged(results: Results, record: Record, place: str) -> Iterator[str]:
    """Check the joules of what a file system went through before its trials."""
    aged = ageing(record)
    if aged is None:
        yield from (
            [f"{place}: what its file system went through is not whole"] if "aged" in record.facts else []
        )
        return
    try:
        again_j = energy_j(record, ageing_series(results.folder, aged.folder))
    except (OSError, ValueError) as error:
        yield f"{place}: the samples of the ageing of its file system can't be read: {error}"
        return
    difference = differing(aged.energy_j, again_j, path="energy_j")
    yield f"{place}: of the ageing of its file system, {difference}" if difference else ""


def _outcome(results: Results, record: Record, series: Sequence[Series] | None, place: str) -> Iterator[str]:
    try:
        again = drivers.workload(record.trial.workload).outcome(results.folder_of(record) / "raw")
    except PerjouleError as error:
        yield str(error)
        return
    except (KeyError, ValidationError):
        yield f"{place}: this perjoule can no longer build its workload, so its raw outputs were not re-read"
        return
    difference = differing(to_json(record.outcome), to_json(replace(again, series=())))
    yield (
        f"{place}: re-reading the raw outputs does not give the stored outcome: {difference}"
        if difference
        else ""
    )
    if series is not None:
        stored = {channel_series.channel: channel_series for channel_series in series}
        for channel_series in again.series:
            yield _same_series(channel_series, stored.get(channel_series.channel), record.version, place)
        yield from modelled_watts.check(record, series, place)
        if names := modelled_watts.unchecked(record, series):
            which = ", ".join(sorted(names))
            yield Note(
                f"counters of {which} are not kept: of their modelled watts only the bounds were checked"
            )


def _identity(entry: JournalEntry, record: Record, place: str) -> str:
    same = (entry.trial, entry.attempt, entry.status) == (record.trial.id, record.attempt, record.status)
    return "" if same else f"{place}: the record does not match the trial, attempt or status in the journal"


def _same_series(again: Series, stored: Series | None, version: int, place: str) -> str:
    if stored is None and ADDED.get(again.channel.quantity, 1) > version:
        return Note(
            f"results of format {version} do not have the {again.channel.quantity} of raw outputs among "
            "their series"
        )
    if stored is None:
        return f"{place}: {again.channel.name} is in the raw outputs but not among the stored series"
    difference = differing_rows(stored, again)
    if difference and version < REDATED_FORMAT and _redated(stored, again):
        return Note(
            f"results of format {version} date the last bytes of a read to the half second after its log's "
            "last line"
        )
    return f"{place}: {again.channel.name} differs from the raw outputs: {difference}" if difference else ""


def _redated(stored: Series, again: Series) -> bool:
    """Whether two logs of fio differ by the moment of the last bytes alone: the same bytes, by the same
    client's end.
    """
    earlier = slice(0, max(len(again.t_s) - REDATED_COUNT, 0))
    alike = len(stored.t_s) == len(again.t_s) and not differing_rows(stored.at(earlier), again.at(earlier))
    ends = ([series.t_s[-1], float(series.value @ series.duration_s)] for series in (stored, again))
    return (
        again.channel.quantity == "goodput"
        and alike
        and all(close(*pair) for pair in zip(*ends, strict=True))
    )


def _table(results: Results, campaign: Campaign | None, latest: Sequence[_Attempt]) -> Iterator[str]:
    readable = [
        (attempt.record, attempt.points)
        for attempt in latest
        if attempt.record and attempt.points is not None
    ]
    try:
        stored = results.stored_table()
        if stored is None:
            if _reported(results):
                yield f"{results.folder / 'table.json'}: missing, so the report's numbers can't be checked"
            return
        if len(readable) < len(latest):
            return
        computed = cells_of(
            campaign,
            [record for record, _ in readable],
            [point for _, attempt_points in readable for point in attempt_points],
        )
    except PerjouleError as error:
        yield str(error)
        return
    yield from differing_cells(stored.cells, computed, LACKING.get(stored.format, frozenset()))


def _reported(results: Results) -> bool:
    return any((results.folder / name).exists() for name in ("table.json", "report.html"))
