"""fio's JSON, from any run: jobs that ran at once are one run. https://fio.readthedocs.io (fio 3.33)

A report states when it was written and how long each job ran, and newer ones when each began (`job_start`). Jobs of one reporting
group ran at once; a later group begins, as after `stonewall`, when the one before has ended.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import TIMES, WORK, Doubt
from perjoule.workloads import fio
from perjoule.workloads.imported.run import Run, Told

SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
ALIASES = {"readwrite": "rw", "blocksize": "bs"}


@dataclass(frozen=True)
class _Job:
    host: str
    found: Mapping[str, Any]
    options: Mapping[str, str]
    began_s: float
    took_s: float

    @property
    def operation(self) -> str:
        return self.options.get("rw", "read").partition(":")[0]


def runs(text: str, told: Told) -> tuple[Run, ...]:
    """Read all runs of a report. Raises ValueError, LookupError."""
    whole = fio.documents(text)[-1]
    jobs = fio.jobs(text)
    exact = "timestamp_ms" in whole
    ended_s = whole["timestamp_ms"] / 1e3 if exact else float(whole["timestamp"])
    doubts = () if exact else (TIMES.doubt("fio reported its end to 1 s: when it ran is uncertain by as much"),)
    hosts = list(dict.fromkeys(str(job.get("hostname", "")) for job in jobs))
    names = dict(zip(hosts, told.hosts("", len(hosts)) if told.clients or hosts == [""] else hosts, strict=True))
    laid: list[_Job] = []
    for host in hosts:
        own = [job for job in jobs if str(job.get("hostname", "")) == host]
        laid += _laid(names[host], own, whole.get("global options", {}), ended_s)
    if len({_group(job) for job in jobs}) > 1 and not all(job.get("job_start") for job in jobs):
        laid_out = "groups of fio's jobs are taken to have run one after another: their starts are computed back from the end"
        doubts += (TIMES.doubt(laid_out),)
    return tuple(_run(str(whole["fio version"]), batch, doubts) for batch in _batches(laid))


def _group(job: Mapping[str, Any]) -> int:
    return int(job.get("groupid", 0))


def _laid(host: str, jobs: Sequence[Mapping[str, Any]], common: Mapping[str, str], ended_s: float) -> list[_Job]:
    """Return when each job of a client began."""
    found: list[_Job] = []
    for _, group in groupby(reversed(jobs), key=_group):
        own = [(job, max(job.get(way, {}).get("runtime", 0) for way in ("read", "write", "trim")) / 1e3) for job in group]
        ended_s -= max(took_s for _, took_s in own)
        for job, took_s in reversed(own):
            written = {**common, **job.get("job options", {})}
            options = {ALIASES.get(name, name): str(value) for name, value in written.items()}
            began_s = job["job_start"] / 1e3 if job.get("job_start") else ended_s
            found.append(_Job(host, job, options, began_s, took_s))
    return found


def _batches(jobs: Sequence[_Job]) -> Iterator[Sequence[_Job]]:
    """Group jobs that ran at once."""
    batch: list[_Job] = []
    for job in sorted(jobs, key=lambda one: one.began_s):
        if batch and job.began_s >= max(one.began_s + one.took_s for one in batch) - 1e-3:
            yield batch
            batch = []
        batch.append(job)
    if batch:
        yield batch


def _run(version: str, jobs: Sequence[_Job], doubts: tuple[Doubt, ...]) -> Run:
    operations = list(dict.fromkeys(job.operation for job in jobs))
    size = "+".join(dict.fromkeys(job.options.get("bs", "4k") for job in jobs))
    transfer = re.fullmatch(r"(\d+)([kmgt]?)(?:i?b)?", size.lower())
    folder = next((job.options[key] for key in ("directory", "filename") for job in jobs if job.options.get(key)), "")
    failed = next((int(job.found["error"]) for job in jobs if job.found["error"]), 0)
    results: tuple[ClientResult, ...] = ()
    against: list[Doubt] = []
    for host in dict.fromkeys(job.host for job in jobs):
        own = [job for job in jobs if job.host == host]
        began_s, took_s = min(job.began_s for job in own), max(job.took_s for job in own)
        # what does the same at once is one load, whatever the jobs are called
        alike = [{**j.found, "jobname": j.operation, "job_runtime": took_s * 1e3} for j in own]
        moved = fio.job_results(host, alike, (), began_s + took_s)
        results += moved
        if moved:
            errors_count = sum(job.found.get("total_err", 0) for job in own)
            if errors_count and not failed:
                against.append(WORK.doubt(f"{host}: fio continued after {errors_count} errors"))
    outcome = None
    if results and not failed:
        outcome = Outcome(version, results, tuple(dict.fromkeys((*doubts, *against, *fio.doubts(results)))))
    return Run(
        operation="+".join(operations),
        details=tuple(_details(jobs, size if transfer is None else "")),
        transfer_bytes=int(transfer[1]) * SIZES[transfer[2]] if transfer else None,
        folder=folder,
        outcome=outcome,
        failure=f"fio failed (error {failed})" if failed else "" if outcome else "fio moved nothing",
    )


def _details(jobs: Sequence[_Job], sizes: str) -> Iterator[str]:
    """Return what distinguishes one load from another, besides operation and transfer size."""
    if sizes:
        yield sizes
    hosts = [job.host for job in jobs]
    clones = [int(job.options.get("numjobs", "1")) if job.options.get("numjobs", "1").isdigit() else 1 for job in jobs]
    # a report that sums up clones has one job for them, others have a job for each
    whole = max(hosts.count(host) for host in hosts)
    count = max(whole, *clones) if len({(job.host, job.found["jobname"]) for job in jobs}) == len(set(hosts)) else whole
    if count > 1:
        yield f"{count} jobs"
    for option, words in (("iodepth", "{} in flight"), ("ioengine", "{}"), ("size", "size {}"), ("runtime", "for {}")):
        values = dict.fromkeys(job.options[option] for job in jobs if option in job.options)
        if values and tuple(values) != ("1",):
            yield words.format("+".join(values)) + (" s" if option == "runtime" and all(v.isdigit() for v in values) else "")
    for option in ("direct", "end_fsync"):
        if any(job.options.get(option, "0") not in ("0", "") for job in jobs):
            yield option
