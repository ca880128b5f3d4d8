"""Programs that a driver runs, as this machine has them, each with the Debian package that brings it."""

import os
import shutil
from collections.abc import Mapping

from perjoule.drivers.protocols import Check

# where programs are that the PATH may not name
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def programs(packages: Mapping[str, str], on: str = "client") -> tuple[Check, ...]:
    """Check that programs are installed on this machine; `packages` maps each to its Debian package, `on`
    is a Check's.
    """
    path = f"{os.environ.get('PATH', '')}:{SYSTEM}"

    def check(program: str, package: str) -> Check:
        path_found = shutil.which(program, path=path)
        fix, look = f"apt install {package}", f"program {program}"
        return Check(
            program,
            path_found is not None,
            path_found or "not installed",
            fix,
            package=package,
            look=look,
            on=on,
        )

    return tuple(check(*item) for item in packages.items())
