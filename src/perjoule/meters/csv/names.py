"""What the names of a log's columns, and the format of its dates, say of their zone, of units, and of what is dated."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # "startTime", "UTCTime"
_START = re.compile(
    r"(?:.*[\W_])?(?:start|begin(?:n|ning)?|from|bucket|anfang|von|d[e\u00e9]but|inicio|inizio)(?:time|zeit|datum|date)?"
    r"(?:[\W_].*)?|.*(?:\u958b\u59cb|\u5f00\u59cb).*",
    re.IGNORECASE,
)
_NO_OFFSET = r"(?! ?[+\u2212-]| Standard| Daylight)"
_UTC = re.compile(
    rf"(?<![A-Za-z])(?:utc|gmt){_NO_OFFSET}|(?:utc|gmt)(?![A-Za-z]){_NO_OFFSET}|(?<![A-Za-z])(?:zulu|greenwich)(?![A-Za-z])"
    r"|[\[(] ?Z ?[\])]|weltzeit|coordinated universal",
    re.IGNORECASE,
)
_UTC_LETTERS = re.compile(r"(?:Z|UTC|GMT)\W*")  # behind the last directive of a format
_OFFSET_OF_UTC = re.compile(r"(?:utc|gmt) ?([+\u2212-])(0?\d|1[0-4])(?::?([0-5]\d))?(?![\d:])", re.IGNORECASE)
_OFFSET = re.compile(r"(?<![\w.])([+\u2212-])(0\d|1[0-4]):?([0-5]\d)(?![\d:])")
_ZONE = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]+/[A-Z][A-Za-z_+-]+")
_ZONE_OF_WINDOWS = re.compile(r"([A-Z][A-Za-z. ]*?) (?:Standard |Daylight )?Time(?![A-Za-z])")
_OF_WINDOWS = {  # https://github.com/unicode-org/cldr, common/supplemental/windowsZones.xml
    "Eastern": "America/New_York",
    "Central": "America/Chicago",
    "Mountain": "America/Denver",
    "Pacific": "America/Los_Angeles",
    "GMT": "Europe/London",
    "W. Europe": "Europe/Berlin",
    "Central Europe": "Europe/Budapest",
    "Central European": "Europe/Warsaw",
    "Romance": "Europe/Paris",
    "China": "Asia/Shanghai",
    "Tokyo": "Asia/Tokyo",
    "Korea": "Asia/Seoul",
    "India": "Asia/Kolkata",
}
_LETTERS = re.compile(  # of zones, where the time zone database has them
    r"(?<![A-Za-z])(CES?T|MES?Z|WES?T|EES?T|BST|MSK|[ECMP][SD]T|AK[SD]T|HST|[JKIH]ST|HKT|SAST|A[CEW][SD]T|NZ[SD]T|cest|cet)"
    r"(?![A-Za-z])"
)
_IN_ENGLISH = {"MEZ": "CET", "MESZ": "CEST"}
_UNIT = re.compile(
    r"(?:.*[\W_])?(?:units?|uom|einheit(?:en)?|unit[a\u00e0e\u00e9]s?|unidad(?:es)?|eenheid|jednostka"
    r"|\u0435\u0434\. ?\u0438\u0437\u043c\.?|\u5358\u4f4d|\u5355\u4f4d)(?:[\W_]+of[\W_]+(?:measure|measurement))?_*",
    re.IGNORECASE,
)
_ZONES = re.compile(r"(?:time[\W_]*)?zone|tz|zeitzone|fuseau(?: horaire)?", re.IGNORECASE)
_DIRECTIVE = re.compile(r"%-?.")
_OF_TIMES = re.compile(r"\b(?:time ?zone|zeitzone|tz|times|timestamps|zeiten)\b", re.IGNORECASE)
_OF_A_UNIT = re.compile(r"\W*(?:unit|einheit)s?\W+([^\W\d]\S*?)\W*", re.IGNORECASE)
_MOST_LETTERS = 200  # of a name: some of these take their square


def is_start(column: str) -> bool:
    """Return whether a column of times has, by its name, those at which windows begin."""
    return bool(_START.fullmatch(_plain(column)))


def units_of(columns: Sequence[str], value: int) -> int:
    """Return which column has the units of a column of values: the next one, or the only one; -1 if none has.

    Args:
        columns: their names.
        value: the position of the other.
    """
    units = [at for at, name in enumerate(columns) if at != value and _UNIT.fullmatch(_plain(name))]
    return value + 1 if value + 1 in units else units[0] if len(units) == 1 else -1


def zones_of(columns: Sequence[str]) -> int:
    """Return which column has the time zones; -1 if none has."""
    return next((at for at, name in enumerate(columns) if _ZONES.fullmatch(_plain(name))), -1)


def utc_statement(columns: Sequence[str], format: str) -> str:
    """Return what says that dates without a zone are of UTC: a column's name, or the letters of the format; or ""."""
    letters = format.replace("%%", "").rpartition("%")[2][1:].strip()
    if _UTC_LETTERS.fullmatch(letters):
        return format
    return next((column for column in columns if _UTC.search(_plain(column))), "")


def zone_statement(columns: Iterable[str], format: str) -> str:
    """Return the zone that a column of dates states in its name, or their format, as `zone_named` takes it; "" if none
    does.
    """
    for text in _texts(columns, format):
        if match := _OFFSET_OF_UTC.search(text) or _OFFSET.search(text):
            sign = "+" if match[1] == "+" else "-"
            return f"{sign}{int(match[2]):02}{match[3] or '00'}"
        windows = (_OF_WINDOWS.get(name) for name in _ZONE_OF_WINDOWS.findall(text))
        for name in (*_ZONE.findall(text), *filter(None, windows)):
            try:
                return str(ZoneInfo(name))
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue  # "Date/Time"
    return ""


def letters_of_zone(columns: Iterable[str], format: str) -> frozenset[str]:
    """Return the letters of the zone that a column of dates states in its name, or their format, as "CET"; those of
    summer and winter where it states both.
    """
    for text in _texts(columns, format):
        if letters := [match[0].upper() for match in _LETTERS.finditer(text)]:
            return frozenset(_IN_ENGLISH.get(name, name) for name in letters)
    return frozenset()


def about_times(lines: Iterable[str]) -> list[str]:
    """Return those of the lines above a table that are about its times: "Time zone: UTC"."""
    return [line for line in lines if _OF_TIMES.search(line)]


def unit_above(lines: Iterable[str]) -> str:
    """Return the unit that one of the lines above a table states: "Unit;kW"; "" if none does."""
    matches = filter(None, (_OF_A_UNIT.fullmatch(line[:_MOST_LETTERS]) for line in lines))
    return next((match[1] for match in matches), "")


def _texts(columns: Iterable[str], format: str) -> list[str]:
    texts = (*columns, _DIRECTIVE.sub(" ", format.replace("%%", "")))
    return [normalize("NFKC", text[:_MOST_LETTERS]) for text in texts]


def _plain(name: str) -> str:
    """Return a name with its words apart, and letters and brackets of full width in ASCII."""
    return _CAMEL.sub("_", normalize("NFKC", name[:_MOST_LETTERS]))
