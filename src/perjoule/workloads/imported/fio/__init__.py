"""fio's JSON, from any run: jobs that ran at once are one run. https://fio.readthedocs.io (fio 3.0 to 3.41)

`placing` computes when each job ran, `load` what distinguishes one load from another.
"""

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import IN_FLIGHT, TIMES, WORK, Doubt
from perjoule.workloads import fio
from perjoule.workloads._embedded import documents
from perjoule.workloads.imported.fio.load import ReportedJob, details, sizes, unflushed
from perjoule.workloads.imported.fio.placing import PlacedJob, batches, placed
from perjoule.workloads.imported.run import ImportedRun, Told

SAME_RATIO = 0.03  # by which a rate may differ from amount and time
# between the starts of the reports of one status interval: a time rounded down, less one rounded up
SAME_RUN_S = 1.5
STOPPED = "interrupted"  # our own key in a report
_PLACE = ("hostname", "port")  # of a server, as a client tells it
_BEGIN = re.compile(r'"fio version"\s*:')
_INTERRUPTED = re.compile(r"^fio: terminating on signal", re.MULTILINE)
_VERSION = re.compile(r"fio-(\d+)")


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all runs of an output, which may hold several reports. Raises ValueError, LookupError."""
    reports = list(documents(text, "fio version"))
    begins = [match.start() for match in _BEGIN.finditer(text)]
    for interruption in _INTERRUPTED.finditer(text):  # which fio says before it reports
        reports[min(bisect(begins, interruption.start()), len(reports) - 1)][STOPPED] = True
    return tuple(
        replace(run, outcome=None, failure="fio was interrupted") if report.get(STOPPED) else run
        for report in _last_of_each(reports)
        for run in _report(report, hints)
    )


def _last_of_each(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the reports of a status interval that a later one of the same run replaces."""
    latest: list[dict[str, Any]] = []
    for report in reports:
        _check_version(report)
        if latest and _goes_on(latest[-1], report):
            latest.pop()
        latest.append(report)
    return latest


def _goes_on(before: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Return whether a report is a later one of the same run, whose amounts only grow once a ramp has ended."""
    if _names(before) != _names(report) or abs(_began_s(before) - _began_s(report)) > SAME_RUN_S:
        return False
    options = [{**_common(report, entry), **entry.get("job options", {})} for entry in _entries(report)]
    return any("ramp_time" in given for given in options) or all(
        earlier <= later
        for earlier_entry, later_entry in zip(_entries(before), _entries(report), strict=True)
        for earlier, later in zip(_so_far(earlier_entry), _so_far(later_entry), strict=True)
    )


def _so_far(entry: Mapping[str, Any]) -> tuple[float, ...]:
    ways = [entry.get(direction, {}) for direction in ("read", "write", "mixed")]
    return (entry.get("job_runtime", 0), *(way.get("io_bytes", 0) for way in ways))


def _check_version(report: Mapping[str, Any]) -> None:
    version = _VERSION.match(str(report["fio version"]))
    if (
        version
        and int(version[1]) < 3
        and not any("lat_ns" in job.get("read", {}) for job in _entries(report))
    ):
        raise ValueError(
            f"it is a report of {report['fio version']}, whose amounts are KiB and whose times are "
            "microseconds: fio 2 is not supported, measure with fio 3"
        )


def _entries(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    return report.get("jobs") or report.get("client_stats") or []


def _names(report: Mapping[str, Any]) -> list[object]:
    return [entry["jobname"] for entry in _entries(report)]


def _began_s(report: Mapping[str, Any]) -> float:
    """Return when the run of a report began."""
    took_s = max(
        (entry.get("elapsed") or entry.get("job_runtime", 0) / 1e3 for entry in _entries(report)), default=0.0
    )
    return float(report.get("timestamp", 0)) - (0.0 if _served(report) else took_s)


def _served(report: Mapping[str, Any]) -> bool:
    """Return whether it is a client's, who dates it when it tells its servers to begin (fio_start_all_clients)."""
    return "client_stats" in report


def _common(report: Mapping[str, Any], entry: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the options of all jobs of an entry's server: a newer client of several servers has a table for each."""
    options: Any = report.get("global options", {})
    if not isinstance(options, list):
        return options
    tables = cast("list[Mapping[str, str]]", options)
    own = [table for table in tables if _place(table) == _place(entry)]
    return {name: value for table in own for name, value in table.items() if name not in _PLACE}


def _place(table: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(table.get(name) for name in _PLACE)


def _report(report: Mapping[str, Any], hints: Told) -> tuple[ImportedRun, ...]:
    entries = [_divided(_agreed(_counted(entry))) for entry in fio.jobs_of(report)]
    exact, served = "timestamp_ms" in report, _served(report)
    dated_s = report["timestamp_ms"] / 1e3 if exact else float(report["timestamp"])
    doubts: tuple[Doubt, ...] = () if exact or served else (TIMES.fio_to_a_second(),)
    laid: list[PlacedJob] = []
    for host, host_entries in _by_host(entries, hints, several=served).items():
        reported = [ReportedJob.of(host, entry, _common(report, entry)) for entry in host_entries]
        jobs, placement = placed(reported, dated_s, at_begin=served)
        laid += jobs
        doubts += placement
    doubts = tuple(dict.fromkeys(doubts))
    return tuple(_run(str(report["fio version"]), batch, doubts) for batch in batches(laid))


def _counted(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job whose amounts are whole numbers, which programs that rewrote a report may print as 8.388608e+06.

    Raises ValueError: one is a fraction.
    """
    whole: dict[str, Any] = {}
    for direction in set(entry) & {"read", "write", "mixed"}:
        counts: dict[str, Any] = dict(entry[direction])
        for name in set(counts) & {"io_bytes", "total_ios"}:
            if isinstance(counts[name], float):
                if not counts[name].is_integer():
                    raise ValueError(
                        f"its {name} of {direction}s is {counts[name]}, which is no whole number"
                    )
                counts[name] = int(counts[name])
        whole[direction] = counts
    return {**entry, **whole}


def _agreed(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job whose amounts, times and rates agree. Raises ValueError: they contradict each other."""
    for direction in ("read", "write", "mixed"):
        counts = entry.get(direction, {})
        # a rate of 0 beside calls is one that nobody filled in, as in reports that other programs write
        has_rates = any(counts.get(rate) for rate in ("bw", "iops"))
        if not (counts.get("runtime") and has_rates):
            continue
        for amount, rate, per in (("io_bytes", "bw", 1024), ("total_ios", "iops", 1)):
            counted_rate = counts[amount] / per / (counts["runtime"] / 1e3)
            if rate in counts and abs(counted_rate - counts[rate]) > 1 + SAME_RATIO * counted_rate:
                raise ValueError(
                    f"its {amount} and runtime of {direction}s make {counted_rate:.6g}, and its {rate} is "
                    f"{counts[rate]:.6g}: it was changed, or is damaged"
                )
    return entry


def _divided(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job by directions. With unified_rw_reporting, all it did is "mixed".

    Raises ValueError: they are lost.
    """
    if "mixed" not in entry or "write" in entry:
        return entry
    operation = str(entry.get("job options", {}).get("rw", "")).removeprefix("rand")
    if operation not in ("read", "write"):
        raise ValueError(
            "it sums up reads and writes (unified_rw_reporting=1): measure without that option, or with both"
        )
    nothing = {**entry["mixed"], "io_bytes": 0, "total_ios": 0, "runtime": 0}
    return {**entry, "read": nothing, "write": nothing, operation: entry["mixed"]}


def _idle(jobs: Sequence[ReportedJob]) -> str:
    """Say of jobs that neither wrote nor read what they did."""
    trimmed = any(job.entry.get("trim", {}).get("io_bytes") for job in jobs)
    return "fio moved nothing, as it trimmed alone" if trimmed else "fio moved nothing"


def _by_host(
    entries: Sequence[Mapping[str, Any]], hints: Told, *, several: bool
) -> dict[str, list[Mapping[str, Any]]]:
    """Return the jobs of each client. Servers on one address differ in their ports.

    Raises ValueError: they have no names.
    """
    if several and len(entries) > 1 and not all(entry.get("hostname") for entry in entries):
        if len(hints.clients) != len(entries):
            raise ValueError(
                f"it does not name the servers of its {len(entries)} jobs: name the client of each, in order "
                "(CLIENT,CLIENT=FILE), or measure with a newer fio"
            )
        return {client: [entry] for client, entry in zip(hints.clients, entries, strict=True)}
    places = list(dict.fromkeys((str(entry.get("hostname", "")), entry.get("port", 0)) for entry in entries))
    hosts = [host for host, _ in places]
    names = [host if hosts.count(host) == 1 else f"{host}:{port}" for host, port in places]
    clients = hints.hosts("", len(places)) if hints.clients or names == [""] else names
    by_client: dict[str, list[Mapping[str, Any]]] = {client: [] for client in clients}
    for entry in entries:
        by_client[clients[places.index((str(entry.get("hostname", "")), entry.get("port", 0)))]].append(entry)
    return by_client


def _ended_by(job: ReportedJob) -> int:
    """Return the error that ended a job; 0 if it went on after its errors, of which fio then states the first."""
    error, went_on = int(job.entry["error"]), job.entry.get("total_err")
    return 0 if went_on and error == job.entry.get("first_error") else error


def _run(version: str, batch: Sequence[PlacedJob], doubts: tuple[Doubt, ...]) -> ImportedRun:
    jobs = [member.job for member in batch]
    failed = next((error for job in jobs if (error := _ended_by(job))), 0)
    unclear = next((member.unclear for member in batch if member.unclear), "")
    if any(job.options.get("ioengine") == "null" for job in jobs):
        unclear = "fio's engine null only counts, and moves nothing: measure with another one"
    results: tuple[ClientResult, ...] = ()
    against: list[Doubt] = []
    for host in dict.fromkeys(job.host for job in jobs):
        host_jobs = [member for member in batch if member.job.host == host]
        # what does the same at once is one load, whatever the jobs are called
        parts = [
            ({**entry, "jobname": member.job.operation}, start_s)
            for member in host_jobs
            for entry, start_s in member.parts()
        ]
        moved = fio.placed_results(host, [entry for entry, _ in parts], [start_s for _, start_s in parts])
        results += moved
        if moved:
            errors_count = sum(member.job.entry.get("total_err", 0) for member in host_jobs)
            if errors_count and not failed:
                against.append(WORK.errors(host=host, count=errors_count))
    if any(unflushed(job) for job in jobs):
        against.append(IN_FLIGHT.not_flushed(program="fio"))
    outcome = None
    if results and not failed and not unclear:
        all_doubts = (
            *doubts,
            *(doubt for member in batch for doubt in member.doubts),
            *against,
            *fio.doubts(results),
        )
        outcome = Outcome(version, results, tuple(dict.fromkeys(all_doubts)))
    return ImportedRun(
        operation="+".join(dict.fromkeys(job.operation for job in jobs)),
        details=details(jobs),
        transfer_bytes=sizes(jobs)[1],
        folder=next(
            (job.options[key] for key in ("directory", "filename") for job in jobs if job.options.get(key)),
            "",
        ),
        outcome=outcome,
        failure=f"fio failed (error {failed})" if failed else unclear or ("" if outcome else _idle(jobs)),
    )
