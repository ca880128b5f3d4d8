"""A disk that answers late, by the kernel's device mapper:
https://docs.kernel.org/admin-guide/device-mapper/delay.html,
https://man7.org/linux/man-pages/man8/dmsetup.8.html

Requests wait side by side, each for the same time, before they reach the loop device below. Its name derives
from the path of the file behind that, so a clean-up finds it.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine.mirrors import available, loaded
from perjoule.testbeds._format import tool

MODULE = "dm_delay"
READ_AHEAD_SECTORS = 8192  # 4 MiB, or sequential reads through the page cache would wait for every 128 KiB


@dataclass(frozen=True)
class Delay:
    """How long requests to a host's disks wait."""

    ms: int  # wall time
    at_random: bool = False  # they seek: only requests of loads at random wait

    @property
    def first_ms(self) -> int | None:
        """How long they wait on a new disk; None: this machine can't delay any, for which seeks are
        doubted.
        """
        if not self.at_random:
            return self.ms
        return None if lacking() else 0


def lacking() -> str:
    """Return why disks can't be delayed here, as in "this kernel has no dm-delay"; "" if they can.

    Changes nothing.
    """
    if not available(MODULE):
        return "this kernel has no dm-delay"
    return "" if shutil.which("dmsetup") else "dmsetup is not installed"


def name_of(image: Path) -> str:
    """Name the delayed disk of a file: the run's folder, the host and the disk."""
    return f"{image.parent.parent.name}-{image.stem}"


def table(sectors_count: int, below: str, delay_ms: int) -> str:
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
    tool(
        "dmsetup",
        "create",
        name,
        "--noudevsync",
        "--table",
        table(sectors_count, f"/dev/{loop}", delay_ms),
        lock=lock,
    )
    made = f"dm-{tool('dmsetup', 'info', '--columns', '--noheadings', '--options', 'minor', name, lock=lock)}"
    if delay_ms:
        tool("blockdev", "--setra", str(READ_AHEAD_SECTORS), f"/dev/{made}", lock=lock)
    return made


def change(image: Path, delay_ms: int, *, lock: int) -> None:
    """Have requests wait for another time from now on; 0 lets them pass.

    Raises MachineError with the tool's message.
    """
    name = name_of(image)
    table = tool("dmsetup", "table", name, lock=lock).split()
    tool("dmsetup", "load", name, "--table", " ".join([*table[:-1], str(delay_ms)]), lock=lock)
    tool("dmsetup", "resume", "--noudevsync", name, lock=lock)  # suspends it for as long as the tables change


def release(image: Path, *, lock: int) -> None:
    """Have it go with its last user."""
    tool("dmsetup", "remove", "--noudevsync", "--deferred", name_of(image), lock=lock)
