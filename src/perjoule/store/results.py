"""An open results folder: its records and series, read at any time; attempts, added while it is held."""

import hashlib
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from perjoule.machine import locks, removal
from perjoule.machine.untrusted import from_json, json_of, text_of
from perjoule.model import Cell, Record, Series, Trial
from perjoule.model.errors import FolderInUse, MachineError
from perjoule.model.records import FORMAT
from perjoule.store import clearing
from perjoule.store.attempt import Attempt
from perjoule.store.disk import FULL, LOST, spoken
from perjoule.store.journal import NAME, JournalEntry, cut_torn_line, read_journal
from perjoule.store.place import OpenFolder, entered
from perjoule.store.records import format_of, record_from, to_json, with_time

if TYPE_CHECKING:
    from perjoule.store.recordings import ClockError

# `samples` and `recordings` are imported where they are used: with numpy and pyarrow that takes longer than
# `perjoule show`.


def digest_of(campaign_text: str, overrides: Sequence[str], files: Mapping[str, str]) -> str:
    """Return the digest of all that makes a campaign: its text, its overrides, and the files that it
    names.
    """
    content = json.dumps([campaign_text, [*overrides], sorted(files.items())], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class StoredTable:
    """The table of a report, and the format in which it was written."""

    cells: tuple[Cell, ...]
    format: int


@dataclass(frozen=True)
class Results:
    """A results folder. Reading needs nothing; adding needs `hold`."""

    folder: Path
    campaign_text: str
    overrides: tuple[str, ...] = ()  # with them the text gives the campaign that was run
    campaign_digest: str = ""  # of the campaign that was run, `digest_of` its parts; "" before format 2
    # of all its trials; {} where none has run
    conditions: Mapping[str, float] = field(default_factory=dict[str, float])
    _held: list[OpenFolder] = field(
        default_factory=list[OpenFolder], compare=False, repr=False
    )  # at most one: while `hold` lasts

    @contextmanager
    def place(self) -> Generator[OpenFolder]:
        """Open the folder to write into it: the one that is held, or else the one that its path leads to now.

        Raises:
            MachineError: it can't be opened, or another user could replace it.
        """
        if self._held:
            yield self._held[-1]
            return
        with ExitStack() as stack:
            with spoken(self.folder):
                place = stack.enter_context(entered(self.folder))
            yield place

    @property
    def here(self) -> Path:
        """The path of the folder; while it is held, one that leads to it whatever becomes of its name."""
        return self._held[-1].through if self._held else self.folder

    @property
    def journal(self) -> Path:
        """The file that lists the kept attempts."""
        return self.folder / NAME

    @contextmanager
    def hold(self) -> Generator[tuple[str, ...]]:
        """Lock the folder for the duration of the block; first clear away what a killed run left unfinished.

        Yields a sentence for each attempt that was set aside because the journal does not list it, and for
        each foreign file or folder.

        Raises:
            MachineError: another perjoule works on it, it can't be written, or only through a link.
        """
        clearing.refuse_links(self.folder, ("lock", "journal.jsonl", "trials", "alignment", "ageing"))
        with self.place() as place, ExitStack() as stack:
            with spoken(self.folder / "lock"):
                lock = locks.opened(place.through / "lock")
                stack.callback(locks.close, lock)
                ours = locks.taken(lock)
            if not ours:
                raise FolderInUse(
                    f"{locks.holders(lock) or 'another perjoule'} is working on these results",
                    where=str(self.folder),
                )
            self._held.append(place)
            stack.callback(self._held.pop)
            with spoken(self.folder):
                notes = self._clear(place)
            yield notes

    @contextmanager
    def attempt(self, trial: Trial) -> Generator[Attempt]:
        """Try a trial: the block fills the attempt, which is removed unless the block keeps it.

        Raises:
            MachineError: the folder can't be written, or the disk is full.
        """
        from perjoule.store.samples import ParquetSink

        with ExitStack() as places:
            results = places.enter_context(self.place())
            with spoken(self.folder / "trials"):
                trials = places.enter_context(results.below("trials"))
                # as all that follows: by `Attempt.keep`
                home = places.enter_context(trials.made(trial.id, durably=False))
                number = clearing.next_number(home.through, (e.attempt for e in self.entries(trial.id)))
            partial = home.through / f"partial-{number}"
            sink = None
            try:
                with spoken(partial):
                    home.make(partial.name, 0o700, durably=False)
                    inside = places.enter_context(home.below(partial.name))
                    removal.mark(inside.through)
                    inside.make("raw", durably=False)
                    inside.make("logs", durably=False)
                    sink = ParquetSink(inside.through / "series.parquet")
                yield Attempt(trial, number, results, trials, home, inside, sink)
            except OSError as error:
                if error.errno in (*FULL, *LOST):  # whoever wrote into the attempt
                    with spoken(partial):
                        raise
                raise
            finally:
                if sink is not None:
                    sink.abandon()
                removal.remove_folder(partial, mark="")
                removal.remove_empty(trials.through / trial.id)

    def entries(self, trial: str = "") -> tuple[JournalEntry, ...]:
        """Read the journal without a torn last line, or only the entries of one trial.

        Raises MachineError.
        """
        with spoken(self.journal):
            return read_journal(self.here / NAME, trial)

    def records(self) -> tuple[Record, ...]:
        """Read the records of all attempts, in the order in which they were kept, each once, however often the
        journal lists it. Raises MachineError.
        """
        kept = {(entry.trial, entry.attempt): entry for entry in self.entries()}
        return tuple(with_time(self.record(entry)) for entry in kept.values())

    def latest(self) -> tuple[Record, ...]:
        """Read the last attempt of each trial, in the order in which they were kept. Raises MachineError."""
        last: dict[str, JournalEntry] = {}
        for entry in self.entries():
            last.pop(entry.trial, None)
            last[entry.trial] = entry
        return tuple(with_time(self.record(entry)) for entry in last.values())

    def done(self) -> frozenset[str]:
        """Name the trials that have a kept attempt, valid or failed. Raises MachineError."""
        return frozenset(entry.trial for entry in self.entries())

    def series(self, record: Record) -> tuple[Series, ...]:
        """Read all series of an attempt: the meters', the workload's goodput, joined recordings.

        Raises MachineError.
        """
        from perjoule.store.recordings import on_clock_of, read_joined
        from perjoule.store.samples import read_series

        path = self.folder_of(record) / "series.parquet"
        with spoken(path):
            own_series = read_series(path)
        joined = (
            on_clock_of(record, *read_joined(path)) for path in sorted((self.folder / "joined").glob("*.csv"))
        )
        return (*own_series, *(series for recording in joined for series in recording))

    def join(self, recording: Path, clock: "ClockError") -> None:
        """Add a recording from another computer; the same recording again replaces its clock's offset.

        Raises:
            MachineError: it is not a recording, or another one has its name.
        """
        from perjoule.store.recordings import clock_file, read_recording

        read_recording(recording)
        clearing.refuse_links(self.folder, ("joined",))
        joined_file = self.folder / "joined" / recording.with_suffix(".csv").name
        with self.place() as place, spoken(joined_file), place.made("joined") as joined:
            target = joined.through / joined_file.name
            if target.exists() and target.read_bytes() != recording.read_bytes():
                raise MachineError(
                    "another recording with this name is already joined",
                    where=str(joined_file),
                    next="rename the new one",
                )
            joined.put(clock_file(target).name, json.dumps(to_json(clock), indent=1) + "\n")
            if not target.exists():
                joined.put(target.name, recording.read_text("utf-8"))

    def folder_of(self, record: Record) -> Path:
        """Return the folder of an attempt, with `raw` and `logs` inside."""
        return self.folder_of_attempt(record.trial.id, record.attempt)

    def folder_of_attempt(self, trial_id: str, number: int) -> Path:
        """Return the folder of a kept attempt."""
        return self.folder / "trials" / trial_id / f"attempt-{number}"

    def record(self, entry: JournalEntry) -> Record:
        """Read the record of a journal line. Raises MachineError."""
        path = self.folder_of_attempt(entry.trial, entry.attempt) / "record.json"
        with spoken(path):
            return record_from(text_of(path))

    def keep_table(self, cells: Sequence[Cell]) -> None:
        """Store the table of a report, for `perjoule verify` to compare. Raises MachineError."""
        with self.place() as place, spoken(self.folder / "table.json"):
            place.put(
                "table.json", json.dumps({"version": FORMAT, "cells": to_json(tuple(cells))}, indent=1) + "\n"
            )

    def table(self) -> tuple[Cell, ...] | None:
        """Read the cells of the stored table; None if no report was written yet. Raises MachineError."""
        stored = self.stored_table()
        return stored and stored.cells

    def stored_table(self) -> StoredTable | None:
        """Read the stored table; None if no report was written yet. Raises MachineError."""
        path = self.folder / "table.json"
        if not path.exists():
            return None
        with spoken(path):
            table = self._table()
            return StoredTable(tuple(from_json(Cell, cell) for cell in table["cells"]), format_of(table))

    def table_format(self) -> int:
        """Return the format of the stored table; that of today if it is missing. Raises MachineError."""
        path = self.folder / "table.json"
        if not path.exists():
            return FORMAT
        with spoken(path):
            return format_of(self._table())

    def _table(self) -> dict[str, Any]:
        table: object = json_of(self.folder / "table.json")
        if not isinstance(table, dict) or not isinstance(cast("dict[str, Any]", table).get("cells"), list):
            raise ValueError("it has no cells")
        return cast("dict[str, Any]", table)

    def keep_campaign(self, digest: str, conditions: Mapping[str, float]) -> None:
        """Keep the digest of the campaign as it is from now on, and the conditions of its trials.

        Raises MachineError.
        """
        with self.place() as place, spoken(self.folder / "results.json"):
            head = json_of(place.through / "results.json")
            place.put(
                "results.json", json.dumps({**head, "campaign": digest, "conditions": {**conditions}}) + "\n"
            )

    def set_aside(self) -> tuple[str, ...]:
        """Name the attempts that were set aside because the journal does not list them."""
        return clearing.set_aside(self.folder)

    def _clear(self, place: OpenFolder) -> tuple[str, ...]:
        cut_torn_line(place.opened(NAME, os.O_RDWR))
        return tuple(
            clearing.clear(place, frozenset((e.trial, f"attempt-{e.attempt}") for e in self.entries()))
        )
