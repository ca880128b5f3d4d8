"""fio in rounds until steady: one load without a break, whose rounds are the intervals between its interim
reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perjoule.model import ClientResult
from perjoule.model.doubts import UNLIKE, Doubt
from perjoule.model.metrics import WARM_UP, WARM_UP_BYTES, WARM_UP_ROUNDS
from perjoule.model.units import bytes_text, seconds_text
from perjoule.workloads.fio import report
from perjoule.workloads.fio.steady import EXCURSION_RATIO, RANGE_RATIO, ROUNDS_COUNT, first_steady, spread

Job = Mapping[str, Any]


@dataclass(frozen=True)
class RoundReports:
    """All clients' interim reports; round n lies between reports n and n + 1, and fio starts up before
    report 0.
    """

    jobs: Mapping[str, Sequence[Job]]  # by client, cumulative since its first I/O

    @property
    def rates_bytes_per_s(self) -> list[float]:
        """The rate of all clients together, in each round that all of them have completed."""
        count = min(len(jobs) for jobs in self.jobs.values()) - 1
        return [
            sum(_rate_bytes_per_s(jobs[n], jobs[n + 1]) for jobs in self.jobs.values()) for n in range(count)
        ]

    def window(self, most_count: int) -> tuple[int, Doubt | None]:
        """The number of the window's first round, and its doubt: the first steady ones, else the last."""
        rates = self.rates_bytes_per_s[:most_count]
        start = first_steady(rates)
        if start is not None:
            return start, None
        start = len(rates) - ROUNDS_COUNT
        if start < 0:
            raise ValueError(f"fio ended after {len(rates)} rounds, but {ROUNDS_COUNT} are needed")
        range_ratio, excursion_ratio = spread(rates[start:])
        return start, UNLIKE.not_steady(
            rounds_count=len(rates),
            range_ratio=range_ratio,
            most_range_ratio=RANGE_RATIO,
            excursion_ratio=excursion_ratio,
            most_excursion_ratio=EXCURSION_RATIO,
        )

    def enough(self, most_count: int) -> bool:
        """Return whether there are steady rounds, or the limit is reached."""
        rates = self.rates_bytes_per_s
        return len(rates) >= most_count or first_steady(rates) is not None


def read(texts: Mapping[str, str]) -> RoundReports:
    """Parse the reports so far (by client), without those from before the first I/O, or still being
    written.
    """
    jobs_of: dict[str, list[Job]] = {}
    for name, text in texts.items():
        try:
            jobs: list[Job] = [document["jobs"][0] for document in report.documents(text)]
        except ValueError:
            jobs = []
        jobs_of[name] = [
            job for job in jobs if any(job[direction]["io_bytes"] for direction in report.DIRECTIONS)
        ]
    return RoundReports(jobs_of)


def results(host: str, jobs: Sequence[Job], start: int, began_s: float) -> tuple[ClientResult, ...]:
    """Return a client's results in the window of rounds from `start` on; latencies from fio's histograms,
    within 2 %.
    """
    before, after = jobs[start], jobs[start + ROUNDS_COUNT]
    return tuple(
        ClientResult(
            host=host,
            direction=direction,
            began_s=began_s + before["job_runtime"] / 1e3,
            ended_s=began_s + after["job_runtime"] / 1e3,
            moved_bytes=after[direction]["io_bytes"] - before[direction]["io_bytes"],
            operations_count=after[direction]["total_ios"] - before[direction]["total_ios"],
            latency_s=_latency_s(before[direction]["lat_ns"], after[direction]["lat_ns"]),
        )
        for direction in report.DIRECTIONS
        if after[direction]["io_bytes"] > before[direction]["io_bytes"]
    )


def warm_up(rounds: RoundReports, start: int) -> dict[str, float]:
    """Return what came before the window: how many rounds, how long, how much."""
    first = [jobs[start] for jobs in rounds.jobs.values()]
    return {
        WARM_UP_ROUNDS: float(start),
        WARM_UP: max(job["job_runtime"] for job in first) / 1e3,
        WARM_UP_BYTES: float(sum(_moved_bytes(job) for job in first)),
    }


def note(start: int, warmed: Mapping[str, float]) -> str:
    """Say which rounds count, and how many came before."""
    moved, took = bytes_text(warmed[WARM_UP_BYTES]), seconds_text(warmed[WARM_UP])
    return (
        f"rounds {start + 1} to {start + ROUNDS_COUNT} count; {moved} in {took} before them are warm-up; no "
        "final fsync"
    )


def _moved_bytes(job: Job) -> int:
    return sum(job[direction]["io_bytes"] for direction in report.DIRECTIONS)


def _rate_bytes_per_s(before: Job, after: Job) -> float:
    return (_moved_bytes(after) - _moved_bytes(before)) / max(
        1e-3, (after["job_runtime"] - before["job_runtime"]) / 1e3
    )


def _latency_s(before: Job, after: Job) -> dict[str, float]:
    """Subtract two cumulative histograms ("bins", of json+) and means."""
    bins = {int(ns): count - before.get("bins", {}).get(ns, 0) for ns, count in after.get("bins", {}).items()}
    ordered = [(ns, count) for ns, count in sorted(bins.items()) if count > 0]
    if not ordered:
        return {}
    count = after["N"] - before["N"]
    latencies = {"mean": (after["mean"] * after["N"] - before["mean"] * before["N"]) / max(1, count) / 1e9}
    total, so_far = sum(n for _, n in ordered), 0
    quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)]
    for ns, n in ordered:
        so_far += n
        while quantiles and so_far >= quantiles[0][1] * total:
            latencies[quantiles.pop(0)[0]] = ns / 1e9
    return {**latencies, "max": ordered[-1][0] / 1e9}
