"""Programs that a driver runs, as this machine has them, each with the Debian package that brings it, or the
address of its makers where none does.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perjoule.drivers.protocols import Check
from perjoule.machine.mounts import guarded_check
from perjoule.model.options import of_users_word

GUARDED_FIX = "install it where only root writes, or run as its owner, or confirm it by --programs"
# where programs are that the PATH may not name
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def guards(prefix: str, on: str = "client") -> tuple[Check, ...]:
    """Check that no other user could change what root runs of an installation that a campaign alone names; `on` is a
    Check's.
    """
    if not prefix or of_users_word(prefix):
        return ()
    checks = (guarded_check(Path(prefix, name), GUARDED_FIX) for name in ("bin", "sbin", "lib"))
    return tuple(replace(check, on=on) for check in checks)


def programs(packages: Mapping[str, str], on: str = "client") -> tuple[Check, ...]:
    """Check that programs are installed on this machine; `packages` maps each to its Debian package, or to the
    address (with a slash) where its makers say how it is installed; `on` is a Check's.
    """
    path = f"{os.environ.get('PATH', '')}:{SYSTEM}"

    def check(program: str, source: str) -> Check:
        path_found = shutil.which(program, path=path)
        packaged = "/" not in source
        return Check(
            program,
            path_found is not None,
            path_found or ("not installed" if packaged else "not on the PATH"),
            f"apt install {source}" if packaged else f"install {program} as {source} says, on the PATH",
            package=source if packaged else "",
            look=f"program {program}",
            on=on,
        )

    return tuple(check(*item) for item in packages.items())
