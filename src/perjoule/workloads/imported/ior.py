"""IOR's JSON, from any run: each operation of each iteration is a run. https://ior.readthedocs.io (IOR 4.1)

It reports the start of a test to a second, in local time, and how long each operation took; operations are
placed one after the other.
"""

from collections.abc import Iterator
from math import isfinite
from pathlib import PurePosixPath
from typing import Any, Literal

from perjoule.model import Outcome
from perjoule.model.doubts import DERIVED, TIMES, Doubt
from perjoule.model.units import MIB
from perjoule.workloads import ior
from perjoule.workloads._embedded import documents
from perjoule.workloads.imported.ior_text import COMMENCING, DATE, MOVED, NOT_LOAD, unflushed
from perjoule.workloads.imported.run import ImportedRun, Told, idle_s, moment_s, options

ROUNDED_S = 1e-4
WORDS = {  # of parameters, of which a script may set any
    "fsync": "fsync",
    "fsyncperwrite": "fsync per write",
    "reorderTasks": "reordered",
    "reorderTasksRandom": "reordered at random",
    "randomOffset": "random",
    "collective": "collective",
    "multiFile": "a file per repetition",
    "checkWrite": "write checked",
    "checkRead": "read checked",
    "stoneWallingWearOut": "wear out",
    "uniqueDir": "a folder per file",
}


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all runs of a summary; warnings may stand inside it. Raises ValueError, LookupError."""
    moved_counts = [int(count) for count in MOVED.findall(text)]
    tests: list[tuple[str, dict[str, Any]]] = [
        (
            f"IOR-{document['Version']}",
            {**test, "command": str(document.get("Command line", "")), "ended": end},
        )
        for document in documents(text, "tests")
        for test, end in zip(document["tests"], _ends(document), strict=False)
    ]
    starts = COMMENCING.findall(text)  # with -v
    ways = [
        document["access"]
        for _, test in tests
        for document in test["Results"]
        if document["access"] in ("write", "read")
    ]
    dates = iter([date for _, date in starts]) if [direction for direction, _ in starts] == ways else None
    return tuple(
        run for version, test in tests for run in _test(version, test, text, moved_counts, dates, hints)
    )


def _test(
    version: str,
    test: dict[str, Any],
    text: str,
    moved_counts: list[int],
    dates: Iterator[str] | None,
    hints: Told,
) -> Iterator[ImportedRun]:
    parameters, how = test["Parameters"], test["Options"]
    nodes_count = int(how["nodes"])
    hosts = hints.hosts(str(parameters["platform"]).partition("(")[0], nodes_count)
    whole_bytes = int(how["tasks"]) * int(parameters["segmentCount"]) * int(parameters["blockSize"])
    folder = str(PurePosixPath(str(parameters["testFileName"])).parent)
    at_s = moment_s(test["StartTime"], DATE, hints.zone)
    ended_s = moment_s(test["ended"], DATE, hints.zone) if test["ended"] else at_s
    unplaced_s = idle_s(ended_s - at_s, sum(float(r.get("totalTime") or 0.0) for r in test["Results"]))
    for result in test["Results"]:
        took_s = float(result.get("totalTime") or 0.0)
        if result["access"] not in ("write", "read"):
            at_s += took_s
            continue
        operation: Literal["write", "read"] = result["access"]
        at_s = moment_s(next(dates), DATE, hints.zone) if dates else at_s
        work = (
            operation,
            (*_details(parameters, how), *options(test["command"], NOT_LOAD)),
            int(parameters["transferSize"]),
            folder,
        )
        if not (rate_mib_per_s := float(result["bwMiB"] or 0.0)) or not took_s:
            yield ImportedRun(*work, None, "IOR moved nothing in it, or it was too short for IOR to time")
            at_s += took_s if isfinite(took_s) else 0.0
            continue
        moved_bytes, doubts = _moved(rate_mib_per_s, took_s, (whole_bytes, *moved_counts))
        took_s = moved_bytes / (rate_mib_per_s * MIB)  # which has more digits than the time
        windows = dict.fromkeys(hosts, (at_s, at_s + took_s))
        at_s += took_s
        results = ior.results(windows, operation, moved_bytes, int(parameters["transferSize"]))
        if nodes_count > 1:
            doubts += (DERIVED.equal_shares(program="IOR"),)
        if not any(parameters.get(name) for name in ("fsync", "fsyncperwrite", "useO_DIRECT")):
            doubts += unflushed(operation, str(parameters["api"]), test["command"])
        against = (
            TIMES.ior_to_a_second() if dates else TIMES.ior_in_a_row(idle_s=unplaced_s),
            *doubts,
            *ior.doubts(text, results, equal=True),
        )
        yield ImportedRun(*work, Outcome(version, results, against))


def _ends(document: dict[str, Any]) -> list[str]:
    """Return when each test of a summary ended: when the next one began, or the whole did; "" if that lacks."""
    return [*(str(test["StartTime"]) for test in document["tests"][1:]), str(document.get("Finished", ""))]


def _moved(
    rate_mib_per_s: float, took_s: float, candidates: tuple[int, ...]
) -> tuple[int, tuple[Doubt, ...]]:
    """Return the bytes of an operation: of the known candidates, the one on which rate and time agree."""
    for count in candidates:
        if abs(count / (rate_mib_per_s * MIB) - took_s) <= ROUNDED_S + 1e-3 * took_s:
            return count, ()
    return round(rate_mib_per_s * MIB * took_s), (DERIVED.ior_amount(digits="0.1 ms"),)


def _details(parameters: dict[str, Any], how: dict[str, Any]) -> Iterator[str]:
    tasks_count = int(how["tasks"])
    if tasks_count > 1:
        yield f"{tasks_count} ranks"
    yield from filter(
        None,
        (
            str(parameters["api"]) if parameters["api"] != "POSIX" else "",
            "" if parameters["filePerProc"] else "shared file",
        ),
    )
    total_bytes = int(parameters["segmentCount"]) * int(parameters["blockSize"])
    yield f"{total_bytes / MIB:g} MiB per rank"
    yield from (meaning for key, meaning in WORDS.items() if parameters.get(key))
    if parameters.get("deadlineForStonewall"):
        yield f"stonewall {parameters['deadlineForStonewall']} s"
