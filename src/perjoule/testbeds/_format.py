"""File systems on images and devices, by mkfs with the requested options.
https://man7.org/linux/man-pages/man8/mkfs.8.html

No tool is forced to overwrite: it refuses if the target has content.
"""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from perjoule.model import Disk
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import bytes_text
from perjoule.testbeds._mounted import require_mounted

MAKE: dict[str, tuple[str, ...]] = {
    # nothing left to do while we measure
    "ext4": ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=1"),
    "xfs": ("mkfs.xfs", "-q"),
    "btrfs": ("mkfs.btrfs", "-q"),
    "f2fs": ("mkfs.f2fs", "-q"),
    # made with its mirror
    "zfs": ("zpool", "create", "-o", "cachefile=none", "-m", "legacy", "-O", "atime=off"),
}
# Smallest and largest block, and mkfs's option for it. Which of these it can mount, the kernel reports
# itself.
_BLOCKS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "ext4": (1024, 65536, ("-b", "{}")),
    "xfs": (512, 65536, ("-b", "size={}")),  # 512 without checksums (make = ["-m", "crc=0"]) only
    "btrfs": (4096, 65536, ("--sectorsize", "{}")),
    "f2fs": (4096, 4096, ()),
    "zfs": (512, 1024**2, ("-O", "recordsize={}")),
}
_TIMEOUT_S = 60.0


def make_words(disk: Disk) -> tuple[str, ...]:
    """Return the mkfs command without its target.

    Raises CampaignError: this file system does not support such blocks.
    """
    least, most, command = _BLOCKS[disk.kind]
    block = disk.block_bytes
    begin, more = _joined(MAKE[disk.kind], disk.make) if disk.kind == "ext4" else (MAKE[disk.kind], disk.make)
    if block is None:
        return (*begin, *more)
    if block & (block - 1) or not least <= block <= most:
        sizes = (
            f"a power of two from {bytes_text(least)} to {bytes_text(most)}"
            if least < most
            else bytes_text(least)
        )
        raise CampaignError(
            f"{disk.kind} does not support blocks of {bytes_text(block)}", next=f"write {sizes}"
        )
    return (*begin, *(argument.format(block) for argument in command), *more)


def _joined(ours: Sequence[str], more: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Join what all -E of mke2fs list into ours, the campaign's last: of several -E it heeds the last one
    alone.
    """
    lists = [value for argument, value in pairwise(more) if argument == "-E"]
    others_kept = [
        argument for n, argument in enumerate(more) if argument != "-E" and (n == 0 or more[n - 1] != "-E")
    ]
    return (*ours[:-1], ",".join([ours[-1], *lists])), tuple(others_kept)


def fill(target: Path, disk: Disk, *, lock: int) -> None:
    """Make the file system. Raises CampaignError, MachineError (with the tool's message)."""
    tool(*make_words(disk), target, lock=lock)


def mount(device: str, place: Path, disk: Disk, *, lock: int, inside: Sequence[str] = ()) -> None:
    """Mount it on a folder; `inside` enters another mount namespace.

    Raises:
        MachineError: the kernel can't, with its version and the block size; or what is mounted now is
            something else.
    """
    options = ",".join(disk.mount_options)
    try:
        # -i: ZFS's own program wants to read /proc/self, which isn't there inside another mount namespace
        tool(*inside, "mount", "-i", "-t", disk.kind, "-o", options, device, place, lock=lock)
    except MachineError as error:
        message = error.what.rpartition(f"{place}: ")[2].rstrip(".")
        blocks = f" with blocks of {bytes_text(disk.block_bytes)}" if disk.block_bytes else ""
        problem = f"Linux {os.uname().release} can't mount {disk.kind}{blocks} ({message})"
        page = os.sysconf("SC_PAGE_SIZE")
        fits = (
            f"use blocks of {bytes_text(page)}, its page size"
            if (disk.block_bytes or page) != page
            else "see `dmesg`"
        )
        raise MachineError(problem, where=str(place), next=fits) from None
    # pid 1 inside another mount namespace is who made it; /proc/self isn't there
    mountinfo = tool(*inside, "cat", "/proc/1/mountinfo" if inside else "/proc/self/mountinfo", lock=lock)
    try:
        require_mounted(mountinfo, os.path.realpath(place), device, disk.kind, _number)
    except MachineError:
        # where nothing is mounted, as with a mount that is seen elsewhere alone
        with contextlib.suppress(MachineError):
            tool(*inside, "umount", place, lock=lock)
        raise


def _number(device: str) -> str:
    try:
        number = os.stat(device).st_rdev  # noqa: PTH116  # of the device that the path leads to
    except OSError as error:
        raise MachineError(f"can't look at it ({error.strerror})", where=device) from None
    return f"{os.major(number)}:{os.minor(number)}"


def tool(*argv: str | Path, lock: int) -> str:
    """Run a tool to its end and return its output. Raises MachineError with its message.

    It inherits the descriptor `lock`: whoever cleans up after our death waits until the tool is done.
    """
    try:
        completed = subprocess.run(
            [str(argument) for argument in argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            pass_fds=(lock,),
            check=False,
            env={**os.environ, "LVM_SUPPRESS_FD_WARNINGS": "1"},
        )
    except FileNotFoundError:
        raise MachineError(f"{argv[0]} is not installed", next="see `perjoule doctor`") from None
    except subprocess.TimeoutExpired:
        raise MachineError(f"{argv[0]} did not end within {_TIMEOUT_S:g} s", where=str(argv[-1])) from None
    if completed.returncode:
        lines = (
            _text(completed.stderr) or _text(completed.stdout) or f"ended with {completed.returncode}"
        ).splitlines()
        message = next((line.strip() for line in lines if not line.lstrip().startswith("WARNING")), lines[0])
        raise MachineError(
            f"{argv[0]}: {message.removeprefix(f'{argv[0]}: ')}",
            where=str(argv[-1]),
            next="check its options and the free space",
        )
    return _text(completed.stdout)


def _text(output: bytes) -> str:
    """Return what a tool prints: it may name what other users have, in bytes that are no text."""
    return output.decode(errors="replace").strip()
