"""fio's JSON, from any run: jobs that ran at once are one run. https://fio.readthedocs.io (fio 3.0 to 3.41)

`placing` computes when each job ran, `load` what distinguishes one load from another.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import TIMES, WORK, Doubt
from perjoule.workloads import fio
from perjoule.workloads.imported.embedded import documents
from perjoule.workloads.imported.fio.load import Job, details, sizes
from perjoule.workloads.imported.fio.placing import Placed, batches, placed
from perjoule.workloads.imported.run import Run, Told

SAME_RUN_S = 3.0  # between the starts that the reports of one status interval state, to 1 s each
_VERSION = re.compile(r"fio-(\d+)")


def runs(text: str, told: Told) -> tuple[Run, ...]:
    """Read all runs of an output, which may hold several reports. Raises ValueError, LookupError."""
    reports = _last_of_each(documents(text, "fio version"))
    return tuple(run for report in reports for run in _report(report, told))


def _last_of_each(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the reports of a status interval that a later one of the same run replaces."""
    found: list[dict[str, Any]] = []
    for one in reports:
        _check_version(one)
        if found and _names(found[-1]) == _names(one) and abs(_began_s(found[-1]) - _began_s(one)) <= SAME_RUN_S:
            found.pop()
        found.append(one)
    return found


def _check_version(report: Mapping[str, Any]) -> None:
    version = _VERSION.match(str(report["fio version"]))
    if version and int(version[1]) < 3 and not any("lat_ns" in job.get("read", {}) for job in _entries(report)):
        raise ValueError(
            f"it is a report of {report['fio version']}, whose amounts are KiB and whose times are microseconds: fio 2 is not "
            f"supported, measure with fio 3"
        )


def _entries(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    return report.get("jobs") or report.get("client_stats") or []


def _names(report: Mapping[str, Any]) -> list[object]:
    return [one["jobname"] for one in _entries(report)]


def _began_s(report: Mapping[str, Any]) -> float:
    took_s = max((one.get("elapsed") or one.get("job_runtime", 0) / 1e3 for one in _entries(report)), default=0.0)
    return float(report.get("timestamp", 0)) - took_s


def _report(report: Mapping[str, Any], told: Told) -> tuple[Run, ...]:
    entries = [_divided(one) for one in fio.jobs_of(report)]
    exact = "timestamp_ms" in report
    ended_s = report["timestamp_ms"] / 1e3 if exact else float(report["timestamp"])
    doubts = () if exact else (TIMES.doubt("fio reported its end to 1 s: when it ran is uncertain by as much"),)
    common: Mapping[str, str] = report.get("global options", {})
    laid: list[Placed] = []
    for host, own in _by_host(entries, told, several="client_stats" in report).items():
        jobs, placement = placed([Job.of(host, one, common) for one in own], ended_s)
        laid += jobs
        doubts += placement
    doubts = tuple(dict.fromkeys(doubts))
    return tuple(_run(str(report["fio version"]), batch, doubts) for batch in batches(laid))


def _divided(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job by directions. With unified_rw_reporting, all it did is "mixed". Raises ValueError: they are lost."""
    if "mixed" not in entry or "write" in entry:
        return entry
    operation = str(entry.get("job options", {}).get("rw", "")).removeprefix("rand")
    if operation not in ("read", "write"):
        raise ValueError("it sums up reads and writes (unified_rw_reporting=1): measure without that option, or with both")
    nothing = {**entry["mixed"], "io_bytes": 0, "total_ios": 0, "runtime": 0}
    return {**entry, "read": nothing, "write": nothing, operation: entry["mixed"]}


def _by_host(entries: Sequence[Mapping[str, Any]], told: Told, *, several: bool) -> dict[str, list[Mapping[str, Any]]]:
    """Return the jobs of each client. Servers on one address differ in their ports. Raises ValueError: they have no names."""
    if several and len(entries) > 1 and not all(one.get("hostname") for one in entries):
        if len(told.clients) != len(entries):
            raise ValueError(
                f"it does not name the servers of its {len(entries)} jobs: name the client of each, in order "
                "(CLIENT,CLIENT=FILE), or measure with a newer fio"
            )
        return {client: [one] for client, one in zip(told.clients, entries, strict=True)}
    places = list(dict.fromkeys((str(one.get("hostname", "")), one.get("port", 0)) for one in entries))
    hosts = [host for host, _ in places]
    named = [host if hosts.count(host) == 1 else f"{host}:{port}" for host, port in places]
    clients = told.hosts("", len(places)) if told.clients or named == [""] else named
    found: dict[str, list[Mapping[str, Any]]] = {client: [] for client in clients}
    for one in entries:
        found[clients[places.index((str(one.get("hostname", "")), one.get("port", 0)))]].append(one)
    return found


def _run(version: str, batch: Sequence[Placed], doubts: tuple[Doubt, ...]) -> Run:
    jobs = [one.job for one in batch]
    failed = next((int(job.entry["error"]) for job in jobs if job.entry["error"]), 0)
    unclear = next((one.unclear for one in batch if one.unclear), "")
    results: tuple[ClientResult, ...] = ()
    against: list[Doubt] = []
    for host in dict.fromkeys(job.host for job in jobs):
        own = [one for one in batch if one.job.host == host]
        # what does the same at once is one load, whatever the jobs are called
        parts = [({**entry, "jobname": one.job.operation}, start_s) for one in own for entry, start_s in one.parts()]
        moved = fio.placed_results(host, [entry for entry, _ in parts], [start_s for _, start_s in parts])
        results += moved
        if moved:
            errors_count = sum(one.job.entry.get("total_err", 0) for one in own)
            if errors_count and not failed:
                against.append(WORK.doubt(f"{host}: fio continued after {errors_count} errors"))
    outcome = None
    if results and not failed and not unclear:
        told = (*doubts, *(doubt for one in batch for doubt in one.doubts), *against, *fio.doubts(results))
        outcome = Outcome(version, results, tuple(dict.fromkeys(told)))
    return Run(
        operation="+".join(dict.fromkeys(job.operation for job in jobs)),
        details=details(jobs),
        transfer_bytes=sizes(jobs)[1],
        folder=next((job.options[key] for key in ("directory", "filename") for job in jobs if job.options.get(key)), ""),
        outcome=outcome,
        failure=f"fio failed (error {failed})" if failed else unclear or ("" if outcome else "fio moved nothing"),
    )
