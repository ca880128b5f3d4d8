"""What a host says of a mount. https://man7.org/linux/man-pages/man8/findmnt.8.html"""

import json
from pathlib import Path

from perjoule.model import Json
from perjoule.protocols import Host

COLUMNS = {
    "target": "target",
    "source": "source",
    "fstype": "type",
    "options": "options",
    "size": "total_bytes",
    "avail": "available_bytes",
}
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
    found = json.loads(said)["filesystems"][-1]
    return {ours: found.get(theirs) for theirs, ours in COLUMNS.items()}
