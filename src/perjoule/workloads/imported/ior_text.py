"""IOR's text, 2013 and later: each operation of each iteration is a run. https://ior.readthedocs.io (IOR 3.0
to 4.1)

A file may hold several commands, and a command several tests. Each test has its start and a table of results;
the summary of all tests, at the end, has the request, and one more digit of the rates; without it, as of an IOR that
was ended, the head of a test has the request. With -v each operation has its start, too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, isfinite
from pathlib import PurePosixPath
from typing import Literal

from perjoule.model import Outcome
from perjoule.model.doubts import DERIVED, IN_FLIGHT, TIMES, WORK, Doubt
from perjoule.model.units import MIB
from perjoule.workloads import ior
from perjoule.workloads.imported.run import ImportedRun, Told, command_of, idle_s, moment_s, options

DATE = "%a %b %d %H:%M:%S %Y"
ROUNDED_S = 0.01
DAY_S = 86400.0
VERSION = re.compile(r"^(IOR-(\S+)): MPI Coordinated Test", re.MULTILINE)
BEGAN = re.compile(r"^(?:StartTime|Test 0 started|Began) *: *(\w.*)$", re.MULTILINE)
MOVED = re.compile(r"^WARNING: Using actual aggregate bytes moved *= (\d+)", re.MULTILINE)
COMMENCING = re.compile(r"^Commencing (write|read) performance test: *(\w.*)$", re.MULTILINE)
_TEST = re.compile(r"^(?:TestID *: *(\d+)|Test (\d+) started)", re.MULTILINE)
_START = re.compile(r"^(?:StartTime|Test \d+ started) *: *(\w.*)$", re.MULTILINE)
_FINISHED = re.compile(r"^Finished *: *(\w.*)$", re.MULTILINE)
_MACHINE = re.compile(r"^Machine *: *\S+ (\S+)", re.MULTILINE)
_NODES = re.compile(r"^nodes +: *(\d+)", re.MULTILINE)  # since 3.3
_TASK = re.compile(r"^task \d+ on (\S+)$", re.MULTILINE)  # with -vv
_FILE = re.compile(r"^[ \t]*test filename *[:=] *(\S+)", re.MULTILINE)
_RANDOM = re.compile(r"^[ \t]*ordering in a file *[:=] *random", re.MULTILINE)
_HEAD = re.compile(r"^access +bw\(MiB/s\).*$", re.MULTILINE)
_ROW = re.compile(r"^(write|read|remove) +\S+ +.*$", re.MULTILINE)
# with -vvv
_OPENED = re.compile(r"Iter=(\d+), Task=\d+, Time=([\d.]+), (write|read) open start$", re.MULTILINE)
# what was asked for, in the head of a test
_OPTION = re.compile(r"^[ \t]*([a-z][a-zA-Z]*(?: +[a-zA-Z]+)*) *[:=] *(\S(?:.*\S)?)", re.MULTILINE)
_CLIENTS = re.compile(r"(\d+) \((\d+) per node\)")
_PRINTED_SIZE = re.compile(r"(\d+) (bytes|KiB|MiB|GiB|TiB)")
_SIZES = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SUMMARY = re.compile(r"^Operation +Max\(MiB\).*$", re.MULTILINE)
# Names and places, what is printed, what the summary has, and whether a command also did the other operation.
NOT_LOAD = frozenset(
    (
        "-o",
        "-i",
        "-v",
        "-vv",
        "-vvv",
        "-vvvv",
        "-t",
        "-b",
        "-s",
        "-N",
        "-F",
        "-a",
        "-w",
        "-r",
        "-k",
        "-m",
        "-f",
        "-d",
    )
)
_CACHED = ("POSIX", "MPIIO", "HDF5", "NCMPI", "MMAP")  # APIs that write through the page cache
# -e: fsync at the end; -Y: after each write; -B or --posix.odirect: without the cache; -f: a script, which may say so
_FLUSHES = re.compile(r" -[A-Za-z]*[eYBf]| --posix\.odirect| -O \S*(?:fsync|useO_DIRECT)")
Asked = Mapping[tuple[str, str], Mapping[str, str]]  # the summary's rows, by test and operation


@dataclass(frozen=True)
class _Test:
    """A test of a command: the text between its start and the next one's, or the summary."""

    number: str
    text: str
    began_s: float
    ended_s: float | None  # when the next one began, or the command ended
    head: list[str]  # of its table


def recognised(text: str) -> bool:
    """Return whether this is IOR's text."""
    return bool(VERSION.search(text) and not re.search(r'^[ \t]*"tests"[ \t]*:', text, re.MULTILINE))


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all runs of an output, which may hold several commands.

    Raises ValueError, LookupError: it is truncated.
    """
    begins = [match.start() for match in VERSION.finditer(text)]
    if not begins:
        raise ValueError("this is not IOR's text")
    parts = [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return tuple(run for part in parts for run in _command(part, hints))


def machine(text: str) -> str:
    """Return the host of the first rank; "" if IOR does not report it."""
    match = _MACHINE.search(text)
    return match[1] if match else ""


def _command(text: str, hints: Told) -> Iterator[ImportedRun]:
    version = VERSION.match(text)
    if version is None or version[2].startswith("2."):
        raise ValueError(
            f"it is the text of {version[1] if version else 'IOR 2'}, which is not supported: measure with "
            "IOR 3"
        )
    rows = _asked(text)
    read_count = 0
    command = command_of(text)
    for test in _tests(text, hints.zone):
        for run in _test(version[1], test, rows, machine(text), command, hints):
            read_count += 1
            yield run
    if not read_count:
        raise ValueError("IOR's text has no results")


def _tests(text: str, zone: str) -> Iterator[_Test]:
    end = _SUMMARY.search(text)
    body = text[: end.start()] if end else text
    begins = [match.start() for match in _TEST.finditer(body)] or [0]
    common = BEGAN.search(text)
    head: list[str] = []
    parts = [body[begin:stop] for begin, stop in zip(begins, [*begins[1:], len(body)], strict=True)]
    starts = [_START.search(part) or common for part in parts]
    for part, start, end in zip(parts, starts, [*starts[1:], _FINISHED.search(text)], strict=True):
        number, table = _TEST.match(part), _HEAD.search(part)
        head = table[0].split() if table else head
        if not start:
            raise ValueError("IOR's text does not say when it began")
        yield _Test(
            next(filter(None, number.groups())) if number else "0",
            part,
            moment_s(start[1], DATE, zone),
            moment_s(end[1], DATE, zone) if end else None,
            head,
        )


def _test(
    version: str, test: _Test, rows: Asked, host: str, command: str, hints: Told
) -> Iterator[ImportedRun]:
    file = _FILE.search(test.text)
    folder = str(PurePosixPath(file[1]).parent) if file else ""
    at_s, before = test.began_s, 0
    rows_found = [(match, _table_row(match[0], test.head)) for match in _ROW.finditer(test.text)]
    all_took_s = sum(float(row["total(s)"]) for _, row in rows_found)
    unplaced_s = idle_s(test.ended_s - test.began_s, all_took_s) if test.ended_s else 0.0
    for match, row in rows_found:
        around = test.text[before : match.start()]
        before = match.end()
        if match[1] == "remove":
            at_s += float(row["total(s)"])
            continue
        operation: Literal["write", "read"] = "write" if match[1] == "write" else "read"
        if rows and (test.number, operation) not in rows:
            raise ValueError(f"IOR's text is truncated: its summary has no {operation} of test {test.number}")
        of = rows[test.number, operation] if rows else _requested(test.text, command)
        tasks_count, per_node = int(of["#Tasks"]), int(of["tPN"])
        # tPN is of the first node alone; with -N some of the nodes have no task
        nodes = None if " -N" in command else _NODES.search(test.text)
        hosts = hints.hosts(host, int(nodes[1]) if nodes else max(1, ceil(tasks_count / max(1, per_node))))
        host_names = tuple(dict.fromkeys(_TASK.findall(test.text)))
        hosts = host_names if len(host_names) == len(hosts) and not hints.clients else hosts
        transfer_bytes = int(of["xsize"])
        order = ("random",) if _RANDOM.search(test.text) else ()
        work = (operation, (*_details(of), *order, *options(command, NOT_LOAD)), transfer_bytes, folder)
        took_s = float(row["total(s)"])
        rate, doubts = _rate(row, of)
        if not rate or not took_s or not isfinite(rate):
            yield ImportedRun(*work, None, "IOR moved nothing in it, or it was too short for IOR to time")
            at_s += took_s if isfinite(took_s) else 0.0
            continue
        at_s, placement = began_s(around, operation, row["iter"], at_s, hints.zone, unplaced_s)
        moved_counts = [int(count) for part in (around, test.text) for count in MOVED.findall(part)]
        asked_bytes = tasks_count * int(of["segcnt"]) * int(of["blksiz"])
        moved_bytes = next((n for n in (*moved_counts, asked_bytes) if _fits(n, rate, took_s)), None)
        if moved_bytes is None:
            moved_bytes = round(rate * MIB * took_s)
            doubts = (*doubts, DERIVED.ior_amount(digits="10 ms"))
        took_s = moved_bytes / (rate * MIB)
        results = ior.results(
            dict.fromkeys(hosts, (at_s, at_s + took_s)), operation, moved_bytes, transfer_bytes
        )
        at_s += took_s
        if len(hosts) > 1:
            doubts = (*doubts, DERIVED.equal_shares(program="IOR"))
        doubts += unflushed(operation, of["API"], command)
        against = (*placement, *doubts, *ior.doubts(test.text, results, equal=True))
        yield ImportedRun(*work, Outcome(version, results, against))


def _table_row(line: str, head: list[str]) -> dict[str, str]:
    """Return a row of a test's table by its columns. Raises ValueError: it has others."""
    values = line.split()
    if len(values) != len(head):
        raise ValueError(
            f"a row of IOR's table has {len(values)} columns, and its head {len(head)}: {line[:80]!r}"
        )
    return dict(zip(head, values, strict=True))


def unflushed(operation: str, api: str, command: str) -> tuple[Doubt, ...]:
    """Return a doubt if the command's writes stay in the page cache; none if that is not known."""
    cached = operation == "write" and api in _CACHED and command and not _FLUSHES.search(command)
    return (IN_FLIGHT.not_flushed(program="IOR"),) if cached else ()


def began_s(
    around: str, operation: str, iteration: str, at_s: float, zone: str, unplaced_s: float = 0.0
) -> tuple[float, tuple[Doubt, ...]]:
    """Return when an operation began (UTC), from the lines before its results: as a verbose IOR reports
    it, or as computed.
    """
    opened = [
        float(t_s)
        for number, t_s, direction in _OPENED.findall(around)
        if (number, direction) == (iteration, operation)
    ]
    if opened and abs(min(opened) - at_s) < DAY_S:
        return min(opened), ()
    dates = [date for direction, date in COMMENCING.findall(around) if direction == operation]
    if dates:
        return moment_s(dates[-1], DATE, zone), (TIMES.ior_to_a_second(),)
    return at_s, (TIMES.ior_in_a_row(idle_s=unplaced_s),)


def _rate(row: Mapping[str, str], of: Mapping[str, str]) -> tuple[float, tuple[Doubt, ...]]:
    """Return the MiB/s of a row, with the digits of the summary if they are the same; IOR 3.2's are not,
    under a stonewall.
    """
    printed = row["bw(MiB/s)"]
    if of["reps"] != "1":
        return float(printed), ()
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    if abs(float(of["Max(MiB)"]) - float(printed)) <= 1.02 * half:
        return float(of["Max(MiB)"]), ()
    return float(printed), (WORK.two_rates(summary=f"{of['Max(MiB)']} MiB/s", table=printed),)


def _asked(text: str) -> Asked:
    """Return the rows of the summary of all tests; none if it is missing. Raises ValueError: it is damaged."""
    if (head := _SUMMARY.search(text)) is None:
        return {}
    lines = text[head.end() :].splitlines()[1:]
    columns = head[0].split()
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for line in lines:
        values = line.split()
        if not values or values[0] not in ("write", "read"):
            break
        if len(values) != len(columns):
            raise ValueError("a row in the summary of IOR's text is truncated")
        row = _row(columns, values)
        if (row["Test#"], values[0]) in rows:
            raise ValueError(
                f"IOR's summary has two rows of {values[0]} of test {row['Test#']}: which is which is unknown"
            )
        rows[row["Test#"], values[0]] = row
    if not rows:
        raise ValueError("IOR's text is truncated: its summary is missing")
    return rows


def _requested(text: str, command: str) -> Mapping[str, str]:
    """Return what the head of a test says of its request, under the names of the summary, which an IOR that was ended,
    or that IO500 ran, does not have. Its repetitions are not said to be one.

    Raises ValueError: it does not say all, or a size only in part.
    """
    head = dict(_OPTION.findall(text[: end.start()] if (end := _HEAD.search(text)) else text))
    clients = _CLIENTS.match(head.get("clients", ""))  # before 3.3
    segments = re.search(r"\d+", head.get("segments") or head.get("pattern", ""))
    tasks_count, per_node = clients.groups() if clients else (head.get("tasks"), head.get("clients per node"))
    if not (tasks_count and per_node and segments and head.get("api")):
        raise ValueError("IOR's text is truncated: its summary is missing")
    return {
        "#Tasks": tasks_count,
        "tPN": per_node,
        "API": head["api"].split()[0],
        "fPP": str(int(head.get("access") == "file-per-process")),
        "reord": str(int(head.get("ordering inter file", "").startswith("constant"))),
        "segcnt": segments[0],
        "blksiz": str(_exact_bytes(head.get("blocksize", ""), "b", command)),
        "xsize": str(_exact_bytes(head.get("xfersize", ""), "t", command)),
        "reps": "",
    }


def _exact_bytes(size: str, option: str, command: str) -> int:
    """Return a size that IOR prints, from its command where the printed one is rounded ("9.46 TiB"). Raises ValueError."""
    if match := _PRINTED_SIZE.fullmatch(size):
        return int(match[1]) * _SIZES[match[2][0].lower()]
    if (match := re.search(rf" -{option} *(\d+)([kmgtKMGT]?)\b", command)) and " -f" not in command:
        return int(match[1]) * _SIZES[match[2].lower() or "b"]
    raise ValueError(f"IOR's text is truncated: its summary is missing, and {size!r} is a rounded size")


def _row(columns: list[str], values: list[str]) -> dict[str, str]:
    """Return a row by its columns; of two that have one name (StdDev) the first."""
    return dict(reversed(list(zip(columns, values, strict=True))))


def _fits(count: int, rate_mib_per_s: float, took_s: float) -> bool:
    return abs(count / (rate_mib_per_s * MIB) - took_s) <= ROUNDED_S + 2e-3 * took_s


def _details(of: Mapping[str, str]) -> Iterator[str]:
    if int(of["#Tasks"]) > 1:
        yield f"{of['#Tasks']} ranks"
    if of["API"] != "POSIX":
        yield of["API"]
    if of["fPP"] == "0":
        yield "shared file"
    yield f"{int(of['segcnt']) * int(of['blksiz']) / MIB:g} MiB per rank"
    if of["reord"] == "1":
        yield "reordered"
