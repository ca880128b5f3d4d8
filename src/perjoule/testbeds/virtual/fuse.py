"""FUSE connections of a run: a daemon that waits for its own mount outlives SIGKILL until its connection is
aborted.

https://docs.kernel.org/filesystems/fuse.html#control-filesystem
"""

import contextlib
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from perjoule.machine.guarded import mountinfo

CONTROL = Path("/sys/fs/fuse/connections")  # a folder for each: its number is that of the mount's device
_PROC = Path("/proc")
_KINDS = ("fuse", "fuseblk")
# of an open /dev/fuse; older kernels don't say it
_SERVES = re.compile(r"^fuse_connection:\s*(\d+)$", re.MULTILINE)
# Its mount of the control file system is seen by this shell alone, and goes with it. $0 is where it belongs.
_ABORT = """
mount -t fusectl fusectl "$0" 2> /dev/null
for number; do [ ! -e "$0/$number/abort" ] || echo 1 > "$0/$number/abort"; done
"""
_ABORT_S = 10.0


def connections(folder: Path, pids: Iterable[int]) -> set[int]:
    """Find the FUSE connections that are a run's alone.

    One is the run's if a process of the run serves it, or if it is mounted below the run's folder where only
    the run's processes see it. What any other process has mounted is not.

    Args:
        folder: the run's.
        pids: the run's processes, ended ones included whose threads still wait.
    """
    ours = [place for pid in pids for place in (_PROC / str(pid) / "task").glob("*")]
    served = {
        int(number) for place in ours for text in _descriptors(place) for number in _SERVES.findall(text)
    }
    # name spaces of mounts, each with its own; threads that end show none
    spaces: dict[str, list[tuple[int, Path]]] = {}
    for place in ours:
        if (space := _space(place)) and not spaces.get(space):
            spaces[space] = _mounts(place)
    for process in (_PROC / "self", _PROC / "1"):  # a process of ours that has not left them yet
        spaces.pop(_space(process), None)
    numbers = served | {
        number for mounts in spaces.values() for number, target in mounts if folder in target.parents
    }
    if not numbers:
        return numbers
    other_spaces = {space: place for place in _PROC.glob("[0-9]*") if (space := _space(place)) not in spaces}
    return numbers - {number for place in other_spaces.values() for number, _ in _mounts(place)}


def abort(numbers: Iterable[int]) -> None:
    """Abort connections: whoever waits for one gets an error, and can end.

    Does nothing where the kernel has no FUSE.
    """
    arguments = [str(number) for number in sorted(numbers)]
    if arguments and CONTROL.is_dir():
        argv = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            _ABORT,
            str(CONTROL),
            *arguments,
        ]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ABORT_S, check=False)


def parse(text: str) -> Iterator[tuple[int, Path]]:
    """Parse the number of each FUSE connection and where it is mounted from /proc/PID/mountinfo."""
    for mount in mountinfo.parsed(text):
        if mount.kind.partition(".")[0] in _KINDS:
            major, minor = map(int, mount.number.split(":"))
            yield major << 20 | minor, Path(mount.place)


def _mounts(process: Path) -> list[tuple[int, Path]]:
    with contextlib.suppress(OSError):  # it has ended
        return list(parse(mountinfo.read(process / "mountinfo")))
    return []


def _space(process: Path) -> str:
    with contextlib.suppress(OSError):
        return str((process / "ns/mnt").readlink())
    return ""


def _descriptors(process: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                if descriptor.readlink() == Path("/dev/fuse"):
                    yield (process / "fdinfo" / descriptor.name).read_text()
