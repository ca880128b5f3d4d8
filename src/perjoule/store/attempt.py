"""An attempt at a trial while it is under way, and how it becomes durable."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.machine import removal
from perjoule.model import Record, Trial
from perjoule.store.disk import spoken, sync, write
from perjoule.store.journal import Entry, append_entry, sha256
from perjoule.store.records import record_text

if TYPE_CHECKING:
    from perjoule.store.samples import ParquetSink


@dataclass(frozen=True)
class Attempt:
    """An attempt at a trial while it is under way."""

    trial: Trial
    number: int
    partial: Path  # where it lies until it is kept
    final: Path
    journal: Path
    sink: "ParquetSink"

    @property
    def folder(self) -> Path:
        """Its folder: a partial one until it is kept."""
        return self.partial if self.partial.exists() else self.final

    @property
    def raw(self) -> Path:
        """The folder for raw outputs of every tool; their checksums go into the journal."""
        return self.folder / "raw"

    @property
    def logs(self) -> Path:
        """The folder for logs of daemons and clients."""
        return self.folder / "logs"

    def keep(self, record: Record) -> None:
        """Make the attempt durable: it counts from the moment this returns.

        All samples, including those of the outcome's series, must have gone through the sink before.

        Raises:
            MachineError: the disk is full or failed; the attempt is then not kept.
            ValueError: the record is of another attempt.
        """
        if (record.trial.id, record.attempt) != (self.trial.id, self.number):
            raise ValueError(f"a record of {record.trial.id} #{record.attempt} is not one of {self.trial.id} #{self.number}")
        with spoken(self.partial):
            self.sink.close()
            write(self.partial / "record.json", record_text(record))
            found = sorted(p for p in self.partial.rglob("*") if p.is_file() and not p.is_symlink())
            files = [p for p in found if p != self.partial / removal.MARK]
            measured = [p for p in files if not p.is_relative_to(self.partial / "logs")]
            digests = {str(p.relative_to(self.partial)): sha256(p) for p in measured}
            for path in [*files, *(p for p in self.partial.rglob("*") if p.is_dir() and not p.is_symlink()), self.partial]:
                sync(path)
            # From here on, if we are killed, it is set aside rather than removed.
            removal.remove_file(self.partial / removal.MARK)
            self.partial.chmod(self.partial.parent.stat().st_mode & 0o777)  # as the user's umask has it
            self.partial.rename(self.final)  # fails if the target exists
            for path in (self.final.parent, self.final.parent.parent):
                sync(path)
            try:
                append_entry(self.journal, Entry(self.trial.id, self.number, record.status, digests))
            except OSError:
                removal.remove_folder(self.final, mark="")
                raise
