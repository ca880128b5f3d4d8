"""Objects by the second and by the joule, of loads on object stores that count them."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.model import Number, Numbers
from perjoule.model.metrics import NET, OBJECTS, Metric, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

PER_S = Metric("objects_per_s", "objects/s", Unit("objects/s", "1/s"), "objects / duration", "higher",
               together=True, headline=True)  # fmt: skip
PER_J = Metric("objects_per_j", "objects/J", Unit("objects/J", "1/J"),
               "objects / energy of the servers without the switch", "higher",
               energy=True, together=True, headline=True)  # fmt: skip
ENERGY = Metric("energy_per_object_j", "mJ/object", Unit("mJ/object", "J", 1e-3),
                "energy of the servers without the switch / objects", "lower",
                energy=True, headline=True)  # fmt: skip
METRICS = (PER_S, PER_J, ENERGY)


def measure(load: "Load") -> Numbers:
    """Divide by duration and energy of the headline window; nothing of loads without objects."""
    if load.idle or not (objects_count := load.workload_numbers.get(OBJECTS)):
        return Numbers()
    numbers = {PER_S.key: Number(objects_count / load.duration_s)}
    energy = energies.of(load, NET)
    if energy.value:
        inverse = {source: -ratio for source, ratio in energy.shared.items()}
        numbers |= {
            PER_J.key: Number(objects_count / energy.value, shared=inverse),
            ENERGY.key: Number(energy.value / objects_count, shared=energy.shared),
        }
    return Numbers(numbers)
