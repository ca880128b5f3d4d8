"""fio, the flexible I/O tester, as the load engine: https://fio.readthedocs.io

One fio and one file per client. All clients get the same start instant; what is measured runs from the first I/O to the end of
the closing fsync. Reads find a file that an earlier trial or `prepare` wrote, and cold caches.
"""

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.errors import TransientError, WorkloadError
from perjoule.model import OPTIONS, ClientResult, Clock, Outcome
from perjoule.protocols import Check, Host, Mounted, Workload
from perjoule.units import BYTES, MIB, Bytes, Ratio, Seconds, bytes_text, exact_text, seconds_text
from perjoule.workloads import _fio_report as report
from perjoule.workloads._fio_start import WAIT_FOR_START, together

EXAMPLE = """
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "4 MiB"
size = "256 MiB"
"""

LAYOUT_TRANSFER_BYTES = 4 * MIB


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Fio(Workload):
    """Sequential or random, read, write or mixed I/O, a file per client."""

    operation: Literal["write", "read", "randwrite", "randread", "rw", "randrw"] = "write"
    """What the clients do; rw and randrw mix reads and writes."""

    transfer_bytes: Bytes = 4 * MIB
    """How much one I/O call moves."""

    size_bytes: Bytes = 256 * MIB
    """How much each client moves; also the size of its file."""

    shared: bool = False
    """Whether size is what all clients move together, an equal share each, so that the amount of work stays constant."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT)."""

    read_share_ratio: Ratio | None = None
    """The share of reads in a mix, in whole percent; half of it if not said."""

    in_flight_count: int = Field(default=1, ge=1, le=1024)
    """I/O calls a client has under way at once: 1 by psync, more by libaio (direct) or io_uring."""

    duration_s: Seconds | None = None
    """End the load after this time even if not all is moved: whichever of time and size comes first, which a note tells."""

    time_limit_s: Seconds = 600.0
    """Give a run, or the layout before it, up as failed after this time."""

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
            raise ValueError(f'read_share is for operation "rw" or "randrw", not "{self.operation}" (leave it out)')
        if self.read_share_ratio is not None and abs(self.read_share_ratio * 100 - self._read_percent) > 1e-6:
            raise ValueError("read_share is taken in whole percent")
        if self.duration_s is not None and self.duration_s >= self.time_limit_s:
            raise ValueError(f'duration must be below time_limit, "{seconds_text(self.time_limit_s)}" (raise time_limit)')
        return self

    @property
    def _mixed(self) -> bool:
        return self.operation in ("rw", "randrw")

    @property
    def _read_percent(self) -> int:
        return 50 if self.read_share_ratio is None else round(self.read_share_ratio * 100)

    @property
    def directions(self) -> tuple[str, ...]:
        """Mixed loads are measured in both directions."""
        return ("write", "read") if self._mixed else ("write" if "write" in self.operation else "read",)

    def moved_bytes(self, clients_count: int) -> int:
        """All clients' bytes, both directions together."""
        return clients_count * self.client_bytes(clients_count)

    def client_bytes(self, clients_count: int) -> int:
        """What each of so many clients moves."""
        if not self.shared:
            return self.size_bytes
        return max(1, self.size_bytes // clients_count // self.transfer_bytes) * self.transfer_bytes

    def checks(self) -> tuple[Check, ...]:
        """Look for fio, and for io_uring where it is wanted."""
        path = shutil.which("fio")
        found = [Check("fio", bool(path), path or "not found", fix="apt-get install fio")]
        if self._engine == "io_uring":
            switch = Path("/proc/sys/kernel/io_uring_disabled")
            off = switch.exists() and switch.read_text().strip() != "0"
            fix = "sysctl kernel.io_uring_disabled=0"
            found.append(Check("io_uring", not off, "disabled in the kernel" if off else "allowed", fix=fix if off else ""))
        return tuple(found)

    @property
    def _engine(self) -> str:
        if self.in_flight_count == 1:
            return "psync"
        return "libaio" if self.direct else "io_uring"  # libaio blocks on buffered files

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old files before a write, lay missing ones out before anything else, then drop caches."""
        if "write" in self.operation:
            for client in clients:
                self._remove(client, mounted)
        else:
            size_bytes = self.client_bytes(len(clients))
            bare = [client for client in clients if not self._laid_out(client, mounted, size_bytes)]
            for client in bare:
                self._remove(client, mounted)
            layout = ["--rw=write", f"--bs={min(size_bytes, LAYOUT_TRANSFER_BYTES)}", "--ioengine=psync"]
            self._load(bare, mounted, folder, "layout-", layout, size_bytes)
        for client in clients:
            client.run(["sync", "-f", mounted.directories[client.name]], timeout_s=self.time_limit_s)
        mounted.drop_caches()
        warm = ""
        try:
            for client in clients:
                client.drop_caches()
        except WorkloadError as error:
            warm = f"page caches were not dropped: {error}"
        (folder / "prepared.json").write_text(json.dumps({"doubts": [warm] if warm else []}))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports.

        Raises:
            TransientError: a daemon died, or a client was not done within the time limit.
            WorkloadError: a client moved less than asked; the message ends in fio's own words.
        """
        mix = [f"--rwmixread={self._read_percent}"] if self._mixed else []
        cap = [f"--runtime={self.duration_s * 1e6:.0f}us"] if self.duration_s else []
        depth = [f"--ioengine={self._engine}", f"--iodepth={self.in_flight_count}", f"--direct={self.direct:d}"]
        load = [f"--rw={self.operation}", f"--bs={self.transfer_bytes}", *depth, *mix, *cap]
        clocks = [_clock()]
        self._load(clients, mounted, folder, "", load, self.client_bytes(len(clients)))
        clocks.append(_clock())
        clock_pairs = [{"monotonic_s": c.monotonic_s, "utc_s": c.utc_s} for c in clocks]
        (folder / "run.json").write_text(json.dumps({"clients": [c.name for c in clients], "clocks": clock_pairs}))
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Read a raw folder again. Raises WorkloadError when a client moved less than asked, or a file is damaged."""
        try:
            return self._outcome(folder)
        except (OSError, ValueError, LookupError) as error:
            raise WorkloadError(f"fio's raw output can't be read: {error}", where=str(folder)) from error

    def _outcome(self, folder: Path) -> Outcome:
        ran = json.loads((folder / "run.json").read_text())
        doubts = tuple(json.loads((folder / "prepared.json").read_text())["doubts"])
        first, last = (Clock(**pair) for pair in ran["clocks"])
        offset_s = first.monotonic_s - first.utc_s
        names: list[str] = ran["clients"]
        jobs = {name: report.job((folder / f"{name}.json").read_text()) for name in names}
        moved = {
            name: report.results(name, job, float((folder / f"{name}.prerun.txt").read_text()) + offset_s)
            for name, job in jobs.items()
        }
        ended_by = {name: self._ended_by(name, results, self.client_bytes(len(names))) for name, results in moved.items()}
        everything = tuple(one for results in moved.values() for one in results)
        series = (report.goodput((folder / f"{name}_bw.1.log").read_text(), moved[name], offset_s) for name in names)
        drift_s = (last.monotonic_s - last.utc_s) - offset_s
        engine = str(jobs[names[0]]["fio version"])
        note = report.ended_by_text(ended_by) if self.duration_s else ""
        return Outcome(engine, everything, doubts + report.doubts(everything, drift_s), tuple(series), note=note)

    def _ended_by(self, client: str, moved: Sequence[ClientResult], size_bytes: int) -> Literal["size", "duration"]:
        """Compare a report with the request. Raises WorkloadError where the client was done with neither size nor duration."""
        moved_bytes, took_s = sum(one.moved_bytes for one in moved), max((one.ended_s - one.began_s for one in moved), default=0)
        if moved_bytes == size_bytes:
            return "size"
        if self.duration_s and 0 < moved_bytes < size_bytes and took_s >= self.duration_s - report.UNSURE_S:
            return "duration"
        after = f" after {seconds_text(took_s)} of {seconds_text(self.duration_s)}" if self.duration_s else ""
        what = f"fio moved {bytes_text(moved_bytes)} of {bytes_text(size_bytes)}{after} and reported no error"
        raise WorkloadError(what, where=client)

    def _file(self, client: Host, mounted: Mounted) -> Path:
        # What random writes leave has holes until all is written: it must never pass for a layout.
        kind = "holes" if self.operation == "randwrite" else "data"
        return mounted.directories[client.name] / f"{client.name}.{kind}"

    def _remove(self, client: Host, mounted: Mounted) -> None:
        folder = mounted.directories[client.name]
        files = [folder / f"{client.name}.{kind}" for kind in ("data", "holes")]
        client.run(["rm", "-f", "--", *files], timeout_s=self.time_limit_s)

    def _laid_out(self, client: Host, mounted: Mounted, size_bytes: int) -> bool:
        path = self._file(client, mounted)
        found = client.run(["stat", "--format=%s", path], timeout_s=self.time_limit_s, check=False)
        return found.returncode == 0 and found.stdout.strip() == str(size_bytes)

    def _load(
        self, clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str, load: Sequence[str], size_bytes: int
    ) -> None:
        """Run one fio per client, all from the same instant, to their end; outputs are named by prefix and client."""
        for client in clients:
            # fio makes missing folders: on a mount that is gone it would fill the disk below
            directory = mounted.directories[client.name]
            if client.run(["test", "-d", directory], timeout_s=self.time_limit_s, check=False).returncode != 0:
                mounted.alive()
                raise TransientError(f"the folder in the file system is gone ({directory})", where=client.name)
        wanted = {prefix + client.name: (client, self._file(client, mounted)) for client in clients}
        jobs = {name: (client, [*_argv(folder, name, file, size_bytes), *load]) for name, (client, file) in wanted.items()}
        try:
            together(jobs, folder, time_limit_s=self.time_limit_s)
        except WorkloadError:
            mounted.alive()  # a daemon that died is the better reason
            raise


def _argv(folder: Path, name: str, file: Path, size_bytes: int) -> list[str | Path]:
    """Ask for one job, all its outputs in `folder`.

    Last before its first I/O, fio runs the prerun: wait at the barrier, then note the time. (Its own startdelay is looked at only
    every 100 ms.)
    """
    return [
        *("env", "-C", folder.resolve(), "fio", f"--name={name}"),
        f"--filename={str(file).replace(':', chr(92) + ':')}",  # a bare colon separates files
        f"--size={size_bytes}",
        f"--exec_prerun={WAIT_FOR_START}",
        *("--fallocate=none", "--end_fsync=1"),
        *("--eta=never", "--output-format=json", f"--output={name}.json", "--lat_percentiles=1", "--clat_percentiles=0"),
        *(f"--write_bw_log={name}", "--log_avg_msec=500", "--log_unix_epoch=1"),
    ]


def _clock() -> Clock:
    return Clock(time.monotonic(), time.time())
