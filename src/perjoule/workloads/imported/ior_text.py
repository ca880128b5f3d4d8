"""IOR's text, 2017 and later, from any run: each operation of each iteration is a run. https://ior.readthedocs.io

Its results are rows of a table; the summary of all tests, at the end, has the request, and one more digit of the rates.
"""

import re
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import PurePosixPath
from typing import Literal

from perjoule.model import Outcome
from perjoule.model.doubts import DERIVED, TIMES
from perjoule.model.units import MIB
from perjoule.workloads import ior
from perjoule.workloads.imported.run import Run, Told, moment_s

DATE = "%a %b %d %H:%M:%S %Y"
STARTS = "IOR reports the start of a test to 1 s and no start of an operation: windows are placed one after another"
ROUNDED_S = 0.01
_VERSION = re.compile(r"^(IOR-\S+): MPI Coordinated Test", re.MULTILINE)
BEGAN = re.compile(r"^(?:StartTime|Test 0 started|Began) *: *(\w.*)$", re.MULTILINE)
_MACHINE = re.compile(r"^Machine *: *\S+ (\S+)", re.MULTILINE)
_FILE = re.compile(r"^\s*test filename *[:=] *(\S+)", re.MULTILINE)
_HEAD = re.compile(r"^access +bw\(MiB/s\).*$", re.MULTILINE)
_ROW = re.compile(r"^(?:write|read) +[\d.]+ .*$", re.MULTILINE)
MOVED = re.compile(r"^WARNING: Using actual aggregate bytes moved *= (\d+)", re.MULTILINE)
_SUMMARY = re.compile(r"^Operation +Max\(MiB\).*$", re.MULTILINE)


def recognised(text: str) -> bool:
    """Return whether this is IOR's text."""
    return bool(_VERSION.search(text) and BEGAN.search(text))


def runs(text: str, told: Told) -> tuple[Run, ...]:
    """Read all runs of one command. Raises ValueError, LookupError: it is truncated, or something else."""
    version, began, head = _VERSION.search(text), BEGAN.search(text), _HEAD.search(text)
    if not (version and began and head):
        raise ValueError("this is not IOR's text")
    asked = _asked(text)
    columns = head[0].split()
    rows = [dict(zip(columns, row.split(), strict=True)) for row in _ROW.findall(text[head.end() : _end(text)])]
    return tuple(_placed(version[1], rows, asked, text, moment_s(began[1], DATE, told.zone), told))


def machine(text: str) -> str:
    """Return the host of the first rank; "" if IOR does not report it."""
    found = _MACHINE.search(text)
    return found[1] if found else ""


def _placed(
    version: str, rows: list[dict[str, str]], asked: Mapping[str, Mapping[str, str]], text: str, at_s: float, told: Told
) -> Iterator[Run]:
    file = _FILE.search(text)
    folder = str(PurePosixPath(file[1]).parent) if file else ""
    stated = [int(count) for count in MOVED.findall(text)]
    for row in rows:
        operation: Literal["write", "read"] = "write" if row["access"] == "write" else "read"
        of = asked[operation]
        tasks_count, per_node = int(of["#Tasks"]), int(of["tPN"])
        hosts = told.hosts(machine(text), max(1, ceil(tasks_count / max(1, per_node))))
        transfer_bytes = int(of["xsize"])
        work = (operation, tuple(_details(of)), transfer_bytes, folder)
        rate, took_s = float(row["bw(MiB/s)"]), float(row["total(s)"])
        if of["reps"] == "1":
            rate = float(of["Max(MiB)"])
        if not rate or not took_s:
            yield Run(*work, None, "IOR moved nothing in it, or it was too short for IOR to time")
            continue
        asked_bytes = tasks_count * int(of["segcnt"]) * int(of["blksiz"])
        doubts = [TIMES.doubt(STARTS)]
        moved_bytes = next((n for n in (*stated, asked_bytes) if _fits(n, rate, took_s)), None)
        if moved_bytes is None:
            moved_bytes = round(rate * MIB * took_s)
            doubts.append(DERIVED.doubt("IOR does not report the amount moved: it is rate times time, to 10 ms"))
        took_s = moved_bytes / (rate * MIB)
        results = ior.results(dict.fromkeys(hosts, (at_s, at_s + took_s)), operation, moved_bytes, transfer_bytes)
        at_s += took_s
        if len(hosts) > 1:
            doubts.append(DERIVED.doubt("IOR reports the sum of all nodes: each node is assigned an equal share"))
        yield Run(*work, Outcome(version, results, (*doubts, *ior.doubts(text, results, equal=True))))


def _asked(text: str) -> dict[str, dict[str, str]]:
    """Return the row of each operation in the summary of all tests. Raises ValueError: it is missing."""
    head = _SUMMARY.search(text)
    lines = text[head.end() :].splitlines()[1:] if head else []
    columns = head[0].split() if head else []
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        values = line.split()
        if not values or values[0] not in ("write", "read"):
            break
        if len(values) != len(columns):
            raise ValueError("a row in the summary of IOR's text is truncated")
        found[values[0]] = dict(zip(columns, values, strict=True))
    if not found:
        raise ValueError("IOR's text is truncated: its summary is missing")
    return found


def _end(text: str) -> int:
    found = _SUMMARY.search(text)
    return found.start() if found else len(text)


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
