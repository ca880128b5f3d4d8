"""When each of fio's jobs ran: it reports how long each did, and newer versions (3.36) when each began.

Flags such as stonewall, new_group and group_reporting are in no report. Where neither times nor the whole
run's length tell what ran at once, the run is unclear, which is reported instead of guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from perjoule.model.doubts import DERIVED, TIMES, Doubt
from perjoule.workloads.imported.fio.load import ReportedJob, hidden_count, took_s, verifies, verifies_after

AFTER_S = 1e-3  # fio counts whole milliseconds
ELAPSED_S = 1.0  # fio's whole time is a whole number of seconds, rounded up
START_S = 2.0  # that fio itself may take around its jobs
MOST_PREPARED_S = 3600.0  # that servers may take before their jobs: they lay out files
IDLE_S = 1.5  # of it, that the rounding of its whole time may add
UNITS_S = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0, "h": 3600.0, "d": 86400.0}
UNCLEAR_GROUPS = (
    "fio's report does not say which of its groups of jobs ran at once: measure with fio 3.36 or newer, or "
    "give each group a file"
)
UNCLEAR_JOBS = (
    "fio sums up several jobs (group_reporting) and does not say when each ran or what it did: measure "
    "without group_reporting"
)
UNCLEAR_DELAY = (
    "fio drew the delay of a job (startdelay) and does not report it: measure with fio 3.36 or newer"
)
UNCLEAR_VERIFY = (
    "fio counts the reads that verify with those of the load: measure without verify, or verify in a job of "
    "its own"
)


@dataclass(frozen=True)
class PlacedJob:
    """A job with the time at which it began; its times say nothing if they are `unclear`."""

    job: ReportedJob
    began_s: float
    group: int
    delayed: bool = False
    unclear: str = ""
    doubts: tuple[Doubt, ...] = field(default=())

    @property
    def ended_s(self) -> float:
        """When it ended."""
        return self.began_s + took_s(self.job)

    def parts(self) -> Iterator[tuple[Mapping[str, Any], float]]:
        """Return what it did, with when: at once, or first the writes and then the reads that verify them."""
        entry = self.job.entry
        if not verifies_after(self.job):
            yield entry, self.began_s
            return
        yield {**entry, "read": {**entry["read"], "io_bytes": 0}}, self.began_s
        yield (
            {**entry, "write": {**entry["write"], "io_bytes": 0}},
            self.began_s + entry["write"]["runtime"] / 1e3,
        )


def placed(
    jobs: Sequence[ReportedJob], dated_s: float, *, at_begin: bool = False
) -> tuple[list[PlacedJob], tuple[Doubt, ...]]:
    """Return when each job of a client began, and doubts about it.

    Args:
        jobs: of one client.
        dated_s: when fio ended, or told its servers to begin (UTC).
        at_begin: which of them.
    """
    has_starts = all(job.entry.get("job_start") for job in jobs)
    placed_jobs, doubts = (_stated if has_starts else _computed)(jobs, dated_s, at_begin)
    covered_s = max(member.ended_s for member in placed_jobs) - min(
        member.began_s - _ramp_s(member.job) for member in placed_jobs
    )
    idle_s = max(_elapsed_s(job) for job in jobs) - covered_s
    judged = [_judged(member, idle_s) for member in placed_jobs]
    # a job of unknown length leaves the starts open that are computed back over it
    unclear = "" if has_starts else next((member.unclear for member in judged if member.unclear), "")
    return [replace(member, unclear=member.unclear or unclear) for member in judged], doubts


def batches(jobs: Sequence[PlacedJob]) -> Iterator[list[PlacedJob]]:
    """Group jobs that ran at once, with those of their group that began later because they were asked to."""
    batch: list[PlacedJob] = []
    for job in sorted(jobs, key=lambda member: member.began_s):
        later = batch and job.began_s >= max(member.ended_s for member in batch) - AFTER_S
        if later and not (
            job.delayed
            and any((member.group, member.job.host) == (job.group, job.job.host) for member in batch)
        ):
            yield batch
            batch = []
        batch.append(job)
    if batch:
        yield batch


def _stated(
    jobs: Sequence[ReportedJob], dated_s: float, at_begin: bool
) -> tuple[list[PlacedJob], tuple[Doubt, ...]]:
    """Take the starts that fio reports, which it sets anew when a ramp ends (libfio.c, `reset_all_stats`); the
    clock is one that the user may choose.
    """
    placed_jobs = [
        PlacedJob(job, job.entry["job_start"] / 1e3, _group(job), delayed=_delayed(job)) for job in jobs
    ]
    first_s = min(member.began_s - _ramp_s(member.job) for member in placed_jobs)
    last_s = max(member.ended_s for member in placed_jobs)
    elapsed_s = max(_elapsed_s(job) for job in jobs)
    early_s = dated_s - (first_s if at_begin else last_s)
    least_s, most_s = (-MOST_PREPARED_S, START_S) if at_begin else (-START_S, (elapsed_s or last_s) + START_S)
    if least_s <= early_s <= most_s:
        return placed_jobs, ()
    return [replace(member, began_s=member.began_s + early_s) for member in placed_jobs], (
        TIMES.other_clock(at_begin=at_begin),
    )


def _computed(
    jobs: Sequence[ReportedJob], dated_s: float, at_begin: bool
) -> tuple[list[PlacedJob], tuple[Doubt, ...]]:
    groups = [_group_from(0.0, list(members)) for _, members in groupby(jobs, key=_group)]
    spans_s = [max(member.ended_s for member in members) for members in groups]
    elapsed_s = max(_elapsed_s(job) for job in jobs)
    doubts: tuple[Doubt, ...] = ()
    unclear = ""
    if len(groups) > 1:
        doubts = (TIMES.one_after_another(),)
        if elapsed_s and sum(spans_s) > elapsed_s + ELAPSED_S / 2:
            doubts = (TIMES.at_once(),)
            unclear = "" if elapsed_s - max(spans_s) <= START_S else UNCLEAR_GROUPS
    unclear = unclear or next(
        (member.unclear for members in groups for member in members if member.unclear), ""
    )
    at_once = [doubt.id for doubt in doubts] == [TIMES.at_once.id]
    begin_s = dated_s if at_begin else dated_s - (max(spans_s) if at_once else sum(spans_s))
    doubts += (TIMES.fio_told(),) if at_begin else ()
    shifted: list[PlacedJob] = []
    for members, span_s in zip(groups, spans_s, strict=True):
        shifted += [replace(member, began_s=member.began_s + begin_s, unclear=unclear) for member in members]
        begin_s += 0.0 if at_once else span_s
    return shifted, doubts


def _group_from(begin_s: float, jobs: Sequence[ReportedJob]) -> list[PlacedJob]:
    """Return the jobs of a group that begins at a time: each with its delay, after the one that it waits
    for.
    """
    placed_jobs: list[PlacedJob] = []
    for job in jobs:
        waited = [
            member.ended_s
            for member in placed_jobs
            if member.job.entry["jobname"] == job.options.get("wait_for")
        ]
        delay = job.options.get("startdelay", "")
        drawn = UNCLEAR_DELAY if re.search(r"[-:]", delay) else ""
        start_s = max(waited, default=begin_s) + (0.0 if drawn else seconds(delay)) + _ramp_s(job)
        placed_jobs.append(PlacedJob(job, start_s, _group(job), delayed=_delayed(job), unclear=drawn))
    return placed_jobs


def _judged(placed_job: PlacedJob, idle_s: float) -> PlacedJob:
    """Say where the report does not tell what a job did, or when. `idle_s` is the time of fio that no job
    explains.
    """
    job = placed_job.job
    if verifies(job) and not verifies_after(job):
        return replace(placed_job, unclear=placed_job.unclear or UNCLEAR_VERIFY)
    count = hidden_count(job)
    if count <= job.clones_count:
        return placed_job
    if "startdelay" in job.options or "wait_for" in job.options or idle_s > IDLE_S:
        return replace(placed_job, unclear=placed_job.unclear or UNCLEAR_JOBS)
    return replace(placed_job, doubts=(DERIVED.grouped(count=count),))


def seconds(text: str) -> float:
    """Read one of fio's times, such as "500ms"; 0 if it is empty. Raises ValueError."""
    if not text:
        return 0.0
    digits = text.lower().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.lower()[len(digits) :].removesuffix("sec").removesuffix("min")
    if unit not in UNITS_S:
        raise ValueError(f'"{text}" is not a time in the notation of fio')
    return float(digits) * UNITS_S[unit]


def _ramp_s(job: ReportedJob) -> float:
    """Return how long a job ran before what its times count."""
    return seconds(job.options.get("ramp_time", ""))


def _delayed(job: ReportedJob) -> bool:
    return "startdelay" in job.options


def _group(job: ReportedJob) -> int:
    return int(job.entry.get("groupid", 0))


def _elapsed_s(job: ReportedJob) -> float:
    """Return how long the whole fio ran; 0 if unknown."""
    return float(job.entry.get("elapsed") or 0.0)
