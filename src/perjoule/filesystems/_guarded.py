"""Paths on hosts that another user of that host could change, where root writes or reads by name."""

import os
import subprocess
from pathlib import Path

from perjoule.drivers.protocols import Check, Host
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


def guarded_check(path: Path, fix: str) -> Check:
    """Report whether another user of this machine could change a folder in which root is to write."""
    why = ""
    if os.geteuid() == 0 and path.exists():
        argv = [*BASH, GUARDED, "perjoule-guarded", str(path)]
        completed = subprocess.run(argv, capture_output=True, text=True, timeout=SHORT_S, check=False)
        why = last_words(completed.stderr) if completed.returncode else ""
    detail = f"root can't write safely: {why}" if why else "no other user meets root there"
    return Check(f"folder {path}, for root", not why, detail, fix, look=f"guarded {path}")
