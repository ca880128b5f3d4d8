"""A disk that answers late, by the kernel's device mapper: https://docs.kernel.org/admin-guide/device-mapper/delay.html,
https://man7.org/linux/man-pages/man8/dmsetup.8.html

Requests wait side by side, each for the same time, before they reach the loop device below. Its name derives from the path of the
file behind that, so a clean-up finds it.
"""

from pathlib import Path

from perjoule.machine.mirrors import loaded
from perjoule.testbeds._format import tool

MODULE = "dm_delay"
READ_AHEAD_SECTORS = 8192  # 4 MiB, or sequential reads through the page cache would wait for every 128 KiB


def name_of(image: Path) -> str:
    """Name the delayed disk of a file: the run's folder, the host and the disk."""
    return f"{image.parent.parent.name}-{image.stem}"


def words(sectors_count: int, below: str, delay_ms: int) -> str:
    """Return the table of the device mapper: reads, writes and flushes wait alike."""
    return f"0 {sectors_count} delay {below} 0 {delay_ms}"


def make(loop: str, image: Path, delay_ms: int, *, lock: int) -> str:
    """Put a delay above a loop device ("loop0") and return what to use instead ("dm-0"); see `release`.

    Raises:
        MachineError: dmsetup or the kernel's module is missing or failed, with its message.
    """
    if not loaded(MODULE):
        tool("modprobe", MODULE, lock=lock)
    name = name_of(image)
    sectors_count = int(Path("/sys/block", loop, "size").read_text())
    tool("dmsetup", "create", name, "--noudevsync", "--table", words(sectors_count, f"/dev/{loop}", delay_ms), lock=lock)
    made = f"dm-{tool('dmsetup', 'info', '--columns', '--noheadings', '--options', 'minor', name, lock=lock)}"
    tool("blockdev", "--setra", str(READ_AHEAD_SECTORS), f"/dev/{made}", lock=lock)
    return made


def release(image: Path, *, lock: int) -> None:
    """Have it go with its last user."""
    tool("dmsetup", "remove", "--noudevsync", "--deferred", name_of(image), lock=lock)
