"""How a package is installed beside perjoule, wherever that is: in a clone, or from a wheel in any environment."""

import shlex
import sys
from contextlib import suppress
from pathlib import Path


def installs(requirement: str) -> str:
    """Return the command that installs a package for the Python that runs, as .venv/bin/pip in a clone."""
    pip = Path(sys.executable).with_name("pip")
    with suppress(OSError, ValueError):  # this folder was removed, or is another one
        pip = pip.relative_to(Path.cwd())
    return shlex.join([str(pip), "install", requirement])
