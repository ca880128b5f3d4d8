"""mdtest's text, from any run: each operation of each iteration is a run. https://github.com/hpc/ior (mdtest 1.9 to 4.1)

It reports its start to a second, in local time, and the rate of each operation; operations are placed one after another.
"""

import re
from collections.abc import Iterator
from math import inf, isnan
from typing import Literal

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import DERIVED, REPETITIONS, TIMES, Doubt
from perjoule.workloads.imported.run import Run, Told, moment_s

DATE = "%m/%d/%Y %H:%M:%S"
STARTS = "mdtest reports its start to 1 s and no start of an operation: windows are placed one after another"
SHORTEST_S = 0.1
_BEGIN = re.compile(r"^-- started at (\S+ \S+) --", re.MULTILINE)
_LAUNCHED = re.compile(r"^(mdtest-\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)", re.MULTILINE)
_COUNT = re.compile(r"^\d+ tasks, (\d+) (?:files|directories)", re.MULTILINE)
_WALL = re.compile(r"^Continue stonewall hit min: \d+ max: (\d+)", re.MULTILINE)
_ITERATIONS = re.compile(r"^SUMMARY(?: rate)?\b.*of (\d+) iterations", re.MULTILINE)
_RATE = re.compile(r"^ +((?:Directory|File) \w+) *:?" + 3 * r" +([\d.]+|inf)" + r" +(?:[\d.]+|-?nan) *$", re.MULTILINE)
_COLUMNS = re.compile(r"^ +Operation +Max +Min +Mean +Std Dev *$", re.MULTILINE)
_TIMES = re.compile(r"^SUMMARY time(?: \(in ops/sec\))?: .*\Z", re.MULTILINE | re.DOTALL)  # s, also where called ops/sec
_PATH = re.compile(r"^Path *: (.*\S)", re.MULTILINE)


def runs(text: str, told: Told) -> tuple[Run, ...]:
    """Read all runs of an output, which may hold several mdtests. Raises ValueError, LookupError."""
    begins = [match.start() for match in _BEGIN.finditer(text)]
    parts = [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    if not parts:
        raise ValueError("mdtest does not report when it started")
    return tuple(run for part in parts for run in _mdtest(part, told))


def direction(operation: str) -> Literal["write", "read"]:
    """Return "write" for operations that change a file system (create, rename, remove), "read" for those that only look."""
    return "read" if operation.rsplit(maxsplit=1)[-1] in ("stat", "read") else "write"


def results(
    hosts: tuple[str, ...], way: Literal["write", "read"], began_s: float, took_s: float, count: int
) -> tuple[ClientResult, ...]:
    """Give each client an equal share of the operations."""
    share, rest = divmod(count, len(hosts))
    return tuple(
        ClientResult(host, way, began_s, began_s + took_s, 0, share + (number < rest)) for number, host in enumerate(hosts)
    )


def brief(took_s: float) -> tuple[Doubt, ...]:
    """Doubt a window that is too short."""
    return (TIMES.doubt(f"it ran only {took_s * 1e3:.3g} ms"),) if took_s < SHORTEST_S else ()


def _mdtest(text: str, told: Told) -> Iterator[Run]:
    began, launched, count, table = (found.search(text) for found in (_BEGIN, _LAUNCHED, _COUNT, _ITERATIONS))
    if not (began and launched and count and table and "-- finished at " in text):
        raise ValueError("mdtest's output is truncated")
    version, tasks_count, nodes_count = launched[1], int(launched[2]), int(launched[3])
    hosts = told.hosts("", nodes_count)
    wall = _WALL.search(text)
    items_count = int(wall[1]) * tasks_count if wall else int(count[1])
    path = _PATH.search(text)
    equal = DERIVED.doubt("mdtest reports the sum of all nodes: each node is assigned an equal share")
    shares = (equal,) if nodes_count > 1 else ()
    rates = text[table.start() :].partition("SUMMARY time")[0]
    if not _COLUMNS.search(rates):
        raise ValueError("mdtest's table does not have the columns Operation, Max, Min, Mean, Std Dev")
    at_s = moment_s(began[1], DATE, told.zone)
    found = [(name, *_iterations(int(table[1]), *map(float, numbers))) for name, *numbers in _RATE.findall(rates)]
    spent = _TIMES.search(text)
    alone = spent if table[1] == "1" else None  # of several iterations, only the mean time is known
    times = {name: float(mean) for name, _, _, mean in _RATE.findall(alone[0])} if alone else {}
    for iteration in range(max((len(values) for _, values, _ in found), default=0)):
        for operation, values, doubts in found:
            if iteration >= len(values):
                continue
            count = round(values[iteration] * times[operation]) if times.get(operation) else items_count
            took_s = count / values[iteration] if values[iteration] else inf
            if took_s == inf:
                continue
            took_s = 0.0 if isnan(took_s) else took_s  # of a mean over what took no time
            moved = results(hosts, direction(operation), at_s, took_s, count)
            at_s += took_s
            against = (TIMES.doubt(STARTS), *shares, *doubts, *brief(took_s))
            details = (*((f"{tasks_count} ranks",) if tasks_count > 1 else ()), f"{count} items")
            yield Run(operation, details, None, path[1] if path else "", Outcome(version, moved, against))


def _iterations(count: int, most: float, least: float, mean: float) -> tuple[tuple[float, ...], tuple[Doubt, ...]]:
    """Return the rate of each iteration, as far as highest, lowest and mean determine it: of up to three they determine all."""
    if count == 1:
        return (mean,), ()
    order = DERIVED.doubt("mdtest does not report which of its iterations was first")
    if count == 2:
        return (most, least), (order,)
    if count == 3 and least > 0:
        return (most, least, 3 * mean - most - least), (order,)
    return (mean,), (REPETITIONS.doubt(f"mdtest reports {count} iterations by their mean rate: they count as one repetition"),)
