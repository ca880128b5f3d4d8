"""What ranks left in a raw folder, as results of their clients."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from perjoule.drivers.protocols import require_time
from perjoule.machine.untrusted import json_of, read_as, text_of
from perjoule.model import Channel, ClientResult, Outcome, Series
from perjoule.model.doubts import TIMES
from perjoule.model.errors import MovedTooLittle
from perjoule.model.metrics import LOAD_CPU
from perjoule.model.series import Floats
from perjoule.model.units import bytes_text
from perjoule.workloads._raw import RunClocks, prepared_doubts

AVERAGED_S = 0.5  # length of a window of goodput; the last is up to half longer
SHORTEST_S = 0.1
MOST_S = 30 * 86400.0  # of a load: its windows of goodput are a list
ROUNDED_S = 1e-6  # to which the program writes times
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass(frozen=True)
class Rank:
    """What a rank did: when it ended, seconds since its client began, its processors' seconds, and its N
    calls, shape (N, 3): seconds since then at its return, seconds that it took, bytes.
    """

    ended_s: float
    cpu_s: float
    calls: Floats

    @property
    def moved_bytes(self) -> int:
        """The bytes of its calls."""
        return round(float(self.calls[:, 2].sum()))


class RankRecords:
    """The raw folder of a run. All raise OSError or one of UNEXPECTED if a file is missing or damaged.

    `table` names the calls of ranks that read and write: "" are those that read, or the only ones.
    """

    def __init__(self, folder: Path, ranks_count: int, table: str = "") -> None:
        self.folder, self._ranks_count, self._end = folder, ranks_count, f"{table and '.'}{table}.csv"
        self.clocks = read_as(RunClocks, folder / "run.json")

    @cached_property
    def began_s(self) -> dict[str, float]:
        """When each client began, in the monotonic clock."""
        return {
            name: float(text_of(self.folder / f"{name}.began.txt")) + self.clocks.offset_of_s(name)
            for name in self.clocks.clients
        }

    @cached_property
    def ranks(self) -> dict[str, list[Rank]]:
        """The ranks of each client."""
        return {
            name: [self._rank(self.folder / f"{name}.{number}") for number in range(self._ranks_count)]
            for name in self.clocks.clients
        }

    def _rank(self, path: Path) -> Rank:
        import numpy as np  # `perjoule check` only builds the driver

        summary = json_of(path.with_name(f"{path.name}.json"))
        name = path.name + self._end
        header, *rows = csv.reader(text_of(path.with_name(name)).splitlines())
        if header != ["returned_s", "took_s", "bytes"] or not rows:
            raise ValueError(f"{name} has no calls")
        calls, ended_s, cpu_s = (
            np.array(rows, dtype=np.float64),
            float(summary["ended_s"]),
            float(summary["cpu_s"]),
        )
        returned_s, took_s, moved_bytes = calls.T
        if not (
            cpu_s >= 0
            and (took_s >= 0).all()
            and (moved_bytes >= 0).all()
            and returned_s.max() <= ended_s + ROUNDED_S
            and ended_s <= MOST_S
        ):
            raise ValueError(f"{name} has a call that is impossible")
        return Rank(ended_s, cpu_s, calls)

    def require_bytes(self, rank_bytes: int) -> None:
        """Check that each rank moved this much. Raises WorkloadError."""
        for name, ranks in self.ranks.items():
            for number, rank in enumerate(ranks):
                if rank.moved_bytes != rank_bytes:
                    moved, expected = bytes_text(rank.moved_bytes), bytes_text(rank_bytes)
                    raise MovedTooLittle(f"rank {number} moved {moved} of {expected}", where=name)

    def outcome(self, engine: str, direction: Literal["write", "read"]) -> Outcome:
        """Return each client's result, from its start to the end of its last rank, and its goodput."""
        results = tuple(self._result(name, direction) for name in self.ranks)
        require_time(results)
        shortest_s = min(result.ended_s - result.began_s for result in results)
        short = [TIMES.short(shortest_s=shortest_s)] if shortest_s < SHORTEST_S else []
        return Outcome(
            engine,
            results,
            (*prepared_doubts(self.folder), *self.clocks.doubts(self.began_s), *short),
            tuple(self._goodput(result) for result in results),
            {LOAD_CPU: sum(rank.cpu_s for ranks in self.ranks.values() for rank in ranks)},
        )

    def _result(self, client: str, direction: Literal["write", "read"]) -> ClientResult:
        ranks, began_s = self.ranks[client], self.began_s[client]
        return ClientResult(
            client,
            direction,
            began_s,
            began_s + max(rank.ended_s for rank in ranks),
            sum(rank.moved_bytes for rank in ranks),
            sum(len(rank.calls) for rank in ranks),
            latencies_s([rank.calls[:, 1] for rank in ranks]),
        )

    def _goodput(self, result: ClientResult) -> Series:
        import numpy as np

        calls = np.concatenate([rank.calls for rank in self.ranks[result.host]])
        length_s = result.ended_s - result.began_s
        edges_s = np.arange(max(1, round(length_s / AVERAGED_S))) * AVERAGED_S
        edges_s = np.append(edges_s, length_s)
        moved_bytes, _ = np.histogram(np.minimum(calls[:, 0], length_s), edges_s, weights=calls[:, 2])
        channel = Channel("ranks", result.host, "all", "goodput", "B/s", "window mean", "counter")
        duration_s = np.diff(edges_s)
        return Series(channel, result.began_s + edges_s[1:], duration_s, moved_bytes / duration_s)

    def calls(self, result: ClientResult) -> tuple[Series, Series]:
        """Return how long calls of a client took, and how many took as long, in one window: its load."""
        import numpy as np

        took_s = np.concatenate([rank.calls[:, 1] for rank in self.ranks[result.host]])
        latency_s, count = np.unique(took_s, return_counts=True)
        t_s = np.full(len(latency_s), result.ended_s)
        duration_s = np.full(len(latency_s), result.ended_s - result.began_s)
        about = ("window mean", "counter")
        latency = Channel("ranks", result.host, result.direction, "latency", "s", *about)
        calls = Channel("ranks", result.host, result.direction, "calls", "1", *about)
        return Series(latency, t_s, duration_s, latency_s), Series(
            calls, t_s, duration_s, count.astype(np.float64)
        )


def latencies_s(took_s: Sequence[Floats]) -> dict[str, float]:
    """Return the mean and the percentiles of all calls: the least that a share of them did not exceed."""
    import numpy as np

    ordered = np.sort(np.concatenate(took_s))
    at = {name: int(np.ceil(share * len(ordered))) - 1 for name, share in PERCENTILES.items()}
    return {"mean": float(ordered.mean()), **{name: float(ordered[place]) for name, place in at.items()}}
