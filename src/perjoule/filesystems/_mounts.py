"""What a host says of a mount. https://man7.org/linux/man-pages/man8/findmnt.8.html"""

from collections.abc import Mapping
from pathlib import Path

from perjoule.drivers.protocols import Host
from perjoule.machine.untrusted import json_from
from perjoule.model import Json

COLUMNS = {
    "target": "target",
    "source": "source",
    "fstype": "type",
    "options": "options",
    "size": "total_bytes",
    "avail": "available_bytes",
}
_REMOTE = ("/dev/nbd", "/dev/rbd", "/dev/drbd")  # block devices whose data lie on other hosts
_TIMEOUT_S = 20.0


def in_kernel(kind: str) -> bool:
    """Whether this machine's kernel has a file system, built in or as a module, which is loaded when it is mounted."""
    registered = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    return kind in registered or Path("/lib/modules", release, "kernel", "fs", kind).is_dir()


def findmnt(host: Host, path: Path) -> dict[str, Json]:
    """Where a folder of a host is mounted from, its type, options and space. Raises WorkloadError."""
    argv = ["findmnt", "--json", "--bytes", "--target", path, "--output", ",".join(COLUMNS)]
    return mount_facts(host.run(argv, timeout_s=_TIMEOUT_S).stdout)


def mount_facts(said: str) -> dict[str, Json]:
    """The same from the text of `findmnt --json --bytes --target`."""
    found = json_from(said)["filesystems"][-1]
    return {ours: found.get(theirs) for theirs, ours in COLUMNS.items()}


def is_local(mount: Mapping[str, Json]) -> bool:
    """Whether what `findmnt` found keeps its data on the host itself: on a disk, in memory, on a pool of disks."""
    source = str(mount["source"])
    return mount["type"] in ("tmpfs", "ramfs", "zfs") or (source.startswith("/dev/") and not source.startswith(_REMOTE))
