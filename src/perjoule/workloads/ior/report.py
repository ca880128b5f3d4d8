"""Parsers of IOR's output: pure functions from its JSON summary and its log (IOR 4.1) to values of
`perjoule.model`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from perjoule.machine.untrusted import json_from
from perjoule.model import ClientResult
from perjoule.model.doubts import DERIVED, TIMES, WORK, Doubt
from perjoule.model.units import MIB
from perjoule.workloads._raw import LATE_S

SHORTEST_S = 0.1
ROUNDED_MIB = 1e-4
# With -vvv every rank reports its times in UTC, to the microsecond.
_MOMENT = re.compile(
    r"^Test 0: Iter=0, Task=(\d+), Time=([\d.]+), (write|read) (open start|close stop)$", re.MULTILINE
)
_MOVED = re.compile(r"^WARNING: Using actual aggregate bytes moved = (\d+)", re.MULTILINE)
_WARNING = re.compile(r"^WARNING: (.*\S)", re.MULTILINE)
# Of a stonewalled run, whose bytes are taken as moved anyway; and of a file that is read in another size than
# it has.
_EXPECTED = (
    "Expected aggregate file size",
    "Stat() of aggregate file size",
    "Using actual aggregate bytes",
    "Maybe caused by",
)


@dataclass(frozen=True)
class IorSummary:
    """The JSON summary of all ranks together."""

    version: str
    moved_mib: float  # to four digits after the point


def summary(text: str) -> IorSummary:
    """Parse the summary file. On standard output, warnings may be inside the JSON; in the file they are not.

    Raises:
        ValueError: it is truncated.
        LookupError: it is something else.
    """
    document = json_from(text)
    return IorSummary(f"IOR-{document['Version']}", float(document["summary"][0]["xsizeMiB"]))


def moved_bytes(summary_of: IorSummary, log: str, wanted_bytes: int) -> int:
    """Return the bytes of all ranks: from the log if they differ from the expected ones, a comparison that
    IOR makes itself.

    Raises:
        ValueError: the summary, within its rounding, contradicts it.
    """
    exact = _MOVED.search(log)
    moved = int(exact[1]) if exact else wanted_bytes
    if abs(moved / MIB - summary_of.moved_mib) > ROUNDED_MIB:
        raise ValueError(f"the log reports {moved / MIB:.4f} MiB, the summary {summary_of.moved_mib:.4f} MiB")
    return moved


def windows(
    log: str, operation: Literal["write", "read"], client_of: Mapping[int, str], offset_s: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return each client's window, from the first open of its ranks to the last close, in the monotonic
    clock.

    Args:
        log: of all ranks.
        operation: the one measured.
        client_of: the client of each rank.
        offset_s: the monotonic clock minus the UTC of each client's own clock.

    Raises:
        ValueError: a rank's times are missing.
    """
    moments: dict[tuple[int, str], float] = {
        (int(rank), moment): float(utc_s) + offset_s[client_of[int(rank)]]
        for rank, utc_s, direction, moment in _MOMENT.findall(log)
        if direction == operation and int(rank) in client_of
    }
    expected = {(rank, moment) for rank in client_of for moment in ("open start", "close stop")}
    if missing := expected - moments.keys():
        rank, moment = min(missing)
        raise ValueError(f"rank {rank} did not report its {operation} {moment}")
    return {
        client: (
            min(moments[rank, "open start"] for rank, of in client_of.items() if of == client),
            max(moments[rank, "close stop"] for rank, of in client_of.items() if of == client),
        )
        for client in dict.fromkeys(client_of.values())
    }


def results(
    window_of: Mapping[str, tuple[float, float]],
    operation: Literal["write", "read"],
    total_bytes: int,
    transfer_bytes: int,
) -> tuple[ClientResult, ...]:
    """Give each client an equal share of the bytes; IOR reports only their sum."""
    share_bytes, rest_bytes = divmod(total_bytes, len(window_of))
    return tuple(
        ClientResult(
            host=client,
            direction=operation,
            began_s=began_s,
            ended_s=ended_s,
            moved_bytes=(own_bytes := share_bytes + (number < rest_bytes)),
            operations_count=-(-own_bytes // transfer_bytes),
        )
        for number, (client, (began_s, ended_s)) in enumerate(window_of.items())
    )


def doubts(log: str, results: tuple[ClientResult, ...], *, equal: bool) -> tuple[Doubt, ...]:
    """Return doubts from IOR's own data; `equal` is whether all ranks moved the same."""
    doubts_of = [
        WORK.ior_warned(warning=warning)
        for warning in _WARNING.findall(log)
        if not warning.startswith(_EXPECTED)
    ]
    first = min(results, key=lambda result: result.began_s)  # ranks leave MPI's barrier one by one
    for result in results:
        if (late_s := result.began_s - first.began_s) > LATE_S:
            doubts_of.append(TIMES.opened_late(host=result.host, late_s=late_s, client=first.host))
    shortest_s = min(result.ended_s - result.began_s for result in results)
    if shortest_s < SHORTEST_S:
        doubts_of.append(TIMES.short(shortest_s=shortest_s))
    if not equal and len(results) > 1:
        doubts_of.append(DERIVED.stonewalled())
    return tuple(dict.fromkeys(doubts_of))
