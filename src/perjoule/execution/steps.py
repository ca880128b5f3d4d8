"""When the events of a trial are done, and when the disks that will fail are weighed."""

import itertools
from collections.abc import Sequence

from perjoule import drivers
from perjoule.model import TrialEvent

WEIGH_S = 3.0  # before a disk fails: when its content is measured


def steps(
    planned: Sequence[TrialEvent],
) -> list[tuple[float, tuple[TrialEvent, ...], tuple[TrialEvent, ...]]]:
    """Return, in order, each time at which something is begun: which disks are weighed, and which events are
    done.

    A disk that will fail is weighed WEIGH_S before, but after the last event by which its host holds
    something else.
    """
    weighed: dict[float, list[TrialEvent]] = {}
    for n, event in enumerate(planned):
        if drivers.event_class(event.kind).takes == "disk":
            changed_s = (
                earlier.at_s for earlier in planned[:n] if earlier.host == event.host and _changes(earlier)
            )
            weighed.setdefault(max(0.0, event.at_s - WEIGH_S, *changed_s), []).append(event)
    moments = [
        (at_s, (), tuple(same)) for at_s, same in itertools.groupby(planned, key=lambda event: event.at_s)
    ]
    moments += [(at_s, tuple(those), ()) for at_s, those in weighed.items()]
    return sorted(moments, key=lambda step: (step[0], bool(step[1])))  # events first


def _changes(event: TrialEvent) -> bool:
    """Whether its host may hold something else afterwards: the file system is without it, or has it again."""
    kind = drivers.event_class(event.kind)
    return bool(kind.takes or kind.brings)
