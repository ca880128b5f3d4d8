"""The room in a file system for the files of a paced load, whose size is known only when it is measured."""

from perjoule.drivers.protocols import Host, Mounted
from perjoule.machine.disks import RESERVE_RATIO, space_bytes
from perjoule.machine.untrusted import understood

_LOOK_S = 60.0


def found_room_bytes(client: Host, mounted: Mounted) -> int:
    """Return what is free beside the reserve, as a client sees it, and what its files of earlier trials hold.

    Raises:
        WorkloadError: the client can't tell.
    """
    place = mounted.directories[client.name]
    free_bytes, total_bytes = space_bytes(client, place)
    usage = client.run(["du", "--summarize", "--block-size=1", place], timeout_s=_LOOK_S).stdout
    with understood(f"du on {client.name}"):
        return max(0, free_bytes - round(RESERVE_RATIO * total_bytes) + int(usage.split()[0]))
