"""Inference servers that offload their key-value cache: each request writes an entry, and entries are read again.

Described as the KV cache benchmark of MLPerf Storage v3.0 describes its workload, with its numbers
(https://github.com/mlcommons/storage, kv_cache_benchmark); what it measures is no MLPerf result. The storage is
the only tier (gpu-mem-gb and cpu-mem-gb 0), nothing waits for an accelerator (generation-mode none) or for a user.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, LaysOut, Mounted, Workload
from perjoule.machine.each import each
from perjoule.machine.untrusted import MOST_BYTES, text_of
from perjoule.model import OPTIONS, Direction, Json, Outcome, Pattern, Series
from perjoule.model.errors import MovedTooLittle, WorkloadError
from perjoule.model.metrics import REQUESTS, TOKENS, TOKENS_READ
from perjoule.model.units import Ratio, Seconds, bytes_text
from perjoule.workloads import _ranks as in_clients
from perjoule.workloads._ranks.program import InferenceRequest, inference_requests, own_reads
from perjoule.workloads._ranks.report import ROUNDED_S, RankRecords
from perjoule.workloads._raw import keep_doubts, noted, reading
from perjoule.workloads._running import cold, remove_old, synced

EXAMPLE = """
[[workload]]
kind = "kv_cache"
model = "tiny-1b"
share = "0.5 %"
users = 8
requests = 24
"""

# Bytes of the keys and values of a token: layers x KV heads x dimensions of a head x 2 x 2 bytes (float16). All are
# whole pages, and 16 tokens of each are whole blocks of 64 KiB.
TOKEN_BYTES: Mapping[str, int] = {
    "tiny-1b": 12 * 4 * 128 * 4,
    "mistral-7b": 32 * 8 * 128 * 4,
    "llama2-7b": 32 * 32 * 128 * 4,
    "llama3.1-8b": 32 * 8 * 128 * 4,
    "llama3.1-70b-instruct": 80 * 8 * 128 * 4,
}
# Of the users of each profile, least and most of what the longest prompt and answer have in tokens.
PROFILES: Mapping[str, Sequence[tuple[int, int]]] = {
    "chatbot": ((512, 4096), (50, 200)),
    "coding": ((4096, 25_000), (100, 500)),
    "document": ((4096, 16_384), (200, 800)),
}
CONTINUES_RATIO = 0.8  # of the requests of a user, which continue a conversation
PREFILL_TOKENS = 10_000  # of a prompt, from which on a server does nothing but prefill
DECODED_TOKENS = 32  # generated between two reads of an entry
LINE_BYTES = 30  # of what is noted of a call
PREFILL, DECODE = "prefill", "decode"  # as which writes and reads are reported
HEADER = ["ended_s", "context", "generated", "own_reads", "earlier"]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class KvCache(Workload, LaysOut):
    """Requests of many users to inference servers, whose key-value cache is kept in files."""

    also_called: ClassVar[Mapping[str, str]] = {
        "num-users": "users = {value}",
        "max-requests": "requests = {value}",
    }

    model: Literal["tiny-1b", "mistral-7b", "llama2-7b", "llama3.1-8b", "llama3.1-70b-instruct"] = (
        "llama3.1-8b"
    )
    """The model served, which states the bytes of a token's keys and values: 24 KiB, 128 KiB, 512 KiB, 128 KiB and
    320 KiB.
    """

    profile: Literal["mixed", "chatbot", "coding", "document"] = "mixed"
    """What users do, which states the tokens of a prompt and of an answer; "mixed" draws one for each user."""

    share_ratio: Ratio = 1.0
    """The share of the tokens of a prompt that is written and read, for file systems that are smaller."""

    users_count: Annotated[int, Field(ge=1, le=100_000)]
    """Users of each client (MLPerf: num-users), dealt to its servers."""

    requests_count: Annotated[int, Field(ge=1, le=1_000_000)]
    """Requests that each client serves (max-requests), dealt to its servers; no entry is evicted meanwhile."""

    ranks_count: Annotated[int, Field(ge=1, le=256)] = 1
    """Inference servers in each client; each serves one request after the other."""

    zipf_ratio: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Exponent of the popularity of users; 0 is that of MLPerf, where all ask alike often."""

    block_count: Annotated[int, Field(ge=16, le=4096, multiple_of=16)] = 16
    """Tokens per I/O call, a multiple of 16."""

    seed: Annotated[int, Field(ge=0)] = 1
    """What users and their requests follow from."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT); otherwise each read first asks to drop its entry from there."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not 0 < self.share_ratio <= 1:
            raise ValueError('share is above 0 and at most 100 % (write share = "1 %")')
        if self.ranks_count > min(self.users_count, self.requests_count):
            raise ValueError("each of the ranks has users and requests (use more of both, or fewer ranks)")
        return self

    @property
    def token_bytes(self) -> int:
        """The bytes of the keys and values of a token."""
        return TOKEN_BYTES[self.model]

    @property
    def directions(self) -> tuple[Direction, ...]:
        """It reads and writes at once."""
        return ("mixed",)

    @property
    def pattern(self) -> Pattern:
        """Entries at random."""
        return Pattern(self.block_count * self.token_bytes, "random", self.direct)

    def stored_bytes(self, clients_count: int) -> int:
        """Return the bytes of all entries."""
        return self.token_bytes * sum(written for _, written in self._tokens(clients_count))

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes written and read."""
        return self.token_bytes * sum(map(sum, self._tokens(clients_count)))

    def laid_out_bytes(self, clients_count: int) -> int:
        """Return none: it reads what it writes itself."""
        return 0

    def checks(self) -> tuple[Check, ...]:
        """Check for Python on clients."""
        return in_clients.checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old entries, then drop caches. Raises WorkloadError: a server would read nothing, or note more
        reads than can be read again.
        """
        reads = [read_count for read_count, _ in self._tokens(len(clients))]
        if not all(reads):
            problem = "a server reads nothing in so few requests"
            raise WorkloadError(problem, next="use more requests, or fewer ranks")
        if (lines_bytes := LINE_BYTES * max(reads) // self.block_count) > MOST_BYTES:
            problem = (
                f"a server would note {bytes_text(lines_bytes)} of reads, more than {bytes_text(MOST_BYTES)}"
            )
            raise WorkloadError(problem, next="use a larger block, fewer requests, or more ranks")
        each(
            clients,
            lambda client: remove_old(
                client, mounted.directories[client.name], f"{client.name}.kv-*", timeout_s=self.time_limit_s
            ),
        )
        synced(clients, mounted, self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Serve on all clients together and read the records. Raises WorkloadError, TransientError."""
        jobs: dict[str, dict[str, Json]] = {
            client.name: {
                "do": "serve",
                "ranks": [
                    self.job(number, rank, f"{mounted.directories[client.name]}/{client.name}.kv-{rank}")
                    for rank in range(self.ranks_count)
                ],
            }
            for number, client in enumerate(clients)
        }
        with noted(folder, clients) as run:
            run.start_utc_s = in_clients.together(
                clients, mounted, folder, jobs, time_limit_s=self.time_limit_s, ahead_s=run.ahead_s
            )
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if less was moved than requests need, or a file is damaged."""
        with reading("the raw output of the ranks", folder):
            reads, writes = (RankRecords(folder, self.ranks_count, table) for table in ("", "writes"))
            generated_count = 0
            for client in reads.ranks:
                served = [
                    request
                    for rank in range(self.ranks_count)
                    for request in self._served(reads, writes, client, rank)
                ]
                if len(served) != self.requests_count:
                    count = f"{len(served)} of {self.requests_count} requests"
                    raise MovedTooLittle(f"{count} were served", where=client)
                generated_count += sum(request.generated for request in served)
            parts = {PREFILL: writes.outcome("perjoule's ranks", "write")}
            parts[DECODE] = reads.outcome("perjoule's ranks", "read")
            logs = {PREFILL: writes, DECODE: reads}
            read_bytes = sum(result.moved_bytes for result in parts[DECODE].results)
            return replace(
                parts[DECODE],
                results=tuple(replace(r, user=name) for name, part in parts.items() for r in part.results),
                series=tuple(
                    _of_part(name, series)
                    for name, part in parts.items()
                    for series in (*part.series, *(s for r in part.results for s in logs[name].calls(r)))
                ),
                measured={
                    **parts[DECODE].measured,
                    REQUESTS: float(self.requests_count * len(reads.ranks)),
                    TOKENS: float(generated_count),
                    TOKENS_READ: read_bytes / self.token_bytes,
                },
                note=self._origin,
            )

    def _served(
        self, reads: RankRecords, writes: RankRecords, client: str, rank: int
    ) -> list[InferenceRequest]:
        """Return the requests that a server noted. Raises MovedTooLittle: it read or wrote other bytes than they
        need; ValueError, OSError: what it noted is damaged.
        """
        name = f"{client}.{rank}.requests.csv"
        header, *rows = csv.reader(text_of(reads.folder / name).splitlines())
        if header != HEADER or not rows:
            raise ValueError(f"{name} has no requests")
        requests, read_count, before_s = list[InferenceRequest](), 0, 0.0
        for ended_s, context, generated, own_count, earlier in rows:
            request = InferenceRequest(int(context), int(generated), tuple(map(int, earlier.split())))
            in_order = before_s <= float(ended_s) <= reads.ranks[client][rank].ended_s + ROUNDED_S
            if (
                not in_order
                or min(request[:2]) < 1
                or not all(0 <= entry < len(requests) for entry in request.earlier)
            ):
                raise ValueError(f"{name} has a request that is impossible")
            read_count += int(own_count) * request.context
            read_count += sum(requests[entry].context for entry in request.earlier)
            before_s = float(ended_s)
            requests.append(request)
        written_count = sum(request.context for request in requests)
        for what, records, count in (("read", reads, read_count), ("wrote", writes, written_count)):
            moved_bytes, wanted_bytes = records.ranks[client][rank].moved_bytes, count * self.token_bytes
            if moved_bytes != wanted_bytes:
                amount = f"{bytes_text(moved_bytes)} of {bytes_text(wanted_bytes)}"
                raise MovedTooLittle(f"server {rank} {what} {amount}", where=client)
        return requests

    @property
    def _origin(self) -> str:
        share = "" if self.share_ratio == 1 else f"{100 * self.share_ratio:g} % of a prompt, "
        return (
            f"{self.model} as in the KV cache benchmark of MLPerf Storage v3.0, {share}not a result of MLPerf"
        )

    def job(self, client_number: int, rank: int, path: str) -> dict[str, Json]:
        """Return what a server does; its entries begin with `path`."""
        wanted = PROFILES if self.profile == "mixed" else {self.profile: PROFILES[self.profile]}
        profiles: list[Json] = []
        for prompt, answer in wanted.values():
            profiles.append([[max(1, round(self.share_ratio * end)) for end in prompt], [*answer]])
        return {
            "path": path,
            "content_seed": path,  # which is of one trial alone: other bytes in each, against deduplication
            "seed": f"kv_cache {self.seed} of {client_number}, {rank}",
            "profiles": profiles,
            "users": len(range(rank, self.users_count, self.ranks_count)),
            "requests": len(range(rank, self.requests_count, self.ranks_count)),
            "zipf": self.zipf_ratio,
            "continues": CONTINUES_RATIO,
            "prefill": PREFILL_TOKENS * self.share_ratio,
            "batch": DECODED_TOKENS,
            "token": self.token_bytes,
            "transfer": self.block_count * self.token_bytes,
            "direct": self.direct,
            "drop": not self.direct,
        }

    def _tokens(self, clients_count: int) -> list[tuple[int, int]]:
        """Return the tokens that each server reads and writes."""
        return [
            _tokens_of(self, number, rank)
            for number in range(clients_count)
            for rank in range(self.ranks_count)
        ]


@cache
def _tokens_of(load: KvCache, client_number: int, rank: int) -> tuple[int, int]:
    job = load.job(client_number, rank, "")
    requests = inference_requests(job)
    read_count = sum(
        own_reads(job, request) * request.context + sum(requests[entry].context for entry in request.earlier)
        for request in requests
    )
    return read_count, sum(request.context for request in requests)


def _of_part(name: str, series: Series) -> Series:
    return replace(series, channel=replace(series.channel, component=f"user {name}"))
