"""Parsers of fio's output: pure functions from its JSON and logs (fio 3.33) to values of `perjoule.model`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, cast

from perjoule.machine.untrusted import check_size, json_at
from perjoule.model import Channel, ClientResult, Series
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import MountLost, ProgramFailed, UnexpectedOutput
from perjoule.model.series import Floats
from perjoule.workloads._running import last_words

DIRECTIONS: tuple[Literal["write", "read"], ...] = ("write", "read")
PERCENTILES = (50, 95, 99, 99.9)  # those used, if a job does not list its own
SHORTEST_S = 0.1  # fio counts whole milliseconds: below this they are more than 1 %
UNSURE_S = 0.01  # by which fio's report may fall short of the requested duration
AVERAGED_S = 0.5  # length of the bandwidth log's samples, as requested
ROUNDED_S = 0.01  # how early two of its samples may come
# by which it may exceed the bytes moved: whole milliseconds and KiB/s, and fio's own start
ROUNDED_RATIO = 0.02
MERGED_S = 0.1  # a shorter last window joins the one before: one transfer would look like a burst
# EIO, ENODEV, ENOTCONN, ECONNREFUSED, ESTALE, ETIMEDOUT, ECONNABORTED: a mount whose daemon went away
TRANSIENT_ERRNOS = frozenset({5, 19, 103, 107, 110, 111, 116})
# What a load may continue after: these but ENODEV, which is a disk's, with ECONNRESET, EHOSTDOWN,
# EHOSTUNREACH, and ERANGE, as which pvfs2fuse reports a transfer that broke off
TOLERATED = "5:34:103:104:107:110:111:112:113:116"
KEPT = "fio's full output is kept with the trial"
_BEGIN = re.compile(r"^\{", re.MULTILINE)


def documents(text: str) -> list[Mapping[str, Any]]:
    """Find the JSON reports in fio's output: one, or several with a status interval; warnings may precede
    each.

    Raises:
        ValueError: the first is missing or truncated. (A later one may still be being written.)
    """
    check_size(text)
    reports: list[Mapping[str, Any]] = []
    begin = _BEGIN.search(text)
    while begin is not None:
        try:
            report, end = json_at(text, begin.start())
        except ValueError as error:
            if not reports:
                raise ValueError(f"fio's report is truncated or empty ({error})") from error
            break
        reports.append(cast("Mapping[str, Any]", report))
        begin = _BEGIN.search(text, end)
    if not reports:
        raise ValueError("fio left no report")
    return reports


def jobs(text: str) -> Sequence[Mapping[str, Any]]:
    """Find the jobs in the last report, each with fio's version; the sum of all clients is not one.

    Raises ValueError.
    """
    return jobs_of(documents(text)[-1])


def jobs_of(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Find the jobs of a report, as `jobs` does. Raises ValueError."""
    entries = cast("list[Mapping[str, Any]]", report.get("jobs") or report.get("client_stats") or [])
    common = {key: report.get(key, {}) for key in ("fio version", "timestamp_ms")}
    jobs_found = [{**common, **entry} for entry in entries if entry["jobname"] != "All clients"]
    if not jobs_found:
        raise ValueError("fio's report is truncated or empty (it contains no job)")
    return jobs_found


def job(text: str, name: str = "") -> Mapping[str, Any]:
    """Find the job of this name in the last report, or the first job. Raises ValueError."""
    for entry in jobs(text):
        if not name or entry["jobname"] == name:
            return entry
    raise ValueError(f"fio's report does not name {name}")


def words(report: str, log: str) -> str:
    """Return fio's last message: the text before its JSON, and its stderr."""
    begin = _BEGIN.search(report)
    lines = (report[: begin.start()] if begin else report).splitlines() + log.splitlines()
    return last_words("\n".join(line for line in lines if not line.startswith("note:")))


def check(client: str, returncode: int, report: str, log: str, *, stopped: bool = False) -> None:
    """Judge how one fio ended. After a failure its `io_bytes` still count the transfer that failed, so only
    this decides.

    A job that was allowed to continue after errors has `total_err`, and the first of them as its `error`:
    then the exit code decides.

    Args:
        client: its host.
        returncode: 128 after a signal, with `error` 0 in the report.
        report: its JSON, after any warnings.
        log: its other output.
        asked: whether we sent that signal.

    Raises:
        TransientError: I/O errors as of a mount whose daemon is gone.
        WorkloadError: any other failure, an interruption or a missing report.
    """
    try:
        ended = [entry for entry in jobs(report) if returncode or not errors_count(entry)]
        errno, missing = next((error for entry in ended if (error := int(entry["error"]))), 0), ""
    except ValueError as error:
        errno, missing = 0, str(error)
    if not errno and not missing and (returncode == 0 or (stopped and returncode == 128)):
        return
    if returncode == 0 and missing:
        raise UnexpectedOutput(f"{missing}: {words(report, log)}", where=client, next=KEPT)
    if returncode == 128 and not errno:
        raise ProgramFailed(f"fio was interrupted: {words(report, log)}", where=client, next=KEPT)
    fail(client, returncode, errno, words(report, log))


def errors_count(job: Mapping[str, Any]) -> int:
    """Return how many calls failed in a job that was allowed to continue."""
    return job.get("total_err", 0)


def fail(client: str, returncode: int, errno: int, message: str) -> NoReturn:
    """Raise the error of a failed fio, with its message. Raises TransientError, WorkloadError."""
    problem = f"fio failed (exit code {returncode}, error {errno}): {message}"
    if errno in TRANSIENT_ERRNOS:
        raise MountLost(problem, where=client)
    raise ProgramFailed(problem, where=client, next=KEPT)


def results(host: str, entry: Mapping[str, Any], began_s: float) -> tuple[ClientResult, ...]:
    """Return the results of one client, in each direction that moved anything; bytes exact, times to 1 ms.

    fio's runtime counts from its first I/O to the end of the closing fsync. Its `total_ios` include calls
    that failed, its bytes and latencies don't; a job file may leave latencies out.
    """
    failed = bool(errors_count(entry))
    return tuple(
        ClientResult(
            host=host,
            direction=direction,
            began_s=began_s,
            ended_s=began_s + entry[direction]["runtime"] / 1e3,
            moved_bytes=entry[direction]["io_bytes"],
            operations_count=(entry[direction]["lat_ns"].get("N", 0) if failed else 0)
            or entry[direction]["total_ios"],
            latency_s=_latency_s(
                entry[direction], own_list="percentile_list" in entry.get("job options", {})
            ),
        )
        for direction in DIRECTIONS
        if entry[direction]["io_bytes"]
    )


def _latency_s(counts: Mapping[str, Any], *, own_list: bool) -> dict[str, float]:
    """Return what a job measured of its latencies: nothing with gtod_reduce, of which fio reports zeros."""
    latency = counts["lat_ns"] if "percentile" in counts["lat_ns"] else counts["clat_ns"]
    latency = latency if latency.get("max") else counts["lat_ns"]  # with disable_clat
    if not latency.get("max"):
        return {}
    percentiles = {float(key): value for key, value in latency.get("percentile", {}).items()}
    chosen_percentiles = {
        f"p{p:g}": percentiles[p] for p in (percentiles if own_list else PERCENTILES) if p in percentiles
    }
    return {
        name: ns / 1e9
        for name, ns in {"mean": latency["mean"], **chosen_percentiles, "max": latency["max"]}.items()
        if ns is not None
    }


def goodput(logs: Sequence[str], moved: Sequence[ClientResult], offset_s: float) -> Series | None:
    """Parse the bandwidth logs of one client (`log_avg_msec`, `log_unix_epoch`): all jobs and both directions
    together.

    `value` is the rate over the sample's own window, of `duration_s` ending at `t_s`: sum(value * duration_s)
    is the client's total. fio logs no last, partial window; whatever the logs lack of `moved` is added there,
    however much: after a stall most of a file may arrive at once. That window begins at fio's last look: of a
    read, the last half second after the last line that the load saw through, since no call had returned at a
    look without a line. During the closing fsync of writes fio doesn't look, so theirs is the half second
    right behind the last line. None if the logs hold more than `moved`.

    Args:
        logs: one per job: lines "UTC ms, KiB/s, direction, block size, offset".
        moved: the client's results, in the monotonic clock.
        offset_s: the monotonic clock minus UTC.
    """
    import numpy as np  # `perjoule check` only builds the driver

    began_s, ended_s = min(result.began_s for result in moved), max(result.ended_s for result in moved)
    lines = [line for log in logs for line in _lines(log, began_s, ended_s, offset_s)]
    moved_bytes = float(sum(result.moved_bytes for result in moved))
    unlogged_bytes = moved_bytes - sum(line[1][-1] for line in lines)
    if unlogged_bytes < -ROUNDED_RATIO * moved_bytes:
        return None
    t_s = np.unique(np.concatenate([np.empty(0), *(times[times > began_s] for times, _ in lines)]))
    so_far = sum((np.interp(t_s, times, total) for times, total in lines), np.zeros(len(t_s)))
    seen_s, seen_bytes = (t_s[-1], so_far[-1]) if len(t_s) else (began_s, 0.0)
    if len(t_s) and ended_s - seen_s < MERGED_S:
        t_s, so_far = t_s[:-1], so_far[:-1]
    elif unlogged_bytes > 0 and seen_s + AVERAGED_S + MERGED_S < ended_s:
        if all(result.direction == "read" for result in moved):
            looks_count = (ended_s - MERGED_S - seen_s) // AVERAGED_S
            t_s, so_far = np.append(t_s, seen_s + looks_count * AVERAGED_S), np.append(so_far, seen_bytes)
        elif len(t_s):  # what ended later would have been logged
            t_s, so_far = np.append(t_s, seen_s + AVERAGED_S), np.append(so_far, moved_bytes)
    if unlogged_bytes < 0:
        so_far *= moved_bytes / (moved_bytes - unlogged_bytes)
    t_s, so_far = np.append(t_s, ended_s), np.append(so_far, moved_bytes)
    duration_s = np.diff(t_s, prepend=began_s)
    channel = Channel("fio", moved[0].host, "all", "goodput", "B/s", "window mean", "counter")
    return Series(channel, t_s, duration_s, np.diff(so_far, prepend=0.0) / duration_s)


def _lines(log: str, began_s: float, ended_s: float, offset_s: float) -> list[tuple[Floats, Floats]]:
    """Return what a log reports over time, for each direction: times and bytes so far.

    fio looks every half second and divides the I/O that has ended since its last look by the time since. It
    logs no look at which nothing had ended, so after a stall a line's rate holds for its own half second, and
    not since the line before (https://github.com/axboe/fio/blob/fio-3.33/stat.c, `__add_samples`). A look may
    be late, and its window longer.
    """
    import numpy as np

    samples_of: dict[str, list[tuple[float, float]]] = {}
    for line in log.splitlines():
        fields = line.split(",")
        if len(fields) >= 3:  # a line that a killed fio tore has fewer
            samples_of.setdefault(fields[2].strip(), []).append(
                (float(fields[0]) / 1e3 + offset_s, float(fields[1]) * 1024)
            )
    lines: list[tuple[Floats, Floats]] = []
    for samples in samples_of.values():
        times, so_far = [began_s], [0.0]
        for t_s, rate_bytes_per_s in samples:
            if not times[-1] < t_s <= ended_s:
                continue
            since_s = t_s - times[-1]
            if since_s > 2 * AVERAGED_S - ROUNDED_S:
                times.append(t_s - AVERAGED_S)
                so_far.append(so_far[-1])
            so_far.append(so_far[-1] + rate_bytes_per_s * (t_s - times[-1]))
            times.append(t_s)
        if len(times) > 1:
            lines.append((np.array(times), np.array(so_far)))
    return lines


def doubts(moved: Sequence[ClientResult]) -> tuple[Doubt, ...]:
    """Return a doubt about a window too short to time."""
    shortest_s = min(result.ended_s - result.began_s for result in moved)
    return (TIMES.short_for_fio(shortest_s=shortest_s),) if shortest_s < SHORTEST_S else ()


def ended_by_text(ended_by: Mapping[str, str]) -> str:
    """Say which limit came first: "ended by duration", or for which clients each did."""
    groups = {
        limit: [client for client, by in ended_by.items() if by == limit] for limit in ("size", "duration")
    }
    if all(groups.values()):
        return "; ".join(f"{', '.join(clients)} ended by {limit}" for limit, clients in groups.items())
    return next(f"ended by {limit}" for limit, clients in groups.items() if clients)
