"""Paths on hosts that another user of that host could change, where root writes or reads by name."""

from pathlib import Path

from perjoule.drivers.protocols import Host
from perjoule.filesystems._daemons import last_words
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.scripts import BASH, GUARDED


def unguarded(host: Host, path: Path, *, always: bool = False) -> str:
    """Say what of a path, of what is above it or of where it leads another user could change; "" if nothing.

    Args:
        host: where it is.
        path: absolute.
        always: whether to look also where perjoule is not root.
    """
    argv = [*BASH, GUARDED, "perjoule-guarded", path, *(["always"] if always else [])]
    completed = host.run(argv, timeout_s=SHORT_S, check=False)
    return last_words(completed.stderr) if completed.returncode else ""
