"""The progress of a run, in progress.jsonl of its results folder: for those who watch, and no part of the
results.

Each line is a `Line`: first the run, then what is under way, its channels before their first sample, and
states, one a second. When the file is full, the older half of the states is dropped, so it always holds some
of the last minutes and stays small. A line without its newline is still being written. Nothing waits for the
disk.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from perjoule.machine import removal
from perjoule.machine.processes import Identity
from perjoule.machine.untrusted import from_json, json_from
from perjoule.model import Channel, Reality
from perjoule.store.records import to_json

NAME = "progress.jsonl"
VERSION = 1
MOST_BYTES = 2 * 1024**2  # of states and what goes with them, before the older half is dropped
READ_BYTES = 4 * MOST_BYTES  # what a reader takes: the statements of many hosts may be longer than all states
STATE_S = 1.0  # between states
MOST_NOTES = 50
MOST = 1e18  # of any number in it


@dataclass(frozen=True)
class RunProcess:
    """The process that writes the file, and its campaign."""

    version: int
    process: Identity
    name: str
    began_utc_s: float


@dataclass(frozen=True)
class LoadHost:
    """A host of the load."""

    name: str
    role: str
    cores: float | None = None  # CPU seconds per second that are 100 %


@dataclass(frozen=True)
class RunningLoad:
    """What is under way: a trial, or (without an ID) what prepares the next ones."""

    text: str
    trial: str = ""  # its ID
    filesystem: str = ""
    workload: str = ""
    clients_count: int = 0
    repetition: int = 0
    scale: float = 1.0
    hosts: tuple[LoadHost, ...] = ()
    clients: tuple[str, ...] = ()  # names of the hosts that load
    servers: tuple[str, ...] = ()  # names of the hosts whose watts count
    reality: Reality = "real"  # as the trial's record will have it


@dataclass(frozen=True)
class State:
    """One moment, on CLOCK_MONOTONIC of the run, with the last sample of each channel: its number, t_s and
    value.
    """

    t_s: float
    utc_s: float
    phase: str
    phase_began_s: float
    kept_count: int
    trials_count: int  # of the campaign that are needed, kept ones included
    left_s: float  # expected until the end of the campaign, in wall time
    samples: tuple[tuple[int, float, float], ...] = ()
    doubts: tuple[str, ...] = ()  # of the trial under way


@dataclass(frozen=True)
class Line:
    """A line of the file: one of these."""

    run: RunProcess | None = None
    load: RunningLoad | None = None
    channels: tuple[Channel, ...] = ()  # numbered from 0 in the order of the file
    state: State | None = None
    note: str = ""
    ended: str = ""  # "done", or why the run stopped


@dataclass(frozen=True)
class Progress:
    """The content of the file."""

    run: RunProcess
    channels: tuple[Channel, ...] = ()
    states: tuple[tuple[RunningLoad, State], ...] = ()  # each with what was under way
    notes: tuple[str, ...] = ()
    ended: str = ""


def written(line: Line) -> bytes:
    """Write a line, without what it leaves at its default."""
    changed = {
        attribute.name: value for attribute in fields(line) if (value := getattr(line, attribute.name))
    }
    return json.dumps(to_json(changed), separators=(",", ":")).encode() + b"\n"


def read(folder: Path) -> Progress:
    """Read the progress of a results folder.

    Raises:
        OSError: no run has written any.
        ValueError: the file is damaged.
    """
    run: RunProcess | None = None
    load = RunningLoad("")
    channels: list[Channel] = []
    states: list[tuple[RunningLoad, State]] = []
    notes: list[str] = []
    ended = ""
    for line in _lines(folder / NAME):
        run, load, ended = line.run or run, line.load or load, line.ended or ended
        channels += line.channels
        states += [(load, line.state)] if line.state else []
        notes += [line.note] if line.note else []
    if run is None:
        raise ValueError(f"{NAME} does not say which run wrote it")
    if run.version != VERSION:
        raise ValueError(f"{NAME} is of version {run.version}, and this perjoule reads version {VERSION}")
    for load, state in states:
        if any(not 0 <= number < len(channels) for number, _, _ in state.samples):
            raise ValueError(f"{NAME} has samples of a channel that it does not state")
        numbers = (state.t_s, state.utc_s, state.phase_began_s, state.left_s, load.scale, 1 / load.scale)
        if max(map(abs, (*numbers, *(number for _, *sample in state.samples for number in sample)))) > MOST:
            raise ValueError(f"{NAME} has an impossible number")
    return Progress(run, tuple(channels), tuple(states), tuple(notes[-MOST_NOTES:]), ended)


def _lines(path: Path) -> Iterator[Line]:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{NAME} is not a file")
        content = file.read(READ_BYTES + 1)
    if len(content) > READ_BYTES:
        raise ValueError(f"{NAME} is longer than any run writes it")
    *lines, _torn = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield _line(line)
        except ValueError as error:
            raise ValueError(f"line {number} of {NAME} is damaged ({error})") from None


@lru_cache(maxsize=4096)  # who watches reads most lines again each time
def _line(line: bytes) -> Line:
    return from_json(Line, json_from(line, READ_BYTES))


def _lasting(line: Line) -> bool:
    return bool(line.run or line.channels)


@dataclass
class ProgressFile:
    """Writes the file. A disk that is full or fails costs the watchers their view, never a trial."""

    folder: Path
    _lines: list[tuple[Line, bytes]] = field(default_factory=list[tuple[Line, bytes]])
    _passing_bytes: int = 0  # of lines that may be dropped
    _file: Any = None

    def append(self, line: Line) -> None:
        """Add a line."""
        text = written(line)
        self._lines.append((line, text))
        self._passing_bytes += 0 if _lasting(line) else len(text)
        if self._passing_bytes > MOST_BYTES:
            self._forget()
            self._replace()
        elif self._file is None:
            self._replace()
        else:
            with suppress(OSError):
                if self._file.write(text) == len(text):
                    return
            self.close()  # and write all of it again, next time

    def close(self) -> None:
        """Close it."""
        file, self._file = self._file, None
        if file is not None:
            # a file system across a network may report only now what it could not write
            with suppress(OSError):
                file.close()

    def _forget(self) -> None:
        """Drop the older half of the states, with the loads and most notes before them."""
        half, left_bytes = 0, self._passing_bytes
        while left_bytes > MOST_BYTES // 2:
            line, text = self._lines[half]
            left_bytes -= 0 if _lasting(line) else len(text)
            half += 1
        old, new = self._lines[:half], self._lines[half:]
        loads, notes = ([pair for pair in old if pair[0].load], [pair for pair in old if pair[0].note])
        passing = [*notes[-MOST_NOTES:], *loads[-1:]]
        self._lines = [*(pair for pair in old if _lasting(pair[0])), *passing, *new]
        self._passing_bytes = left_bytes + sum(len(text) for _, text in passing)

    def _replace(self) -> None:
        """Write the whole file again."""
        self.close()
        path = self.folder / NAME
        partial = path.with_name(f"{NAME}.partial")
        content = b"".join(text for _, text in self._lines)
        with suppress(OSError):
            removal.remove_file(partial)  # a killed writer's, or a link
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.fdopen(os.open(partial, flags, 0o644), "wb", buffering=0)
            if file.write(content) == len(content):
                partial.replace(path)
                self._file = file
            else:
                file.close()
