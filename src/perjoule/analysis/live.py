"""The watts of this moment, for who watches a run: of the boundary that a trial's energy has, but not yet its energy."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby

import numpy as np

from perjoule.analysis.power import DILATED, GRADES, parts_of
from perjoule.model import SAMPLE, Channel, Series


def servers_w(latest: Mapping[Channel, float], servers: frozenset[str], scale: float) -> tuple[float, str] | None:
    """Add up the last power samples of the servers, without the switch: each part once, by the best grade that covers all.

    Args:
        latest: the last value of each channel.
        servers: names of the hosts inside the boundary.
        scale: of the testbed; of an emulated one only modelled and simulated watts count.

    Returns:
        The watts with their grade; None if no grade covers the servers.
    """
    powers = frozenset(channel for channel in latest if channel.quantity == "power")
    found = _summands(powers, servers, scale)
    return (sum(sign * latest[channel] for sign, channel in found[0]), found[1]) if found else None


@lru_cache(maxsize=8)  # the channels of a campaign hardly change, and 64 hosts take 20 ms
def _summands(
    powers: frozenset[Channel], servers: frozenset[str], scale: float
) -> tuple[tuple[tuple[float, Channel], ...], str] | None:
    """Return the channels that add up to the servers' watts, each with its sign, and their grade."""
    for grade in GRADES if scale == 1 else [grade for grade in GRADES if grade in DILATED]:
        own = sorted((channel for channel in powers if channel.grade == grade), key=lambda channel: (channel.meter, channel.name))
        meters = [list(of_meter) for _, of_meter in groupby(own, key=lambda channel: channel.meter)]
        for channels in (*meters, *([own] if len(meters) > 1 else [])):
            series = [Series.of_rows(channel, np.empty((0, len(SAMPLE)))) for channel in channels]
            if net := parts_of(grade, series, servers, servers).net:
                return tuple((sign, one.channel) for sign, one in net), grade
    return None
