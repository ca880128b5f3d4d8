"""The end of a trial: servers write back what they hold in memory, and all is waited for until it is quiet.

Without this, what a file system still does when the load has ended (write-back, copies, scrub, rebalance, trash) would fall into
the next trial's windows, or into nobody's.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perjoule.errors import WorkloadError
from perjoule.model import Phase
from perjoule.protocols import Host, Hosts, Mounted
from perjoule.units import bytes_text

LOOK_S = 0.25  # over which a rate is taken
QUIET_BYTES_PER_S = 256 * 1024  # of all servers together, above twice what they moved idle (heartbeats, other work)
WATCHED = ("network_received_bytes", "disk_read_bytes", "disk_written_bytes")
SHORT_S = 20.0  # for commands that only ask


@dataclass(frozen=True)
class Tail:
    """What followed the load, and what speaks against the next trial."""

    phase: Phase
    doubts: tuple[str, ...] = ()


def rate_bytes_per_s(hosts: Hosts, duration_s: float) -> float:
    """Let time pass, and give what the servers' networks and disks moved meanwhile."""
    began_s, before_bytes = time.monotonic(), _moved_bytes(hosts)
    time.sleep(duration_s)
    return (_moved_bytes(hosts) - before_bytes) / (time.monotonic() - began_s)


def tail(hosts: Hosts, mounted: Mounted, *, settle_s: float, quiet_s: float, idle_bytes_per_s: float) -> Tail:
    """Have the servers write back what is dirty, then wait until they and the file system are quiet.

    Args:
        hosts: whose counters are looked at.
        mounted: is asked in its own words once the counters are quiet, and may be busy all the same.
        settle_s: the least length.
        quiet_s: the longest; 0 waits for nothing but `settle_s`, and has nothing written back.
        idle_bytes_per_s: what the servers moved in the trial's baseline.

    Raises:
        TransientError: it is not quiet because a daemon has died.
    """
    began_s = time.monotonic()
    if not quiet_s:
        time.sleep(settle_s)
        return Tail(Phase("tail", began_s, time.monotonic()))
    notes: dict[str, None] = {}
    doubts: list[str] = []
    before_bytes = _written_bytes(hosts)
    doubts += _write_back(hosts, mounted, quiet_s)
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
                what = mounted.busy()  # asked after the end, so that a quiet file system's answer costs this trial nothing
            except WorkloadError as error:
                doubts.append(f"whether the file system is quiet can't be told: {error}")
            if what:
                notes[what] = None
                mounted.alive()  # what waits for a daemon that has died would not end
        if not what or ended_s - began_s >= max(quiet_s, settle_s):
            break
    if what:
        doubts.append(f"not quiet {quiet_s:g} s after the load, and waited for no longer: {what}")
    if (written_bytes := _written_bytes(hosts) - before_bytes) > QUIET_BYTES_PER_S:
        notes = {f"{bytes_text(written_bytes)} written to the servers' disks": None, **notes}
    return Tail(Phase("tail", began_s, ended_s, "; ".join(notes)), tuple(doubts))


def _watched(hosts: Hosts) -> Sequence[Host]:
    return hosts.servers or hosts.all


def _moved_bytes(hosts: Hosts) -> int:
    readings = [host.counters() for host in _watched(hosts)]
    return sum(getattr(reading, counter) or 0 for reading in readings for counter in WATCHED)


def _written_bytes(hosts: Hosts) -> int:
    return sum(host.counters().disk_written_bytes or 0 for host in _watched(hosts))


def _write_back(hosts: Hosts, mounted: Mounted, patience_s: float) -> list[str]:
    """Write back the local file systems of all servers at once; the kernel would begin up to 30 s later."""

    def one(host: Host) -> str:
        try:
            paths = _local_mounts(host) if hosts.servers else [mounted.directories[host.name]]
            host.run(["sync", "-f", *paths], timeout_s=patience_s)
        except WorkloadError as error:
            return f"data of servers were not written back: {error}"
        return ""

    with ThreadPoolExecutor(16) as pool:
        return [doubt for doubt in pool.map(one, _watched(hosts)) if doubt]


def _local_mounts(host: Host) -> list[Path]:
    """The folder of a server, and the file systems on disks that are mounted below it."""
    argv = ["findmnt", "--raw", "--noheadings", "--real", "--output", "TARGET", "--types", "ext4,xfs,btrfs,f2fs"]
    said = host.run(argv, timeout_s=SHORT_S, check=False).stdout
    targets = [Path(line.encode().decode("unicode_escape")) for line in said.splitlines() if line]
    return [host.directory, *(target for target in targets if host.directory in target.parents)]
