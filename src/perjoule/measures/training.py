"""How fast a training job read, what an epoch took in joules, and how long its accelerators computed."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.model import Number, Numbers
from perjoule.model.doubts import UNDILATED
from perjoule.model.metrics import COMPUTE_WALL, EPOCHS, NET, SAMPLES, Metric, S, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

RATE = Metric(
    "samples_per_s", "samples/s", Unit("samples/s", "1/s"), "samples of all epochs / duration", "higher", together=True,
)  # fmt: skip
PER_EPOCH = Metric(
    "energy_per_epoch_j", "J/epoch", Unit("J/epoch", "J"), "energy of the servers without the switch / epochs", "lower",
    energy=True,
)  # fmt: skip
COMPUTE = Metric("compute_s", "compute s", S, "compute time of a batch")
METRICS = (RATE, PER_EPOCH, COMPUTE)


def measure(load: "Load") -> Numbers:
    """Return rate, joules and compute time; nothing of a load without epochs."""
    measured = load.workload_numbers
    if not measured.get(EPOCHS):
        return Numbers()
    numbers = {RATE.key: Number(measured[SAMPLES] / load.duration_s)}
    if (energy := energies.of(load, NET)).value is not None:
        numbers[PER_EPOCH.key] = Number(energy.value / measured[EPOCHS], shared=energy.shared)
    if (wall_s := measured.get(COMPUTE_WALL)) is None:
        return Numbers(numbers)
    emulated_s, options = load.emulated(wall_s), load.record.trial.workload.options
    numbers[COMPUTE.key] = Number(emulated_s)
    if emulated_s == wall_s or "compute" in options:
        return Numbers(numbers)
    meant_s = load.reading.dilation.wall(wall_s)
    doubt = UNDILATED.compute(
        preset=str(options.get("preset")), wall_s=wall_s, emulated_s=emulated_s, meant_s=meant_s
    )
    return Numbers(numbers, (doubt,))
