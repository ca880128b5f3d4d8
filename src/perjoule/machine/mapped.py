"""Block devices of Ceph that a kernel has mapped: whose each is stands in the name of its image, which is the
owner's folder.

Nothing that ends with its programs holds such a device: it stays until it is unmapped, and what waits for it
waits as long. https://docs.kernel.org/admin-guide/abi-testing.html#abi-sys-bus-rbd-remove
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

DEVICES = Path("/sys/bus/rbd/devices")  # a folder for each, /dev/rbdN is N
# For bash. $1 is a folder. Each device of it, or of a folder below, is unmapped, side by side: requests on
# their way end first, by their time limit at the latest, and all later ones fail.
UNMAP = r"""
unmap() ( # a shell of its own, which waits for no other jobs
  mark=${1//\//%2F}
  for name in /sys/bus/rbd/devices/*/name; do
    { read -r image < "$name"; } 2> /dev/null || continue
    case "$image%2F" in "$mark%2F"*) ;; *) continue ;; esac
    number=${name%/name} end=/sys/bus/rbd/remove_single_major
    [ -e "$end" ] || end=/sys/bus/rbd/remove # of a module that gives each device a major number
    { echo "${number##*/} force" > "$end"; } 2> /dev/null &
  done
  wait
)
"""

UNMAPPING = f'{UNMAP}unmap "$1"'
PATIENCE_S, STUBBORN_S = 10.0, 5.0


def image_name(folder: Path) -> str:
    """Return the name that an image of this folder's owner bears."""
    return str(folder).replace("/", "%2F")


def below(folder: Path) -> list[str]:
    """Return the devices of a folder or of folders below it, as in "rbd0"."""
    devices: list[str] = []
    for name in sorted(DEVICES.glob("*/name")):
        with contextlib.suppress(OSError):  # it was unmapped meanwhile
            if f"{name.read_text().strip()}%2F".startswith(f"{image_name(folder)}%2F"):
                devices.append(f"rbd{name.parent.name}")
    return devices


def unmapping(folder: Path) -> list[str]:
    """Return the command that unmaps the devices of a folder and of those below it, on the host that has
    them.
    """
    return ["bash", "--norc", "-c", UNMAPPING, "perjoule-unmap", str(folder)]


def unmap(folder: Path) -> list[str]:
    """Unmap the devices of a folder and of those below it; return those that wait for requests and are
    unmapped after them.
    """
    if below(folder):
        nothing = subprocess.DEVNULL
        ending = subprocess.Popen(
            unmapping(folder), stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        try:
            ending.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            # the kernel then waits for requests, but not for servers to hear of the end
            os.killpg(ending.pid, signal.SIGKILL)
            ending.wait()
    until_s = time.monotonic() + STUBBORN_S
    while (remaining := below(folder)) and time.monotonic() < until_s:
        time.sleep(0.02)
    return remaining
