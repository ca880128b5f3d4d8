"""What a row of elbencho says that its threads did, and when.

What counts is the column "last amounts", from the start of a phase to the end of its last thread; "first amounts"
leaves out what slower threads did. The date of a row is the start of its phase since 3.0-27, and before the
moment at which the row was written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from perjoule.model.doubts import DERIVED, TIMES, Doubt
from perjoule.workloads.elbencho.amounts import MOST_RATIO, PhaseAmount, amount, count_of, together
from perjoule.workloads.elbencho.report import Row

DATED_BY_START = (3, 0, 27)
MILLISECONDS = (3, 0, 9)  # since when dates have them
UNCLEAR_VERSION = (3, 0, 26)  # of development, in whose days the date changed its meaning
NEGLIGIBLE_RATIO = 1e-4  # of an amount, by which it may be unknown without a doubt
LEAST_US = 100  # of a latency, which it rounds down to whole microseconds
DATA = re.compile(r"(?:(?P<write>WRITE)|(?P<read>READ)|(?P<both>RWMIX\d+|MIX-T\d+))(?:\+s)?")
CHANGES = frozenset(
    (
        "MKDIRS", "MKBUCKETS", "RMFILES", "RMOBJECTS", "RMDIRS", "RMBUCKETS", "MULTIDEL",
        "MPUCOMPL", "PUTOBJACL", "PUTBACL", "PUTOBJMD", "DELOBJMD", "PUTBUCKETMD", "DELBUCKETMD",
    )
)  # fmt: skip
LOOKS = frozenset(
    (
        "STAT", "STATDIRS", "HEADOBJ", "LISTOBJ", "LISTOBJ_P", "GETOBJACL", "GETBACL", "GETOBJMD",
        "GETBUCKETMD",
    )
)  # fmt: skip
UNCOUNTED = ("--readinline", "--verifydirect")  # which read within writes
IGNORES = "--s3ignoreerrors"
FAILED = "errors total"  # of the versions after 3.1, empty where none failed
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?[+-]\d{4}")
_VERSION = re.compile(r"(\d+)\.(\d+)-(\d+)(?!\d)")


@dataclass(frozen=True)
class LoadPhase:
    """What all threads of a phase did, and when, in UTC by the clock of who wrote its row."""

    engine: str
    began_s: float
    ended_s: float
    amounts: Mapping[Literal["write", "read"], PhaseAmount]
    latencies_s: Mapping[
        Literal["write", "read"], Mapping[str, float]
    ]  # mean and longest, of its calls or entries
    doubts: tuple[Doubt, ...]


def phase(row: Row) -> LoadPhase:
    """Return what a row says of a load. Raises ValueError: it does not say."""
    version = row.get("version", "")
    amounts: dict[Literal["write", "read"], PhaseAmount] = {
        direction: moved for direction, moved in _moved(row).items() if moved.is_any
    }
    if not amounts:
        raise ValueError("it moved nothing")
    if count_of(row, FAILED) or (FAILED not in row and IGNORES in row.get("command", "")):
        raise ValueError(
            f"S3 operations failed, or may have ({IGNORES}), and elbencho counts them with the others: mend their "
            "cause, and measure again"
        )
    least_s, most_s = together(tuple(amounts.values()))
    took_s = (least_s + most_s) / 2
    if most_s - least_s > 10 * MOST_RATIO * took_s:
        raise ValueError("it was too short for elbencho to time")
    date_s, doubts = _date_s(row), list[Doubt]()
    if not _dated_by_start(version):
        doubts.append(TIMES.elbencho_by_row(digits="1 ms" if _number(version) >= MILLISECONDS else "1 s"))
        date_s -= took_s
    unsure_ratio = max(moved.unsure_ratio for moved in amounts.values())
    if unsure_ratio > MOST_RATIO:
        raise ValueError(
            "its CSV has whole MiB, which say too little of so few: import its JSON (--jsonfile)"
        )
    if unsure_ratio > NEGLIGIBLE_RATIO:
        doubts.append(DERIVED.elbencho_amount(unsure_ratio=unsure_ratio))
    engine = f"elbencho {version or 'before 2.0-7'}"
    latencies_s: dict[Literal["write", "read"], Mapping[str, float]] = {
        direction: _latency_s(row, direction) for direction in amounts
    }
    return LoadPhase(engine, date_s, date_s + took_s, amounts, latencies_s, tuple(doubts))


def flush_s(row: Row) -> tuple[float, float]:
    """Return when a phase of `--sync` began and ended, as of `LoadPhase`.

    Raises ValueError: its row is not dated by its start, or contradicts itself.
    """
    if not _dated_by_start(row.get("version", "")):
        raise ValueError("elbencho before 3.0-27 does not say when it began to flush: use a newer one")
    flush, began_s = amount(row), _date_s(row)
    return began_s, began_s + (flush.least_s + flush.most_s) / 2


def _moved(row: Row) -> dict[Literal["write", "read"], PhaseAmount]:
    """Return what a phase did in each direction. Raises ValueError: the row does not say."""
    operation, command = row["operation"], row.get("command", "")
    if operation in CHANGES:
        return {"write": amount(row)}
    if operation in LOOKS:
        return {"read": amount(row)}
    if "+r" in operation or any(option in command for option in UNCOUNTED):
        raise ValueError("elbencho counts no reads that check or follow each write: measure without them")
    moves = DATA.fullmatch(operation)
    if moves is None:
        raise ValueError(f"{operation} is no load on storage that is known")
    if not moves["both"]:
        return {"write" if moves["write"] else "read": amount(row)}
    if not (row.get("rwmix read MiB [last]") or row.get("rwmix read bytes [last]")):
        raise ValueError("this elbencho does not state what a mix read: use 2.0-7 or newer")
    return {"write": amount(row), "read": amount(row, "rwmix read ")}


def _latency_s(row: Row, direction: Literal["write", "read"]) -> dict[str, float]:
    moves = DATA.fullmatch(row["operation"])
    mixed = "rwmix read " if moves and moves["both"] and direction == "read" else ""
    column = f"{mixed}{'IO' if moves else 'Ent'} lat us"
    times_us = {"mean": count_of(row, f"{column} [avg]"), "max": count_of(row, f"{column} [max]")}
    return {name: time_us / 1e6 for name, time_us in times_us.items() if time_us >= LEAST_US}


def _date_s(row: Row) -> float:
    """Return a row's date, UTC. Raises ValueError."""
    date = row["ISO date"]
    if not _DATE.fullmatch(date):
        raise ValueError(f'its date, "{date}", has no time zone, or is none that elbencho writes')
    return datetime.fromisoformat(date).timestamp()


def _number(version: str) -> tuple[int, ...]:
    """Return a version's numbers. Raises ValueError."""
    if not version:
        return (0,)  # before 2.0-7
    match = _VERSION.match(version)
    if match is None:
        raise ValueError(
            f'"{version}" is no version of elbencho, which says whether a date is a start or an end'
        )
    return tuple(map(int, match.groups()))


def _dated_by_start(version: str) -> bool:
    """Return whether dates are starts of phases, and not the times when rows were written. Raises ValueError."""
    number = _number(version)
    if number == UNCLEAR_VERSION:
        raise ValueError(
            "elbencho 3.0-26 is a development version in which a row's date became the start of its phase, and "
            "was its end: measure with a release"
        )
    return number >= DATED_BY_START
