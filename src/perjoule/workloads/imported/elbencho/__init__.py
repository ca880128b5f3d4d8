"""elbencho's results, CSV or JSON, from any run: each phase of each iteration is a run.
https://github.com/breuner/elbencho (1.7 to 3.1)

The numbers are sums over all hosts. Nothing is flushed within a phase.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import DERIVED, IN_FLIGHT, TIMES
from perjoule.model.units import bytes_text
from perjoule.workloads.elbencho import DATA, TREES, LoadPhase, Row, count_of, phase, rows
from perjoule.workloads.imported.elbencho.notation import CREDENTIALS, NO_LOADS, NOT_LOAD, OBJECTS
from perjoule.workloads.imported.run import ImportedRun, Told, options

__all__ = ["runs"]

SHORTEST_S = 0.1
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
    load = phase(row)
    doubts, length_s = [*load.doubts], load.ended_s - load.began_s
    if length_s < SHORTEST_S:
        doubts.append(TIMES.short_operation(length_s=length_s))
    moves = DATA.fullmatch(row["operation"])
    if moves and "write" in load.amounts and row["direct IO"] != "1" and row["path type"] not in OBJECTS:
        doubts.append(IN_FLIGHT.not_flushed(program="elbencho"))
    if hosts.total() > 1:
        doubts += [TIMES.elbencho_services(), DERIVED.equal_shares(program="elbencho")]
        doubts += [] if hosts_named else [DERIVED.elbencho_hosts()]
    results = tuple(result for direction in load.amounts for result in _results(row, hosts, direction, load))
    return Outcome(load.engine, results, tuple(doubts))


def _results(
    row: Row, hosts: Counter[str], direction: Literal["write", "read"], load: LoadPhase
) -> Iterator[ClientResult]:
    """Give each service an equal share; elbencho reports only the sum."""
    moved, calls = load.amounts[direction], DATA.fullmatch(row["operation"])
    operations_count = (moved.calls_count if calls else 0) or moved.entries_count
    before_count = 0
    for host, services_count in hosts.items():
        until_count = before_count + services_count
        bytes_share, operations_share = (
            total * until_count // hosts.total() - total * before_count // hosts.total()
            for total in (moved.moved_bytes, operations_count)
        )
        before_count = until_count
        window_s = (load.began_s, load.ended_s)
        yield ClientResult(
            host, direction, *window_s, bytes_share, operations_share, load.latencies_s[direction]
        )


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
