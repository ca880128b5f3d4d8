"""The joules of the storage devices alone, next to those of whole hosts: from a probe on the disks' supply, or a model."""

from collections.abc import Sequence

from perjoule.analysis.energy import amount
from perjoule.analysis.hosts import data_hosts, server_names
from perjoule.analysis.power import DILATED, GRADES
from perjoule.model import UNMEASURED, Record, Series

COMPONENT = "disks"
# A meter of a component alone (a Hall sensor on its supply) counts here.
DEVICE_GRADES = ("component", *GRADES)
MEASURED_GRADES = tuple(grade for grade in DEVICE_GRADES if grade not in UNMEASURED)


def device_j(
    record: Record, series: Sequence[Series], began_s: float, ended_s: float, grades: Sequence[str] = DEVICE_GRADES
) -> float | None:
    """Return the energy of the disks of all storage hosts, by the first meter, best grade first, that has them all.

    None if no meter has, or it does not cover the window. Hosts of other roles count if they have metered disks.
    """
    needed = data_hosts(record)
    own = [s for s in series if s.channel.component == COMPONENT and s.channel.quantity in ("power", "energy")]
    own = [s for s in own if s.channel.host in server_names(record) and s.channel.grade in grades]
    meters = {(DEVICE_GRADES.index(s.channel.grade), s.channel.meter) for s in own}
    for grade, meter in sorted(meters):
        if record.scale != 1 and DEVICE_GRADES[grade] not in DILATED:
            continue  # joules of the real machine's disks are not those of the emulated ones
        chosen = [s for s in own if (DEVICE_GRADES.index(s.channel.grade), s.channel.meter) == (grade, meter)]
        by_host = {s.channel.host: s for s in sorted(chosen, key=lambda s: s.channel.quantity == "energy")}  # a counter is better
        amounts = [amount(s, began_s, ended_s).value for s in by_host.values()]
        known = [one for one in amounts if one is not None]
        if needed <= by_host.keys() and len(known) == len(amounts):
            return sum(known)
    return None
