"""A training job that reads its data set, files or objects: shuffled epochs, batches, reader threads, an
accelerator's time.

Described as MLPerf Storage describes its workloads of that name (https://github.com/mlcommons/storage); what
it measures is no MLPerf result. All clients share one data set, laid out before. Each accelerator is a rank;
its threads read ahead while it computes, which is a pause. Objects lie in the first client's bucket and are got
by perjoule's S3 engine; one sample is one request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Bucket, Check, Host, Mounted, Need, OffersBuckets, Workload, able
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Direction, Json, Outcome, Pattern
from perjoule.model.doubts import WORK, Doubt
from perjoule.model.errors import MovedTooLittle, WorkloadError
from perjoule.model.metrics import ACCELERATOR, COMPUTE_WALL, EPOCHS, ERRORS, SAMPLES
from perjoule.model.units import MIB, Bytes, Ratio, Seconds, SecondsOrZero, bytes_text
from perjoule.workloads import _ranks as in_clients
from perjoule.workloads._ranks.dataset import TOLERATED, file_sizes
from perjoule.workloads._ranks.program import BLOCK_BYTES, PAGE_BYTES
from perjoule.workloads._ranks.report import SHORTEST_S, RankRecords
from perjoule.workloads._raw import keep_doubts, noted, reading
from perjoule.workloads._running import SHORT_S, cold, require_common, synced
from perjoule.workloads.training.presets import PRESETS, Preset
from perjoule.workloads.training.report import accelerator_ratio, batches_of

EXAMPLE = """
[[workload]]
kind = "training"
files = 64
sample = "256 KiB"
deviation = "64 KiB"
batch = 4
compute = "10 ms"
epochs = 2
"""

FOLDER, LAYOUT = "perjoule-training", "layout-"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Training(Workload):
    """Epochs of samples, read in batches by the threads of emulated accelerators."""

    also_called: ClassVar[Mapping[str, str]] = {
        "num_files_train": "files = {value}",
        "num_samples_per_file": "samples_per_file = {value}",
        "record_length_bytes": 'sample = "{value} B"',
        "record_length_bytes_stdev": 'deviation = "{value} B"',
        "batch_size": "batch = {value}",
        "read_threads": "workers = {value}",
        "computation_time": 'compute = "{value} s"',
        "transfer_size": "transfer = {bytes}",
    }

    access: Literal["folders", "buckets"] = "folders"
    """Whether it reads files, or objects of a store that speaks S3."""

    preset: (
        Literal[
            "unet3d_h100", "unet3d_a100", "resnet50_h100", "resnet50_a100", "cosmoflow_h100", "cosmoflow_a100"
        ]
        | None
    ) = None
    """A workload of MLPerf Storage v1.0 with its accelerator, which states what other keys don't."""

    share_ratio: Ratio = 1.0
    """The share of a preset's sample that is read, in the same share of its compute time, so that an accelerator
    asks for as many bytes per second; for file systems that are smaller.
    """

    files_count: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Files, or objects, of the data set (MLPerf: num_files_train)."""

    samples_per_file: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Samples in each file (num_samples_per_file); 1 if omitted."""

    sample_bytes: Bytes | None = None
    """Bytes of a sample, on average (record_length_bytes)."""

    deviation_bytes: Bytes | None = None
    """Standard deviation of that from file to file (record_length_bytes_stdev); none if omitted."""

    batch_count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Samples in a batch (batch_size); 1 if omitted."""

    workers_count: Annotated[int, Field(ge=1, le=256)] | None = None
    """Reader threads of each accelerator (read_threads), each with a batch of its own; 4 if omitted."""

    compute_s: SecondsOrZero | None = None
    """For how long an accelerator computes a batch (computation_time), in wall time; 0 if omitted."""

    shuffle: Literal["samples", "files"] | None = None
    """What each epoch shuffles: all samples, or files, whose samples are read in order; "samples" if omitted."""

    epochs_count: Annotated[int, Field(ge=1, le=10_000)] = 5
    """How often all samples are read."""

    accelerators_count: Annotated[int, Field(ge=1, le=256)] = 1
    """Emulated accelerators in each client."""

    seed: Annotated[int, Field(ge=0)] = 1
    """What sizes and shuffles follow from."""

    transfer_bytes: Bytes = MIB
    """Bytes per I/O call on files, a multiple of 64 KiB; a smaller sample is one call."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT); samples are then whole pages of 4 KiB."""

    tolerate_errors: bool = False
    """Continue after I/O errors of lost servers and count them, for campaigns with events."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.preset is None and (self.files_count is None or self.sample_bytes is None):
            raise ValueError('state files and sample (write files = 64 and sample = "1 MiB", or a preset)')
        if self.preset is None and self.share_ratio != 1:
            raise ValueError("share is of a preset (remove it, or name a preset)")
        if not 0 < self.share_ratio <= 1:
            raise ValueError('share is above 0 and at most 100 % (write share = "1 %")')
        if self.transfer_bytes % BLOCK_BYTES:
            raise ValueError('transfer is a multiple of 64 KiB (write transfer = "1 MiB")')
        if self.access == "buckets" and (self.direct or self.transfer_bytes != MIB):
            raise ValueError("direct and transfer are of files (remove them, or access)")
        job = self.load
        if job.deviation_bytes > job.sample_bytes:
            raise ValueError("deviation is at most as large as sample (change one of them)")
        return self

    @cached_property
    def load(self) -> Preset:
        """Return what the keys and the preset say together."""
        stated = {
            "files_count": self.files_count,
            "samples_per_file": self.samples_per_file,
            "sample_bytes": self.sample_bytes,
            "deviation_bytes": self.deviation_bytes,
            "batch_count": self.batch_count,
            "workers_count": self.workers_count,
            "compute_s": self.compute_s,
            "shuffle": self.shuffle,
        }
        preset = PRESETS[self.preset].scaled(self.share_ratio) if self.preset else Preset()
        return replace(preset, **{key: value for key, value in stated.items() if value is not None})

    @cached_property
    def sizes_bytes(self) -> Sequence[int]:
        """The bytes of a sample in each file."""
        return file_sizes(self._data(""))

    @property
    def samples_count(self) -> int:
        """The samples of an epoch."""
        return self.load.files_count * self.load.samples_per_file

    @property
    def needs(self) -> Need:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As `access` says."""
        return self.access

    @property
    def directions(self) -> tuple[Direction, ...]:
        """It reads."""
        return ("read",)

    @property
    def pattern(self) -> Pattern:
        """Samples at random, or files at random."""
        sample_bytes = round(self.load.sample_bytes)
        if self.access == "buckets":
            return Pattern(sample_bytes, "random")
        return Pattern(min(self.transfer_bytes, sample_bytes), "random", self.direct)

    def stored_bytes(self, clients_count: int) -> int:
        """Return the bytes of the data set."""
        return sum(self.sizes_bytes) * self.load.samples_per_file

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all epochs."""
        return self.epochs_count * self.stored_bytes(clients_count)

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """At least as long as the accelerators compute."""
        batches_count = self.samples_count / self.load.batch_count / (clients_count * self.accelerators_count)
        return max(
            super().loading_s(clients_count, bytes_per_s),
            self.epochs_count * batches_count * self.load.compute_s,
        )

    def checks(self) -> tuple[Check, ...]:
        """Check for Python on clients."""
        return in_clients.checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Lay out the data set, side by side, then drop caches; of files, those that are missing or of another
        size.
        """
        if self.samples_count < len(clients) * self.accelerators_count:
            problem = f"{self.samples_count} samples are fewer than accelerators"
            raise WorkloadError(problem, next="use more files, or fewer clients or accelerators")
        if self.access == "buckets":
            self._put_objects(clients, mounted, folder)
        else:
            if len(clients) > 1:
                require_common("training", clients, mounted)
            clients[0].run(["mkdir", "-p", mounted.directories[clients[0].name] / FOLDER], timeout_s=SHORT_S)
            self._load(clients, mounted, folder, "lay_out", prefix=LAYOUT)
            synced(clients, mounted, self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted))

    def _put_objects(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Put the data set after removing what earlier trials put. Raises WorkloadError."""
        store = able(mounted, OffersBuckets)

        def ask(client: Host, bucket: Bucket, operation: str, prefix: str) -> dict[str, Any]:
            return buckets.ask(client, bucket, operation, prefix, timeout_s=self.time_limit_s)

        each(clients, lambda client: ask(client, store.bucket(client.name), "remove", buckets.FOLDER))
        self._load(clients, mounted, folder, "put", prefix=LAYOUT)
        stored = ask(clients[0], store.shared(clients[0].name), "stored", _prefix(mounted))
        if stored != {"objects_count": self.load.files_count, "bytes": self.stored_bytes(len(clients))}:
            problem = "the store does not list all objects that it acknowledged"
            raise MovedTooLittle(problem, where=clients[0].name)

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Train on all clients together and read the records. Raises WorkloadError, TransientError."""
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(clients, mounted, folder, "train", ahead_s=run.ahead_s)
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if less was read than requested, or a file is damaged."""
        with reading("the raw output of the accelerators", folder):
            raw = RankRecords(folder, self.accelerators_count)
            outcome = raw.outcome("perjoule's ranks", "read")
            batches = batches_of(raw)
            samples_count = sum(result.operations_count for result in outcome.results)
            errors_count = round(sum(float(rows[:, 2].sum()) for rows in batches))
            self._require(samples_count, errors_count, sum(r.moved_bytes for r in outcome.results))
            measured = {**outcome.measured, SAMPLES: float(samples_count), EPOCHS: float(self.epochs_count)}
            measured |= {ERRORS: float(errors_count)} if self.tolerate_errors else {}
            notes = [self._origin] if self.preset else []
            if self.load.compute_s:
                measured[COMPUTE_WALL] = self.load.compute_s
                utilisation = accelerator_ratio(batches, self.load.batch_count, self.load.compute_s)
                measured |= {ACCELERATOR: utilisation} if utilisation is not None else {}
                notes += ["no AU: an epoch has but one batch"] if utilisation is None else []
            doubts = (*outcome.doubts, *self._busy(raw))
            return replace(outcome, measured=measured, doubts=doubts, note="; ".join(notes))

    def _busy(self, raw: RankRecords) -> list[Doubt]:
        """Return doubts about clients whose S3 engine had no CPU time left."""
        shares = {
            name: max(rank.cpu_s / max(rank.ended_s, SHORTEST_S) for rank in ranks)
            for name, ranks in raw.ranks.items()
            if self.access == "buckets"
        }
        return [
            WORK.engine_busy(host=name, busy_ratio=share)
            for name, share in shares.items()
            if share > buckets.BUSY_RATIO
        ]

    def _require(self, samples_count: int, errors_count: int, moved_bytes: int) -> None:
        wanted_count, wanted_bytes = self.epochs_count * self.samples_count, self.moved_bytes(0)
        short = moved_bytes != wanted_bytes if not errors_count else moved_bytes > wanted_bytes
        if samples_count + errors_count != wanted_count or short:
            amount = f"{samples_count} of {wanted_count} samples, {bytes_text(moved_bytes)} of "
            raise MovedTooLittle(f"the accelerators read {amount}{bytes_text(wanted_bytes)}")

    @property
    def _origin(self) -> str:
        share = "" if self.share_ratio == 1 else f"{100 * self.share_ratio:g} % of a sample, "
        return f"{self.preset} as in MLPerf Storage v1.0, {share}not a result of MLPerf"

    def _data(self, place: str, store: dict[str, Json] | None = None) -> dict[str, Json]:
        return {
            "folder": place,
            "store": store,
            "path": place,  # what errors without a file are about
            "seed": f"training {self.seed}",
            "files": self.load.files_count,
            "samples_per_file": self.load.samples_per_file,
            "sample": self.load.sample_bytes,
            "deviation": self.load.deviation_bytes,
            "page": PAGE_BYTES if self.direct else 1,
            "transfer": self.transfer_bytes,
            "direct": self.direct,
            "shuffle": self.load.shuffle,
            "batch": self.load.batch_count,
            "workers": self.load.workers_count,
            "compute_s": self.load.compute_s,
            "epochs": self.epochs_count,
            "tolerated": list(TOLERATED) if self.tolerate_errors else [],
        }

    def _data_for(self, client: Host, mounted: Mounted) -> dict[str, Json]:
        """Return the data set as a client reaches it."""
        if self.access == "folders":
            return self._data(str(mounted.directories[client.name] / FOLDER))
        bucket = able(mounted, OffersBuckets).shared(client.name)
        # other bytes in each trial, against deduplication
        seed = f"training {self.seed} {mounted.layout_name}"
        store: dict[str, Json] = {
            "engine": str(buckets.send(client)),
            **buckets.place(bucket, _prefix(mounted)),
            "seed": seed,
        }
        return self._data(bucket.endpoint, store)

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
        count = self.accelerators_count
        jobs: dict[str, dict[str, Json]] = {}
        reached = each(clients, lambda client: self._data_for(client, mounted))
        for number, (client, data) in enumerate(zip(clients, reached, strict=True)):
            ranks = range(number * count, (number + 1) * count)
            jobs[client.name] = {
                "do": operation,
                "ranks": [{**data, "rank": rank, "ranks": len(clients) * count} for rank in ranks],
            }
        return in_clients.together(
            clients, mounted, folder, jobs, time_limit_s=self.time_limit_s, prefix=prefix, ahead_s=ahead_s
        )


def _prefix(mounted: Mounted) -> str:
    layout = f"{mounted.layout_name}/" if mounted.layout_name else ""
    return f"{buckets.FOLDER}{layout}training/"
