"""A trial over time: rates and watts on one grid, for a timeline and for the distribution of power."""

import numpy as np

from perjoule.energy.coverage import Signed
from perjoule.energy.hosts import roles
from perjoule.energy.integral import integral
from perjoule.energy.samples import Floats
from perjoule.model import Quantity, Series
from perjoule.trial.reading import Reading


def means(series: Series, edges_s: Floats) -> Floats:
    """Return the mean rate of a series (W, B/s, s/s; of the wall clock) between neighbouring edges.

    Args:
        series: of any semantics; "state" too, which `amount` refuses.
        edges_s: rising times, shape (N + 1,).

    Returns:
        Shape (N,); NaN where less than half of the time is covered.
    """
    moved, covered_s = (np.diff(c) for c in integral(series).until(edges_s))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(covered_s >= 0.5 * np.diff(edges_s), moved / covered_s, np.nan)


def summed(reading: Reading, quantity: Quantity, role: str, edges_s: Floats) -> Floats:
    """Return the mean rate of a counter over all hosts of a role together; NaN where one of them is unknown.

    Shape (N,) for N + 1 edges.
    """
    names = roles(reading.record).get(role, frozenset[str]())
    counters = [s for s in reading.series if s.channel.quantity == quantity and s.channel.host in names]
    rates = {s.channel.host: means(s, edges_s) for s in counters}
    return (
        np.sum(list(rates.values()), axis=0)
        if rates and rates.keys() == names
        else np.full(len(edges_s) - 1, np.nan)
    )


def net_power_w(reading: Reading, began_s: float, ended_s: float) -> Floats:
    """Return the servers' power without the switch in a window, from the channels of its energy.

    Shape (N,): from sample to sample of the first channel; NaN where one of them is unknown. Empty without an
    energy.
    """
    parts = reading.servers(began_s, ended_s).parts
    return signed_w(reading, parts.net, began_s, ended_s) if parts else np.empty(0)


def signed_w(reading: Reading, channels: Signed, began_s: float, ended_s: float) -> Floats:
    """Return the power of channels together in a window: shape (N,), from sample to sample of the first one;
    NaN where one of them is unknown. Empty without channels.
    """
    if not channels:
        return np.empty(0)
    signed = reading.signed(channels)
    first = next(s for s in reading.series if any(s is part for _, part in signed))
    edges_s = first.t_s[(first.t_s >= began_s) & (first.t_s <= ended_s)]
    return (
        np.sum([sign * means(s, edges_s) for sign, s in signed], axis=0) if len(edges_s) > 1 else np.empty(0)
    )


def components_w(reading: Reading, edges_s: Floats) -> dict[str, Floats]:
    """Return the mean power between neighbouring edges by component, from the channels of the trial's energy.

    Args:
        reading: of the trial.
        edges_s: rising times, shape (N + 1,).

    Returns:
        By name, shape (N,): components of the servers and the switch, or "servers" where their power is a
        difference of channels. Where meters cover no server whole, each of their components by itself, with
        the meter's name if there are several.
    """
    if (parts := reading.metering.servers.parts) is not None:
        signed = reading.signed(parts.gross or parts.net)
        subtracted = -1 in (sign for sign, _ in signed)
        components = [
            ("servers" if subtracted else s.channel.component, sign * means(s, edges_s)) for sign, s in signed
        ]
    else:
        powers = [s for s in reading.series if s.channel.quantity == "power"]
        several = len({s.channel.meter for s in powers}) > 1
        components = [
            (
                f"{s.channel.meter} {s.channel.component}" if several else s.channel.component,
                means(s, edges_s),
            )
            for s in powers
        ]
    sums: dict[str, Floats] = {}
    for name, watts in sorted(components, key=lambda pair: pair[0]):
        sums[name] = sums[name] + watts if name in sums else watts
    return sums
