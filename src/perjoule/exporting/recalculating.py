"""A results folder or a bundle to a new results folder, whose modelled watts are computed again: `perjoule
recalculate`.

All else is copied byte for byte. The new folder is made beside its place under another name, is verified, and
gets its name last: killed at any moment, it is there whole or not at all. The original is only read.
"""

import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from perjoule import __version__, catalogue, store
from perjoule.exporting.archive import MOST_UNPACKED_BYTES, open_archive, unpacked
from perjoule.exporting.bundle import differing, kept_files
from perjoule.exporting.recalculation import MEASURE, Recalculated, recalculated
from perjoule.machine import removal
from perjoule.machine.bounded import bounded
from perjoule.machine.untrusted import json_of
from perjoule.measures.points import points
from perjoule.model import Cell, Point, Record
from perjoule.model.errors import CampaignError, MachineError
from perjoule.results import verification
from perjoule.results.modelled_watts import modelled
from perjoule.store import Results
from perjoule.store.ageing import FOLDER as AGEING
from perjoule.store.ageing import ageing_series
from perjoule.store.disk import spoken, sync
from perjoule.store.journal import NAME as JOURNAL
from perjoule.store.journal import JournalEntry, append_entry, sha256
from perjoule.store.place import entered, make_folders, require_ours
from perjoule.store.recalculated import KEY, Correction, Moves, Recalculation, keep_recalculation
from perjoule.store.records import to_json, with_time
from perjoule.store.samples import ParquetSink, read_series
from perjoule.summary.campaign import campaign_of
from perjoule.summary.computing import cells_of

REPORTED = ("report.html", "table.json")  # written anew
RECORD, SERIES = "record.json", "series.parquet"


def recalculate(
    source: Path,
    into: Path,
    write_report: Callable[[Results, Path], object],
    most_bytes: int = MOST_UNPACKED_BYTES,
) -> Recalculation:
    """Write a new results folder with the modelled watts of another, or of a bundle, by the catalogue of
    today.

    Args:
        source: a results folder, which is only read, or a bundle.
        into: the new folder: absent or empty.
        write_report: writes the report of results into a file, and their table.
        most_bytes: to which a bundle may unpack.

    Raises:
        CampaignError: nothing was modelled, or the catalogue has changed nothing, or more than watts.
        MachineError: the source can't be read or does not verify, `into` holds something, or can't be
            written.
    """
    if into.resolve().is_relative_to(source.resolve()):
        raise CampaignError(
            "the new folder is in the original, which stays as it is",
            where=str(into),
            next="name another one",
        )
    with _opened(source, most_bytes) as results, spoken(into):
        require_ours(into)
        if into.is_symlink() or (into.exists() and not (into.is_dir() and not any(into.iterdir()))):
            raise MachineError("this is not a new or empty folder", where=str(into), next="name a new one")
        make_folders(into.absolute().parent)
        removal.sweep(into.absolute().parent)  # what a killed one left
        with removal.scratch("perjoule-again-", into.absolute().parent) as room:
            folder = room / "results"
            folder.mkdir()
            recalculation = _written(results, folder, str(source))
            anew = store.open_results(folder)
            write_report(anew, folder / REPORTED[0])
            if differences := verification.verify(anew).differences:
                raise MachineError(
                    f"the new results don't verify: {differences[0]}", where=str(source), next=MEASURE
                )
            for path in folder.rglob("*"):
                sync(path)
            sync(folder)
            folder.rename(into)  # fails unless it is still absent or empty
            sync(into.absolute().parent)
    return recalculation


@contextmanager
def _opened(source: Path, most_bytes: int) -> Generator[Results]:
    """Open a results folder, or a bundle in a temporary folder, and verify it. Raises MachineError."""
    if source.is_file() and source.suffix != ".toml":
        with bounded(), open_archive(source, most_bytes) as archive:
            _require(source, [difference for difference in differing(archive) if difference])
            with unpacked(archive) as folder:
                yield _verified(store.open_results(folder), source)
        return
    results = store.open_results(source)
    if not results.done():
        raise MachineError(
            "no trial has been measured here yet",
            where=str(source),
            next=f"perjoule resume {shlex.quote(str(source))}",
        )
    with spoken(source):
        require_ours(source)  # nobody swaps a file for a link while root copies it
    yield _verified(results, source)


def _verified(results: Results, source: Path) -> Results:
    _require(source, verification.verify(results).differences)
    return results


def _require(source: Path, differences: Sequence[str]) -> None:
    if differences:
        message = f"these results don't verify ({len(differences)} differ): {differences[0]}"
        raise MachineError(
            message, where=str(source), next=f"see `perjoule verify {shlex.quote(str(source))}`"
        )


def _written(results: Results, folder: Path, source: str) -> Recalculation:
    """Fill the new folder: copies, then records and series with other watts, and the journal that vouches
    for them.
    """
    entries = results.entries()
    _require_no_ageing(results, source)
    attempts = [(entry, results.record(entry)) for entry in entries]
    coefficients: dict[str, Moves] = {}
    for record in (record for _, record in attempts if record.hardware is not None):
        coefficients |= _moves(record)
    note_of_all = Recalculation(time.time(), f"perjoule {__version__}", sha256(results.journal), coefficients)
    for path in kept_files(results):
        name = path.relative_to(results.folder)
        if str(name) not in (JOURNAL, *REPORTED):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name, follow_symlinks=False)
    last = {entry.trial: entry.attempt for entry in entries}
    latest: list[Record] = []
    all_points: list[Point] = []
    changed_count = samples_count = between_count = 0
    with entered(folder) as place:
        place.put(JOURNAL, "")
        for entry, record in attempts:
            original = results.folder_of_attempt(entry.trial, entry.attempt)
            series = read_series(original / SERIES)
            watts = recalculated(record, series, f"{source}, {entry.trial}")
            attempt = folder / original.relative_to(results.folder)
            if watts is not None:
                samples_count += watts.samples_count
                between_count += watts.between_count
                changed_count += watts.changed
                _rewrite(attempt, watts, note_of_all, _moves(record).get(watts.hardware.name, {}))
            files = {**entry.files} | {name: sha256(attempt / name) for name in (RECORD, SERIES)}
            append_entry(place, JournalEntry(entry.trial, entry.attempt, entry.status, files))
            if last[entry.trial] == entry.attempt:
                timed = with_time(record)
                latest.append(timed)
                all_points += points(timed, results.series(record)) if timed.status == "valid" else ()
        if not samples_count:
            message = "no watts here were modelled: what meters read is not calculated from coefficients"
            raise CampaignError(message, where=source, next="see what read them with `perjoule show`")
        if not changed_count:
            message = "the watts here were modelled with the coefficients that the catalogue has today"
            raise CampaignError(message, where=source, next="there is nothing to recalculate")
        cells: tuple[Cell, ...] = cells_of(campaign_of(results), latest, all_points)
        recalculation = replace(
            note_of_all, cells=cells, samples_count=samples_count, between_count=between_count
        )
        keep_recalculation(place, recalculation)
    return recalculation


def _moves(record: Record) -> Mapping[str, Moves]:
    """Return what moved in a record's cluster, by its name; {} where the catalogue lacks it."""
    former = record.hardware
    if former is None or former.name not in catalogue.choices():
        return {}
    moved = catalogue.moved(former, catalogue.cluster(former.name))
    return {former.name: {name: Correction(*values) for name, values in moved.items()}}


def _rewrite(attempt: Path, watts: Recalculated, note_of_all: Recalculation, moves: Moves) -> None:
    """Replace the copies of an attempt's record and series; in the record only what follows from
    coefficients differs.
    """
    record = json_of(attempt / RECORD)
    note = {
        "utc_s": note_of_all.utc_s,
        "by": note_of_all.by,
        "original": note_of_all.original,
        "coefficients": moves,
    }
    note |= {"samples_count": watts.samples_count, "between_count": watts.between_count}
    record |= {
        "hardware": to_json(watts.hardware),
        "environment": {**record["environment"], KEY: to_json(note)},
    }
    removal.remove_file(attempt / RECORD)
    removal.remove_file(attempt / SERIES)
    text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    with os.fdopen(
        os.open(attempt / RECORD, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    sink = ParquetSink(attempt / SERIES)
    try:
        for series in watts.series:
            sink.extend(series)
        sink.close()
    finally:
        sink.abandon()


def _require_no_ageing(results: Results, source: str) -> None:
    """Refuse watts that were modelled while a file system was aged: records state joules of them."""
    folder = results.folder / AGEING
    names = sorted(path.name for path in folder.iterdir() if path.name.isdigit()) if folder.is_dir() else []
    if any(modelled(ageing_series(results.folder, name)) for name in names):
        message = (
            "watts of the ageing of file systems were modelled, and the joules that records state of it "
            "can't be changed"
        )
        raise CampaignError(message, where=source, next=MEASURE)
