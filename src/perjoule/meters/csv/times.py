"""Times of a log: dates in a declared time zone, in which an hour may be missing or occur twice.

https://docs.python.org/3/library/zoneinfo.html
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from perjoule.model import Clock

Kind = Literal["date", "unix", "unix ms", "unix us", "unix ns", "monotonic", "beginning"]
_PER_SECOND: dict[str, float] = {"unix": 1.0, "unix ms": 1e3, "unix us": 1e6, "unix ns": 1e9}
_LAST_S = 1e11  # more seconds than any date's: another unit
_UTC = ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "+0000")
_UTC_COLUMN = re.compile(r"(?:.*[\W_])?(?:utc|gmt)(?! ?[+\u2212-])(?:[\W_].*)?", re.IGNORECASE)
_UTC_LETTERS = re.compile(r"(?:Z|UTC|GMT)\W*")  # behind the last directive of a format
# of a format: digits that strptime reads as decimals, and which behind a space or a colon are a number of milliseconds
_COUNTED = re.compile(r"%S[^.,%]+%f")
_DIGITS_COUNTS = (3, 6)  # of milliseconds and microseconds, with which both are the same


@dataclass
class Times:
    """Converts the times of a log, in order, into seconds of CLOCK_MONOTONIC."""

    kind: Kind
    clock: Clock  # one moment on both clocks, which ties dates to CLOCK_MONOTONIC
    began_s: float = 0.0  # of the recording, for times since its beginning
    format: str = ""  # of strptime; ISO 8601 when empty
    zone: str = ""  # of dates that name none
    twice: Literal["refuse", "in order"] = "refuse"  # for the hour that comes twice when summer time ends
    in_utc: str = ""  # what says that such dates are of UTC
    _last_utc_s: float = field(default=-1.0, init=False)

    def moment_s(self, text: str) -> float:
        """Parse a time. Raises ValueError if it is invalid, ambiguous, or never occurred."""
        if self.kind == "monotonic":
            return float(text)
        if self.kind == "beginning":
            return self.began_s + float(text)
        utc_s = self._unix_s(text) if self.kind in _PER_SECOND else self._date_s(text)
        self._last_utc_s = utc_s
        return self.clock.monotonic_s + (utc_s - self.clock.utc_s)

    def _unix_s(self, text: str) -> float:
        utc_s = float(text) / _PER_SECOND[self.kind]
        if utc_s > _LAST_S:
            raise ValueError(
                f'{text!r} is no time in this unit (set clock = "unix ms", "unix us" or "unix ns")'
            )
        return utc_s

    def _date_s(self, text: str) -> float:
        if self.format and not any(directive in self.format for directive in ("%Y", "%y", "%c", "%x", "%s")):
            raise ValueError(
                f"the format {self.format!r} has no date (name the date and time columns, and a format for "
                "both)"
            )
        date = datetime.strptime(text, self.format) if self.format else _iso_date(text)
        if _COUNTED.search(self.format) and len(re.findall(r"\d+", text)[-1]) not in _DIGITS_COUNTS:
            raise ValueError(
                f"{text!r} ends with a number of milliseconds, which strptime reads as decimals (leave it out)"
            )
        if date.tzinfo is not None:
            return date.timestamp()
        if self.in_utc and self.zone not in _UTC:
            raise ValueError(f'{self.in_utc!r} says UTC, and zone is "{self.zone}" (set zone = "UTC")')
        if not self.zone:
            raise ValueError(f"{text!r} has no time zone (set zone)")
        zone = zone_named(self.zone)
        first, second = (date.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first.timestamp()
        if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != date:
            raise ValueError(
                f"{text!r} never occurred in {self.zone}: daylight saving time skipped it (is the zone "
                "right?)"
            )
        if self.twice == "refuse":
            raise ValueError(
                f"{text!r} occurred twice in {self.zone} when daylight saving time ended (log in UTC, or "
                'set twice = "in order")'
            )
        return first.timestamp() if first.timestamp() >= self._last_utc_s else second.timestamp()


def utc_statement(columns: Sequence[str], format: str) -> str:
    """Return what says that dates without a zone are of UTC: a column's name, or the letters of the format; or ""."""
    letters = format.replace("%%", "").rpartition("%")[2][1:].strip()
    return format if _UTC_LETTERS.fullmatch(letters) else next(filter(_UTC_COLUMN.fullmatch, columns), "")


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a name, or of an offset such as +0100.

    Raises ValueError, ZoneInfoNotFoundError, OSError.
    """
    if name == "UTC":
        return UTC
    return (datetime.strptime(name, "%z").tzinfo or UTC) if name[:1] in ("+", "-") else ZoneInfo(name)


def _iso_date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        try:
            float(text)
        except ValueError:
            next = "a format in strptime's notation"
        else:  # what Python calls "Invalid isoformat string"
            next = 'clock = "unix", or what else the numbers are'
        raise ValueError(f"{text!r} is no date as ISO 8601 writes it (set {next})") from None
