"""Meters that are said to read different devices, and show the same watts, which would count twice."""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations

import numpy as np

from perjoule.energy.alike import alike
from perjoule.energy.choosing import REAL
from perjoule.energy.contradictions import names
from perjoule.energy.coverage import Item, items
from perjoule.model import Channel, Series
from perjoule.model.doubts import METERS, Doubt

NEAR_RATIO = 0.02  # of the larger one, by which means of the same watts differ at most


def counted_twice(series_of: Mapping[Channel, Series], cluster: Set[str]) -> tuple[Doubt, ...]:
    """Doubt powers of different devices that are equal, or the sum of others, wherever they move in a trial.

    Counters are not compared: their steps are too coarse.

    Args:
        series_of: all series of a trial.
        cluster: the hosts that a meter of the whole cluster covers.
    """
    powers = [
        channel
        for channel in series_of
        if channel.quantity == "power"
        and channel.semantics != "state"
        and channel.grade in REAL
        and not channel.is_stated
        and np.isfinite(series_of[channel].value).any()
    ]
    among = items(powers, cluster, switch=True)
    mean_w = {item.channel: float(np.nanmean(series_of[item.channel].value)) for item in among}
    return (*_equal(series_of, among, mean_w), *_sums(series_of, among, mean_w))


def _near(first_w: float, second_w: float) -> bool:
    return abs(first_w - second_w) <= NEAR_RATIO * max(first_w, second_w)


def _equal(
    series_of: Mapping[Channel, Series], among: Sequence[Item], mean_w: Mapping[Channel, float]
) -> Iterator[Doubt]:
    ordered = sorted(among, key=lambda item: mean_w[item.channel])
    for n, first in enumerate(ordered):
        for second in ordered[n + 1 :]:
            if not _near(mean_w[first.channel], mean_w[second.channel]):
                break
            if first.devices & second.devices:
                continue
            moves = alike(series_of[first.channel], series_of[second.channel])
            if moves is not None:
                channel, channels = sorted((first.channel.name, second.channel.name))
                yield METERS.read_alike(
                    channel=channel, channels=channels, count=moves.moves_count, within_w=moves.within_w
                )


def _sums(
    series_of: Mapping[Channel, Series], among: Sequence[Item], mean_w: Mapping[Channel, float]
) -> Iterator[Doubt]:
    """Compare each power with all others of different devices together, and with those of each meter."""
    for total in among:
        apart = [item for item in among if not item.devices & total.devices]
        meters = sorted({item.channel.meter for item in apart})
        sets = [[item for item in apart if item.channel.meter == meter] for meter in meters]
        for parts in sets + ([apart] if len(meters) > 1 else []):
            if len(parts) < 2 or any(
                first.devices & second.devices for first, second in combinations(parts, 2)
            ):
                continue
            if not _near(mean_w[total.channel], sum(mean_w[item.channel] for item in parts)):
                continue
            moves = alike(series_of[total.channel], *(series_of[item.channel] for item in parts))
            if moves is not None:
                of = names(tuple((1, item.channel) for item in parts))
                yield METERS.sum_of_others(
                    channel=total.channel.name, channels=of, count=moves.moves_count, within_w=moves.within_w
                )
                break
