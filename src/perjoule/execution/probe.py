"""How fast a folder is, roughly, before a first measurement is written.

The probe is fio in a folder of the file system's driver, for seconds: it sizes windows and is no result. It flushes
as it writes, so it neither fills memory with what is not yet written, nor takes that for the folder's speed.
"""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from perjoule.campaign.defaults import LOAD
from perjoule.drivers.protocols import FileSystem, Host, Testbed
from perjoule.execution.sizing import TRANSFER_BYTES
from perjoule.machine.disks import reserve_bytes
from perjoule.machine.mounts import findmnt, is_local
from perjoule.machine.untrusted import json_from
from perjoule.model.errors import MachineError
from perjoule.model.units import MIB, bytes_text

PROBE_S = 5.0
FLUSHED_BYTES = 128 * MIB  # at most, between two flushes
MOST_SHARE_RATIO = 0.25  # of the room, that a probe may fill
LEAST_BYTES = 4 * FLUSHED_BYTES
_FILE = "probe.data"


def room_bytes(folder: Path) -> int:
    """Return the space below a folder that may be filled: what stays in reserve is not. Raises OSError."""
    usage = shutil.disk_usage(folder)
    return max(0, usage.free - reserve_bytes(usage.total))


def located(testbed: Testbed, folder: Path) -> tuple[bool, str]:
    """Return whether a folder's data lie on the client itself, and what is mounted there; nothing is written to it.

    Raises WorkloadError.
    """
    with testbed.hold(1) as hosts:
        mount = findmnt(hosts.clients[0], folder)
    return is_local(mount), str(mount["source"])


def probed(
    testbed: Testbed, filesystem: FileSystem, directions: Sequence[str], room: int
) -> dict[str, float]:
    """Load a folder for seconds in each direction, with one client.

    Args:
        testbed: whose first client loads.
        filesystem: the folder's driver, which makes a folder of its own and removes it.
        directions: "write" and "read"; what is read is what the probe wrote.
        room: the bytes that may be filled.

    Returns:
        Bytes per second of each direction.

    Raises:
        MachineError: there is no room; PerjouleError: fio or the folder failed.
    """
    most_bytes = round(room * MOST_SHARE_RATIO) // TRANSFER_BYTES * TRANSFER_BYTES
    if most_bytes < LEAST_BYTES:
        raise MachineError(
            f"{bytes_text(room)} may be filled (the rest stays in reserve), and a probe needs "
            f"{bytes_text(round(LEAST_BYTES / MOST_SHARE_RATIO))}",
            where="PATH",
            next="free space there, or name another folder",
        )
    with testbed.hold(1) as hosts, filesystem.mount(hosts) as mounted:
        client = hosts.clients[0]
        file = mounted.directories[client.name] / _FILE
        written, seconds = _fio(client, file, "write", most_bytes)
        speeds = {"write": written / seconds}
        if "read" in directions:
            read, seconds = _fio(client, file, "read", written // TRANSFER_BYTES * TRANSFER_BYTES)
            speeds["read"] = read / seconds
    return {name: speeds[name] for name in directions}


def _fio(client: Host, file: Path, operation: str, size_bytes: int) -> tuple[int, float]:
    """Run fio for some seconds; return what it moved, and how long it took with the last flush."""
    flushed = max(1, FLUSHED_BYTES // TRANSFER_BYTES)
    argv = [LOAD, "--name=probe", f"--filename={str(file).replace(':', chr(92) + ':')}", f"--rw={operation}"]
    argv += [f"--bs={TRANSFER_BYTES}", f"--size={size_bytes}", f"--runtime={PROBE_S:g}", "--ioengine=psync"]
    argv += ["--fallocate=none", "--output-format=json"]
    argv += [f"--fdatasync={flushed}", "--end_fsync=1"] if operation == "write" else []
    began_s = time.monotonic()
    said = client.run(argv, timeout_s=600)
    took_s = time.monotonic() - began_s
    job = json_from(said.stdout[said.stdout.index("{") :])["jobs"][0]
    moved = int(job[operation]["io_bytes"])
    if not moved:
        raise MachineError(
            f"fio moved nothing in {PROBE_S:g} s", where=str(file.parent), next="is it mounted?"
        )
    # the last flush is in the time of the job, and not in that of its I/O
    return moved, min(took_s, max(job[operation]["runtime"], job.get("job_runtime", 0)) / 1e3) or took_s
