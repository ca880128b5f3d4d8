"""What the kernel's NFS server of this machine exports.
https://man7.org/linux/man-pages/man8/exportfs.8.html
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from perjoule.drivers.protocols import Check
from perjoule.testbeds import _process

_SHORT_S = 20.0
_OURS = re.compile(r"/perjoule-local-[a-z0-9_]{8}/")  # of a killed run, until `withdraw`
EXPORTS = (Path("/var/lib/nfs/etab"), Path("/proc/fs/nfsd/exports"))  # its tools' list, and its own


def lacking(required: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks for exports of a site's own among those wanted, if there are some."""
    export_checks = [check for check in required if check.look == "unexported"]
    exported = ", ".join(_exported()) if export_checks else ""
    problem = f"the kernel's NFS server exports folders of a site's own: {exported}"
    return tuple(
        replace(check, name="this machine", ok=False, detail=problem) for check in export_checks if exported
    )


def _exported() -> tuple[str, ...]:
    """Return the folders that it exports, or why that is not known."""
    folders: set[str] = set()
    for path in EXPORTS:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            continue
        except OSError:
            folders.add(f"those in {path}, which can't be read")
            continue
        folders |= {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}
    return tuple(sorted(path for path in folders if not _OURS.search(path)))


def withdraw(folder: Path) -> None:
    """End the exports below the folder of a killed run, which the kernel keeps until then."""
    with suppress(OSError):
        for line in EXPORTS[0].read_text(errors="replace").splitlines():
            path, _, clients = line.partition("\t")
            if Path(path).is_relative_to(folder):
                _process.captured(
                    ["exportfs", "-u", f"{clients.partition('(')[0]}:{path}"], timeout_s=_SHORT_S
                )
