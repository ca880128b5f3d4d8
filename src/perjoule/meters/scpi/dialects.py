"""The dialects in which power analysers report one line per measuring cycle, as data, and the manufacturers'
error limits.

ZES ZIMMER: the instrument sends the values chosen by ACTN after each cycle once CONT is ON, in its short
language, as in https://github.com/cuveland/lmgtools, which was used on an LMG95 and an LMG670. Yokogawa:
COMMunicate:WAIT ends when the update of the values does, as in the example of the WT300 communication manual,
IM WT310-17EN.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

_TIME = re.compile(r"(\d+:\d+:\d+)D(\d+:\d+:\d+)(\.\d+)?([+-]\d{4})")  # 2026:11:21D17:20:55.437817000+0000
NOTHING = 9e37  # ZES shows 9.91E37 for no number and +-9.9E37 for an infinite one


@dataclass(frozen=True)
class Dialect:
    """Commands; {channel} is replaced by the channel, {cycle_s} and {cycle_ms} by the cycle."""

    begin: tuple[str, ...]  # sent first
    cycle: str  # sets the cycle
    cycle_question: str
    go: tuple[str, ...]  # sent at the end
    line: tuple[str, ...]  # query for each cycle; empty: it sends lines by itself
    end: tuple[str, ...]
    fields: tuple[str, ...]  # of a line, in order: "power", "duration", "count", "time", "" for others
    channel: str = ""  # where none is chosen
    ranges: str = ""  # asks whether voltage range is automatic, the range in V, and the same of the current


ZES = Dialect(
    begin=("CONT OFF", "SYST:LANG SHORT"),
    cycle="CYCL {cycle_s:g}",
    cycle_question="CYCL?",
    go=("ACTN;COUNT?;CYCR?;P{channel}?", "CONT ON"),
    line=(),
    end=("CONT OFF", "GTL"),
    fields=("count", "duration", "power"),
)
ZES_600 = Dialect(
    begin=("CONT OFF", "*ZLANG SHORT"),
    cycle="CYCL {cycle_s:g}",
    cycle_question="CYCL?",
    go=("ACTN;TSNORM{channel}?;DURNORM{channel}?;P{channel}?", "CONT ON"),
    line=(),
    end=("CONT OFF", "GTL"),
    fields=("time", "duration", "power"),
    channel="1",
)
YOKOGAWA = Dialect(
    begin=(
        ":COMM:HEAD OFF",
        ":NUM:FORM ASCII",
        ":NUM:NORM:NUMBER 1",
        ":NUM:NORM:ITEM1 P,{channel}",
        ":STAT:FILT1 FALL",
    ),
    cycle=":RATE {cycle_ms:g}MS",
    cycle_question=":RATE?",
    go=(),
    line=(":COMM:WAIT 1;:NUM:NORM:VAL?", ":STAT:EESR?"),
    end=(":COMM:REM OFF",),
    fields=("power", ""),
    channel="1",
    ranges=":INP:VOLT:AUTO?;:INP:VOLT:RANG?;:INP:CURR:AUTO?;:INP:CURR:RANG?",
)
DIALECTS = {r"\bLMG\s?6\d\d": ZES_600, r"\bLMG\s?\d+": ZES, r"YOKOGAWA,\s*WT\d+": YOKOGAWA}
KNOWN = "ZES ZIMMER LMG, Yokogawa WT"

# By model: share of the reading, share of the range, at 45 to 65 Hz.
# LMG450: user manual of 2009-02-17, page 241, the range being the product of the ranges' peak values (1500 W
# at 250 V and 1.2 A). WT310, WT310E, WT330: their specifications, the range being the product of the ranges.
ERRORS = {r"\bLMG\s?450": (0.0007, 0.0004), r"\bWT3[13]\d": (0.001, 0.0005)}


def dialect(identity: str) -> Dialect | None:
    """Return the dialect for an answer to *IDN?; None if it is unknown."""
    return next(
        (language for pattern, language in DIALECTS.items() if re.search(pattern, identity, re.IGNORECASE)),
        None,
    )


def errors(identity: str) -> tuple[float | None, float | None]:
    """Return the manufacturer's error limits: share of the reading, share of the range; None if unknown
    here.
    """
    return next(
        (limits for pattern, limits in ERRORS.items() if re.search(pattern, identity, re.IGNORECASE)),
        (None, None),
    )


def fields(line: str, names: tuple[str, ...]) -> Mapping[str, float]:
    """Parse the numbers of a line by their names; NaN if the instrument has none.

    Raises:
        ValueError: the line has another form.
    """
    parts = re.split(r"[;,]", line)
    if len(parts) != len(names):
        raise ValueError(f"it answered {line[:60]!r} instead of {len(names)} numbers")
    return {name: _number(part) for name, part in zip(names, parts, strict=True) if name}


def _number(text: str) -> float:
    if match := _TIME.fullmatch(text.strip()):
        date, clock, fraction, zone = match.groups()
        return datetime.strptime(f"{date} {clock} {zone}", "%Y:%m:%d %H:%M:%S %z").timestamp() + float(
            fraction or 0
        )
    value = float(text)  # "NAN" and "INF" as Yokogawa says them, too
    return value if abs(value) < NOTHING else math.nan


def range_w(answer: str) -> float | None:
    """Parse the power range from the answer to `Dialect.ranges`; None if a range is automatic and may
    change unseen.
    """
    parts = answer.split(";")
    if len(parts) != 4 or {parts[0].strip().upper(), parts[2].strip().upper()} - {"0", "OFF"}:
        return None
    try:
        return float(parts[1]) * float(parts[3])
    except ValueError:
        return None  # an external shunt: "EXTERNAL,1.0E+00"
