"""What a trial looked like over time: rates and watts on one grid, for a timeline and for the spread of power."""

from collections.abc import Sequence

import numpy as np

from perjoule.analysis.energy import Floats, Segments, segments
from perjoule.analysis.overhead import roles
from perjoule.analysis.power import candidates
from perjoule.model import Quantity, Record, Series


def means(series: Series, edges_s: Floats) -> Floats:
    """Give the mean rate of a series (W, B/s, s/s; of the wall clock) between neighbouring edges.

    Args:
        series: of any semantics; "state" too, which `amount` refuses.
        edges_s: rising times, shape (N + 1,).

    Returns:
        Shape (N,); NaN where less than half of the time is covered.
    """
    pieces = segments(series)
    if not len(pieces.began_s):
        return np.full(len(edges_s) - 1, np.nan)
    moved, covered_s = (np.diff(c) for c in _cumulated(pieces, edges_s))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(covered_s >= 0.5 * np.diff(edges_s), moved / covered_s, np.nan)


def summed(record: Record, series: Sequence[Series], quantity: Quantity, role: str, edges_s: Floats) -> Floats:
    """Give the mean rate of a counter of all hosts of a role together; NaN where one of them is not known.

    Shape (N,) for N + 1 edges.
    """
    names = roles(record).get(role, frozenset[str]())
    rates = {s.channel.host: means(s, edges_s) for s in series if s.channel.quantity == quantity and s.channel.host in names}
    return np.sum(list(rates.values()), axis=0) if rates and rates.keys() == names else np.full(len(edges_s) - 1, np.nan)


def net_power_w(record: Record, series: Sequence[Series], edges_s: Floats) -> Floats:
    """Give the servers' power without the switch between neighbouring edges, by the meter that gives their energy.

    Shape (N,) for N + 1 edges; NaN where it is not known.
    """
    for parts in candidates(record, series):
        if parts.net:
            return np.sum([sign * means(s, edges_s) for sign, s in parts.net], axis=0)
    return np.full(len(edges_s) - 1, np.nan)


def _cumulated(pieces: Segments, t_s: Floats) -> tuple[Floats, Floats]:
    """Integrate the rate, and the time that is covered, from the first piece up to each moment."""
    length_s = pieces.ended_s - pieces.began_s
    whole = np.concatenate(([0.0], np.cumsum((pieces.first_rate + pieces.last_rate) / 2 * length_s)))
    whole_s = np.concatenate(([0.0], np.cumsum(length_s)))
    index = np.maximum(np.searchsorted(pieces.began_s, t_s, side="right") - 1, 0)
    into_s = np.clip(t_s - pieces.began_s[index], 0.0, length_s[index])
    slope = (pieces.last_rate - pieces.first_rate)[index] / length_s[index]
    return whole[index] + into_s * (pieces.first_rate[index] + slope * into_s / 2), whole_s[index] + into_s
