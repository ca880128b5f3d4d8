"""The law of queues with a profile's numbers, for many clusters at once: what servers reach that keep
nothing in memory.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from perjoule.model import Direction, Redundancy
from perjoule.prediction.bounds import Demand, Fleet, Floats, Number
from perjoule.prediction.fitting import spread
from perjoule.prediction.profile import Profile
from perjoule.prediction.queueing import Spread, Way, duration_s, job


@dataclass(frozen=True)
class Law:
    """How a file system with a profile uses its hosts, in one direction and under one redundancy."""

    way: Way
    spread: Spread

    def served_s_per_byte(
        self, demand: Demand, fleet: Fleet, client_bytes: Number, at_once: Number
    ) -> Floats:
        """Return the seconds for a user byte, if neither the clients' network and CPU nor the servers' memory
        matter.

        Args:
            demand: the whole work for a user byte; how much of the servers' CPU work holds data up is the
                law's.
            fleet: clusters, as arrays that broadcast; its clients have transfers in flight and files on
                certain hosts.
            client_bytes: that each client moves, in one file.
            at_once: stations that one client's transfers use at once; takes the place of the profile's
                number.
        """
        asked = job(demand, replace(fleet, server_memory_bytes=0.0), self.spread, client_bytes)
        asked = replace(asked, clients_s=0.0, most_at_once=np.minimum(asked.most_at_once, at_once))
        return duration_s(replace(self.way, at_once=inf), asked) / asked.user_bytes


def law(found: Profile, direction: Direction, kept: Redundancy) -> Law:
    """Return the law of a profile under a redundancy, be it one that was not measured."""
    fit = found.known[direction].fit
    return Law(fit.way, spread(direction, kept, found.unit_bytes, fit.uneven_ratio(kept)))
