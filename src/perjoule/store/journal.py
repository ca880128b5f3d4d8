"""The journal of a results folder: one fsynced line per kept attempt. That line alone is the commit point.

A line without its newline was being written when perjoule was killed: it does not count, and the next holder
of the lock cuts it off.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from perjoule.machine.untrusted import bytes_of, from_json, json_from, opened
from perjoule.store.place import OpenFolder

NAME = "journal.jsonl"
MOST_NAME_BYTES = 255  # of a file on Linux


@dataclass(frozen=True)
class JournalEntry:
    """One kept attempt: its folder, and the SHA-256 of what was measured, by path inside that folder."""

    trial: str
    attempt: int
    status: str
    files: Mapping[str, str]  # record.json, series.parquet and everything in raw/


def read_journal(path: Path, trial: str = "") -> tuple[JournalEntry, ...]:
    """Read all complete lines, or only those of one trial, in order.

    Raises:
        OSError: it can't be read.
        ValueError: a complete line is damaged.
    """
    text = bytes_of(path)
    if trial.encode() not in text:  # of most trials that begin
        return ()
    *lines, _torn = text.split(b"\n")
    entries: list[JournalEntry] = []
    for number, line in enumerate(lines, start=1):
        # zeros: a file system that lost power wrote them
        if trial.encode() not in line or not line.strip(b"\0"):
            continue
        try:
            entries.append(_inside(from_json(JournalEntry, json_from(line))))
        except ValueError as error:
            raise ValueError(f"line {number} is damaged ({error})") from None
    return tuple(entry for entry in entries if trial in ("", entry.trial))


def _inside(entry: JournalEntry) -> JournalEntry:
    """Check that an entry leads only to files of its own attempt. Raises ValueError."""
    names = {entry.trial: len(PurePosixPath(entry.trial).parts) == 1} | dict.fromkeys(entry.files, True)
    for name, plain in names.items():
        pure = PurePosixPath(name)
        if not plain or not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in name:
            raise ValueError(f'"{name}" points outside its folder')
        if max(len(part.encode(errors="surrogateescape")) for part in pure.parts) > MOST_NAME_BYTES:
            raise ValueError(f'"{name[:40]}…" is too long for a file name')
    return entry


def append_entry(folder: OpenFolder, entry: JournalEntry) -> None:
    """Append one line and wait until it is on the disk; if that fails, the line is taken back.

    Raises OSError.
    """
    line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
    descriptor = folder.opened(NAME, os.O_WRONLY | os.O_APPEND)
    try:
        length = os.fstat(descriptor).st_size
        try:
            written = os.write(descriptor, line)
            if written < len(line):
                raise OSError(28, "no space left for a journal line")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, length)
            raise
    finally:
        os.close(descriptor)


def cut_torn_line(descriptor: int) -> None:
    """Cut off what follows the last newline of an open file, and lines of zeros at its end; closes it.

    Raises OSError.
    """
    with os.fdopen(descriptor, "r+b") as file:
        content = file.read()
        whole_bytes = _whole_bytes(content)
        if whole_bytes < len(content):
            file.truncate(whole_bytes)
            os.fsync(file.fileno())


def _whole_bytes(content: bytes) -> int:
    """Return the length of all complete lines, without lines of zeros at the end."""
    kept = content[: content.rfind(b"\n") + 1].rstrip(b"\0\n")
    return content.index(b"\n", len(kept)) + 1 if kept else 0


def sha256(path: Path) -> str:
    """Return a file's SHA-256. Raises OSError."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
