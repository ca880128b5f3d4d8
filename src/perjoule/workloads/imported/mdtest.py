"""mdtest's text, from any run: each operation of each iteration is a run. https://github.com/hpc/ior (mdtest
1.8 to 4.1)

It reports its start to a second, in local time, and the rate of each operation; operations are placed one
after another. Its table is not always of iterations: before 3.3 a rate is that of the fastest rank, and 3.3
prints statistics over ranks. With -v it prints each iteration, which is then taken, and newer ones may print both,
ranks beside iterations.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan
from pathlib import PurePosixPath
from typing import Literal

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import DERIVED, REPETITIONS, TIMES, WORK, Doubt
from perjoule.workloads.imported.run import ImportedRun, Told, command_of, idle_s, moment_s, options

DATE = "%m/%d/%Y %H:%M:%S"
SHORTEST_S = 0.1
LISTED_COUNT = 3  # iterations, which highest, lowest and mean determine
ROUNDED_S = 0.5e-3  # of the times that -P prints
SAME_RANKS_RATIO = 1e-2  # between the rates of the fastest rank and of the slowest, which is then that of all
SAME_RATIO = 1e-2  # of items, that rate times time may differ from them, besides the rounding of times
# by which all operations may exceed the whole run, whose ends are whole seconds
SPAN_S, SPAN_RATIO = 2.0, 1e-2
RANKS = (
    "mdtest's table has statistics over ranks instead of iterations, which is an error of mdtest 3.3: its "
    "rates are unknown; run it with -v, or mdtest 4"
)
MIXED_UP = (
    "the mdtest of IOR 3.2 mixes up ranks and iterations in its table, whose rates may all be of the best iteration: run "
    "it with -v, or mdtest 4"
)
WALLS = (
    "its stonewall (-W) ended creations, and the table does not tell which items are whose: run mdtest with files or "
    "directories alone (-F, -D) and one iteration (-i 1)"
)
# names and places, and what is printed
NOT_LOAD = frozenset(("-d", "-i", "-V", "-x", "-v", "-P", "-Z", "--print-all-procs"))
_BEGIN = re.compile(r"^-- started at (\S+ \S+) --", re.MULTILINE)
_ENDED = re.compile(r"^-- finished at (\S+ \S+) --", re.MULTILINE)
_LAUNCHED = re.compile(
    r"^(mdtest-\S+) was launched with (\d+) total task\(s\) on (\d+) node(?:\(s\)|s)", re.MULTILINE
)
_QUOTED = re.compile(r'^Command line used: \S+ "', re.MULTILINE)  # as the mdtest of IOR 3.2 alone does
_COUNT = re.compile(r"^\d+ tasks, (\d+) (?:files|directories)", re.MULTILINE)
_WALL = re.compile(r"^Continue stonewall hit min: \d+ max: (\d+)", re.MULTILINE)
_ITERATIONS = re.compile(r"^SUMMARY(?: rate)?\b.*of (\d+) iterations", re.MULTILINE)
_RATE = re.compile(
    r"^ +((?:Directory|File) \w+)(?: *:)?" + 3 * r" +([\d.]+|inf)" + r"(?: +(?:[\d.]+|-?nan))? *$",
    re.MULTILINE,
)
_COLUMNS = re.compile(r"^ +Operation +Max +Min +Mean +Std Dev *$", re.MULTILINE)
# with --show-perrank-statistics, and always in development versions between 3.3 and 4
_BOTH = re.compile(
    r"^( +Operation) +per Rank: +Max +Min +Mean( +Std Dev)?( +)per Iteration:( *Max +Min +Mean)(?: +Std Dev)? *$",
    re.MULTILINE,
)
# s, also where called ops/sec
_TIMES = re.compile(r"^SUMMARY time(?: \(in ops/sec\))?: .*\Z", re.MULTILINE | re.DOTALL)
# with -v, of an iteration
_EACH = re.compile(r"((?:Directory|File) \w+) *: +([\d.]+) sec, +([\d.]+) ops/sec")
_PATH = re.compile(r"^Path *: (.*\S)", re.MULTILINE)


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all runs of an output, which may hold several mdtests. Raises ValueError, LookupError."""
    begins = [match.start() for match in _BEGIN.finditer(text)]
    if not begins:
        raise ValueError("mdtest does not report when it started, at the beginning of a line")
    parts = [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return tuple(run for part in parts for run in _mdtest(part, hints))


def direction(operation: str) -> Literal["write", "read"]:
    """Return "write" for operations that change a file system (create, rename, remove), "read" for those
    that only look.
    """
    return "read" if operation.rsplit(maxsplit=1)[-1] in ("stat", "read") else "write"


def results(
    hosts: tuple[str, ...], direction: Literal["write", "read"], began_s: float, took_s: float, count: int
) -> tuple[ClientResult, ...]:
    """Give each client an equal share of the operations."""
    share, odd_count = divmod(count, len(hosts))
    return tuple(
        ClientResult(host, direction, began_s, began_s + took_s, 0, share + (number < odd_count))
        for number, host in enumerate(hosts)
    )


def brief(took_s: float) -> tuple[Doubt, ...]:
    """Doubt a window that is too short."""
    return (TIMES.short_operation(length_s=took_s),) if took_s < SHORTEST_S else ()


def _mdtest(text: str, hints: Told) -> Iterator[ImportedRun]:
    has_both = bool(_BOTH.search(text))
    text = _without_ranks(text)
    began, launched, count, table, ended = (
        form.search(text) for form in (_BEGIN, _LAUNCHED, _COUNT, _ITERATIONS, _ENDED)
    )
    if not (began and launched and count and table and ended):
        raise ValueError("mdtest's output is truncated")
    if len(_COUNT.findall(text)) > 1:
        raise ValueError(
            "it has a table for each of several numbers of tasks (-f, -l, -s): run each by itself"
        )
    version, tasks_count, nodes_count = launched[1], int(launched[2]), int(launched[3])
    hosts = hints.hosts("", nodes_count)
    walls = list(map(int, _WALL.findall(text[: table.start()])))
    items_count = walls[0] * tasks_count if walls else int(count[1])
    path = _PATH.search(text)
    equal = DERIVED.equal_shares(program="mdtest")
    shares = (equal,) if nodes_count > 1 else ()
    rates = text[table.start() :].partition("SUMMARY time")[0]
    if not _COLUMNS.search(rates):
        raise ValueError("mdtest's table does not have the columns Operation, Max, Min, Mean, Std Dev")
    at_s = moment_s(began[1], DATE, hints.zone)
    each = _each(text[: table.start()], int(table[1]), 0 if walls else items_count)
    failures: Mapping[str, str] = (
        {}
        if each or has_both or tasks_count == 1
        else _unknown(version, int(table[1]), rates, quoted=bool(_QUOTED.search(text)))
    )
    rates_of = [
        (name, *_iterations(int(table[1]), each.get(name), *map(float, numbers)))
        for name, *numbers in _RATE.findall(rates)
    ]
    if not rates_of:
        raise ValueError("mdtest's table has no rates that can be read")
    fastest = (WORK.fastest_rank(),) if not each and tasks_count > 1 and _number(version) < (3, 3) else ()
    spent = _TIMES.search(text)
    alone = spent if table[1] == "1" else None  # of several iterations, only the mean time is known
    times = {name: float(most) for name, most, _, _ in _RATE.findall(alone[0])} if alone else {}
    if walls and not times and _mixed(walls, int(table[1]), rates):
        raise ValueError(WALLS)
    measured = list(_measured(rates_of, times, items_count))
    all_took_s, span_s = sum(took_s for *_, took_s in measured), moment_s(ended[1], DATE, hints.zone) - at_s
    if not failures and all_took_s > span_s * (1 + SPAN_RATIO) + SPAN_S:
        raise ValueError(
            f"its rates and numbers of items make {all_took_s:.0f} s, and it ran {span_s:.0f} s: the items are others "
            "than it states (run it with -P, or without -x)"
        )
    # of more iterations than are listed, no time tells how long each was
    in_a_row = TIMES.mdtest_in_a_row(
        idle_s=idle_s(span_s, all_took_s) if int(table[1]) <= LISTED_COUNT else 0.0
    )
    for operation, doubts, count, took_s in measured:
        details = (
            *((f"{tasks_count} ranks",) if tasks_count > 1 else ()),
            f"{count} items",
            *options(command_of(text), NOT_LOAD),
        )
        work = (operation, details, None, str(PurePosixPath(path[1])) if path else "")
        moved = results(hosts, direction(operation), at_s, took_s, count)
        at_s += took_s
        if operation in failures:
            yield ImportedRun(*work, None, failures[operation])
            continue
        against = (in_a_row, *fastest, *shares, *doubts, *brief(took_s))
        yield ImportedRun(*work, Outcome(version, moved, against))


def _without_ranks(text: str) -> str:
    """Return a text whose tables have statistics over iterations alone."""
    if (head := _BOTH.search(text)) is None:
        return text
    over_ranks = (
        rf"^( +(?:Directory|File|Tree) \w+ *:?)(?: +(?:[\d.]+|inf|-?nan)){{{4 if head[2] else 3}}}(?= )"
    )
    return re.sub(over_ranks, r"\1", _BOTH.sub(r"\1\3\4   Std Dev", text), flags=re.MULTILINE)


def _measured(
    rates_of: Sequence[tuple[str, Sequence[float], tuple[Doubt, ...]]],
    times: Mapping[str, float],
    items_count: int,
) -> Iterator[tuple[str, tuple[Doubt, ...], int, float]]:
    """Return (operation, doubts, items, seconds) of each operation that ran, in their order.

    Args:
        rates_of: operations, each with its rate in each iteration and doubts about them.
        times: seconds by operation, where they are stated.
        items_count: of the others.
    """
    for iteration in range(max((len(values) for _, values, _ in rates_of), default=0)):
        for operation, values, doubts in rates_of:
            if iteration >= len(values) or not values[iteration]:
                continue
            rate = values[iteration]
            timed_count = rate * times[operation] if times.get(operation) else items_count
            agrees = abs(timed_count - items_count) <= rate * ROUNDED_S + 1
            count = items_count if agrees else round(timed_count)
            took_s = count / rate
            took_s = 0.0 if isnan(took_s) else took_s  # of a mean over what took no time
            yield operation, doubts, count, took_s


def _mixed(walls: Sequence[int], iterations_count: int, rates: str) -> bool:
    """Return whether a stonewall leaves open how many items an operation of the table had: that of files does not
    hold for directories, and that of an iteration not for others.
    """
    kinds = {name.split()[0] for name, *numbers in _RATE.findall(rates) if any(map(float, numbers))}
    return len(kinds) > 1 or len(set(walls)) > 1 or len(walls) != iterations_count


def _number(version: str) -> tuple[int, int]:
    """Return a version's first two numbers."""
    match = re.search(r"(?<!\d)(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _each(text: str, iterations_count: int, items_count: int) -> dict[str, list[float]]:
    """Return the rate of each iteration that a verbose mdtest prints, by operation; nothing if it does not
    print all of them.

    Args:
        text: above the table.
        iterations_count: of the whole output.
        items_count: of each operation; 0 if it is not the same for all.

    Raises:
        ValueError: rates and times contradict the number of items.
    """
    rates_of: dict[str, list[float]] = {}
    for name, took, rate in _EACH.findall(text):
        took_s, per_s = float(took), float(rate)
        unsure = SAME_RATIO * items_count + 0.5e-3 * per_s
        if items_count and per_s and abs(took_s * per_s - items_count) > unsure:
            raise ValueError(
                f"mdtest prints {rate} {name} a second for {items_count} items in {took} s: its verbose "
                "lines are wrong"
            )
        rates_of.setdefault(name, []).append(per_s)
    return rates_of if rates_of and all(len(rates) == iterations_count for rates in rates_of.values()) else {}


def _unknown(version: str, iterations_count: int, rates: str, *, quoted: bool) -> dict[str, str]:
    """Return which operations of several ranks have no known rate, and why: where their numbers can't be of
    iterations, or the version makes them others. Of a single iteration, statistics over ranks that agree are its rate.

    Args:
        version: of mdtest; that of IOR 3.2 calls itself 1.9.3, as its forerunner does.
        iterations_count: of the table.
        rates: the table.
        quoted: whether the command line has quotes, as that of IOR 3.2.
    """
    rows = {name: tuple(map(float, numbers)) for name, *numbers in _RATE.findall(rates)}
    if iterations_count == 1:
        apart = (name for name, (most, least, _) in rows.items() if most - least > SAME_RANKS_RATIO * most)
        return dict.fromkeys(apart, RANKS)
    if quoted and _number(version) == (1, 9):
        return dict.fromkeys(rows, MIXED_UP)
    unfit = iterations_count <= LISTED_COUNT and any(
        not _fits(iterations_count, *row) for row in rows.values() if all(map(isfinite, row))
    )
    return dict.fromkeys(rows, RANKS) if unfit or _number(version) == (3, 3) else {}


def _fits(iterations_count: int, most: float, least: float, mean: float) -> bool:
    """Return whether highest, lowest and mean can be of two or three iterations."""
    remainder = iterations_count * mean - most - least
    unsure = 0.0005 * (iterations_count + 2)
    return abs(remainder) <= unsure if iterations_count == 2 else least - unsure <= remainder <= most + unsure


def _iterations(
    count: int, each: Sequence[float] | None, most: float, least: float, mean: float
) -> tuple[tuple[float, ...], tuple[Doubt, ...]]:
    """Return the rate of each iteration, as stated, or as far as highest, lowest and mean determine it: of
    up to three, all.
    """
    if each:
        return tuple(each), ()
    if count == 1:  # of ranks, the slowest ends it
        return (least,), ()
    order = DERIVED.iterations_unordered()
    if count == 2:
        return (most, least), (order,)
    if count == 3 and least > 0:
        return (most, least, 3 * mean - most - least), (order,)
    return (mean,), (REPETITIONS.mean_only(count=count),)
