"""Write-back: after a load all hosts with its data sync at once, because a write counts until their disks
hold the data.

The list of what to sync is made before the load, so nothing but `sync` runs after it, unless hosts have
joined meanwhile. Each host states by its own clock when its sync began and ended, so that a pause of its
connection or of perjoule counts as no writing.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isfinite

from perjoule.drivers.protocols import ClockOffset, Completed, Host, Hosts, Mounted
from perjoule.drivers.protocols.disks import disk_folders
from perjoule.machine.each import each
from perjoule.machine.mounts import mounted_below
from perjoule.machine.scripts import BASH, STAMPED
from perjoule.model import WRITE_BACK, Outcome, Phase
from perjoule.model.doubts import IN_FLIGHT, TIMES, Doubt
from perjoule.model.errors import PausedError, ProgramFailed, UnexpectedOutput, WorkloadError
from perjoule.model.metrics import POOLS
from perjoule.model.units import seconds_text

LONGEST_S = 600.0  # a sync that takes longer has hung
AT_ONCE_COUNT = 1024
# after the last client's end, and of the load: a write whose sync begins later is not kept
LATE_S, LATE_RATIO = 2.0, 0.01
ROUND_TRIPS_COUNT = 12  # that bringing reports from a host takes before its sync, at most
DOUBTED_S, DOUBTED_RATIO = 0.2, 0.05  # and a write whose sync begins later than that is doubted
ALWAYS_DOUBTED_S = 1.0  # also after a long load
CONTRADICTED_S = 0.05  # by which a host's clock may contradict the moments at which it was asked and answered
_SYNC = (*BASH, STAMPED, "perjoule-sync")


@dataclass(frozen=True)
class Sync:
    """The command that writes one host's data to its disk."""

    host: Host
    argv: tuple[str, ...]


@dataclass(frozen=True)
class WrittenBack:
    """The phase (None if the data may not be on disk, with the reason in `doubts`), and when the last host
    began.

    `way_s` is the time that messages to the farthest host and back take without any pause, until its sync
    begins.
    """

    phase: Phase | None
    doubts: tuple[Doubt, ...] = ()
    last_began_s: float | None = None
    way_s: float = 0.0


@dataclass(frozen=True)
class _Done:
    """A sync, with the moments of its question and its answer (monotonic, in s), and the host's two
    moments in UTC.
    """

    host: Host
    asked_s: float
    answered_s: float
    stamps_utc_s: tuple[float, float] | None  # None on a host without a clock


def syncs(hosts: Hosts, mounted: Mounted) -> tuple[Sync, ...]:
    """Find what to sync: all disks and mounts of each server, or the disks of clients that hold their own
    data.

    Returns nothing if the hosts with the data are unknown. Raises WorkloadError: a host can't report its
    mounts.
    """
    holders = frozenset(mounted.data_hosts)
    if any(host.name in holders for host in hosts.servers):
        places = (
            (host, path)
            for host in hosts.servers
            for folder in disk_folders(host)
            for path in (folder, *mounted_below(host, folder))
        )
        return tuple(Sync(host, ("sync", "-f", str(path))) for host, path in places)
    data_clients = (host for host in hosts.clients if host.name in holders)
    return tuple(Sync(host, ("sync", *_own(mounted, host))) for host in data_clients)


def write_back(requested: Sequence[Sync], name: str = WRITE_BACK) -> WrittenBack:
    """Run all syncs at once; the phase of this name runs from the first host's begin to the last one's end,
    by their clocks.

    Raises:
        PausedError: a host's clock was set meanwhile.
        TransientError: a host does not answer.
    """
    if not requested:
        return WrittenBack(None)
    with ThreadPoolExecutor(min(len(requested), AT_ONCE_COUNT)) as pool:
        ended = list(pool.map(_synced, requested))
    if doubts := tuple(outcome for outcome in ended if isinstance(outcome, Doubt)):
        return WrittenBack(None, doubts)
    completed = [outcome for outcome in ended if isinstance(outcome, _Done)]
    clocks = dict(
        each(dict.fromkeys(sync.host for sync in completed), lambda host: (host.name, host.clock_offset()))
    )
    moments_s = [_moments_s(sync, clocks) for sync in completed]
    first_s, last_s, ended_s = (
        min(began for began, _ in moments_s),
        max(began for began, _ in moments_s),
        max(end for _, end in moments_s),
    )
    way_s = ROUND_TRIPS_COUNT * 2 * max(clock.uncertainty_s for clock in clocks.values())
    return WrittenBack(Phase(name, first_s, ended_s), last_began_s=last_s, way_s=way_s)


def late(loaded: Outcome, written: WrittenBack, *, lent: bool = False) -> Doubt | None:
    """Return a doubt if the last host began to sync long after the last client's end: until then it only
    waited.

    Raises PausedError: so long that the write's time is unknown, unless the hosts are `lent` by a batch
    system, whose steps may end seconds after their programs.
    """
    if (
        written.last_began_s is None
        or loaded.sustained
        or loaded.measured.get(POOLS)  # deleted with all that was written
        or all(result.direction != "write" for result in loaded.results)
    ):
        return None
    late_s, load_s = written.last_began_s - loaded.ended_s, loaded.ended_s - loaded.began_s
    if not lent and late_s > max(LATE_S + written.way_s, LATE_RATIO * load_s):
        fault = f"the write-back began {seconds_text(late_s)} after the last client's end"
        raise PausedError(f"{fault}: a host, its connection or perjoule stood still")
    if late_s > min(
        max(DOUBTED_S, DOUBTED_RATIO * load_s), max(ALWAYS_DOUBTED_S + written.way_s, LATE_RATIO * load_s)
    ):
        return TIMES.late_write_back(late_s=late_s)
    return None


def _synced(sync: Sync) -> _Done | Doubt:
    asked_s = time.monotonic()
    try:
        completed = sync.host.run((*_SYNC, *sync.argv), timeout_s=LONGEST_S, check=False)
        answered_s = time.monotonic()
        if completed.returncode:
            lines = completed.stderr.strip().splitlines() or ["it gave no reason"]
            raise ProgramFailed(f"sync ended with {completed.returncode}: {lines[-1]}", where=sync.host.name)
        return _Done(sync.host, asked_s, answered_s, _stamps_utc_s(completed, sync.host))
    except WorkloadError as error:
        return IN_FLIGHT.not_written_back(error=str(error))


def _stamps_utc_s(completed: Completed, host: Host) -> tuple[float, float] | None:
    """Read the two moments that a host printed; None if it printed nothing.

    Raises WorkloadError: they are none.
    """
    stamps = completed.stdout.split()
    try:
        began_utc_s, ended_utc_s = map(float, stamps or ("0", "0"))
    except ValueError:
        began_utc_s = ended_utc_s = float("nan")
    if not (isfinite(began_utc_s) and isfinite(ended_utc_s)):
        raise UnexpectedOutput(f"unexpected output of sync: {completed.stdout[:60].strip()}", where=host.name)
    return (began_utc_s, ended_utc_s) if stamps else None


def _moments_s(sync: _Done, clocks: Mapping[str, ClockOffset]) -> tuple[float, float]:
    """Return when a sync began and ended, in our monotonic clock.

    Raises PausedError: its host's clock contradicts ours.
    """
    if sync.stamps_utc_s is None:
        return sync.asked_s, sync.answered_s
    clock, ours_s = clocks[sync.host.name], time.monotonic() - time.time()
    began_s, ended_s = (stamp_utc_s - clock.offset_s + ours_s for stamp_utc_s in sync.stamps_utc_s)
    unsure_s = CONTRADICTED_S + clock.uncertainty_s
    if not sync.asked_s - unsure_s <= began_s <= ended_s <= sync.answered_s + unsure_s:
        raise PausedError(
            "its clock, or that of this machine, was set during the write-back", where=sync.host.name
        )
    return max(began_s, sync.asked_s), min(ended_s, sync.answered_s)


def _own(mounted: Mounted, client: Host) -> tuple[str, ...]:
    device = mounted.devices.get(client.name)
    return (str(device),) if device else ("-f", str(mounted.directories[client.name]))
