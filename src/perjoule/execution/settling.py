"""The end of a trial: after the write-back, wait until the servers and the file system are idle.

Without this, background work of the file system (copies, scrub, rebalance, trash) would fall into the next
trial's windows.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perjoule.drivers.protocols import Hosts, Mounted, WorksInBackground
from perjoule.model import Phase
from perjoule.model.doubts import IN_FLIGHT, Doubt
from perjoule.model.errors import WorkloadError
from perjoule.model.units import bytes_text

LOOK_S = 0.25  # over which a rate is taken
# of all servers together, above twice what they moved idle (heartbeats, other work)
QUIET_BYTES_PER_S = 256 * 1024
# looks after one with a gap; a rate without that of a server only makes the wait at the end stricter
_AGAIN_COUNT = 2
WATCHED = ("network_received_bytes", "disk_read_bytes", "disk_written_bytes")
_Key = tuple[str, str]  # a server and its counter


@dataclass(frozen=True)
class Tail:
    """The time after the load, and doubts about the next trial."""

    phase: Phase
    doubts: tuple[Doubt, ...] = ()
    busy: str = ""  # what had not ended with it; "": nothing


def rate_bytes_per_s(hosts: Hosts, duration_s: float) -> float:
    """Wait, and return the rate of the servers' networks and disks meanwhile; longer if a reading is
    missing.
    """
    watch = _Watch(hosts)
    rate, unknown = watch.look(duration_s)
    for _ in range(_AGAIN_COUNT):
        if unknown:
            rate, unknown = watch.look(duration_s)
    return rate


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
        unhealthy: after events, what must happen until the file system is healthy, instead of its report of
            background work.

    Raises:
        TransientError: a daemon has died.
    """
    began_s = time.monotonic()
    if not quiet_s:
        time.sleep(settle_s)
        return Tail(Phase("tail", began_s, time.monotonic()))
    notes: dict[str, None] = {}
    doubts: list[Doubt] = []
    before, watch = _counted(hosts), _Watch(hosts)
    while True:
        rate, unknown = watch.look(min(LOOK_S, settle_s))
        ended_s = time.monotonic()
        activity = ""
        if rate > 2 * idle_bytes_per_s + QUIET_BYTES_PER_S:
            activity = f"servers move {bytes_text(round(rate))}/s"
        elif ended_s - began_s < settle_s:
            continue
        elif unknown:
            activity = f"what {unknown} moves is unknown"
            mounted.alive()
        else:
            try:
                # Asked after the end, so that a quiet file system's answer costs this trial nothing.
                activity = unhealthy() if unhealthy else _busy(mounted)
            except WorkloadError as error:
                doubts.append(IN_FLIGHT.quiet_unknown(error=str(error)))
            if activity:
                notes[activity] = None
                mounted.alive()  # what waits for a daemon that has died would not end
        if not activity or ended_s - began_s >= max(quiet_s, settle_s):
            break
    if activity:
        doubts.append(IN_FLIGHT.still_busy(waited_s=quiet_s, activity=activity))
    moved = _moved(before, _counted(hosts))
    written_bytes = sum(count for (_, counter), count in moved.items() if counter == "disk_written_bytes")
    if written_bytes > QUIET_BYTES_PER_S:
        notes = {f"{bytes_text(written_bytes)} written to the servers' disks": None, **notes}
    return Tail(Phase("tail", began_s, ended_s, "; ".join(notes)), tuple(doubts), activity)


class _Watch:
    """Looks at the bytes that servers move.

    What has never been known is not waited for: not every server has all counters.
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts, self._known = hosts, set[_Key]()

    def look(self, duration_s: float) -> tuple[float, str]:
        """Wait, and return the rate meanwhile as far as it is known, and a server of which it is not; "":
        of none.
        """
        began_s, before = time.monotonic(), _counted(self._hosts)
        time.sleep(duration_s)
        after = _counted(self._hosts)
        moved = _moved(before, after)
        self._known |= {
            key for counted in (before, after) for key, count in counted.items() if count is not None
        }
        unknown = min((name for name, _ in (self._known & after.keys()) - moved.keys()), default="")
        return sum(moved.values()) / (time.monotonic() - began_s), unknown


def _counted(hosts: Hosts) -> dict[_Key, int | None]:
    questions = [(host.name, host.ask_counters()) for host in hosts.servers or hosts.all]
    readings = [(name, answered()) for name, answered in questions]
    return {(name, counter): vars(reading)[counter] for name, reading in readings for counter in WATCHED}


def _moved(before: Mapping[_Key, int | None], after: Mapping[_Key, int | None]) -> dict[_Key, int]:
    """Return the differences that are known: a missing reading and a counter that was reset have none."""
    pairs = [(key, before.get(key), ended) for key, ended in after.items()]
    return {
        key: ended - began
        for key, began, ended in pairs
        if began is not None and ended is not None and ended >= began
    }


def _busy(mounted: Mounted) -> str:
    """Return the background work of a file system, as far as it says. Raises WorkloadError."""
    return mounted.busy() if isinstance(mounted, WorksInBackground) else ""
