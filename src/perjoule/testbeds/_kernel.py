"""Kernel counters of a whole machine, parsed from their texts:
https://docs.kernel.org/filesystems/proc.html
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

_MOST_BYTES = 256 * 1024

_IDLE_FIELDS = (3, 4)  # idle and iowait of the line "cpu" in /proc/stat
# a way by which the kernel reaches an NVMe drive of several controllers, beside "nvme0n1" itself
_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)")
_IMAGE = re.compile(r"rbd\d+")  # of Ceph, whose bytes are those of its servers' disks


def cpu_ticks(stat: str) -> int:
    """Read the busy time of all CPUs from the text of /proc/stat; user time already includes guest time."""
    numbers = [int(number) for number in stat.splitlines()[0].split()[1:9]]
    return sum(numbers) - sum(numbers[field] for field in _IDLE_FIELDS)


def switches_count(text: str) -> int | None:
    """Read context switches from the text of /proc/stat, or of a task's `status`; None if it states none."""
    lines = [
        line.split()
        for line in text.splitlines()
        if line.startswith(("ctxt ", "voluntary_ctxt", "nonvoluntary_ctxt"))
    ]
    return sum(int(fields[1]) for fields in lines) if lines else None


def hardware(folder: Path) -> set[str]:
    """Return the names below a folder of /sys that are hardware, and not made from others.

    Ports of a switch on a board (DSA) are linked to the interface that counts their frames, too.
    """
    return {path.parent.name for path in folder.glob("*/device") if not _linked(path.parent)}


def _linked(folder: Path) -> bool:
    try:
        return (folder / "iflink").read_text() != (folder / "ifindex").read_text()
    except OSError:
        return False


def network_bytes(net_dev: str, hardware: Collection[str]) -> tuple[int, int]:
    """Read the bytes received and sent by these interfaces from the text of /proc/net/dev.

    Bonds, VLANs and bridges on top of them would count the same bytes again. Where none of them is there, as
    in a namespace, all interfaces except loopback count.
    """
    lines = [line.partition(":") for line in net_dev.splitlines() if ":" in line]
    rows_of = {name.strip(): numbers.split() for name, _, numbers in lines}
    rows = [rows_of[name] for name in rows_of if name in hardware] or [
        rows_of[name] for name in rows_of if name != "lo"
    ]
    return sum(int(row[0]) for row in rows), sum(int(row[8]) for row in rows)


def disk_work(diskstats: str, disks: Collection[str]) -> tuple[int, int, float]:
    """Read the bytes read and written by these disks, and their time with requests in flight (in s), summed
    over them.

    The text of /proc/diskstats has sectors of 512 bytes, and ms. Of a drive with paths (NVMe multipath) these count,
    which all kernels do; some count its own name beside them.
    """
    rows_of = {fields[2]: fields for line in diskstats.splitlines() if (fields := line.split())[2] in disks}
    drives = {f"nvme{path[1]}n{path[2]}" for path in map(_PATH.fullmatch, rows_of) if path}
    rows = [row for name, row in rows_of.items() if name not in drives and not _IMAGE.fullmatch(name)]
    read_sectors, written_sectors, busy_ms = (sum(int(row[field]) for row in rows) for field in (5, 9, 12))
    return read_sectors * 512, written_sectors * 512, busy_ms / 1e3


class OpenText:
    """A kernel text that is read many times a second. Its file stays open: reading it takes a tenth of
    opening it.

    Not for files below /proc/PID/net: an open file there keeps a namespace alive after its last process.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._fd = path, -1

    def text(self) -> str:
        """Read the current text. Raises OSError if it is gone; a later file in its place is found again."""
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(self._fd, _MOST_BYTES, 0).decode()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, until it is read again."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        self.close()


def read_once(path: str) -> str:
    """Read a kernel text without buffering, at a third of the cost of `Path.read_text`. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _MOST_BYTES).decode()
    finally:
        os.close(fd)
