"""Serial lines: which paths are ones. Opening another device has effects of its own, as a watchdog's that reboots the machine."""

import os
import re
from typing import Annotated

from pydantic import AfterValidator

_WRITTEN = re.compile(r"/dev(/[A-Za-z0-9_.:+@-]+)+", re.ASCII)
_LINES = re.compile(r"/dev/(tty[A-Za-z]+[0-9]+|pts/[0-9]+|rfcomm[0-9]+)", re.ASCII)


def is_path(address: str) -> bool:
    """Return whether an address is written as a serial line: a path below /dev, as links of udev may be called."""
    return _WRITTEN.fullmatch(address) is not None and ".." not in address.split("/")


def line(path: str) -> str:
    """Return the serial line to which a path leads. Raises OSError: it leads to none."""
    real = os.path.realpath(path, strict=True)
    if not is_path(path) or not _LINES.fullmatch(real):
        raise OSError(f"{path} is not a serial line (see `ls -l /dev/serial/by-id /dev/tty*`)")
    return real


def _line_address(address: str) -> str:
    if not is_path(address):
        raise ValueError(f'"{address}" is not a serial line (write its path, as in "/dev/ttyUSB0")')
    return address


LineAddress = Annotated[str, AfterValidator(_line_address)]
