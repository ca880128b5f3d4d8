"""Grams of wax that would have given the same energy."""

from typing import TYPE_CHECKING

from perjoule.measures import energies
from perjoule.model import Number, Numbers
from perjoule.model.metrics import NET, Metric, Unit

if TYPE_CHECKING:
    from perjoule.trial.load import Load

J_PER_G = 42e3  # of paraffin
WAX = Metric(
    "wax_mass_j",
    "wax",
    Unit("g", "J", J_PER_G),
    "energy of the servers as paraffin",
    "lower",
    energy=True,
    headline=True,
)
METRICS = (WAX,)


def measure(load: "Load") -> Numbers:
    """Return the energy of the headline window."""
    energy = energies.of(load, NET)
    return (
        Numbers() if energy.value is None else Numbers({WAX.key: Number(energy.value, shared=energy.shared)})
    )
