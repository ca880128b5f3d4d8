"""The options of a load by fio: which go together, and what follows from them."""

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from perjoule.drivers.protocols import Check, Workload
from perjoule.model import OPTIONS, Direction, Pattern, TextFile, is_to_run, option_name
from perjoule.model.units import (
    BYTES,
    MIB,
    Bytes,
    BytesPerSecond,
    Ratio,
    Seconds,
    bytes_text,
    exact_text,
    seconds_text,
)
from perjoule.workloads.fio import job as file
from perjoule.workloads.fio.steady import ROUNDS_COUNT

SHORTEST_ROUND_S = 0.5  # between two reports of fio's
_ONLY_IN_A_JOB = (  # what people ask of fio that no option here stands for
    *(
        "fsync",
        "fdatasync",
        "end_fsync",
        "sync",
        "fallocate",
        "invalidate",
        "nrfiles",
        "openfiles",
        "filename",
        "directory",
    ),
    *(
        "offset",
        "io_size",
        "bssplit",
        "bsrange",
        "norandommap",
        "randrepeat",
        "random_distribution",
        "random_generator",
    ),
    *(
        "rate_iops",
        "iodepth_batch",
        "refill_buffers",
        "zero_buffers",
        "buffer_compress_percentage",
        "dedupe_percentage",
    ),
    *("group_reporting", "zonemode"),
)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class FioOptions(Workload):
    """The request to fio, and what follows from it before it runs."""

    also_called: ClassVar[Mapping[str, str]] = {
        "rw": "operation = {value}",
        "readwrite": "operation = {value}",
        "bs": "transfer = {bytes}",
        "blocksize": "transfer = {bytes}",
        "filesize": "size = {bytes}",
        **dict.fromkeys(("iodepth", "queue_depth", "depth", "qd"), "in_flight = {value}"),
        "runtime": "duration = {seconds}",
        "thinktime": "pause = {value} and burst",
        "thinktime_blocks": "burst, in bytes",
        "rwmixread": "read_share = {percent}",
        "numjobs": "clients = {value} above the first table: each client has one job",
        "loops": "repetitions = {value} above the first table",
        "ioengine": "in_flight = 16, which takes io_uring, or libaio with direct = true; 1 in flight takes psync",
        "time_based": 'duration = "60 s" and a size that takes longer: the first of the two ends the load',
        "ramp_time": "round = {seconds}: rounds are warm-up until five of them are steady",
        **dict.fromkeys(_ONLY_IN_A_JOB, 'job = "my.fio": a job file can have any option of fio'),
    }

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
    """End the load after this time even if not all is moved: the first of time and size ends it; a note
    says which.
    """

    rate_bytes_per_s: BytesPerSecond | None = None
    """The most that each client moves per second of wall time; as fast as it can by default."""

    burst_bytes: Bytes | None = None
    """Bytes between two pauses: the client loads in bursts of this size."""

    pause_s: Seconds | None = None
    """How long a client pauses after each burst, in wall time."""

    tolerate_errors: bool = False
    """Continue after I/O errors of lost servers (EIO, ENOTCONN, ECONNREFUSED, ETIMEDOUT and the like) and
    count them, for
    campaigns with events; needs `duration`. Otherwise the first error ends the load, and the trial fails."""

    verify: Literal["crc32c", "md5", "sha256", "xxhash"] | None = None
    """Give every block a checksum: a write is read back and verified after the measured window, a read while
    it is measured, both
    over cold caches. A mismatch makes the trial fail."""

    round_s: Seconds | None = None
    """Run over the file again and again until five consecutive rounds of this length are steady by the SNIA's
    rule (range at most
    20 % of the mean, fitted line at most 10 %). These are measured; earlier rounds are kept as warm-up."""

    rounds_count: int = Field(default=25, ge=ROUNDS_COUNT, le=1000)
    """Stop after this many rounds even if not steady: the last five are measured, with a doubt."""

    client_server: bool = False
    """Use fio's own client/server mode: a server on each client host, controlled by one fio on the first. A server runs
    commands for everybody who reaches it, users of its host included."""

    job: TextFile | None = None
    """A fio job file, relative to the campaign, run as it is on each client in its own folder in the file
    system; then time_limit
    is the only other option. A file that would reach outside that folder is refused."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @property
    def duration_limit_s(self) -> float:
        """`duration`, without rounds."""
        return self.duration_s if self.duration_s and not self.round_s else math.inf

    @model_validator(mode="after")
    def _possible_job(self, info: ValidationInfo) -> Self:
        if self.job is not None:
            fields: Mapping[str, FieldInfo] = getattr(type(self), "__pydantic_fields__", {})
            defaults = {
                name: info.default for name, info in fields.items() if name not in ("job", "time_limit_s")
            }
            if more := next(
                (name for name, default in defaults.items() if getattr(self, name) != default), ""
            ):
                raise ValueError(f"a job file is run as it is (remove {option_name(more)})")
            try:
                file.check(self.job.text, to_run=is_to_run(info))
            except ValueError as error:
                raise ValueError(f"{self.job.name} {error}") from None
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        size, transfer = bytes_text(self.size_bytes), bytes_text(self.transfer_bytes)
        if self.transfer_bytes > self.size_bytes:
            raise ValueError(
                f'a transfer of "{transfer}" does not fit a size of "{size}" (lower transfer or raise size)'
            )
        if self.size_bytes % self.transfer_bytes:
            size_whole = exact_text(self.size_bytes // self.transfer_bytes * self.transfer_bytes, BYTES)
            raise ValueError(
                f'size "{size}" is not a whole number of transfers of "{transfer}" (write "{size_whole}")'
            )
        if self.direct and self.transfer_bytes % 512:
            raise ValueError(
                f'direct I/O moves whole sectors of 512 B, not "{transfer}" (make transfer a multiple of '
                '"512 B")'
            )
        if self.read_share_ratio is not None and not self._mixed:
            raise ValueError(
                f'read_share is for operation "rw" or "randrw", not "{self.operation}" (remove it)'
            )
        if self.read_share_ratio is not None and abs(self.read_share_ratio * 100 - self._read_percent) > 1e-6:
            raise ValueError("read_share must be a whole percentage")
        limit = seconds_text(self.time_limit_s)
        if self.duration_s is not None and self.duration_s >= self.time_limit_s:
            raise ValueError(f'duration must be below time_limit, "{limit}" (raise time_limit)')
        if self.tolerate_errors and not self.duration_s:
            raise ValueError("tolerate_errors is for a load that ends at a known time (add duration)")
        if self.tolerate_errors and self.client_server:
            raise ValueError(
                "fio's client/server mode ends at the first error (remove client_server or tolerate_errors)"
            )
        if self.verify and (self._mixed or self.duration_s or self.round_s):
            raise ValueError(
                "verify is for whole files, written or read once (remove duration and round, and do not mix "
                "operations)"
            )
        if (self.burst_bytes is None) != (self.pause_s is None):
            raise ValueError("a load in bursts needs both burst and pause (write both, or neither)")
        if self.round_s is not None:
            self._possible_rounds(self.round_s, limit)
        return self

    def _possible_rounds(self, round_s: float, limit: str) -> None:
        if self.duration_s or self.client_server:
            raise ValueError(
                "rounds end when they are steady, with fio on each client (remove duration and client_server)"
            )
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

    @property
    def streaming_calls_count(self) -> int | None:
        """Not of a job file, nor of rounds, which go over the file again; checksums are work of the
        client's.
        """
        plain = (
            self.job is None and self.operation in ("write", "read") and not self.verify and not self.round_s
        )
        paced = self.rate_bytes_per_s is not None or self.pause_s is not None
        return self.in_flight_count if plain and not paced else None

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """No longer than `duration`."""
        whole_s = super().loading_s(clients_count, bytes_per_s)
        paced_s = (
            max(whole_s, self.client_bytes(clients_count) / self.rate_bytes_per_s)
            if self.rate_bytes_per_s
            else whole_s
        )
        return min(paced_s, self.duration_s or paced_s)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients, both directions together."""
        return clients_count * (
            self.client_bytes(clients_count) if self.job is None else file.moved_bytes(self.job.text)
        )

    def client_bytes(self, clients_count: int) -> int:
        """Return the bytes of each of this many clients."""
        if not self.shared:
            return self.size_bytes
        return max(1, self.size_bytes // clients_count // self.transfer_bytes) * self.transfer_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for fio, and for io_uring if it is requested."""
        path = shutil.which("fio")
        checked = [
            Check("fio", bool(path), path or "not found", fix="apt-get install fio", look="program fio")
        ]
        if self._engine == "io_uring":
            switch = Path("/proc/sys/kernel/io_uring_disabled")
            off = switch.exists() and switch.read_text().strip() != "0"
            fix = "sysctl kernel.io_uring_disabled=0"
            detail, look = "disabled in the kernel" if off else "allowed", f"setting {switch} 0"
            checked.append(Check("io_uring", not off, detail, fix=fix, look=look))
        return tuple(checked)

    @property
    def _engine(self) -> str:
        if self.in_flight_count == 1:
            return "psync"
        return "libaio" if self.direct else "io_uring"  # libaio blocks on buffered files
