"""elbencho's results, CSV or JSON, from any run: each phase of each iteration is a run.
https://github.com/breuner/elbencho (1.7 to 3.1)

What counts is the column "last amounts", from the start of a phase to the end of its last thread; "first amounts"
leaves out what slower threads did. The date of a row is the start of its phase since 3.0-27, and before the
moment at which the row was written. The numbers are sums over all hosts. Nothing is flushed within a phase.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import DERIVED, IN_FLIGHT, TIMES, Doubt
from perjoule.model.units import bytes_text
from perjoule.workloads.imported.elbencho.amounts import (
    MOST_RATIO,
    TREES,
    PhaseAmount,
    amount,
    count_of,
    together,
)
from perjoule.workloads.imported.elbencho.notation import (
    CHANGES,
    CREDENTIALS,
    DATA,
    FAILED,
    IGNORES,
    LOOKS,
    NO_LOADS,
    NOT_LOAD,
    OBJECTS,
    UNCOUNTED,
)
from perjoule.workloads.imported.elbencho.rows import Row, rows
from perjoule.workloads.imported.run import ImportedRun, Told, options

__all__ = ["runs"]

DATED_BY_START = (3, 0, 27)
MILLISECONDS = (3, 0, 9)  # since when dates have them
UNCLEAR_VERSION = (3, 0, 26)  # of development, in whose days the date changed its meaning
SHORTEST_S = 0.1
NEGLIGIBLE_RATIO = 1e-4  # of an amount, by which it may be unknown without a doubt
LEAST_US = 100  # of a latency, which it rounds down to whole microseconds
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?[+-]\d{4}")
_VERSION = re.compile(r"(\d+)\.(\d+)-(\d+)(?!\d)")
_HOSTS = re.compile(r'"--hosts(?:" "|=)([^"]*)"')
_HOST = re.compile(r"([A-Za-z0-9][\w.-]*)(?::\d+)?")
_WORD = re.compile(r'"([^"]*)"')
_NAMES_FILE = re.compile(r"-c|--(?:\w*file|livecsv|livejson|opslog|treescan|s3logprefix)")


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all phases of a file, which several elbenchos may have appended to. Raises ValueError, LookupError."""
    phases = [row for row in rows(text) if row["operation"] not in NO_LOADS]
    if not phases:
        raise ValueError("no phase in it moved, made or looked at anything")
    return tuple(_run(row, hints) for row in phases)


def _run(row: Row, hints: Told) -> ImportedRun:
    operation, command = row["operation"], row.get("command", "")
    if secret := next((name for name in CREDENTIALS if name in command), ""):
        raise ValueError(
            f"its command line may hold an S3 secret ({secret}), and results are made to be published: take it "
            "out of the file"
        )
    moves = DATA.fullmatch(operation)
    size_bytes = count_of(row, "block size") if moves else None
    work = (operation.lower(), tuple(_details(row)), size_bytes or None, _folder(row))
    run_id = "|".join(
        row[name]
        for name in (
            "ISO date",
            "operation",
            "time ms [first]",
            "time ms [last]",
            "entries [last]",
            "IOPS [last]",
        )
    )
    hosts = _hosts(row, hints)
    try:
        outcome = _outcome(row, hosts, hosts_named=bool(hints.clients or _named(row)))
    except ValueError as error:
        return ImportedRun(*work, None, str(error), run_id)
    return ImportedRun(*work, outcome, "", run_id)


def _outcome(row: Row, hosts: Counter[str], *, hosts_named: bool) -> Outcome:
    """Return what a phase did. Raises ValueError: the row does not say."""
    version = row.get("version", "")
    moved: dict[Literal["write", "read"], PhaseAmount] = {
        direction: amounts for direction, amounts in _moved(row).items() if amounts.is_any
    }
    if not moved:
        raise ValueError("it moved nothing")
    if count_of(row, FAILED) or (FAILED not in row and IGNORES in row.get("command", "")):
        raise ValueError(
            f"S3 operations failed, or may have ({IGNORES}), and elbencho counts them with the others: mend their "
            "cause, and measure again"
        )
    least_s, most_s = together(tuple(moved.values()))
    took_s = (least_s + most_s) / 2
    if most_s - least_s > 10 * MOST_RATIO * took_s:
        raise ValueError("it was too short for elbencho to time")
    date = row["ISO date"]
    if not _DATE.fullmatch(date):
        raise ValueError(f'its date, "{date}", has no time zone, or is none that elbencho writes')
    at_s, doubts = datetime.fromisoformat(date).timestamp(), list[Doubt]()
    if not _dated_by_start(version):
        doubts.append(TIMES.elbencho_by_row(digits="1 ms" if _number(version) >= MILLISECONDS else "1 s"))
        at_s -= took_s
    if took_s < SHORTEST_S:
        doubts.append(TIMES.short_operation(length_s=took_s))
    unsure_ratio = max(amounts.unsure_ratio for amounts in moved.values())
    if unsure_ratio > MOST_RATIO:
        raise ValueError(
            "its CSV has whole MiB, which say too little of so few: import its JSON (--jsonfile)"
        )
    if unsure_ratio > NEGLIGIBLE_RATIO:
        doubts.append(DERIVED.elbencho_amount(unsure_ratio=unsure_ratio))
    moves = DATA.fullmatch(row["operation"])
    if moves and "write" in moved and row["direct IO"] != "1" and row["path type"] not in OBJECTS:
        doubts.append(IN_FLIGHT.not_flushed(program="elbencho"))
    if hosts.total() > 1:
        doubts += [TIMES.elbencho_services(), DERIVED.equal_shares(program="elbencho")]
        doubts += [] if hosts_named else [DERIVED.elbencho_hosts()]
    results = tuple(
        result
        for direction, amounts in moved.items()
        for result in _results(row, hosts, direction, amounts, (at_s, at_s + took_s))
    )
    return Outcome(f"elbencho {version or 'before 2.0-7'}", results, tuple(doubts))


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


def _results(
    row: Row,
    hosts: Counter[str],
    direction: Literal["write", "read"],
    amounts: PhaseAmount,
    window_s: tuple[float, float],
) -> Iterator[ClientResult]:
    """Give each service an equal share; elbencho reports only the sum."""
    moves = DATA.fullmatch(row["operation"])
    mixed = "rwmix read " if moves and moves["both"] and direction == "read" else ""
    column = f"{mixed}{'IO' if moves else 'Ent'} lat us"
    times_us = {"mean": count_of(row, f"{column} [avg]"), "max": count_of(row, f"{column} [max]")}
    latency_s = {name: time_us / 1e6 for name, time_us in times_us.items() if time_us >= LEAST_US}
    operations_count = (amounts.calls_count if moves else 0) or amounts.entries_count
    before_count = 0
    for host, services_count in hosts.items():
        until_count = before_count + services_count
        bytes_share, operations_share = (
            total * until_count // hosts.total() - total * before_count // hosts.total()
            for total in (amounts.moved_bytes, operations_count)
        )
        before_count = until_count
        yield ClientResult(host, direction, *window_s, bytes_share, operations_share, latency_s)


def _details(row: Row) -> Iterator[str]:
    hosts_count = count_of(row, "hosts")
    if hosts_count > 1:
        yield f"{hosts_count} services"
    yield f"{count_of(row, 'threads')} threads"
    if row["path type"] in TREES and (row.get("dirs") or row.get("files")):
        yield f"{count_of(row, 'dirs')} x {count_of(row, 'files')} files per thread"
    elif count_of(row, "paths") > 1:
        yield f"{count_of(row, 'paths')} paths"
    if row["path type"] not in ("dir", "file"):
        yield row["path type"]
    if size_bytes := count_of(row, "file size"):
        yield f"size {bytes_text(size_bytes)}"
    yield from (
        label
        for label, given in (
            ("direct", row["direct IO"] == "1"),
            ("random", row["random"] == "1"),
            ("unaligned", row.get("random aligned") == "0"),
            (f"{row['IO depth']} in flight", count_of(row, "IO depth") > 1),
            ("files of each service", row.get("shared paths") == "0"),
            ("truncated", row.get("truncate") == "1"),
        )
        if given
    )
    yield from (option for option in options(row.get("command", ""), NOT_LOAD) if option.startswith("--"))


def _hosts(row: Row, hints: Told) -> Counter[str]:
    """Return how many services each client ran. Raises ValueError: more than were named."""
    count = count_of(row, "hosts")
    if not count:
        raise ValueError("it says that no host ran")
    services = Counter(_named(row))
    if not services:
        return Counter(hints.hosts("", count))
    names = hints.clients and hints.hosts("", len(services))
    return Counter(dict(zip(names, services.values(), strict=True))) if names else services


def _named(row: Row) -> list[str]:
    """Return the host of each service, as the command line names them; none if it does not name all."""
    match = _HOSTS.search(row.get("command", ""))
    names = [_HOST.fullmatch(label) for label in match[1].split()] if match else []
    plain = [name[1] for name in names if name]
    return plain if len(plain) == len(names) == count_of(row, "hosts") else []


def _folder(row: Row) -> str:
    """Return where the load ran, where the command line ends with it; "" if unknown."""
    arguments = _WORD.findall(row.get("command", ""))
    if len(arguments) < 2 or not arguments[-1].startswith("/") or _NAMES_FILE.fullmatch(arguments[-2]):
        return ""
    path = PurePosixPath(arguments[-1])
    return str(path.parent if row["path type"] == "file" else path)


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
