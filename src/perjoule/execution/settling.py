"""The end of a trial: after the write-back, wait until the servers and the file system are idle.

Without this, background work of the file system (copies, scrub, rebalance, trash) would fall into the next trial's windows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from perjoule.drivers.protocols import Counters, Hosts, Mounted
from perjoule.model import Phase
from perjoule.model.doubts import IN_FLIGHT, Doubt
from perjoule.model.errors import WorkloadError
from perjoule.model.units import bytes_text

LOOK_S = 0.25  # over which a rate is taken
QUIET_BYTES_PER_S = 256 * 1024  # of all servers together, above twice what they moved idle (heartbeats, other work)
WATCHED = ("network_received_bytes", "disk_read_bytes", "disk_written_bytes")


@dataclass(frozen=True)
class Tail:
    """The time after the load, and doubts about the next trial."""

    phase: Phase
    doubts: tuple[Doubt, ...] = ()
    busy: str = ""  # what had not ended with it; "": nothing


def rate_bytes_per_s(hosts: Hosts, duration_s: float) -> float:
    """Wait, and return the rate of the servers' networks and disks meanwhile."""
    began_s, before_bytes = time.monotonic(), _moved_bytes(hosts)
    time.sleep(duration_s)
    return (_moved_bytes(hosts) - before_bytes) / (time.monotonic() - began_s)


def tail(
    hosts: Hosts,
    mounted: Mounted,
    *,
    settle_s: float,
    quiet_s: float,
    idle_bytes_per_s: float,
    unhealthy: Callable[[], str] | None = None,
) -> Tail:
    """Wait until the servers and the file system are idle.

    Args:
        hosts: their counters are read.
        mounted: reports background work once the counters are quiet.
        settle_s: the least length.
        quiet_s: the longest; 0 waits only for `settle_s`.
        idle_bytes_per_s: the servers' rate in the trial's baseline.
        unhealthy: after events, what must happen until the file system is healthy, instead of its report of background work.

    Raises:
        TransientError: a daemon has died.
    """
    began_s = time.monotonic()
    if not quiet_s:
        time.sleep(settle_s)
        return Tail(Phase("tail", began_s, time.monotonic()))
    notes: dict[str, None] = {}
    doubts: list[Doubt] = []
    before_bytes = _written_bytes(hosts)
    while True:
        rate = rate_bytes_per_s(hosts, min(LOOK_S, settle_s))
        ended_s = time.monotonic()
        what = ""
        if rate > 2 * idle_bytes_per_s + QUIET_BYTES_PER_S:
            what = f"servers move {bytes_text(round(rate))}/s"
        elif ended_s - began_s < settle_s:
            continue
        else:
            try:
                what = (
                    unhealthy or mounted.busy
                )()  # asked after the end, so that a quiet file system's answer costs this trial nothing
            except WorkloadError as error:
                doubts.append(IN_FLIGHT.doubt(f"can't tell whether the file system is quiet: {error}"))
            if what:
                notes[what] = None
                mounted.alive()  # what waits for a daemon that has died would not end
        if not what or ended_s - began_s >= max(quiet_s, settle_s):
            break
    if what:
        doubts.append(IN_FLIGHT.doubt(f"still busy {quiet_s:g} s after the load, gave up waiting: {what}"))
    if (written_bytes := _written_bytes(hosts) - before_bytes) > QUIET_BYTES_PER_S:
        notes = {f"{bytes_text(written_bytes)} written to the servers' disks": None, **notes}
    return Tail(Phase("tail", began_s, ended_s, "; ".join(notes)), tuple(doubts), what)


def _readings(hosts: Hosts) -> list[Counters]:
    asked = [host.ask_counters() for host in hosts.servers or hosts.all]
    return [answered() for answered in asked]


def _moved_bytes(hosts: Hosts) -> int:
    return sum(vars(reading)[counter] or 0 for reading in _readings(hosts) for counter in WATCHED)


def _written_bytes(hosts: Hosts) -> int:
    return sum(reading.disk_written_bytes or 0 for reading in _readings(hosts))
