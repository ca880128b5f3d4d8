"""Write-back: after a load all hosts with its data sync at once, because a write counts until their disks hold the data.

The list of what to sync is made before the load, so nothing but `sync` runs after it, unless hosts have joined meanwhile.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from perjoule.drivers.protocols import Host, Hosts, Mounted
from perjoule.machine.mounts import mounted_below
from perjoule.model import WRITE_BACK, Phase
from perjoule.model.doubts import IN_FLIGHT, Doubt
from perjoule.model.errors import WorkloadError

LONGEST_S = 600.0  # a sync that takes longer has hung
AT_ONCE_COUNT = 64


@dataclass(frozen=True)
class Sync:
    """The command that writes one host's data to its disk."""

    host: Host
    argv: tuple[str, ...]


@dataclass(frozen=True)
class WrittenBack:
    """The phase (None if the data may not be on disk, with the reason in `doubts`)."""

    phase: Phase | None
    doubts: tuple[Doubt, ...] = ()


def syncs(hosts: Hosts, mounted: Mounted) -> tuple[Sync, ...]:
    """Find what to sync: all mounts of each server, or the disks of clients that hold their own data.

    Returns nothing if the hosts with the data are unknown. Raises WorkloadError: a host can't report its mounts.
    """
    holders = frozenset(mounted.data_hosts)
    if any(host.name in holders for host in hosts.servers):
        places = ((host, path) for host in hosts.servers for path in (host.directory, *mounted_below(host, host.directory)))
        return tuple(Sync(host, ("sync", "-f", str(path))) for host, path in places)
    own = (host for host in hosts.clients if host.name in holders)
    return tuple(Sync(host, ("sync", *_own(mounted, host))) for host in own)


def write_back(wanted: Sequence[Sync], name: str = WRITE_BACK) -> WrittenBack:
    """Run all syncs at once; the phase of this name ends when the last has returned."""
    if not wanted:
        return WrittenBack(None)
    began_s = time.monotonic()
    with ThreadPoolExecutor(min(len(wanted), AT_ONCE_COUNT)) as pool:
        doubts = tuple(doubt for doubt in pool.map(_synced, wanted) if doubt)
    ended_s = time.monotonic()
    return WrittenBack(None if doubts else Phase(name, began_s, ended_s), doubts)


def _synced(wanted: Sync) -> Doubt | None:
    try:
        wanted.host.run(wanted.argv, timeout_s=LONGEST_S)
    except WorkloadError as error:
        return IN_FLIGHT.doubt(f"data were not written back: {error}")
    return None


def _own(mounted: Mounted, client: Host) -> tuple[str, ...]:
    device = mounted.devices.get(client.name)
    return (str(device),) if device else ("-f", str(mounted.directories[client.name]))
