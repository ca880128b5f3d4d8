"""Doubts: objections to numbers, each of a kind that says what it can do to them; their words stand in one
file a kind.
"""

from perjoule.model.doubts.apart import APART
from perjoule.model.doubts.cache import CACHE
from perjoule.model.doubts.change import CHANGE
from perjoule.model.doubts.comparison import COMPARISON
from perjoule.model.doubts.derived import DERIVED
from perjoule.model.doubts.events import EVENTS
from perjoule.model.doubts.foreign import FOREIGN
from perjoule.model.doubts.in_flight import IN_FLIGHT
from perjoule.model.doubts.kind import UNSTATED, Doubt, Kind, Template
from perjoule.model.doubts.machine import MACHINE
from perjoule.model.doubts.meters import METERS
from perjoule.model.doubts.repetitions import REPETITIONS
from perjoule.model.doubts.shared import SHARED
from perjoule.model.doubts.slow_host import SLOW_HOST
from perjoule.model.doubts.times import TIMES
from perjoule.model.doubts.traffic import TRAFFIC
from perjoule.model.doubts.undilated import UNDILATED
from perjoule.model.doubts.unlike import UNLIKE
from perjoule.model.doubts.work import WORK

# Those that can cost most first.
KINDS = (
    *(
        CACHE,
        IN_FLIGHT,
        WORK,
        UNLIKE,
        MACHINE,
        SLOW_HOST,
        SHARED,
        METERS,
        APART,
        TIMES,
        DERIVED,
        EVENTS,
        UNDILATED,
        TRAFFIC,
        CHANGE,
    ),
    *(COMPARISON, REPETITIONS, FOREIGN, UNSTATED),
)

__all__ = [
    "APART",
    "CACHE",
    "CHANGE",
    "COMPARISON",
    "DERIVED",
    "EVENTS",
    "FOREIGN",
    "IN_FLIGHT",
    "KINDS",
    "MACHINE",
    "METERS",
    "REPETITIONS",
    "SHARED",
    "SLOW_HOST",
    "TIMES",
    "TRAFFIC",
    "UNDILATED",
    "UNLIKE",
    "UNSTATED",
    "WORK",
    "Doubt",
    "Kind",
    "Template",
]
