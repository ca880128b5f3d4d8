"""fio, the flexible I/O tester, as the load engine: https://fio.readthedocs.io

One fio and one file per client. All clients start at the same instant; the measured window runs from the
first I/O to the end of the closing fsync. Reads find a file that an earlier trial or `prepare` wrote, and
cold caches. With `round`, the load runs until it is steady, and only the steady rounds count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted
from perjoule.machine.each import each
from perjoule.model import OPTIONS, ClientResult, Outcome
from perjoule.model.doubts import WORK
from perjoule.model.errors import MovedTooLittle
from perjoule.model.metrics import ERRORS
from perjoule.model.units import MIB, bytes_text, seconds_text
from perjoule.workloads._raw import keep_doubts, noted, reading
from perjoule.workloads._running import cold, remove_old, synced
from perjoule.workloads.fio import report
from perjoule.workloads.fio.job import ENGINES, delayed
from perjoule.workloads.fio.job import OPTIONS as JOB_OPTIONS
from perjoule.workloads.fio.job_report import placed_results
from perjoule.workloads.fio.load import Rounds, prepare_file, run_file, run_jobs
from perjoule.workloads.fio.options import FioOptions
from perjoule.workloads.fio.raw import BACK, Raw
from perjoule.workloads.fio.report import doubts, jobs_of

__all__ = ["ENGINES", "EXAMPLE", "JOB_OPTIONS", "Fio", "doubts", "jobs_of", "placed_results"]

EXAMPLE = """
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "4 MiB"
size = "256 MiB"
"""

LAYOUT_TRANSFER_BYTES = 4 * MIB
MORE_ROUNDS = 3  # beyond the limit, in case fio is ended late


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Fio(FioOptions):
    """Sequential or random, read, write or mixed I/O, a file per client."""

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old files before a write, lay missing ones out before anything else, then drop caches."""
        if self.job is not None:
            prepare_file(self.job.text, clients, mounted, folder, time_limit_s=self.time_limit_s)
            self._cool(clients, mounted, folder)
            return
        if "write" in self.operation:
            each(clients, lambda client: self._remove(client, mounted))
        else:
            size_bytes = self.client_bytes(len(clients))
            laid_out = each(clients, lambda client: self._laid_out(client, mounted, size_bytes))
            bare = [client for client, is_laid in zip(clients, laid_out, strict=True) if not is_laid]
            each(bare, lambda client: self._remove(client, mounted))
            transfer_bytes = self.transfer_bytes if self.verify else min(size_bytes, LAYOUT_TRANSFER_BYTES)
            layout = [
                "rw=write",
                f"bs={transfer_bytes}",
                "end_fsync=1",
                *self._checksums("write"),
            ]
            self._load(bare, mounted, folder, "layout-", [*layout, f"size={size_bytes}"], engine="psync")
        self._cool(clients, mounted, folder)

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports.

        Raises:
            TransientError: a daemon died, or a client was not done within the time limit.
            WorkloadError: a client moved less than requested, or read something else than was written; the
                message ends in fio's own.
        """
        if self.job is not None:
            with noted(folder, clients) as run:
                ahead_s = None if delayed(self.job.text) else run.ahead_s
                run.start_utc_s = run_file(
                    clients, mounted, folder, "", time_limit_s=self.time_limit_s, ahead_s=ahead_s
                )
            return self.outcome(folder)
        load = [
            f"rw={self.operation}",
            *self._how(clients),
            *self._limits(),
            *self._pace(),
            *self._checksums(self.operation),
        ]
        if self.tolerate_errors:
            # of reads, of writes
            load += ["continue_on_error=io", f"ignore_error={report.TOLERATED},{report.TOLERATED}"]
        if self._mixed:
            load.append(f"rwmixread={self._read_percent}")
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(clients, mounted, folder, "", load, ahead_s=run.ahead_s)
        return self.outcome(folder)

    def read_back(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome | None:
        """Read the written data from cold caches and have fio compare them. Raises as `run` does."""
        if not self._reads_back:
            return None
        self._cool(clients, mounted, folder, BACK)
        self._load(clients, mounted, folder, BACK, ["rw=read", *self._how(clients), *self._checksums("read")])
        return self.outcome(folder)

    def _how(self, clients: Sequence[Host]) -> list[str]:
        how = [f"bs={self.transfer_bytes}", f"iodepth={self.in_flight_count}"]
        return [*how, f"direct={self.direct:d}", f"size={self.client_bytes(len(clients))}"]

    def _limits(self) -> list[str]:
        """Return the fio options that end the load: after its rounds, or after size or time, and then with
        an fsync.
        """
        if self.round_s:
            return ["time_based=1", f"runtime={(self.rounds_count + MORE_ROUNDS) * self.round_s:.0f}"]
        return ["end_fsync=1", *([f"runtime={self.duration_s * 1e6:.0f}us"] if self.duration_s else [])]

    def _pace(self) -> list[str]:
        """Return the fio options that keep the load below what it can."""
        paced = [f"rate={self.rate_bytes_per_s:.0f}"] if self.rate_bytes_per_s else []
        if self.burst_bytes and self.pause_s:
            paced += [
                f"thinktime={self.pause_s * 1e6:.0f}",
                f"thinktime_blocks={max(1, self.burst_bytes // self.transfer_bytes)}",
            ]
        return paced

    def _checksums(self, operation: str) -> list[str]:
        if not self.verify:
            return []
        return [f"verify={self.verify}", "do_verify=0" if "write" in operation else "verify_fatal=1"]

    @property
    def _reads_back(self) -> bool:
        return self.verify is not None and "write" in self.operation

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder.

        Raises WorkloadError if a client moved less than requested, or a file is damaged.
        """
        with reading("fio's raw output", folder):
            return self._outcome(folder)

    def _outcome(self, folder: Path) -> Outcome:
        raw = Raw(folder)
        if self.job is not None:
            return raw.jobs()
        if self.round_s:
            return raw.steady(self.rounds_count)
        outcome = raw.whole()
        size_bytes = self.client_bytes(len(raw.names))
        moved = {name: [result for result in outcome.results if result.host == name] for name in raw.names}
        ended_by = {name: self._ended_by(name, results, size_bytes) for name, results in moved.items()}
        doubts, notes = list(outcome.doubts), [report.ended_by_text(ended_by)] if self.duration_s else []
        measured = {ERRORS: float(raw.errors_count)} if self.tolerate_errors else {}
        if self._reads_back and not raw.has_read_back:
            doubts.append(WORK.not_read_back())
        elif self._reads_back:
            doubts += raw.read_back(size_bytes)
            notes.append(f"read back and verified ({self.verify}) after the measured window")
        return replace(outcome, doubts=tuple(dict.fromkeys(doubts)), measured=measured, note="; ".join(notes))

    def _ended_by(
        self, client: str, moved: Sequence[ClientResult], size_bytes: int
    ) -> Literal["size", "duration"]:
        """Compare a report with the request. Raises WorkloadError if it reached neither size nor duration."""
        moved_bytes, took_s = (
            sum(result.moved_bytes for result in moved),
            max((result.ended_s - result.began_s for result in moved), default=0),
        )
        if moved_bytes == size_bytes:
            return "size"
        if self.duration_s and 0 < moved_bytes < size_bytes and took_s >= self.duration_s - report.UNSURE_S:
            return "duration"
        after = f" after {seconds_text(took_s)} of {seconds_text(self.duration_s)}" if self.duration_s else ""
        problem = (
            f"fio moved {bytes_text(moved_bytes)} of {bytes_text(size_bytes)}{after} and reported no error"
        )
        raise MovedTooLittle(problem, where=client)

    def _target(self, client: Host, mounted: Mounted, engine: str) -> list[str]:
        """Return the fio options that say what is loaded, and how its calls are made."""
        return [_filename(self._file(client, mounted)), f"ioengine={engine}"]

    def _environment(self, clients: Sequence[Host], mounted: Mounted) -> tuple[str, ...]:
        """Return what fio is told by its environment, as NAME=VALUE."""
        return ()

    def _file(self, client: Host, mounted: Mounted) -> Path:
        # What random writes leave has holes until all is written: it must never pass for a layout, nor what
        # has no checksums.
        kind = (
            f"{self.verify}-{self.transfer_bytes}"
            if self.verify
            else "holes"
            if self.operation == "randwrite"
            else "data"
        )
        return mounted.directories[client.name] / f"{client.name}.{kind}"

    def _remove(self, client: Host, mounted: Mounted) -> None:
        remove_old(client, mounted.directories[client.name], f"{client.name}.*", timeout_s=self.time_limit_s)

    def _laid_out(self, client: Host, mounted: Mounted, size_bytes: int) -> bool:
        path = self._file(client, mounted)
        stat = client.run(["stat", "--format=%s", path], timeout_s=self.time_limit_s, check=False)
        return stat.returncode == 0 and stat.stdout.strip() == str(size_bytes)

    def _cool(self, clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str = "") -> None:
        """Write back and drop all caches, and record the doubts."""
        synced(clients, mounted, self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted), prefix)

    def _load(
        self,
        clients: Sequence[Host],
        mounted: Mounted,
        folder: Path,
        prefix: str,
        load: Sequence[str],
        *,
        engine: str = "",
        ahead_s: Mapping[str, float] | None = None,
    ) -> float | None:
        """Run one fio per client to its end, each on its own file; gives the moment of a common start."""
        lines_of = {
            client.name: [*self._target(client, mounted, engine or self._engine), *load] for client in clients
        }
        return run_jobs(
            clients,
            mounted,
            folder,
            prefix,
            lines_of,
            time_limit_s=self.time_limit_s,
            ahead_s=ahead_s,
            by_server=self.client_server,
            steady=Rounds(self.round_s, self.rounds_count) if self.round_s and not prefix else None,
            environment=self._environment(clients, mounted),
            # of its servers' histograms, fio subtracts what it has already subtracted (3.33,
            # __fio_append_iolog_gz_hist)
            duration_s=self.duration_s if not prefix and not self.client_server else None,
        )


def _filename(file: Path) -> str:
    return f"filename={str(file).replace(':', chr(92) + ':')}"  # a bare colon separates files
