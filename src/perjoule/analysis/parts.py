"""The joules of each measured part of a host: single drives, processors, GPUs, boards. A state gives a bound instead of joules.

Parts may overlap ("core-0" lies in "package-0") and two meters may measure the same one, so they are never added.
"""

from collections.abc import Sequence

from perjoule.analysis.energy import amount, most_j
from perjoule.analysis.quantities import one_quantity
from perjoule.model import PartEnergy, Record, Series

WHOLE = frozenset({"all", "group", "total", "switch"})


def parts(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> tuple[PartEnergy, ...]:
    """Return the energy of each part of each host by each meter, in emulated joules; by host in the record's order, then by name.

    Modelled parts are left out, and on an emulated cluster all but simulated ones: they are parts of this machine.
    """
    place = {host.name: index for index, host in enumerate(record.hosts)}
    own = [
        s
        for s in series
        if s.channel.quantity in ("power", "energy")
        and s.channel.host in place
        and s.channel.component not in WHOLE
        and s.channel.grade != "modelled"
        and (record.scale == 1 or s.channel.grade == "simulated")
    ]
    found = [_of(one, began_s, ended_s, record.scale) for one in one_quantity(own, began_s, ended_s)]
    return tuple(sorted(found, key=lambda part: (place[part.host], part.part, part.meter)))


def _of(one: Series, began_s: float, ended_s: float, scale: float) -> PartEnergy:
    channel = one.channel
    bound = channel.semantics == "state"
    amount_j = (most_j if bound else _known_j)(one, began_s, ended_s)
    scaled_j = None if amount_j is None else amount_j * scale
    joules, most = (None, scaled_j) if bound else (scaled_j, None)
    return PartEnergy(channel.host, channel.component, channel.meter, channel.grade, (ended_s - began_s) * scale, joules, most)


def _known_j(one: Series, began_s: float, ended_s: float) -> float | None:
    return amount(one, began_s, ended_s).value
