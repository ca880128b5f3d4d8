"""fio, the flexible I/O tester, as the load engine: https://fio.readthedocs.io

One fio and one file per client. All clients start at the same instant; the measured window runs from the first I/O to the end of
the closing fsync. Reads find a file that an earlier trial or `prepare` wrote, and cold caches. With `round`, the load runs until
it is steady, and only the steady rounds count.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.model import OPTIONS, ClientResult, Direction, Outcome, Pattern, TextFile, option_name
from perjoule.model.errors import WorkloadError
from perjoule.model.units import BYTES, MIB, Bytes, Ratio, Seconds, bytes_text, exact_text, seconds_text
from perjoule.workloads._raw import noted, reading
from perjoule.workloads._running import cold
from perjoule.workloads.fio import job as file
from perjoule.workloads.fio import report, server
from perjoule.workloads.fio.job_report import results as job_results
from perjoule.workloads.fio.load import Rounds, prepare_file, run_file, run_jobs
from perjoule.workloads.fio.raw import BACK, Raw
from perjoule.workloads.fio.report import documents, doubts, jobs
from perjoule.workloads.fio.steady import ROUNDS_COUNT

__all__ = ["EXAMPLE", "Fio", "documents", "doubts", "job_results", "jobs"]

EXAMPLE = """
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "4 MiB"
size = "256 MiB"
"""

LAYOUT_TRANSFER_BYTES = 4 * MIB
MORE_ROUNDS = 3  # beyond the limit, in case fio is ended late
SHORTEST_ROUND_S = 0.5  # between two reports of fio's


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Fio(Workload):
    """Sequential or random, read, write or mixed I/O, a file per client."""

    operation: Literal["write", "read", "randwrite", "randread", "rw", "randrw"] = "write"
    """The operation of the clients; rw and randrw mix reads and writes."""

    transfer_bytes: Bytes = 4 * MIB
    """Bytes per I/O call."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client moves; also the size of its file."""

    shared: bool = False
    """Whether size is the total of all clients, in equal shares, so the amount of work stays constant."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT)."""

    read_share_ratio: Ratio | None = None
    """The share of reads in a mix, in whole percent; half by default."""

    in_flight_count: int = Field(default=1, ge=1, le=1024)
    """I/O calls that a client has in flight at once: 1 with psync, more with libaio (direct) or io_uring."""

    duration_s: Seconds | None = None
    """End the load after this time even if not all is moved: the first of time and size ends it; a note says which."""

    verify: Literal["crc32c", "md5", "sha256", "xxhash"] | None = None
    """Give every block a checksum: a write is read back and verified after the measured window, a read while it is measured, both
    over cold caches. A mismatch makes the trial fail."""

    round_s: Seconds | None = None
    """Run over the file again and again until five consecutive rounds of this length are steady by the SNIA's rule (range at most
    20 % of the mean, fitted line at most 10 %). These are measured; earlier rounds are kept as warm-up."""

    rounds_count: int = Field(default=25, ge=ROUNDS_COUNT, le=1000)
    """Stop after this many rounds even if not steady: the last five are measured, with a doubt."""

    client_server: bool = False
    """Use fio's own client/server mode: a server on each client host, controlled by one fio on the first. They start within
    milliseconds of each other; without it, perjoule starts all at the same instant."""

    job: TextFile | None = None
    """A fio job file, relative to the campaign, run as it is on each client in its own folder in the file system; then time_limit
    is the only other option. A file that would reach outside that folder is refused."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible_job(self) -> Self:
        if self.job is not None:
            known: Mapping[str, FieldInfo] = getattr(type(self), "__pydantic_fields__", {})
            others = {name: info.default for name, info in known.items() if name not in ("job", "time_limit_s")}
            if more := next((name for name, default in others.items() if getattr(self, name) != default), ""):
                raise ValueError(f"a job file is run as it is (remove {option_name(more)})")
            try:
                file.check(self.job.text)
            except ValueError as error:
                raise ValueError(f"{self.job.name} {error}") from None
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        size, transfer = bytes_text(self.size_bytes), bytes_text(self.transfer_bytes)
        if self.transfer_bytes > self.size_bytes:
            raise ValueError(f'a transfer of "{transfer}" does not fit a size of "{size}" (lower transfer or raise size)')
        if self.size_bytes % self.transfer_bytes:
            whole = exact_text(self.size_bytes // self.transfer_bytes * self.transfer_bytes, BYTES)
            raise ValueError(f'size "{size}" is not a whole number of transfers of "{transfer}" (write "{whole}")')
        if self.direct and self.transfer_bytes % 512:
            raise ValueError(f'direct I/O moves whole sectors of 512 B, not "{transfer}" (make transfer a multiple of "512 B")')
        if self.read_share_ratio is not None and not self._mixed:
            raise ValueError(f'read_share is for operation "rw" or "randrw", not "{self.operation}" (remove it)')
        if self.read_share_ratio is not None and abs(self.read_share_ratio * 100 - self._read_percent) > 1e-6:
            raise ValueError("read_share must be a whole percentage")
        limit = seconds_text(self.time_limit_s)
        if self.duration_s is not None and self.duration_s >= self.time_limit_s:
            raise ValueError(f'duration must be below time_limit, "{limit}" (raise time_limit)')
        if self.verify and (self._mixed or self.duration_s or self.round_s):
            raise ValueError(
                "verify is for whole files, written or read once (remove duration and round, and do not mix operations)"
            )
        if self.round_s is not None:
            self._possible_rounds(self.round_s, limit)
        return self

    def _possible_rounds(self, round_s: float, limit: str) -> None:
        if self.duration_s or self.client_server:
            raise ValueError("rounds end when they are steady, with fio on each client (remove duration and client_server)")
        if round_s < SHORTEST_ROUND_S:
            raise ValueError(f"a round takes at least {seconds_text(SHORTEST_ROUND_S)}")
        if (self.rounds_count + 1) * round_s >= self.time_limit_s:
            all_text = seconds_text((self.rounds_count + 1) * round_s)
            raise ValueError(f'rounds may take "{all_text}", and time_limit is "{limit}" (raise time_limit)')

    @property
    def _mixed(self) -> bool:
        return self.operation in ("rw", "randrw")

    @property
    def _read_percent(self) -> int:
        return 50 if self.read_share_ratio is None else round(self.read_share_ratio * 100)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions measured; a mixed load has both."""
        if self.job is not None:
            return file.directions(self.job.text)
        return ("write", "read") if self._mixed else ("write" if "write" in self.operation else "read",)

    @property
    def pattern(self) -> Pattern:
        """As configured; a job file may do anything."""
        if self.job is not None:
            return Pattern()
        access = "random" if self.operation.startswith("rand") else "sequential"
        return Pattern(self.transfer_bytes, access, self.direct)

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """No longer than `duration`."""
        whole_s = super().loading_s(clients_count, bytes_per_s)
        return min(whole_s, self.duration_s or whole_s)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients, both directions together."""
        return clients_count * (self.client_bytes(clients_count) if self.job is None else file.moved_bytes(self.job.text))

    def client_bytes(self, clients_count: int) -> int:
        """Return the bytes of each of this many clients."""
        if not self.shared:
            return self.size_bytes
        return max(1, self.size_bytes // clients_count // self.transfer_bytes) * self.transfer_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for fio, and for io_uring if it is requested."""
        path = shutil.which("fio")
        found = [Check("fio", bool(path), path or "not found", fix="apt-get install fio", look="program fio")]
        if self._engine == "io_uring":
            switch = Path("/proc/sys/kernel/io_uring_disabled")
            off = switch.exists() and switch.read_text().strip() != "0"
            fix = "sysctl kernel.io_uring_disabled=0"
            detail, look = "disabled in the kernel" if off else "allowed", f"setting {switch} 0"
            found.append(Check("io_uring", not off, detail, fix=fix, look=look))
        return tuple(found)

    @property
    def _engine(self) -> str:
        if self.in_flight_count == 1:
            return "psync"
        return "libaio" if self.direct else "io_uring"  # libaio blocks on buffered files

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old files before a write, lay missing ones out before anything else, then drop caches."""
        if self.job is not None:
            prepare_file(self.job.text, clients, mounted, folder, time_limit_s=self.time_limit_s)
            self._cool(clients, mounted, folder)
            return
        if "write" in self.operation:
            for client in clients:
                self._remove(client, mounted)
        else:
            bare = [client for client in clients if not self._laid_out(client, mounted, self.client_bytes(len(clients)))]
            for client in bare:
                self._remove(client, mounted)
            size_bytes = self.client_bytes(len(clients))
            transfer_bytes = self.transfer_bytes if self.verify else min(size_bytes, LAYOUT_TRANSFER_BYTES)
            layout = ["rw=write", f"bs={transfer_bytes}", "ioengine=psync", "end_fsync=1", *self._checksums("write")]
            self._load(bare, mounted, folder, "layout-", [*layout, f"size={size_bytes}"])
        self._cool(clients, mounted, folder)

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports.

        Raises:
            TransientError: a daemon died, or a client was not done within the time limit.
            WorkloadError: a client moved less than requested, or read something else than was written; the message ends in fio's
                own.
        """
        if self.job is not None:
            with noted(folder, clients):
                run_file(clients, mounted, folder, "", time_limit_s=self.time_limit_s)
            return self.outcome(folder)
        load = [f"rw={self.operation}", *self._how(clients), *self._limits(), *self._checksums(self.operation)]
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
        how = [f"bs={self.transfer_bytes}", f"ioengine={self._engine}", f"iodepth={self.in_flight_count}"]
        return [*how, f"direct={self.direct:d}", f"size={self.client_bytes(len(clients))}"]

    def _limits(self) -> list[str]:
        """Return the fio options that end the load: after its rounds, or after size or time, and then with an fsync."""
        if self.round_s:
            return ["time_based=1", f"runtime={(self.rounds_count + MORE_ROUNDS) * self.round_s:.0f}"]
        return ["end_fsync=1", *([f"runtime={self.duration_s * 1e6:.0f}us"] if self.duration_s else [])]

    def _checksums(self, operation: str) -> list[str]:
        if not self.verify:
            return []
        return [f"verify={self.verify}", "do_verify=0" if "write" in operation else "verify_fatal=1"]

    @property
    def _reads_back(self) -> bool:
        return self.verify is not None and "write" in self.operation

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if a client moved less than requested, or a file is damaged."""
        with reading("fio's raw output", folder):
            return self._outcome(folder)

    def _outcome(self, folder: Path) -> Outcome:
        found = Raw(folder)
        if self.job is not None:
            return found.jobs()
        if self.round_s:
            return found.steady(self.rounds_count)
        whole = found.whole()
        size_bytes = self.client_bytes(len(found.names))
        moved = {name: [one for one in whole.results if one.host == name] for name in found.names}
        ended_by = {name: self._ended_by(name, results, size_bytes) for name, results in moved.items()}
        doubts, notes = list(whole.doubts), [report.ended_by_text(ended_by)] if self.duration_s else []
        if self._reads_back and not found.has_read_back:
            doubts.append("the written data were not read back")
        elif self._reads_back:
            doubts += found.read_back(size_bytes)
            notes.append(f"read back and verified ({self.verify}) after the measured window")
        if self.client_server:
            doubts += server.doubts(list(found.began_s.values()))
        return replace(whole, doubts=tuple(dict.fromkeys(doubts)), note="; ".join(notes))

    def _ended_by(self, client: str, moved: Sequence[ClientResult], size_bytes: int) -> Literal["size", "duration"]:
        """Compare a report with the request. Raises WorkloadError if it reached neither size nor duration."""
        moved_bytes, took_s = sum(one.moved_bytes for one in moved), max((one.ended_s - one.began_s for one in moved), default=0)
        if moved_bytes == size_bytes:
            return "size"
        if self.duration_s and 0 < moved_bytes < size_bytes and took_s >= self.duration_s - report.UNSURE_S:
            return "duration"
        after = f" after {seconds_text(took_s)} of {seconds_text(self.duration_s)}" if self.duration_s else ""
        what = f"fio moved {bytes_text(moved_bytes)} of {bytes_text(size_bytes)}{after} and reported no error"
        raise WorkloadError(what, where=client)

    def _file(self, client: Host, mounted: Mounted) -> Path:
        # What random writes leave has holes until all is written: it must never pass for a layout, nor what has no checksums.
        kind = f"{self.verify}-{self.transfer_bytes}" if self.verify else "holes" if self.operation == "randwrite" else "data"
        return mounted.directories[client.name] / f"{client.name}.{kind}"

    def _remove(self, client: Host, mounted: Mounted) -> None:
        folder = mounted.directories[client.name]
        old = ["-maxdepth", "1", "-type", "f", "-name", f"{client.name}.*", "-delete"]
        client.run(["find", folder, *old], timeout_s=self.time_limit_s)

    def _laid_out(self, client: Host, mounted: Mounted, size_bytes: int) -> bool:
        path = self._file(client, mounted)
        found = client.run(["stat", "--format=%s", path], timeout_s=self.time_limit_s, check=False)
        return found.returncode == 0 and found.stdout.strip() == str(size_bytes)

    def _cool(self, clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str = "") -> None:
        """Write back and drop all caches, and record the doubts."""
        for client in clients:
            client.run(["sync", "-f", mounted.directories[client.name]], timeout_s=self.time_limit_s)
        (folder / f"{prefix}prepared.json").write_text(json.dumps({"doubts": cold(clients, mounted)}))

    def _load(
        self,
        clients: Sequence[Host],
        mounted: Mounted,
        folder: Path,
        prefix: str,
        load: Sequence[str],
        *,
        ahead_s: Mapping[str, float] | None = None,
    ) -> float | None:
        """Run one fio per client to its end, each on its own file; gives the moment of a common start."""
        wanted = {client.name: [_filename(self._file(client, mounted)), *load] for client in clients}
        return run_jobs(
            clients,
            mounted,
            folder,
            prefix,
            wanted,
            time_limit_s=self.time_limit_s,
            ahead_s=ahead_s,
            by_server=self.client_server,
            steady=Rounds(self.round_s, self.rounds_count) if self.round_s and not prefix else None,
        )


def _filename(file: Path) -> str:
    return f"filename={str(file).replace(':', chr(92) + ':')}"  # a bare colon separates files
