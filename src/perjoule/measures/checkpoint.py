"""What a checkpoint costs: the time for which a job stalls, and joules."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.model import Number, Numbers
from perjoule.model.metrics import CHECKPOINTS, NET, Metric, S, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

STALL = Metric(
    "stall_s", "stall s", S, "from the start until the last rank's file is durable, or read", "lower",
)  # fmt: skip
PER_CHECKPOINT = Metric(
    "energy_per_checkpoint_j", "J/checkpoint", Unit("J/checkpoint", "J"),
    "energy of the servers without the switch / checkpoints", "lower", energy=True,
)  # fmt: skip
METRICS = (STALL, PER_CHECKPOINT)


def measure(load: "Load") -> Numbers:
    """Return stall and joules; nothing of a load that is no checkpoint."""
    count = load.workload_numbers.get(CHECKPOINTS)
    if not count:
        return Numbers()
    numbers = {STALL.key: Number(load.emulated(load.span.burst_s - load.span.began_s) / count)}
    if (energy := energies.of(load, NET)).value is not None:
        numbers[PER_CHECKPOINT.key] = Number(energy.value / count, shared=energy.shared)
    return Numbers(numbers)
