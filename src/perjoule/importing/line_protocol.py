"""InfluxDB's line protocol, as a table for `csv`: https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/

`influxd inspect export-lp` and `influx_inspect export` write one series after the other and, of a moment, a line for
each field, after statements for the database. Nothing says the unit of times: 19 digits are nanoseconds.
"""

import copy
import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perjoule.meters.csv import Csv
from perjoule.model.errors import CampaignError

MEASUREMENT = "_measurement"  # as exports call it, among the columns of `where`
_MOST_NAMED = 5  # series of an error
_SEEN_COUNT = 2  # lines that show what a file is
_NANOSECONDS = re.compile(r"[1-9][0-9]{18}")

# a backslash stands for itself, but before what it escapes; each alternative begins otherwise, so none is tried twice
_NAME = r"(?:\\[, ]|\\(?![, ])|[^\\, \n])+"
_KEY = r"(?:\\[,= ]|\\(?![,= ])|[^\\,= \n])+"
_VALUE = r'(?:"(?:[^"\\\n]|\\[^\n])*"|[^", \n]+)'
_LINE = re.compile(
    rf"(?P<name>{_NAME})(?P<tags>(?:,{_KEY}={_KEY})*) +(?P<fields>{_KEY}={_VALUE}(?:,{_KEY}={_VALUE})*)"
    r"(?: +(?P<time>-?[0-9]+))? *"
)
_TAG = re.compile(rf",({_KEY})=({_KEY})")
_FIELD = re.compile(rf"({_KEY})=({_VALUE})(?:,|$)")
_ESCAPED = re.compile(r"\\([,= ])")
_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[iu]?")
# above the lines of an export
_STATEMENT = re.compile(r"(?:CREATE (?:DATABASE|RETENTION POLICY)) .*", re.IGNORECASE)


class _Point(NamedTuple):
    """Some fields of a series at a moment."""

    line_number: int
    series: tuple[tuple[str, str], ...]  # the measurement, and tags by name
    fields: dict[str, str]
    time: str


def is_it(text: str) -> bool:
    """Whether the first lines of a file are in this form."""
    first = [line for line, _ in zip(_lines(text), range(_SEEN_COUNT), strict=False)]
    return bool(first) and all(_LINE.fullmatch(line) for _, line in first)


def table(text: str, meter: Csv) -> tuple[Csv, str]:
    """Return the series that a meter declares as CSV, and the meter that reads it.

    Raises:
        CampaignError: a line is in another form, several series or none have the field, a number is no number, or
            two differ at one moment.
    """
    points = [_point(number, line, meter) for number, line in _lines(text)]
    chosen = _chosen(points, meter)
    rows = _rows(chosen, meter)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("time", "by", "value", "window"), *rows])
    plain = copy.copy(
        meter
    )  # options are given by other names than fields have, so it can't be made anew of these
    vars(plain).update(
        time=("time",),
        value="value",
        by="by" if meter.by else "",
        window_column="window" if meter.window_column else "",
        where={},
        clock=_clock(chosen, meter),
        delimiter=",",
        decimal=".",
        thousands="",
        header=True,
        encoding="utf-8",
    )
    return plain, out.getvalue()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Return lines with their numbers, without comments and statements."""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.rstrip("\r")
        if bare.strip() and not bare.startswith("#") and not _STATEMENT.fullmatch(bare):
            yield number, bare


def _refused(meter: Csv, fault: str, correction: str) -> CampaignError:
    return CampaignError(fault, where=str(meter.path), next=correction)


def _point(number: int, line: str, meter: Csv) -> _Point:
    found = _LINE.fullmatch(line)
    if found is None:
        fault = f"line {number} is not in InfluxDB's line protocol: {line[:60]!r}"
        raise _refused(meter, fault, "export it again (a text over several lines is not read)")
    if found["time"] is None:
        raise _refused(meter, f"line {number} has no time", "export what the database dated")
    tags = [(_plain(key), _plain(value)) for key, value in _TAG.findall(found["tags"])]
    if len({key for key, _ in tags}) < len(tags):
        raise _refused(meter, f"line {number} has a tag twice", "export it again")
    fields = [(_plain(key), value) for key, value in _FIELD.findall(found["fields"])]
    if len({key for key, _ in fields}) < len(fields):
        raise _refused(meter, f"line {number} has a field twice", "export it again")
    name = re.sub(r"\\([, ])", r"\1", found["name"])
    return _Point(number, ((MEASUREMENT, name), *sorted(tags)), dict(fields), found["time"])


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _chosen(points: Sequence[_Point], meter: Csv) -> list[_Point]:
    """Return the points of the series that count. Raises CampaignError: they are none, or several."""
    matching = [point for point in points if meter.where.items() <= dict(point.series).items()]
    if not matching:
        columns = sorted({key for point in points for key, _ in point.series})
        raise _refused(meter, "no series is as where says", f"tags: {', '.join(columns)}")
    having = [point for point in matching if meter.value in point.fields]
    if not having:
        fields = sorted({key for point in matching for key in point.fields})
        raise _refused(
            meter, f'no series has a field "{meter.value}"', f"set value to one of {', '.join(fields)}"
        )
    if meter.by and (bare := [point for point in having if meter.by not in dict(point.series)]):
        raise _refused(
            meter, f'the series of line {bare[0].line_number} has no tag "{meter.by}"', "set where"
        )
    if meter.only:
        having = [point for point in having if dict(point.series)[meter.by] in meter.only]
    alike = {tuple(pair for pair in point.series if pair[0] != meter.by) for point in having}
    if len(alike) > 1:
        named = [
            " ".join(f"{key}={value}" for key, value in series) for series in sorted(alike)[:_MOST_NAMED]
        ]
        fault = f'{len(alike)} series have "{meter.value}": {"; ".join(named)}'
        raise _refused(
            meter, fault, "choose one with where, or add them up with by, the tag in which they differ"
        )
    return having


def _rows(points: Sequence[_Point], meter: Csv) -> list[tuple[str, str, str, str]]:
    """Return (time, what distinguishes rows of a moment, value, window) in the order of time."""
    moments: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for point in points:
        key = int(point.time), dict(point.series).get(meter.by, "")
        for field in filter(None, (meter.value, meter.window_column)):
            if field in point.fields:
                value = _number(point, field, meter)
                if moments[key].setdefault(field, value) != value:
                    fault = f'line {point.line_number}: "{field}" has another value at the same time before'
                    raise _refused(meter, fault, "export one of them alone")
    return [
        (str(time), by, fields[meter.value], fields.get(meter.window_column, ""))
        for (time, by), fields in sorted(moments.items())
        if meter.value in fields
    ]


def _number(point: _Point, field: str, meter: Csv) -> str:
    text = point.fields[field]
    found = _NUMBER.fullmatch(text)
    if found is None or not math.isfinite(float(found[1])):
        raise _refused(
            meter, f'line {point.line_number}: "{field}" is {text[:40]}, no number', "set value to a number"
        )
    return found[1]


def _clock(points: Sequence[_Point], meter: Csv) -> str:
    """Return the unit of times, by their digits unless it is declared. Raises CampaignError: it isn't known."""
    if meter.clock != "date":
        return meter.clock
    if strange := next((point for point in points if not _NANOSECONDS.fullmatch(point.time)), None):
        fault = f"line {strange.line_number}: {strange.time} is no time in nanoseconds"
        raise _refused(meter, fault, 'set clock to the unit of the export: "unix", "unix ms", "unix us"')
    return "unix ns"
