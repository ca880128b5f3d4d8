"""Disk space on the storage hosts of a testbed that are other machines, before a campaign and while it
runs.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from perjoule import drivers
from perjoule.drivers.protocols import Check, Host, Hosts
from perjoule.execution.disk_watch import watched_disks
from perjoule.execution.resources import stored_bytes
from perjoule.machine.disks import reserve_bytes, space_bytes
from perjoule.model import Trial
from perjoule.model.errors import DiskFull
from perjoule.model.units import bytes_text

PERIOD_S = 2.0  # of the watch, where looking costs a process: 400 MB/s for the least reserve

_SPACE = "free space there, set work, or choose smaller sizes (--shrink)"
_HOSTS = Path("/hosts")  # stands for the folder of hosts, to tell which file systems keep their data there


def looks(trials: Sequence[Trial], hosts: Hosts) -> list[Check]:
    """Return the space that the loads of one deployment need on storage hosts, as a question to them; see
    `require`.
    """
    storage, share_bytes = _shared(trials, hosts)
    if not storage:
        return []
    need = f"space for its share of the data, {bytes_text(share_bytes)}, beside the reserve"
    return [Check(need, True, "", _SPACE, look=f"free {share_bytes}", on="storage")]


def require(trials: Sequence[Trial], hosts: Hosts) -> None:
    """Check that the loads of one deployment fit on storage hosts that are other machines, each with an even
    share.

    Raises:
        MachineError: one of them lacks space.
    """
    storage, share_bytes = _shared(trials, hosts)
    for host in storage:
        free_bytes, total_bytes = space_bytes(host, host.directory)
        if free_bytes < share_bytes + (kept_bytes := reserve_bytes(total_bytes)):
            space = f"{bytes_text(free_bytes)} free, of which {bytes_text(kept_bytes)} stay in reserve"
            fault = (
                f"its share of the data, {bytes_text(share_bytes)}, does not fit below {host.directory}: "
                f"{space}"
            )
            raise DiskFull(fault, where=host.name, next=_SPACE)


def watched(trials: Sequence[Trial], hosts: Hosts) -> AbstractContextManager[None]:
    """Stop the block as Ctrl-C would if the disk of a host with data of these trials lacks half of its
    reserve.
    """
    storage, _ = _shared(trials, hosts)
    spaces = {
        f"the disk of {host.name} ({host.directory})": partial(space_bytes, host, host.directory)
        for host in storage
    }
    return watched_disks(spaces, PERIOD_S)


def _shared(trials: Sequence[Trial], hosts: Hosts) -> tuple[Sequence[Host], int]:
    """Return the storage hosts that keep a deployment's data below their own folder, and the bytes of
    each, an even share.
    """
    # not another folder, or devices
    keeps = drivers.filesystem(trials[0].filesystem).folder(_HOSTS) == _HOSTS
    storage = hosts.by_role("storage") if keeps else ()
    return storage, stored_bytes(trials, hosts) // len(storage) if storage else 0
