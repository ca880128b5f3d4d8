"""The watts of this moment, for who watches a run: of the boundary that a trial's energy has, but not yet its energy."""

from collections.abc import Mapping

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
    powers = {channel: value for channel, value in latest.items() if channel.quantity == "power"}
    for grade in GRADES if scale == 1 else [grade for grade in GRADES if grade in DILATED]:
        own = {channel: value for channel, value in powers.items() if channel.grade == grade}
        meters = [[channel for channel in own if channel.meter == meter] for meter in sorted({c.meter for c in own})]
        for channels in (*meters, *([list(own)] if len(meters) > 1 else [])):
            series = [Series.of_rows(channel, np.empty((0, len(SAMPLE)))) for channel in channels]
            if net := parts_of(grade, series, servers, servers).net:
                return sum(sign * own[one.channel] for sign, one in net), grade
    return None
