"""fio's report on the jobs of a job file, at once or one after another. Pure functions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from perjoule.model import ClientResult
from perjoule.model.doubts import TIMES, WORK, Doubt
from perjoule.workloads.fio import report

Job = Mapping[str, Any]
UNSURE_S = 0.1  # between the end of a job and the report, or the start of the next
SHORT_RATIO = 0.02  # of a window, above which that is reported


def began_s(jobs: Sequence[Job], waiting: Collection[str], reported_s: float) -> list[float]:
    """Return when each job began, computed from the moment of the report and the run times, which is all it
    contains.

    The jobs named in `waiting` begin when those before them have ended.
    """
    batches: list[list[Job]] = []
    for before, job in zip([None, *jobs], jobs, strict=False):
        clone = before is not None and before["jobname"] == job["jobname"]
        if not batches or (job["jobname"] in waiting and not clone):
            batches.append([])
        batches[-1].append(job)
    starts_s: list[float] = []
    for batch in reversed(batches):
        reported_s -= max(_ran_s(job) for job in batch)
        starts_s = [reported_s] * len(batch) + starts_s
    return starts_s


def _ran_s(job: Job) -> float:
    """Return how long a job ran, by its directions: `job_runtime` is the sum over clones that are reported
    as a group.
    """
    return (
        max([job.get(direction, {}).get("runtime", 0) for direction in ("read", "write", "trim")]) / 1e3
        or job["job_runtime"] / 1e3
    )


def results(
    host: str, jobs: Sequence[Job], waiting: Collection[str], reported_s: float
) -> tuple[ClientResult, ...]:
    """Return the results of one client's jobs, one for each job name and direction."""
    return placed_results(host, jobs, began_s(jobs, waiting, reported_s))


def placed_results(host: str, jobs: Sequence[Job], starts: Sequence[float]) -> tuple[ClientResult, ...]:
    """Return the results of one client's jobs that began at known times, one for each job name and
    direction.
    """
    parts: dict[tuple[str, str], list[ClientResult]] = {}
    for job, start_s in zip(jobs, starts, strict=True):
        for result in report.results(host, job, start_s):
            parts.setdefault((job["jobname"], result.direction), []).append(result)
    several = len({name for name, _ in parts}) > 1
    return tuple(_merged(same_job, name if several else "") for (name, _), same_job in parts.items())


def _merged(parts: Sequence[ClientResult], user: str) -> ClientResult:
    """Return one result of the clones of a job; percentiles weighted by operations lie between theirs."""
    count = sum(part.operations_count for part in parts)
    names = [name for name in parts[0].latency_s if all(name in part.latency_s for part in parts)]
    latency_s = {
        name: sum(part.latency_s[name] * part.operations_count for part in parts) / max(1, count)
        for name in names
    }
    if "max" in names:
        latency_s["max"] = max(part.latency_s["max"] for part in parts)
    return ClientResult(
        host=parts[0].host,
        direction=parts[0].direction,
        began_s=min(part.began_s for part in parts),
        ended_s=max(part.ended_s for part in parts),
        moved_bytes=sum(part.moved_bytes for part in parts),
        operations_count=count,
        latency_s=latency_s if len(parts) > 1 else parts[0].latency_s,
        user=user,
    )


def doubts(host: str, jobs: Sequence[Job], results: Sequence[ClientResult]) -> tuple[Doubt, ...]:
    """Return doubts about a report: errors that its job file ignores, and a window too short for computed
    starts.
    """
    errors_count = sum(map(report.errors_count, jobs))
    doubts_of = [WORK.errors(host=host, count=errors_count)] if errors_count else []
    window_s = max(result.ended_s for result in results) - min(result.began_s for result in results)
    if window_s * SHORT_RATIO < UNSURE_S:
        doubts_of.append(TIMES.computed_starts(uncertainty_s=UNSURE_S, window_s=window_s))
    return tuple(doubts_of)
