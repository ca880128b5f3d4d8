"""A checkpoint of a training job: all ranks write their shards at once, or read them back.

Described as MLPerf Storage describes its workload of that name (https://github.com/mlcommons/storage); what
it measures is no MLPerf result. A write ends when the shard of every rank is durable (fsync); a read finds
shards that an earlier trial or `prepare` wrote, and cold caches, and compares every byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Direction, Json, Outcome, Pattern
from perjoule.model.metrics import CHECKPOINTS
from perjoule.model.units import BYTES, MIB, Bytes, Ratio, Seconds, bytes_text, exact_text
from perjoule.workloads import _ranks as in_clients
from perjoule.workloads._ranks.program import BLOCK_BYTES, PAGE_BYTES
from perjoule.workloads._ranks.report import RankRecords
from perjoule.workloads._raw import keep_doubts, noted, reading
from perjoule.workloads._running import cold, remove_old, synced

EXAMPLE = """
[[workload]]
kind = "checkpoint"
operation = ["write", "read"]
ranks = 4
size = "64 MiB"
"""


@plain_dataclass(frozen=True)
class Model:
    """A model of MLPerf Storage v2.0: the bytes of its weights and its optimizer, and the ranks that write
    them.
    """

    checkpoint_bytes: int
    ranks_count: int

    @property
    def rank_bytes(self) -> float:
        """The bytes of each rank."""
        return self.checkpoint_bytes / self.ranks_count


# Of 8.03 billion parameters, two bytes each for weights and twelve for the optimizer, by eight ranks (ZeRO 3):
# https://github.com/mlcommons/storage/blob/main/configs/dlio/workload/llama3_8b.yaml
MODELS: Mapping[str, Model] = {"llama3-8b": Model(14 * 8_030_261_248, 8)}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Checkpoint(Workload):
    """Shards of a checkpoint, written or read by all ranks of all clients at once."""

    operation: Literal["write", "read"] = "write"
    """Save a checkpoint, or load the one that is there."""

    ranks_count: Annotated[int, Field(ge=1, le=256)] = 1
    """Ranks in each client, each with a file of its own."""

    size_bytes: Bytes | None = None
    """Bytes of each rank; `model` states them otherwise."""

    model: Literal["llama3-8b"] | None = None
    """A model whose rank has as many bytes as in MLPerf Storage; the number of ranks is that of `ranks` and
    clients.
    """

    share_ratio: Ratio = 1.0
    """The share of a rank of `model` that is written, for file systems that are smaller."""

    transfer_bytes: Bytes = MIB
    """Bytes per I/O call, a multiple of 64 KiB."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT)."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.size_bytes is None) == (self.model is None):
            raise ValueError('state the bytes of a rank once (write size = "1 GiB", or model = "llama3-8b")')
        if self.model is None and self.share_ratio != 1:
            raise ValueError("share is of a model (remove it, or name a model)")
        if not 0 < self.share_ratio <= 1:
            raise ValueError('share is above 0 and at most 100 % (write share = "1 %")')
        if self.transfer_bytes % BLOCK_BYTES:
            blocks_count = max(1, round(self.transfer_bytes / BLOCK_BYTES))
            suggestion = exact_text(blocks_count * BLOCK_BYTES, BYTES)
            raise ValueError(f'transfer is a multiple of 64 KiB (write transfer = "{suggestion}")')
        if self.direct and self.rank_bytes % PAGE_BYTES:
            raise ValueError("with direct = true, size is a multiple of 4 KiB (change size)")
        return self

    @property
    def rank_bytes(self) -> int:
        """The bytes of each rank; a share of a model's is whole blocks of 64 KiB."""
        if self.model is None:
            return self.size_bytes or 0
        return max(1, round(MODELS[self.model].rank_bytes * self.share_ratio / BLOCK_BYTES)) * BLOCK_BYTES

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction of its operation."""
        return (self.operation,)

    @property
    def pattern(self) -> Pattern:
        """Sequential, as configured."""
        return Pattern(self.transfer_bytes, "sequential", self.direct)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all ranks."""
        return clients_count * self.ranks_count * self.rank_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for Python on clients."""
        return in_clients.checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old shards before a write, write missing ones before a read, then drop caches."""
        bare = [
            client for client in clients if self.operation == "write" or not self._laid_out(client, mounted)
        ]
        each(bare, lambda client: self._remove(client, mounted))
        if self.operation == "read":
            self._load(bare, mounted, folder, "write", prefix="layout-")
        synced(clients, mounted, self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all ranks together and read their records. Raises WorkloadError, TransientError."""
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(clients, mounted, folder, self.operation, ahead_s=run.ahead_s)
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if a rank moved less than requested, or a file is damaged."""
        with reading("the raw output of the ranks", folder):
            raw = RankRecords(folder, self.ranks_count)
            raw.require_bytes(self.rank_bytes)
            outcome = raw.outcome("perjoule's ranks", self.operation)
            return replace(outcome, measured={**outcome.measured, CHECKPOINTS: 1.0}, note=self._note)

    @property
    def _note(self) -> str:
        if self.model is None:
            return ""
        share = "" if self.share_ratio == 1 else f"{bytes_text(self.rank_bytes)} a rank, "
        return f"{self.model} as in MLPerf Storage v2.0, {share}not a result of MLPerf"

    def _load(
        self,
        clients: Sequence[Host],
        mounted: Mounted,
        folder: Path,
        operation: str,
        *,
        prefix: str = "",
        ahead_s: Mapping[str, float] | None = None,
    ) -> float | None:
        jobs: dict[str, dict[str, Json]] = {
            client.name: {
                "do": operation,
                "ranks": [
                    {
                        "path": str(path),
                        # of one trial alone: other bytes in each, against deduplication
                        "content_seed": str(path),
                        "bytes": self.rank_bytes,
                        "transfer": self.transfer_bytes,
                        "direct": self.direct,
                    }
                    for path in self._paths(client, mounted)
                ],
            }
            for client in clients
        }
        return in_clients.together(
            clients, mounted, folder, jobs, time_limit_s=self.time_limit_s, prefix=prefix, ahead_s=ahead_s
        )

    def _paths(self, client: Host, mounted: Mounted) -> list[Path]:
        place = mounted.directories[client.name]
        return [place / f"{client.name}.rank-{number}" for number in range(self.ranks_count)]

    def _remove(self, client: Host, mounted: Mounted) -> None:
        place = mounted.directories[client.name]
        remove_old(client, place, f"{client.name}.rank-*", timeout_s=self.time_limit_s)

    def _laid_out(self, client: Host, mounted: Mounted) -> bool:
        argv = ["stat", "--format=%s", *self._paths(client, mounted)]
        sizes = client.run(argv, timeout_s=self.time_limit_s, check=False).stdout.split()
        return sizes == [str(self.rank_bytes)] * self.ranks_count
