"""An open results folder: its records and series, read at any time; attempts, added while it is held."""

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from perjoule.machine import locks, removal
from perjoule.machine.untrusted import from_json, json_of, text_of
from perjoule.model import Cell, Json, Record, Series, Trial
from perjoule.model.errors import MachineError
from perjoule.store import clearing
from perjoule.store.attempt import Attempt
from perjoule.store.disk import FULL, replace_file, spoken
from perjoule.store.journal import Entry, cut_torn_line, read_journal
from perjoule.store.records import record_from, to_json, with_time

if TYPE_CHECKING:
    from perjoule.store.recordings import ClockError

# `samples` and `recordings` are imported where they are used: with numpy and pyarrow that takes longer than `perjoule show`.

VERSION = 1  # of the format of results folders


@dataclass(frozen=True)
class Results:
    """A results folder. Reading needs nothing; adding needs `hold`."""

    folder: Path
    campaign_text: str
    overrides: tuple[str, ...] = ()  # with them the text gives the campaign that was run

    @property
    def journal(self) -> Path:
        """The file that lists the kept attempts."""
        return self.folder / "journal.jsonl"

    @contextmanager
    def hold(self) -> Generator[tuple[str, ...]]:
        """Lock the folder for the duration of the block; first clear away what a killed run left unfinished.

        Yields a sentence for each attempt that was set aside because the journal does not list it, and for each foreign file or
        folder.

        Raises:
            MachineError: another perjoule works on it, it can't be written, or only through a link.
        """
        clearing.refuse_links(self.folder, ("lock", "journal.jsonl", "trials", "alignment", "ageing"))
        path = self.folder / "lock"
        with spoken(path):
            lock = locks.opened(path)
        try:
            if not locks.taken(lock):
                raise MachineError(
                    f"{locks.holders(lock) or 'another perjoule'} is working on these results",
                    where=str(self.folder),
                    next="wait for it, or stop it with Ctrl-C and run `perjoule resume`",
                )
            with spoken(self.folder):
                said = self._clear()
            yield said
        finally:
            os.close(lock)

    @contextmanager
    def attempt(self, trial: Trial) -> Generator[Attempt]:
        """Try a trial: the block fills the attempt, which is removed unless the block keeps it.

        Raises:
            MachineError: the folder can't be written, or the disk is full.
        """
        from perjoule.store.samples import ParquetSink

        home = self.folder / "trials" / trial.id
        clearing.refuse_links(home.parent, (trial.id,))
        number = clearing.next_number(home, (e.attempt for e in self.entries(trial.id)))
        partial = home / f"partial-{number}"
        with spoken(partial):
            home.mkdir(exist_ok=True)
            partial.mkdir(mode=0o700)
        sink = None
        try:
            with spoken(partial):
                removal.mark(partial)
                (partial / "raw").mkdir()
                (partial / "logs").mkdir()
                sink = ParquetSink(partial / "series.parquet")
            yield Attempt(trial, number, partial, self.folder_of_attempt(trial.id, number), self.journal, sink)
        except OSError as error:
            if error.errno in FULL:  # whoever wrote into the attempt
                with spoken(partial):
                    raise
            raise
        finally:
            if sink is not None:
                sink.abandon()
            removal.remove_folder(partial, mark="")
            removal.remove_empty(home)

    def entries(self, trial: str = "") -> tuple[Entry, ...]:
        """Read the journal without a torn last line, or only the entries of one trial. Raises MachineError."""
        with spoken(self.journal):
            return read_journal(self.journal, trial)

    def records(self) -> tuple[Record, ...]:
        """Read the records of all attempts, in the order in which they were kept. Raises MachineError."""
        return tuple(with_time(self.record(entry)) for entry in self.entries())

    def latest(self) -> tuple[Record, ...]:
        """Read the last attempt of each trial, in the order in which they were kept. Raises MachineError."""
        entries = self.entries()
        last = {entry.trial: entry.attempt for entry in entries}
        return tuple(with_time(self.record(entry)) for entry in entries if last[entry.trial] == entry.attempt)

    def done(self) -> frozenset[str]:
        """Name the trials that have a kept attempt, valid or failed. Raises MachineError."""
        return frozenset(entry.trial for entry in self.entries())

    def series(self, record: Record) -> tuple[Series, ...]:
        """Read all series of an attempt: the meters', the workload's goodput, joined recordings. Raises MachineError."""
        from perjoule.store.recordings import on_clock_of, read_joined
        from perjoule.store.samples import read_series

        path = self.folder_of(record) / "series.parquet"
        with spoken(path):
            own = read_series(path)
        joined = (on_clock_of(record, *read_joined(path)) for path in sorted((self.folder / "joined").glob("*.csv")))
        return (*own, *(series for found in joined for series in found))

    def join(self, recording: Path, clock: "ClockError") -> None:
        """Add a recording from another computer; the same recording again replaces its clock's offset.

        Raises:
            MachineError: it is not a recording, or another one has its name.
        """
        from perjoule.store.recordings import clock_file, read_recording

        read_recording(recording)
        clearing.refuse_links(self.folder, ("joined",))
        target = self.folder / "joined" / recording.with_suffix(".csv").name
        with spoken(target):
            target.parent.mkdir(exist_ok=True)
            if target.exists() and target.read_bytes() != recording.read_bytes():
                raise MachineError(
                    "another recording with this name is already joined", where=str(target), next="rename the new one"
                )
            replace_file(clock_file(target), json.dumps(to_json(clock), indent=1) + "\n")
            if not target.exists():
                replace_file(target, recording.read_text("utf-8"))

    def folder_of(self, record: Record) -> Path:
        """Return the folder of an attempt, with `raw` and `logs` inside."""
        return self.folder_of_attempt(record.trial.id, record.attempt)

    def folder_of_attempt(self, trial_id: str, number: int) -> Path:
        """Return the folder of a kept attempt."""
        return self.folder / "trials" / trial_id / f"attempt-{number}"

    def record(self, entry: Entry) -> Record:
        """Read the record of a journal line. Raises MachineError."""
        path = self.folder_of_attempt(entry.trial, entry.attempt) / "record.json"
        with spoken(path):
            return record_from(text_of(path))

    def keep_table(self, cells: Sequence[Cell]) -> None:
        """Store the table of a report, for `perjoule verify` to compare. Raises MachineError."""
        path = self.folder / "table.json"
        with spoken(path):
            replace_file(path, json.dumps({"version": VERSION, "cells": to_json(tuple(cells))}, indent=1) + "\n")

    def table(self) -> tuple[Cell, ...] | None:
        """Read the stored table; None if no report was written yet. Raises MachineError."""
        path = self.folder / "table.json"
        if not path.exists():
            return None
        with spoken(path):
            found: object = json_of(path)
            cells: object = cast("dict[str, Any]", found).get("cells") if isinstance(found, dict) else None
            if not isinstance(cells, list):
                raise ValueError("it has no cells")
            return tuple(from_json(Cell, cell) for cell in cast("list[Json]", cells))

    def set_aside(self) -> tuple[str, ...]:
        """Name the attempts that were set aside because the journal does not list them."""
        return clearing.set_aside(self.folder)

    def _clear(self) -> tuple[str, ...]:
        cut_torn_line(self.journal)
        (self.folder / "trials").mkdir(exist_ok=True)
        return tuple(clearing.clear(self.folder, frozenset(self.folder_of_attempt(e.trial, e.attempt) for e in self.entries())))
