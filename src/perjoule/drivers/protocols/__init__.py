"""The protocols of drivers: Host, Testbed, FileSystem, Workload, Meter. Everything that has an end is a `with`.

Drivers declare here what they can do and what they need; other code does not ask for their names, nor look for attributes.
"""

from perjoule.drivers.protocols.checks import Check, Port
from perjoule.drivers.protocols.filesystem import Access, FileSystem, Mounted, Pool
from perjoule.drivers.protocols.host import MADE, REBUILD, ClockOffset, Completed, Counters, Host, Launcher, Process
from perjoule.drivers.protocols.hosts import Hosts, Lease, Machine, PlannedHost, planned
from perjoule.drivers.protocols.meter import Meter, Sink
from perjoule.drivers.protocols.testbed import Cleaned, Footing, Testbed
from perjoule.drivers.protocols.tunable import Offered, Tunable
from perjoule.drivers.protocols.within import Within
from perjoule.drivers.protocols.workload import ListsUsers, Need, Workload, require_time

__all__ = [
    "MADE",
    "REBUILD",
    "Access",
    "Check",
    "Cleaned",
    "ClockOffset",
    "Completed",
    "Counters",
    "FileSystem",
    "Footing",
    "Host",
    "Hosts",
    "Launcher",
    "Lease",
    "ListsUsers",
    "Machine",
    "Meter",
    "Mounted",
    "Need",
    "Offered",
    "PlannedHost",
    "Pool",
    "Port",
    "Process",
    "Sink",
    "Testbed",
    "Tunable",
    "Within",
    "Workload",
    "planned",
    "require_time",
]
