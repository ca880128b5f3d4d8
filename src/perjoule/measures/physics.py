"""The cost of an event of the detector, of a load that counts those."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.model import Number, Numbers
from perjoule.model.metrics import EVENTS, Metric, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

_MICROJOULES = Unit("µJ", "J", 1e-6)
RATE = Metric(
    "events_per_s", "events/s", Unit("events/s", "1/s"), "events / duration", "higher", together=True
)
PER_EVENT = {  # by boundary
    "net": Metric("energy_per_event_j", "µJ/event", _MICROJOULES, "energy of the servers without the switch / events", "lower",
                  energy=True),
    "gross": Metric("gross_energy_per_event_j", "gross µJ/event", _MICROJOULES, "energy of the servers with the switch / events",
                    "lower", energy=True),
}  # fmt: skip
METRICS = (RATE, *PER_EVENT.values())


def measure(load: "Load") -> Numbers:
    """Return the rate of events and the energy of each."""
    events_count = load.workload_numbers.get(EVENTS)
    if not events_count:
        return Numbers()
    numbers = {RATE.key: Number(events_count / load.duration_s)}
    for boundary, metric in PER_EVENT.items():
        if (energy := energies.of(load, boundary)).value is not None:
            numbers[metric.key] = Number(energy.value / events_count, shared=energy.shared)
    return Numbers(numbers)
