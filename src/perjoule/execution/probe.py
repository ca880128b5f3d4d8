"""How fast a folder or device is, roughly, before a first measurement is written.

The probe is fio on what the file system's driver lends, for seconds: it sizes windows and is no result. It flushes
as it writes, so it neither fills memory with what is not yet written, nor takes that for the folder's speed.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from perjoule.campaign.defaults import LOAD
from perjoule.drivers.protocols import FileSystem, Host, Mounted, Testbed
from perjoule.execution.sizing import TRANSFER_BYTES
from perjoule.machine.disks import reserve_bytes
from perjoule.machine.each import each
from perjoule.machine.mounts import IN_MEMORY, SHORT_S, findmnt, is_local, unmounted
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import Permit
from perjoule.model.errors import MachineError
from perjoule.model.units import MIB, bytes_text

PROBE_S = 5.0
FLUSHED_BYTES = 128 * MIB  # at most, between two flushes
MOST_SHARE_RATIO = 0.25  # of the room, that a probe may fill
LEAST_BYTES = 4 * FLUSHED_BYTES


class Location(NamedTuple):
    """Where data lie, as a client sees it."""

    local: bool  # on the client itself
    source: str  # of what is mounted there
    room_bytes: int  # that may be filled: what stays in reserve is not; a device is, whole
    in_memory: bool = False  # on no disk


def device_located(path: Path) -> Location:
    """Look at a block device of this machine. Raises OSError."""
    with path.open("rb") as device:
        source = str(path.resolve())
        return Location(is_local({"type": "", "source": source}), source, device.seek(0, os.SEEK_END))


def located(testbed: Testbed, path: Path) -> Location:
    """Look at a folder from the first client; nothing is written to it.

    Raises PerjouleError: the client has no such folder, or can't be reached.
    """
    with testbed.hold(1) as hosts:
        client = hosts.clients[0]
        if client.run(["test", "-d", path], timeout_s=SHORT_S, check=False).returncode:
            raise MachineError(
                f"{path} is no folder", where=client.name, next="mount it there, or correct PATH"
            )
        mount = findmnt(client, path)
        if absent := unmounted(client, path, mount):
            raise MachineError(
                f"/etc/fstab has {absent}, and it is not mounted",
                where=client.name,
                next="mount it, or name another folder",
            )
    free_bytes, total_bytes = (int(str(mount[key] or 0)) for key in ("available_bytes", "total_bytes"))
    room_bytes = max(0, free_bytes - reserve_bytes(total_bytes))
    return Location(is_local(mount), str(mount["source"]), room_bytes, mount["type"] in IN_MEMORY)


def probed(
    testbed: Testbed,
    filesystem: FileSystem,
    directions: Sequence[str],
    room: int,
    permits: tuple[Permit, ...] = (),
    clients_count: int = 1,
) -> dict[str, float]:
    """Load a folder or device for seconds in each direction, with all clients together.

    Args:
        testbed: whose first clients load.
        filesystem: the driver, which makes a folder of its own and removes it, or lends the device.
        directions: "write" and "read"; what is read is what the probe wrote.
        room: the bytes that may be filled.
        permits: the devices that may be overwritten.
        clients_count: how many load.

    Returns:
        Bytes per second of each direction, of all clients.

    Raises:
        MachineError: there is no room; PerjouleError: fio or the folder failed.
    """
    most_bytes = round(room * MOST_SHARE_RATIO) // clients_count // TRANSFER_BYTES * TRANSFER_BYTES
    if most_bytes < LEAST_BYTES:
        raise MachineError(
            f"{bytes_text(room)} may be filled (the rest stays in reserve), and a probe needs "
            f"{bytes_text(round(LEAST_BYTES * clients_count / MOST_SHARE_RATIO))}",
            where="PATH",
            next="free space there, or name another folder",
        )
    with testbed.hold(clients_count) as hosts:
        for client in hosts.clients:
            client.overwrite = permits
        with filesystem.mount(hosts) as mounted:
            mounted.alive()  # right before the first write: a device is the one that was lent
            speeds_by_client = each(
                hosts.clients, lambda client: _speeds(client, mounted, directions, most_bytes)
            )
    speeds = {name: sum(of[name] for of in speeds_by_client) for name in speeds_by_client[0]}
    return {name: speeds[name] for name in directions}


def _speeds(client: Host, mounted: Mounted, directions: Sequence[str], most_bytes: int) -> dict[str, float]:
    device = mounted.devices.get(client.name)
    file = device or mounted.directories[client.name] / f"{client.name}.probe"
    how = ["--direct=1"] if device else []
    written, seconds = _fio(client, file, "write", most_bytes, how)
    speeds = {"write": written / seconds}
    if "read" in directions:
        read, seconds = _fio(client, file, "read", written // TRANSFER_BYTES * TRANSFER_BYTES, how)
        speeds["read"] = read / seconds
    return speeds


def _fio(client: Host, file: Path, operation: str, size_bytes: int, how: Sequence[str]) -> tuple[int, float]:
    """Run fio for some seconds; return what it moved, and how long it took with the last flush."""
    flushed = max(1, FLUSHED_BYTES // TRANSFER_BYTES)
    argv = [LOAD, "--name=probe", f"--filename={str(file).replace(':', chr(92) + ':')}", f"--rw={operation}"]
    argv += [f"--bs={TRANSFER_BYTES}", f"--size={size_bytes}", f"--runtime={PROBE_S:g}", "--ioengine=psync"]
    argv += ["--fallocate=none", "--output-format=json", *how]
    argv += [f"--fdatasync={flushed}", "--end_fsync=1"] if operation == "write" else []
    began_s = time.monotonic()
    said = client.run(argv, timeout_s=600)
    took_s = time.monotonic() - began_s
    with understood(f"fio on {client.name}"):
        job = json_from(said.stdout[said.stdout.index("{") :])["jobs"][0]
        moved, lasted_ms = (
            int(job[operation]["io_bytes"]),
            max(job[operation]["runtime"], job.get("job_runtime", 0)),
        )
    if not moved:
        raise MachineError(
            f"fio moved nothing in {PROBE_S:g} s", where=str(file.parent), next="is it mounted?"
        )
    # the last flush is in the time of the job, and not in that of its I/O
    return moved, min(took_s, lasted_ms / 1e3) or took_s
