"""Where the data of a first measurement lie, before anything is written."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from perjoule.drivers.protocols import Hosts, Testbed
from perjoule.execution.probe import located
from perjoule.model.errors import MachineError
from scripted import ScriptedHost

ROOT = """{"filesystems": [{"target": "/", "source": "/dev/sda1", "fstype": "ext4", "options": "rw",
"size": 1099511627776, "avail": 549755813888}]}"""
MEMORY = ROOT.replace('"/"', '"/tmp"').replace("/dev/sda1", "tmpfs").replace("ext4", "tmpfs")
FSTAB = """{"filesystems": [{"source": "nas:/export", "target": "/mnt/nas"}]}"""


class Client(ScriptedHost):
    """A host with one disk, whose NAS is not mounted, and whose /tmp is memory."""

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "readlink":
            return 0, f"{words[-1]}\n"
        if words[0] != "findmnt":
            return 0, ""
        return 0, FSTAB if "--fstab" in words else MEMORY if "/tmp" in map(str, words) else ROOT


class Lent:
    """A testbed of that host."""

    @contextmanager
    def hold(self, count: int) -> Generator[Any]:
        yield Hosts((Client(),))


def test_a_nas_that_is_not_mounted_is_not_taken_for_the_disk_below_its_folder() -> None:
    lent = cast("Testbed", Lent())
    with pytest.raises(MachineError, match="/etc/fstab has nas:/export, for /mnt/nas, and it is not mounted"):
        located(lent, Path("/mnt/nas/data"))
    location = located(lent, Path("/mnt/usb"))
    assert (location.local, location.source, location.in_memory) == (True, "/dev/sda1", False)


def test_a_folder_in_memory_is_told_from_one_on_a_disk() -> None:
    location = located(cast("Testbed", Lent()), Path("/tmp"))
    assert (location.local, location.in_memory) == (True, True)
