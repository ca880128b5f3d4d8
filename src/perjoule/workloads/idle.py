"""No load: what a mounted, quiet file system draws, and what it does by itself.

It is the "ready idle" of SNIA's Emerald, https://www.snia.org/forums/cmsi/programs/emerald, for a whole file
system.

The window begins when everything has been written back and the file system has had time to come to rest.
perjoule itself reads only counters and meters meanwhile; on hosts reached over SSH, that takes CPU time and
network bytes of theirs.
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Need, RunsUnmounted, Unmounts, Workload, able
from perjoule.machine.each import each
from perjoule.machine.untrusted import read_as
from perjoule.model import OPTIONS, ClientResult, Direction, Json, Outcome
from perjoule.model.errors import WorkloadError
from perjoule.model.metrics import LEAST_GAP, MOUNTED
from perjoule.model.units import MIB, Bytes, Seconds, SecondsOrZero
from perjoule.workloads._raw import keep_doubts, prepared_doubts, reading
from perjoule.workloads._running import cold, synced

EXAMPLE = """
[[workload]]
kind = "idle"
duration = "60 s"
mounted = [true, false]
"""

RAW = "idle.json"
SYNC_S = 600.0
# as large as an object of CephFS; smaller than a chunk of MooseFS, so that all servers get some
FILE_BYTES = 4 * MIB


@plain_dataclass(frozen=True)
class IdleWindow:
    """idle.json: the window, a result for each client, and on how many of them the file system was
    mounted.
    """

    results: tuple[ClientResult, ...]
    mounted_count: int
    least_gap_s: float


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Idle(Workload, RunsUnmounted):
    """A file system without a load, with its clients mounted or not."""

    needs: ClassVar[Need] = "nothing"
    simulated_with: ClassVar[Mapping[str, Json] | None] = {"duration": "0.5 s", "rest": "0 s"}

    duration_s: Seconds = 60.0
    """Length of the window, in wall time.

    Daemons work in periods of seconds to minutes; cover several of the longest.
    """

    data_bytes: Bytes | None = None
    """Bytes that each client writes before the window, in files of 4 MiB, for the file system to hold. Caches
    are dropped
    afterwards."""

    mounted: bool = True
    """Whether clients have the file system mounted; otherwise they unmount it before the window and mount
    it again after it.
    """

    rest_s: SecondsOrZero = 5.0
    """Wall time between the last write-back or unmount and the window."""

    least_gap_s: Seconds = 10.0
    """The shortest time without an access, in emulated time, after which a disk could sleep.

    Shorter gaps do not count.
    """

    @property
    def directions(self) -> tuple[Direction, ...]:
        """None: it is idle."""
        return ("idle",)

    def moved_bytes(self, clients_count: int) -> int:
        """Return 0."""
        return 0

    def stored_bytes(self, clients_count: int) -> int:
        """Return `data` of all clients."""
        return clients_count * (self.data_bytes or 0)

    @property
    def runs_unmounted(self) -> bool:
        """Unless `mounted`."""
        return not self.mounted

    @property
    def duration_limit_s(self) -> float:
        """`duration`, after the rest."""
        return self.rest_s + self.duration_s

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """Its duration after the rest, whatever the speed."""
        return self.duration_limit_s

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: it needs no program."""
        return (Check("idle", True, "needs nothing"),)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Write `data`, and write back what earlier trials left; without data, caches stay warm, as they
        are while it is idle.
        """
        loading = [client for client in clients if client.name in mounted.directories]
        if self.data_bytes and not loading:
            raise WorkloadError("an idle trial has data only in folders", where="idle", next="remove data")
        each(loading, lambda client: self._fill(client, mounted.directories[client.name]))
        synced(loading, mounted, SYNC_S)
        if self.data_bytes:
            keep_doubts(folder, cold(clients, mounted))

    def _fill(self, client: Host, place: Path) -> None:
        for number in range(-(-(self.data_bytes or 0) // FILE_BYTES)):
            size = min(FILE_BYTES, (self.data_bytes or 0) - number * FILE_BYTES)
            argv = [
                "dd",
                "if=/dev/urandom",
                f"of={place / f'data-{number}'}",
                f"bs={size}",
                "count=1",
                "iflag=fullblock",
            ]
            client.run([*argv, "status=none"], timeout_s=SYNC_S)

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Wait.

        Raises WorkloadError if the file system can't be unmounted, TransientError if it can't be mounted
        again.
        """
        with nullcontext() if self.mounted else able(mounted, Unmounts).unmounted():
            time.sleep(self.rest_s)
            began_s = time.monotonic()
            time.sleep(self.duration_s)
            ended_s = time.monotonic()
        results = tuple(ClientResult(client.name, "idle", began_s, ended_s, 0, 0) for client in clients)
        window = IdleWindow(results, len(clients) if self.mounted else 0, self.least_gap_s)
        (folder / RAW).write_text(json.dumps(asdict(window)))
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Read the window. Raises WorkloadError."""
        with reading("the window of an idle trial", folder):
            window = read_as(IdleWindow, folder / RAW)
            doubts = prepared_doubts(folder) if self.data_bytes else ()
        measured = {MOUNTED: float(window.mounted_count), LEAST_GAP: window.least_gap_s}
        return Outcome("no load", window.results, doubts, measured=measured)
