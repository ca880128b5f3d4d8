"""An attempt at a trial while it is under way, and how it becomes durable."""

import os
from dataclasses import dataclass
from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.machine import removal
from perjoule.model import Record, Trial
from perjoule.model.errors import UnexpectedOutput
from perjoule.store.disk import spoken, sync
from perjoule.store.journal import JournalEntry, append_entry, sha256
from perjoule.store.place import OpenFolder
from perjoule.store.records import record_from, record_text

if TYPE_CHECKING:
    from perjoule.store.samples import ParquetSink


@dataclass(frozen=True)
class Attempt:
    """An attempt at a trial while it is under way."""

    trial: Trial
    number: int
    results: OpenFolder
    trials: OpenFolder
    home: OpenFolder  # of all attempts at the trial
    inside: OpenFolder  # its own folder, whose name is `partial` until it is kept
    sink: "ParquetSink"

    @property
    def partial(self) -> Path:
        """Its path until it is kept."""
        return self.inside.path

    @property
    def final(self) -> Path:
        """Its path once it is kept."""
        return self.home.path / f"attempt-{self.number}"

    @property
    def raw(self) -> Path:
        """The folder for raw outputs of every tool, by a path of this process; their checksums go into the
        journal.
        """
        return self.inside.through / "raw"

    @property
    def logs(self) -> Path:
        """The folder for logs of daemons and clients, by a path of this process."""
        return self.inside.through / "logs"

    def keep(self, record: Record) -> None:
        """Make the attempt durable: it counts from the moment this returns.

        All samples, including those of the outcome's series, must have gone through the sink before.

        Raises:
            MachineError: the disk is full or failed; the attempt is then not kept.
            UnexpectedOutput: what hosts said is more than a record holds; nor is it then.
            ValueError: the record is of another attempt.
        """
        if (record.trial.id, record.attempt) != (self.trial.id, self.number):
            raise ValueError(
                f"a record of {record.trial.id} #{record.attempt} is not one of {self.trial.id} "
                f"#{self.number}"
            )
        text = record_text(record)
        try:
            text.encode()
            record_from(text)  # else nobody could read the folder any more
        except ValueError as error:
            raise UnexpectedOutput(
                f"its record could not be read again ({error})", where=record.trial.text
            ) from None
        top = self.inside.through
        with spoken(self.partial):
            self.sink.close()
            self.inside.put("record.json", text, durably=False)
            paths = sorted(p for p in top.rglob("*") if not p.is_symlink())
            files = [p for p in paths if p.is_file() and p != top / removal.MARK]
            measured = [p for p in files if not p.is_relative_to(self.logs)]
            digests = {str(p.relative_to(top)): sha256(p) for p in measured}
            for path in [*files, *(p for p in paths if p.is_dir())]:
                sync(path)
            self.inside.sync()
            # From here on, if we are killed, it is set aside rather than removed.
            removal.remove_file(top / removal.MARK)
            os.fchmod(self.inside.descriptor, self.home.mode)  # as the user's umask has it
            self.home.rename(self.partial.name, self.final.name)  # fails if the target exists
            if not self.home.holds(self.final.name, self.inside):
                raise OSError(
                    EINVAL, "something else was put in the place of the attempt's folder", str(self.partial)
                )
            self.home.sync()
            self.trials.sync()
            try:
                append_entry(self.results, JournalEntry(self.trial.id, self.number, record.status, digests))
            except OSError:
                removal.remove_folder(self.home.through / self.final.name, mark="")
                raise
