"""The joules of each measured part of a host: single drives, processors, GPUs, boards. A state gives a bound
instead of joules.

Parts may overlap ("core-0" lies in "package-0") and two meters may measure the same one, so they are never
added.
"""

from perjoule.energy.amount import amount, most_j
from perjoule.model import Channel, PartEnergy
from perjoule.trial.reading import Reading


def parts(reading: Reading, began_s: float, ended_s: float) -> tuple[PartEnergy, ...]:
    """Return the energy of each part of each host by each meter, in emulated joules; by host in the record's
    order, then by name.

    Modelled parts are left out, and on an emulated cluster all but simulated ones: they are parts of this
    machine.
    """
    place = {host.name: index for index, host in enumerate(reading.record.hosts)}
    energies = [_of(reading, channel, began_s, ended_s) for channel in reading.metering.single]
    return tuple(sorted(energies, key=lambda part: (place[part.host], part.part, part.meter)))


def _of(reading: Reading, of: Channel, began_s: float, ended_s: float) -> PartEnergy:
    series, emulated, bound = reading.series_of(of), reading.dilation.emulated, of.semantics == "state"
    wall_j = most_j(series, began_s, ended_s) if bound else amount(series, began_s, ended_s).value
    energy_j = None if wall_j is None else emulated(wall_j)
    joules, most = (None, energy_j) if bound else (energy_j, None)
    return PartEnergy(of.host, of.component, of.meter, of.grade, emulated(ended_s - began_s), joules, most)
