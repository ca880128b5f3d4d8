"""Recordings of meters on other computers: a CSV file that grows sample by sample, joined to trials by the
time of day.

A joined recording stays in the results folder unchanged, next to the offset of its clock. `Results.series`
returns its samples as if they had been taken with the trial: on the trial's clock, around its phases.
"""

import csv
import io
import os
import threading
import time
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan
from pathlib import Path

import numpy as np

from perjoule.drivers.protocols import Sink
from perjoule.machine import removal
from perjoule.machine.spreadsheets import marked, unmarked
from perjoule.machine.untrusted import UNEXPECTED, opened, read_as, words
from perjoule.model import SAMPLE, Channel, Record, Series
from perjoule.model.errors import MachineError
from perjoule.store.disk import FULL, Patient
from perjoule.store.journal import cut_torn_line
from perjoule.store.samples import COLUMNS, channel_from, channel_texts

MOST_LINE_COUNT = 65536  # characters of a line: one has some hundreds
AROUND_S = 5.0  # of a trial's phases, what is taken with it: windows of slow meters reach beyond
# without times of requests, as in recordings of version 1
_BEFORE = ["utc_s", "duration_s", "value", *COLUMNS]
HEADINGS = [*_BEFORE, "asked_utc_s", "arrived_utc_s"]


class Recording(Sink):
    """A CSV file that grows line by line, so it is complete whenever the recorder is killed.

    A line has its channel's columns, as a trial's series have, and `utc_s`, the sample's end in seconds of
    UTC by this machine's clock, by which another machine joins it. If the disk is full, it waits: see
    `Patient`.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = Patient(path)
        self._error: OSError | None = None
        self._samples_count = 0
        try:
            self._file.write(_line(HEADINGS))
        except OSError:
            with suppress(OSError):
                self._file.close()
            removal.remove_file(path)
            raise

    @property
    def samples_count(self) -> int:
        """The number of samples taken, including those that wait for space on the disk."""
        return self._samples_count

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Write one sample. A disk that fails ends the recording (see `failed`), not the meter's thread."""
        ahead_s = time.time() - time.monotonic()
        utc_s, *times = (f"{ahead_s + moment_s:.6f}" for moment_s in (t_s, asked_s, arrived_s))
        row = (utc_s, f"{duration_s:.6g}", f"{value:.10g}", *map(marked, channel_texts(channel)), *times)
        with self._lock, self._remembered():
            if self._error is None:
                self._samples_count += 1
                self._file.write(_line(row))

    def failed(self) -> bool:
        """Return whether samples no longer reach the disk: it has been full for PATIENCE_S, or is broken.
        `close` says why.
        """
        with self._lock, self._remembered():
            self._file.flush()
        return self._error is not None

    def close(self) -> None:
        """Close the file.

        Raises:
            MachineError: the last samples could not be written; the file ends with the line before them.
        """
        with self._lock:
            with self._remembered():
                self._file.close()
            if self._error is None:
                return
        cut_torn_line(os.open(self._file.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC))
        lost_count = self._file.waiting.count(b"\n")
        self._samples_count -= lost_count
        reason = (
            "the disk is full"
            if self._error.errno in FULL
            else (self._error.strerror or str(self._error)).lower()
        )
        raise MachineError(
            f"{reason}: the recording ends after {self._samples_count} samples, the last {lost_count} are "
            "lost",
            where=str(self._file.path),
            next="free space, then record into another file",
        ) from self._error

    @contextmanager
    def _remembered(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self._error = self._error or error


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def read_recording(path: Path) -> tuple[Series, ...]:
    """Read the file of a Recording; times are seconds of UTC. A last line that was cut off is left out.

    Raises:
        MachineError: it can't be read, or is not a recording.
    """
    samples: dict[tuple[str, ...], array[float]] = {}
    try:
        with opened(path) as binary, io.TextIOWrapper(binary, "utf-8-sig", newline="") as file:
            rows = csv.reader(_whole_lines(file))
            headings, last = next(rows, None), len(_BEFORE)
            if headings not in (HEADINGS, _BEFORE):
                raise MachineError(
                    "not a recording by perjoule", where=str(path), next="see `perjoule meters record --help`"
                )
            for row in rows:
                if len(row) == len(headings):
                    numbers = (*row[:3], *(row[last:] or ("nan", "nan")))
                    samples.setdefault(tuple(map(unmarked, row[3:last])), array("d")).extend(
                        map(float, numbers)
                    )
        tables = {
            channel_from(texts): np.array(values).reshape(-1, len(SAMPLE))
            for texts, values in samples.items()
        }
    except (OSError, *UNEXPECTED) as error:
        raise MachineError(f"the recording can't be read: {words(error)}", where=str(path)) from None
    return tuple(Series.of_rows(channel, table) for channel, table in tables.items())


def _whole_lines(file: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines that were not cut off. Raises ValueError: one has no end."""
    while line := file.readline(MOST_LINE_COUNT):
        if line.endswith("\n"):
            yield line
        elif len(line) == MOST_LINE_COUNT:
            raise ValueError(f"a line of it has more than {MOST_LINE_COUNT} characters")


@dataclass(frozen=True)
class ClockError:
    """The offset by which a recorder's clock was ahead of that of the results, at a moment, and its drift."""

    offset_s: float = 0.0
    uncertainty_s: float = 0.0  # standard uncertainty of the offset
    drift_ratio: float = 0.0  # seconds per second
    reference_utc_s: float = 0.0  # the moment at which the offset holds, by the recorder's clock


def on_clock_of(record: Record, recording: tuple[Series, ...], clock: ClockError) -> Iterator[Series]:
    """Return the part of a recording around a trial's phases, on the trial's monotonic clock."""
    if not record.phases:
        return
    low_s, high_s = record.phases[0].began_s - AROUND_S, record.phases[-1].ended_s + AROUND_S
    for series in recording:
        ahead_s = clock.offset_s + clock.drift_ratio * (series.t_s - clock.reference_utc_s)
        later_s = record.clock.monotonic_s - record.clock.utc_s - ahead_s
        t_s = series.t_s + later_s
        near = (t_s >= low_s) & (t_s <= high_s)
        if near.any():
            specification = replace(series.channel.specification, clock_s=clock.uncertainty_s)
            yield replace(
                series.at(near, later_s), channel=replace(series.channel, specification=specification)
            )


def clock_file(recording: Path) -> Path:
    """Return the path of the clock's offset for a joined recording."""
    return recording.with_suffix(".clock.json")


def read_joined(path: Path) -> tuple[tuple[Series, ...], ClockError]:
    """Read a joined recording, and the offset of its clock. Raises MachineError."""
    try:
        clock = read_as(ClockError, clock_file(path))
        changed_ns = path.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        raise MachineError(
            f"its clock data can't be read: {words(error)}", where=str(path), next="join it again"
        ) from None
    return _once(path, changed_ns), clock


@lru_cache(maxsize=4)
def _once(path: Path, changed_ns: int) -> tuple[Series, ...]:
    """Read a recording once for all trials."""
    return read_recording(path)
