"""How fast the work of a window was done, and by how much of what the hardware could do."""

from typing import TYPE_CHECKING

from perjoule.energy.efficiency import peak_bytes_per_s
from perjoule.model import Numbers, Record
from perjoule.model.metrics import DURATION, MIB_PER_S, OF_PEAK, OP_PER_S, PEAK, PERCENT, RATES, Metric, S

if TYPE_CHECKING:
    from perjoule.trial.load import Load

THROUGHPUT = Metric(RATES[0], "MiB/s", MIB_PER_S, "bytes moved / duration", "higher", together=True, headline=True,
                    quantity="throughput")  # fmt: skip
OPERATIONS = Metric(RATES[1], "op/s", OP_PER_S, "operations / duration, of a load that moves no bytes", "higher", together=True,
                    headline=True)  # fmt: skip
OF_PEAK_RATIO = Metric(
    OF_PEAK, "% TPP", PERCENT, "throughput / TPP", "higher", together=True, headline=True, quantity="share"
)
PEAK_RATE = Metric(
    PEAK, "TPP", MIB_PER_S, "theoretical peak performance: the least of data hosts and clients"
)
METRICS = (
    Metric(DURATION, "s", S, "length of the window", "lower", headline=True, quantity="duration"),
    *(THROUGHPUT, OPERATIONS, OF_PEAK_RATIO, PEAK_RATE),
)


def measure(load: "Load") -> Numbers:
    """Return duration and rates of the headline window."""
    if load.idle:
        return Numbers.plain({DURATION: load.duration_s})
    return Numbers.plain(rates(load.record, load.moved_bytes, load.operations_count, load.duration_s))


def rates(record: Record, moved_bytes: float, operations_count: float, duration_s: float) -> dict[str, float]:
    """Return duration and rates: of bytes, or else of operations."""
    if not moved_bytes:
        return {DURATION: duration_s, OPERATIONS.key: operations_count / duration_s}
    rate = moved_bytes / duration_s
    numbers = {DURATION: duration_s, THROUGHPUT.key: rate}
    if tpp := peak_bytes_per_s(record):
        numbers |= {PEAK: tpp, OF_PEAK: rate / tpp}
    return numbers
