"""What fio leaves behind, read: pure functions from its JSON and logs (fio 3.33) to the words of `perjoule.model`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

import numpy as np

from perjoule.errors import TransientError, WorkloadError
from perjoule.model import Channel, ClientResult, Series

DIRECTIONS: tuple[Literal["write", "read"], ...] = ("write", "read")
SHORTEST_S = 0.1  # fio counts whole milliseconds: below this they are more than 1 %
UNSURE_S = 0.01  # what fio's report may lack of the duration asked for
MERGED_S = 0.1  # a shorter last window joins the one before: one transfer would look like a burst
# EIO, ENODEV, ENOTCONN, ECONNREFUSED, ESTALE, ETIMEDOUT, ECONNABORTED: a mount whose daemon went away
TRANSIENT_ERRNOS = frozenset({5, 19, 103, 107, 110, 111, 116})


def job(text: str) -> Mapping[str, Any]:
    """Find the one job in a JSON report; warnings may precede the first brace.

    Raises:
        ValueError: the report is missing or truncated.
    """
    begin = re.search(r"^\{", text, re.MULTILINE)
    if begin is None:
        raise ValueError("fio left no report")
    try:
        report, _ = json.JSONDecoder().raw_decode(text, begin.start())
        found = cast("Mapping[str, Any]", (report.get("jobs") or report["client_stats"])[0])
    except (json.JSONDecodeError, LookupError) as error:
        raise ValueError(f"fio's report is truncated or empty ({error})") from error
    return {"fio version": report["fio version"], **found}


def words(report: str, log: str) -> str:
    """Give fio's own last words: what precedes its JSON, and its stderr."""
    begin = re.search(r"^\{", report, re.MULTILINE)
    lines = (report[: begin.start()] if begin else report).splitlines() + log.splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.startswith("note:")]
    return " | ".join(dict.fromkeys(said[-3:])) or "it said nothing"


def check(client: str, returncode: int, report: str, log: str) -> None:
    """Judge how one fio ended. After a failure its `io_bytes` still count the transfer that failed, so only this decides.

    Raises:
        TransientError: I/O errors as of a mount whose daemon is gone.
        WorkloadError: any other failure, an interruption (exit code 128 with `error` 0) or a missing report.
    """
    try:
        found = job(report)
        errno = int(found["error"])
        missing = ""
    except ValueError as error:
        errno, missing = 0, str(error)
    if returncode == 0 and errno == 0 and not missing:
        return
    how = "fio was interrupted" if returncode == 128 and not errno else f"fio failed (exit code {returncode}, error {errno})"
    what = f"{missing if returncode == 0 and missing else how}: {words(report, log)}"
    if errno in TRANSIENT_ERRNOS:
        raise TransientError(what, where=client, next="look at the file system's logs, kept with the trial")
    raise WorkloadError(what, where=client, next="fio's whole output is kept with the trial")


def results(host: str, found: Mapping[str, Any], began_s: float) -> tuple[ClientResult, ...]:
    """Read what one client moved, in each direction that moved anything; bytes exact, times to 1 ms.

    fio's runtime counts from its first I/O to the end of the closing fsync.
    """
    return tuple(
        ClientResult(
            host=host,
            direction=direction,
            began_s=began_s,
            ended_s=began_s + found[direction]["runtime"] / 1e3,
            moved_bytes=found[direction]["io_bytes"],
            operations_count=found[direction]["total_ios"],
            latency_s=_latency_s(found[direction]),
        )
        for direction in DIRECTIONS
        if found[direction]["io_bytes"]
    )


def _latency_s(one: Mapping[str, Any]) -> dict[str, float]:
    latency = one["lat_ns"] if "percentile" in one["lat_ns"] else one["clat_ns"]
    percentiles = {float(key): value for key, value in latency.get("percentile", {}).items()}
    wanted = {f"p{p:g}": percentiles[p] for p in (50, 95, 99, 99.9) if p in percentiles}
    return {name: ns / 1e9 for name, ns in {"mean": latency["mean"], **wanted, "max": latency["max"]}.items()}


def goodput(log: str, moved: tuple[ClientResult, ...], offset_s: float) -> Series:
    """Read the bandwidth log of one client (`log_avg_msec`, `log_unix_epoch`): both directions together.

    `value` is BYTES PER SECOND over the sample's own window, of `duration_s` ending at `t_s`, although the channel's unit says
    "B": sum(value * duration_s) is what the client moved. fio logs no last, partial window; what the log lacks of `moved` is
    put there, so that closing fsync and last transfers count.

    Args:
        log: lines "UTC ms, KiB/s, direction, block size, offset".
        moved: the client's results, in the monotonic clock.
        offset_s: the monotonic clock minus UTC.
    """
    began_s, ended_s = moved[0].began_s, max(one.ended_s for one in moved)
    rates: dict[float, float] = {}
    for utc_ms, kib_per_s in _samples(log):
        t_s = utc_ms / 1e3 + offset_s
        if began_s < t_s <= ended_s:
            rates[t_s] = rates.get(t_s, 0.0) + kib_per_s * 1024
    t_s = np.array(sorted(rates), dtype=np.float64)
    value = np.array([rates[t] for t in sorted(rates)], dtype=np.float64)
    logged_bytes = value * np.diff(t_s, prepend=began_s)
    rest_bytes = max(0.0, sum(one.moved_bytes for one in moved) - float(logged_bytes.sum()))
    if len(t_s) and ended_s - t_s[-1] < MERGED_S:
        t_s[-1] = ended_s
        logged_bytes[-1] += rest_bytes
    else:
        t_s, logged_bytes = np.append(t_s, ended_s), np.append(logged_bytes, rest_bytes)
    duration_s = np.diff(t_s, prepend=began_s)
    channel = Channel("fio", moved[0].host, "all", "goodput", "B", "window mean", "counter")
    return Series(channel, t_s, duration_s, logged_bytes / duration_s)


def _samples(log: str) -> Iterator[tuple[float, float]]:
    for line in log.splitlines():
        fields = line.split(",")
        if len(fields) >= 3:  # a line that a killed fio tore has fewer
            yield float(fields[0]), float(fields[1])


def doubts(moved: tuple[ClientResult, ...], clock_drift_s: float) -> tuple[str, ...]:
    """Say what fio alone can tell against a run: a window too short to time, a clock that moved."""
    shortest_s = min(one.ended_s - one.began_s for one in moved)
    found: list[str] = []
    if shortest_s < SHORTEST_S:
        found.append(f"a client ran only {shortest_s * 1e3:.0f} ms, which fio times to 1 ms")
    if abs(clock_drift_s) > 0.05:
        found.append(f"the clock was set by {clock_drift_s:+.3g} s during the run: starts and ends are as uncertain")
    return tuple(found)


def ended_by_text(ended_by: Mapping[str, str]) -> str:
    """Say which limit came first: "ended by duration", or of which clients it was which."""
    groups = {limit: [client for client, by in ended_by.items() if by == limit] for limit in ("size", "duration")}
    if all(groups.values()):
        return "; ".join(f"{', '.join(clients)} ended by {limit}" for limit, clients in groups.items())
    return next(f"ended by {limit}" for limit, clients in groups.items() if clients)
