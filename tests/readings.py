"""Readings of records and series made to order, where the window of the numbers also chooses the channels."""

from collections.abc import Sequence

from perjoule.energy.power import Boundaries
from perjoule.model import Record, Series
from perjoule.trial.reading import Reading


def over(record: Record, series: Sequence[Series], began_s: float = 10.0, ended_s: float = 20.0) -> Reading:
    """Read a trial whose channels this window chooses."""
    return Reading(record, series, (began_s, ended_s))


def servers_energy(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> Boundaries:
    """Return the energy of the servers in a window, by the channels that are best in it."""
    return over(record, series, began_s, ended_s).servers(began_s, ended_s)
