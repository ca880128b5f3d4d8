"""Sensors that a controller reads all at once, in scans, and what its files say of the scan that they show."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from perjoule.meters import _sysfs
from perjoule.meters._metered import MeterReading, Read
from perjoule.model import Channel

ATTEMPTS_COUNT = 3  # to read all files within one scan
Verdict = Literal["new", "torn", "old", "restarted"]


@dataclass(frozen=True)
class ScanFiles:
    """Files beside the sensors."""

    scan: Path  # its number is another one after each scan
    start: Path  # so is this, after the counters began anew


class Scans:
    """Judges the readings of a controller's sensors, in their order."""

    def __init__(self) -> None:
        self._scan = self._start = ""

    def judge(self, before: str, start: str, after: str) -> Verdict:
        """Say what readings are worth between two looks at the number of the scan.

        Those of two scans, and what was read already, are left out: a controller that has stopped shows its
        last joules for ever, which would count as a power of zero. Counters that began anew don't go on from
        what was read, and may by now show more than that: they are "restarted" from then on. The arguments are
        the texts of files, whose first word counts.
        """
        scan, start, after = (
            text.replace(",", " ").strip().partition(" ")[0] for text in (before, start, after)
        )
        if scan != after or not (scan.isdecimal() and start.isdecimal()):
            return "torn"
        if scan == self._scan:
            return "old"
        self._scan, self._start = scan, self._start or start
        return "new" if start == self._start else "restarted"


def counts(verdict: Verdict, channel: Channel) -> bool:
    """Return whether readings of a channel have a value: counters that began anew have none."""
    return verdict == "new" or (verdict == "restarted" and channel.semantics != "counter")


def of_scans(files: ScanFiles, read: Read) -> Read:
    """Return a reader that gives each scan's readings once; those of counters are NaN after they began anew."""
    scans = Scans()

    def within_scan() -> Iterable[MeterReading]:
        verdict: Verdict = "torn"
        readings: list[MeterReading] = []
        for _ in range(ATTEMPTS_COUNT):
            before, start = (_sysfs.timed(path)[0] for path in (files.scan, files.start))
            readings = list(read())
            verdict = scans.judge(before, start, _sysfs.timed(files.scan)[0])
            if verdict != "torn":
                break
        if verdict in ("torn", "old"):
            return []
        return [
            reading if counts(verdict, reading.channel) else replace(reading, value=math.nan)
            for reading in readings
        ]

    return within_scan
