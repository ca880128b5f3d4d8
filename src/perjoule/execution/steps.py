"""When the events of a trial are done, and when the disks that will fail are weighed."""

import itertools
from collections.abc import Sequence

from perjoule.model import TrialEvent

ABSENT = frozenset({"kill", "cut", "fail"})  # the file system is without the host until it is back
CHANGES = ABSENT | {"back", "add"}  # what a host holds may be different afterwards
WEIGH_S = 3.0  # before a disk fails: when its content is measured


def steps(planned: Sequence[TrialEvent]) -> list[tuple[float, tuple[TrialEvent, ...], tuple[TrialEvent, ...]]]:
    """Return, in order, each time at which something is begun: which disks are weighed, and which events are done.

    A disk that will fail is weighed WEIGH_S before, but after the last event by which its host holds something else.
    """
    weighed: dict[float, list[TrialEvent]] = {}
    for n, event in enumerate(planned):
        if event.kind == "fail":
            changed_s = (one.at_s for one in planned[:n] if one.host == event.host and one.kind in CHANGES)
            weighed.setdefault(max(0.0, event.at_s - WEIGH_S, *changed_s), []).append(event)
    found = [(at_s, (), tuple(same)) for at_s, same in itertools.groupby(planned, key=lambda event: event.at_s)]
    found += [(at_s, tuple(those), ()) for at_s, those in weighed.items()]
    return sorted(found, key=lambda step: (step[0], bool(step[1])))  # events first
