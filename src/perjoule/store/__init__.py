"""A results folder: append a Record, read Records. Versioned, atomic, never overwritten; kill it anywhere.

    results.json                      format version, the campaign's name and overrides
    campaign.toml                     the campaign as it was read
    journal.jsonl                     one line per kept attempt: the commit point
    lock                              held (flock) while perjoule works on the folder
    trials/<trial id>/attempt-<n>/    record.json, series.parquet, raw/, logs/

A partial attempt lives in `trials/<trial id>/partial-<n>/` and is renamed when it is kept.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EDQUOT, ENOSPC
from pathlib import Path

from perjoule.errors import MachineError
from perjoule.model import Record, Series, Trial
from perjoule.store.journal import Entry, append_entry, cut_torn_line, read_journal, sha256
from perjoule.store.records import record_from, record_text
from perjoule.store.samples import ParquetSink, read_series

VERSION = 1


def create(folder: Path, campaign_text: str, name: str, overrides: tuple[str, ...] = ()) -> "Results":
    """Make a results folder, or open it when it already holds this very campaign with the same overrides.

    Raises:
        MachineError: it holds something else, can't be written, or the disk is full.
    """
    if (folder / "results.json").exists():
        results = open_results(folder)
        if (results.campaign_text, results.overrides) != (campaign_text, overrides):
            raise MachineError(
                "this results folder belongs to another campaign",
                where=str(folder),
                next="choose another folder, or go on with the one it holds by `perjoule resume`",
            )
        return results
    with _spoken(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # An earlier create that was killed may have left the files below; results.json, written last, is what counts.
        foreign = {p.name for p in folder.iterdir()} - {"campaign.toml", "journal.jsonl", "trials", "results.json.partial"}
        if foreign:
            raise MachineError(
                f'the folder is not empty (it holds "{min(foreign)}") and is not a results folder',
                where=str(folder),
                next="choose a new or empty folder",
            )
        (folder / "trials").mkdir(exist_ok=True)
        _write(folder / "campaign.toml", campaign_text)
        _write(folder / "journal.jsonl", "")
        head = {"format": "perjoule results", "version": VERSION, "name": name, "overrides": overrides}
        _write(folder / "results.json.partial", json.dumps(head) + "\n")
        (folder / "results.json.partial").rename(folder / "results.json")
        _sync(folder)
        _sync(folder.parent)
    return Results(folder, campaign_text, overrides)


def open_results(folder: Path) -> "Results":
    """Open a results folder to read it, or (with `hold`) to add to it.

    Raises:
        MachineError: it is no results folder, damaged, unreadable, or of a newer version.
    """
    if not (folder / "results.json").is_file():
        raise MachineError(
            "this is not a results folder (no results.json in it)",
            where=str(folder),
            next="name the folder that `perjoule run` printed",
        )
    with _spoken(folder / "results.json"):
        head = json.loads((folder / "results.json").read_text())
        if not isinstance(head, dict) or "version" not in head:
            raise ValueError("it has no version")
        if head["version"] != VERSION:
            raise MachineError(
                f"results of format version {head['version']}, and this perjoule knows version {VERSION}",
                where=str(folder),
                next="use the perjoule that wrote it, or a newer one",
            )
    with _spoken(folder / "campaign.toml"):
        text = (folder / "campaign.toml").read_text()
    results = Results(folder, text, tuple(head.get("overrides", ())))
    results.entries()
    return results


@dataclass(frozen=True)
class Attempt:
    """An attempt at a trial that is under way."""

    results: "Results"
    trial: Trial
    number: int
    partial: Path
    sink: ParquetSink

    @property
    def folder(self) -> Path:
        """Where it lies: a partial folder until it is kept."""
        return self.partial if self.partial.exists() else self.results.folder_of_attempt(self.trial.id, self.number)

    @property
    def raw(self) -> Path:
        """For the raw outputs of every tool; their checksums go into the journal."""
        return self.folder / "raw"

    @property
    def logs(self) -> Path:
        """For the logs of daemons and clients."""
        return self.folder / "logs"

    def keep(self, record: Record) -> None:
        """Make the attempt durable: it counts from the moment this returns.

        All samples have gone through the sink before, those of the outcome's series too.

        Raises:
            MachineError: the disk is full or failed; the attempt is then not kept.
        """
        if (record.trial.id, record.attempt) != (self.trial.id, self.number):
            record = replace(record, trial=self.trial, attempt=self.number)
        with _spoken(self.partial):
            self.sink.close()
            _write(self.partial / "record.json", record_text(record))
            files = sorted(p for p in self.partial.rglob("*") if p.is_file() and not p.is_symlink())
            measured = [p for p in files if not p.is_relative_to(self.partial / "logs")]
            digests = {str(p.relative_to(self.partial)): sha256(p) for p in measured}
            for path in [*files, *(p for p in self.partial.rglob("*") if p.is_dir() and not p.is_symlink()), self.partial]:
                _sync(path)
            final = self.results.folder_of_attempt(self.trial.id, self.number)
            self.partial.rename(final)  # fails, rather than replaces, when something is there
            for path in (final.parent, final.parent.parent):
                _sync(path)
            try:
                append_entry(self.results.journal, Entry(self.trial.id, self.number, record.status, digests))
            except OSError:
                shutil.rmtree(final, ignore_errors=True)
                raise


@dataclass(frozen=True)
class Results:
    """A results folder. Reading needs nothing; adding needs `hold`."""

    folder: Path
    campaign_text: str
    overrides: tuple[str, ...] = ()  # with them the text gives the campaign that was run

    @property
    def journal(self) -> Path:
        """The file whose lines say what was kept."""
        return self.folder / "journal.jsonl"

    @contextmanager
    def hold(self) -> Generator[None]:
        """Have the folder for ourselves while the block runs; first clear away what a killed run left unfinished.

        Raises:
            MachineError: another perjoule works on it, or it can't be written.
        """
        with _spoken(self.folder):
            lock = (self.folder / "lock").open("a+")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise MachineError(
                    f"another perjoule ({lock.read().strip() or 'just started'}) works on these results",
                    where=str(self.folder),
                    next="wait for it, or stop it with Ctrl-C and `perjoule resume`",
                ) from None
            with _spoken(self.folder):
                lock.truncate(0)
                lock.write(f"process {os.getpid()}")
                lock.flush()
                self._clear()
            yield

    @contextmanager
    def attempt(self, trial: Trial) -> Generator[Attempt]:
        """Try a trial: what the block puts into the attempt stays if it is kept, and is removed otherwise.

        Raises:
            MachineError: the folder can't be written, or the disk is full.
        """
        number = 1 + max((e.attempt for e in self.entries() if e.trial == trial.id), default=0)
        partial = self.folder / "trials" / trial.id / f"partial-{number}"
        with _spoken(partial):
            (partial / "raw").mkdir(parents=True)
            (partial / "logs").mkdir()
            sink = ParquetSink(partial / "series.parquet")
        try:
            yield Attempt(self, trial, number, partial, sink)
        finally:
            sink.abandon()
            if partial.exists():
                shutil.rmtree(partial, ignore_errors=True)
            with suppress(OSError):  # only when nothing else is in it
                partial.parent.rmdir()

    def entries(self) -> tuple[Entry, ...]:
        """Read the journal, a torn last line ignored. Raises MachineError."""
        with _spoken(self.journal):
            return read_journal(self.journal)

    def records(self) -> tuple[Record, ...]:
        """Read the records of all attempts, in the order in which they were kept. Raises MachineError."""
        return tuple(self._record(entry) for entry in self.entries())

    def latest(self) -> tuple[Record, ...]:
        """Read the last attempt of each trial, in the order in which they were kept. Raises MachineError."""
        entries = self.entries()
        last = {entry.trial: entry.attempt for entry in entries}
        return tuple(self._record(entry) for entry in entries if last[entry.trial] == entry.attempt)

    def done(self) -> frozenset[str]:
        """Name the trials that have a kept attempt, valid or failed. Raises MachineError."""
        return frozenset(entry.trial for entry in self.entries())

    def series(self, record: Record) -> tuple[Series, ...]:
        """Read all series of an attempt: the meters' and the workload's goodput. Raises MachineError."""
        path = self.folder_of(record) / "series.parquet"
        with _spoken(path):
            return read_series(path)

    def folder_of(self, record: Record) -> Path:
        """Say where an attempt lies, with `raw` and `logs` inside."""
        return self.folder_of_attempt(record.trial.id, record.attempt)

    def folder_of_attempt(self, trial_id: str, number: int) -> Path:
        """Say where a kept attempt lies."""
        return self.folder / "trials" / trial_id / f"attempt-{number}"

    def _record(self, entry: Entry) -> Record:
        path = self.folder_of_attempt(entry.trial, entry.attempt) / "record.json"
        with _spoken(path):
            return record_from(path.read_text())

    def _clear(self) -> None:
        cut_torn_line(self.journal)
        kept = {self.folder_of_attempt(e.trial, e.attempt) for e in self.entries()}
        for trial in (self.folder / "trials").iterdir():
            for attempt in trial.iterdir():
                if attempt not in kept:
                    shutil.rmtree(attempt)
            with suppress(OSError):
                trial.rmdir()


@contextmanager
def _spoken(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        place = str(error.filename or path)
        if error.errno in (ENOSPC, EDQUOT):
            raise MachineError("the disk is full", where=place, next="make room, then `perjoule resume`") from error
        reason = (error.strerror or str(error)).lower()
        raise MachineError(reason, where=place, next="choose a folder that you may write, on a disk that works") from error
    except ValueError as error:
        raise MachineError(
            f"the file is damaged: {error}", where=str(path), next="restore it from a copy, or move this attempt away"
        ) from error


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
