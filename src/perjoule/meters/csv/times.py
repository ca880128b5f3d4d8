"""Times of a log: dates in a declared time zone, in which an hour may be missing or occur twice.

https://docs.python.org/3/library/zoneinfo.html
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from perjoule.meters.csv.names import letters_of_zone, utc_statement, zone_statement
from perjoule.model import Clock

Kind = Literal["date", "unix", "unix ms", "unix us", "unix ns", "monotonic", "beginning"]
_PER_SECOND: dict[str, float] = {"unix": 1.0, "unix ms": 1e3, "unix us": 1e6, "unix ns": 1e9}
_LAST_S = 1e11  # more seconds than any date's: another unit
_UTC = ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "+0000")
# of a format: digits that strptime reads as decimals, and which behind a space or a colon are a number of milliseconds
_COUNTED = re.compile(r"%S[^.,%]+%f")
# days since 1900 of spreadsheets: 1982 to 2091
_LEAST_DAY, _MOST_DAY = 30_000, 70_000
# with letters that say UTC, or only what the offset says, as Go prints it: https://pkg.go.dev/time#Time.String
_LETTERED = re.compile(
    r"(\d[\dT :.-]*\d) ?(?:UTC|GMT|([+-]\d\d:?\d\d) (?:[A-Z]{3,5}|[+-]\d{4}))(?: m=[+-]\d+\.\d+)?"
)
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
    columns: Sequence[str] = ()  # of the log, that have them
    _in_utc: str = field(default="", init=False)  # what says that such dates are of UTC
    _stated_zone: str = field(default="", init=False)  # what the name of their column says
    _letters: frozenset[str] = field(default=frozenset(), init=False)  # or "CET" in it
    _last_utc_s: float = field(default=-1.0, init=False)

    def __post_init__(self) -> None:
        """Read the names of the columns."""
        self.read(self.columns)

    def read(self, texts: Sequence[str]) -> None:
        """Read what says in which zone the next times are."""
        self._in_utc = utc_statement(texts, self.format)
        self._stated_zone = zone_statement(texts, self.format)
        self._letters = letters_of_zone(texts, self.format)

    def moment_s(self, text: str) -> float:
        """Parse a time. Raises ValueError if it is invalid, ambiguous, or never occurred."""
        if self.kind == "monotonic":
            return _number(text)
        if self.kind == "beginning":
            return self.began_s + _number(text)
        utc_s = self._unix_s(text) if self.kind in _PER_SECOND else self._date_s(text)
        self._last_utc_s = utc_s
        return self.clock.monotonic_s + (utc_s - self.clock.utc_s)

    def _unix_s(self, text: str) -> float:
        utc_s = _number(text) / _PER_SECOND[self.kind]
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
        if self._in_utc and self.zone not in _UTC:
            raise ValueError(f'{self._in_utc!r} says UTC, and zone is "{self.zone}" (set zone = "UTC")')
        if not self.zone:
            raise ValueError(f"{text!r} has no time zone (set zone)")
        zone = zone_named(self.zone)
        first, second = (date.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        if self._letters and self.zone[:1] not in ("+", "-") and not self._letters & _names(zone, date):
            letters = "/".join(sorted(self._letters))
            raise ValueError(f'it says {letters}, which "{self.zone}" is not called (set zone)')
        if self._stated_zone:
            stated_offset = date.replace(tzinfo=zone_named(self._stated_zone)).utcoffset()
            if stated_offset not in (first.utcoffset(), second.utcoffset()):
                raise ValueError(
                    f'it says {self._stated_zone}, and zone is "{self.zone}" (set zone = "{self._stated_zone}")'
                )
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


def _names(zone: tzinfo, date: datetime) -> set[str | None]:
    """Return what a zone is called in the winter and in the summer of a date's year."""
    return {datetime(date.year, month, 1, tzinfo=zone).tzname() for month in (1, 7)}


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a name, or of an offset such as +0100.

    Raises ValueError, ZoneInfoNotFoundError, OSError.
    """
    if name == "UTC":
        return UTC
    return (datetime.strptime(name, "%z").tzinfo or UTC) if name[:1] in ("+", "-") else ZoneInfo(name)


def _iso_date(text: str) -> datetime:
    """Read a date of ISO 8601, also with letters of its zone behind it: "12:00:00 UTC". Raises ValueError."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        if lettered := _LETTERED.fullmatch(text):
            with suppress(ValueError):
                return datetime.fromisoformat(f"{lettered[1]}{lettered[2] or '+00:00'}")
        raise ValueError(f"{text!r} is no date as ISO 8601 writes it ({_advice(text)})") from None


def _advice(text: str) -> str:
    """Return what to do about a time that is no date: Python calls a number an 'Invalid isoformat string'."""
    if re.fullmatch(r"(?:19|20)\d{12}", text):
        return 'set format = "%Y%m%d%H%M%S"'
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return "set a format in strptime's notation"
    numbers = 'set clock = "unix", or what else the numbers are'
    if _LEAST_DAY <= value < _MOST_DAY:
        return f"{numbers}; if they are days of a spreadsheet, save them as yyyy-mm-dd hh:mm:ss"
    return numbers


def _number(text: str) -> float:
    """Read a time that is a number. Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no time in numbers (is clock right?)")
    return value
