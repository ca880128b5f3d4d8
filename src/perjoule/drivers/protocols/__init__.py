"""The protocols of drivers: Host, Testbed, FileSystem, Workload, Meter. Everything that has an end is a
`with`.

Drivers declare here what they can do and what they need; other code does not ask for their names, nor look
for attributes.
"""

from perjoule.drivers.protocols.abilities import (
    Ability,
    LendsDevices,
    LosesPackets,
    Seeks,
    SlowsDisks,
    TakesLinkDown,
    able,
)
from perjoule.drivers.protocols.checks import Check, Port
from perjoule.drivers.protocols.event import ELSEWHERE, Command, Event, ServerEvent, Work
from perjoule.drivers.protocols.filesystem import Access, Bucket, FileSystem, Mounted, Pool
from perjoule.drivers.protocols.host import (
    MADE,
    REBUILD,
    ClockOffset,
    Completed,
    Counters,
    Host,
    Launcher,
    Process,
)
from perjoule.drivers.protocols.hosts import Hosts, Lease, Machine, PlannedHost, planned
from perjoule.drivers.protocols.meter import Meter, Outlet, Sink
from perjoule.drivers.protocols.mounted_abilities import (
    Ages,
    CachesOnServers,
    Growable,
    Killable,
    LosesDisks,
    MakesPools,
    OffersBuckets,
    OfOthers,
    Scrubs,
    TakesSnapshots,
    TellsHealth,
    TellsHeld,
    TellsState,
    Unmounts,
    WorksInBackground,
)
from perjoule.drivers.protocols.testbed import Testbed
from perjoule.drivers.protocols.testbed_abilities import (
    Awaits,
    Cleaned,
    Cleans,
    Elsewhere,
    Footing,
    HasEvents,
    HasExtras,
    Leased,
    LooksAtHosts,
    OffersSettings,
    OverwritesDevices,
)
from perjoule.drivers.protocols.tunable import Offered, Tunable
from perjoule.drivers.protocols.within import Within
from perjoule.drivers.protocols.workload import ListsUsers, Need, Workload, require_time

__all__ = [
    "ELSEWHERE",
    "MADE",
    "REBUILD",
    "Ability",
    "Access",
    "Ages",
    "Awaits",
    "Bucket",
    "CachesOnServers",
    "Check",
    "Cleaned",
    "Cleans",
    "ClockOffset",
    "Command",
    "Completed",
    "Counters",
    "Elsewhere",
    "Event",
    "FileSystem",
    "Footing",
    "Growable",
    "HasEvents",
    "HasExtras",
    "Host",
    "Hosts",
    "Killable",
    "Launcher",
    "Lease",
    "Leased",
    "LendsDevices",
    "ListsUsers",
    "LooksAtHosts",
    "LosesDisks",
    "LosesPackets",
    "Machine",
    "MakesPools",
    "Meter",
    "Mounted",
    "Need",
    "OfOthers",
    "Offered",
    "OffersBuckets",
    "OffersSettings",
    "Outlet",
    "OverwritesDevices",
    "PlannedHost",
    "Pool",
    "Port",
    "Process",
    "Scrubs",
    "Seeks",
    "ServerEvent",
    "Sink",
    "SlowsDisks",
    "TakesLinkDown",
    "TakesSnapshots",
    "TellsHealth",
    "TellsHeld",
    "TellsState",
    "Testbed",
    "Tunable",
    "Unmounts",
    "Within",
    "Work",
    "Workload",
    "WorksInBackground",
    "able",
    "planned",
    "require_time",
]
