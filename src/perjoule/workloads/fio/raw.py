"""The parser of fio's raw folder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from perjoule.drivers.protocols import require_time
from perjoule.machine.untrusted import read_as, text_of
from perjoule.model import ClientResult, Outcome, Series
from perjoule.model.doubts import WORK, Doubt
from perjoule.model.errors import MovedTooLittle
from perjoule.model.units import bytes_text
from perjoule.workloads._raw import RunClocks, prepared_doubts
from perjoule.workloads.fio import job as file
from perjoule.workloads.fio import job_report, latencies, report, rounds, server

BACK = "back-"  # begins the names of what reading back leaves


class Raw:
    """The files of a run. All methods raise OSError or one of UNEXPECTED if a file is missing or damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ran = read_as(RunClocks, folder / "run.json")
        self.ran, self.names = ran, ran.clients

    def report(self, name: str, prefix: str = "") -> str:
        """Return the report with a client's job: its own, or that of all servers."""
        own_report = self.folder / f"{prefix}{name}.json"
        return text_of(own_report if own_report.exists() else self.folder / f"{prefix}{server.REPORT}")

    @cached_property
    def began_s(self) -> dict[str, float]:
        """When each client made its first I/O: the first of its jobs, each of which noted when it began."""
        noted = {name: text_of(self.folder / f"{name}.prerun.txt").split() for name in self.names}
        return {
            name: min(map(float, moments)) + self.ran.offset_of_s(name) for name, moments in noted.items()
        }

    @cached_property
    def errors_count(self) -> int:
        """How many calls of all clients failed."""
        return sum(report.errors_count(report.job(self.report(name), name)) for name in self.names)

    def whole(self) -> Outcome:
        """Return the results of all clients from their first I/O to their end."""
        jobs = {name: report.job(self.report(name), name) for name in self.names}
        moved = {name: report.results(name, job, self.began_s[name]) for name, job in jobs.items()}
        for name in self.names:
            if not moved[name]:
                raise MovedTooLittle("fio moved nothing and reported no error", where=name)
        results = tuple(result for client_results in moved.values() for result in client_results)
        require_time(results)
        logs = {name: [text_of(self.folder / f"{name}_bw.1.log")] for name in self.names}
        series, unlogged = self._goodput(logs, moved)
        histograms, contradicted = self._latencies(moved)
        timed = report.doubts(results)
        return Outcome(
            engine=str(jobs[self.names[0]]["fio version"]),
            results=results,
            doubts=(
                *prepared_doubts(self.folder),
                *self.ran.doubts(self.began_s),
                *timed,
                *unlogged,
                *contradicted,
            ),
            series=(*series, *histograms),
        )

    def _goodput(
        self, logs: Mapping[str, Sequence[str]], moved: Mapping[str, Sequence[ClientResult]]
    ) -> tuple[tuple[Series, ...], tuple[Doubt, ...]]:
        """Each client's goodput over time, and whose logs contradict what it moved."""
        series_of = {
            name: report.goodput(client_logs, moved[name], self.ran.offset_of_s(name))
            for name, client_logs in logs.items()
            if client_logs
        }
        unlike = [name for name, series in series_of.items() if series is None]
        doubts = (WORK.log_contradicts(host=name) for name in unlike)
        return tuple(series for series in series_of.values() if series is not None), tuple(doubts)

    def _latencies(
        self, moved: Mapping[str, Sequence[ClientResult]]
    ) -> tuple[tuple[Series, ...], tuple[Doubt, ...]]:
        """Each client's latencies over time, of loads that log them, and whose logs contradict the report."""
        paths = {name: self.folder / f"{name}_clat_hist.1.log" for name in self.names}
        series_of = {
            name: latencies.latencies(text_of(path), moved[name], self.ran.offset_of_s(name))
            for name, path in paths.items()
            if path.exists()
        }
        doubts = (
            WORK.latencies_contradict(host=name)
            for name, client_series in series_of.items()
            if client_series is None
        )
        return tuple(series for client_series in series_of.values() for series in client_series or ()), tuple(
            doubts
        )

    def steady(self, most_count: int) -> Outcome:
        """Return the results of the steady rounds of a load, with the goodput of the whole load."""
        outcome = self.whole()
        read_rounds = rounds.read({name: self.report(name) for name in self.names})
        start, doubt = read_rounds.window(most_count)
        results = [
            result
            for name, jobs in read_rounds.jobs.items()
            for result in rounds.results(name, jobs, start, self.began_s[name])
        ]
        warmed = rounds.warm_up(read_rounds, start)
        doubts = (*outcome.doubts, *([doubt] if doubt else []))
        note = rounds.note(start, warmed)
        return replace(
            outcome, results=tuple(results), doubts=doubts, measured=warmed, note=note, sustained=True
        )

    def jobs(self) -> Outcome:
        """Return the results of a job file's jobs."""
        jobs = {name: report.jobs(self.report(name)) for name in self.names}
        ended_s = {
            name: client_jobs[0]["timestamp_ms"] / 1e3 + self.ran.offset_of_s(name)
            for name, client_jobs in jobs.items()
        }
        waiting = file.waiting(text_of(self.folder / "job.fio"))
        moved = {
            name: job_report.results(name, client_jobs, waiting, ended_s[name])
            for name, client_jobs in jobs.items()
        }
        doubts = prepared_doubts(self.folder)
        for name in self.names:
            if not moved[name]:
                raise MovedTooLittle("fio moved nothing and reported no error", where=name)
            doubts += job_report.doubts(name, jobs[name], moved[name])
        # a job file may put its logs elsewhere, or average them over another time
        own_logging = {line.key for line in file.lines(text_of(self.folder / "job.fio"))} & {
            "log_avg_msec",
            "bwavgtime",
        }
        paths = {
            name: [] if own_logging else sorted(self.folder.glob(f"{name}_bw.*.log")) for name in self.names
        }
        logs = {name: [text_of(path) for path in log_paths] for name, log_paths in paths.items()}
        results = tuple(result for client_results in moved.values() for result in client_results)
        require_time(results)
        series, unlogged = self._goodput(logs, moved)
        began_s = self.began_s if self.ran.start_utc_s is not None else {}
        doubts += self.ran.doubts(began_s) + report.doubts(results) + unlogged
        version = str(jobs[self.names[0]][0]["fio version"])
        return Outcome(version, results, tuple(dict.fromkeys(doubts)), series)

    @property
    def has_read_back(self) -> bool:
        """Return whether reading back has begun."""
        return (self.folder / f"{BACK}prepared.json").exists()

    def read_back(self, size_bytes: int) -> tuple[Doubt, ...]:
        """Check that everything was read back, which fio compared, and return doubts.

        Raises WorkloadError.
        """
        for name in self.names:
            back_bytes: int = report.job(self.report(name, BACK), BACK + name)["read"]["io_bytes"]
            if back_bytes != size_bytes:
                raise MovedTooLittle(
                    f"fio read {bytes_text(back_bytes)} of {bytes_text(size_bytes)} back", where=name
                )
        return prepared_doubts(self.folder, BACK)
