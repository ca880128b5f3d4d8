"""What a key-value cache serves, and what a token costs in joules."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.measures.latency import of_all_calls
from perjoule.model import Number, Numbers
from perjoule.model.metrics import MS, NET, TOKENS, TOKENS_READ, Metric, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

RATE = Metric(
    "tokens_per_s", "tokens/s", Unit("tokens/s", "1/s"), "tokens generated / duration", "higher", together=True,
)  # fmt: skip
READ_RATE = Metric(
    "tokens_read_per_s", "tokens read/s", Unit("tokens/s", "1/s"),
    "tokens whose keys and values were read from the cache / duration", "higher", together=True,
)  # fmt: skip
PER_TOKEN = Metric(
    "energy_per_token_j", "mJ/token", Unit("mJ/token", "J", 1e-3),
    "energy of the servers without the switch / tokens generated", "lower", energy=True,
)  # fmt: skip
BLOCK_P95 = Metric(
    "block_read_p95_s", "p95 of a block", MS,
    "95th percentile of the latency of reads of a block, of all clients", "lower",
)  # fmt: skip
BLOCK_P99 = Metric("block_read_p99_s", "p99 of a block", MS, "99th percentile of the same", "lower")
METRICS = (RATE, READ_RATE, PER_TOKEN, BLOCK_P95, BLOCK_P99)


def measure(load: "Load") -> Numbers:
    """Return rates, joules and latencies; nothing of a load that serves no tokens."""
    if not (tokens_count := load.workload_numbers.get(TOKENS)):
        return Numbers()
    numbers = {RATE.key: Number(tokens_count / load.duration_s)}
    if (read_count := load.workload_numbers.get(TOKENS_READ)) is not None:
        numbers[READ_RATE.key] = Number(read_count / load.duration_s)
    if (energy := energies.of(load, NET)).value is not None:
        numbers[PER_TOKEN.key] = Number(energy.value / tokens_count, shared=energy.shared)
    reads = [result for result in load.results if result.direction == "read"]
    return Numbers({**numbers, **of_all_calls(load, reads, {BLOCK_P95.key: 95, BLOCK_P99.key: 99})})
