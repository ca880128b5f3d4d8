"""Addresses of instruments and serial lines: which texts are ones.

Opening another device has effects of its own: that of a watchdog reboots the machine.
"""

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from perjoule.model import passed_on
from perjoule.model.withheld import has_login

_WRITTEN = re.compile(r"/dev(/[A-Za-z0-9_.:+@-]+)+", re.ASCII)
_LINES = re.compile(r"/dev/(tty[A-Za-z]+[0-9]+|pts/[0-9]+|rfcomm[0-9]+)", re.ASCII)
PORT = 5025  # where instruments take lines
_WORD = r"[A-Za-z0-9_.-]+"
_HOST = rf"({_WORD}|\[?[0-9A-Fa-f:]+\]?)"
_NAMED = re.compile(_HOST, re.ASCII)
_ADDRESS = re.compile(
    rf"{_HOST}(:[0-9]{{1,5}})?|TCPIP[0-9]*::{_HOST}(::{_WORD})?::(INSTR|SOCKET)|USB[0-9]*(::{_WORD}){{3,4}}::(INSTR|RAW)"
    rf"|GPIB[0-9]*(::[0-9]{{1,2}}){{1,2}}::INSTR",
    re.IGNORECASE | re.ASCII,
)
ADDRESS = (
    'Host or "HOST:PORT", a serial line as "/dev/ttyUSB0", '
    'or as VISA writes it: "TCPIP::HOST::INSTR", "USB::...::INSTR".'
)


_AT_PORT = re.compile(
    r"(?:[a-z]+://)?(?:[^\s:/\[\]]+|\[[^\s/\[\]]+\]):(?!//)([^:/?#]*)(?:[/?#].*)?", re.IGNORECASE
)
MOST_PORT = 65535


def require_address(address: str) -> None:
    """Check that an address holds no login, which would be kept and published, and a port that can be one.

    Raises ValueError.
    """
    if has_login(address):
        raise ValueError(
            "its address holds a login, and what a campaign holds is published (write user = and "
            "password_file =, a file that contains only the password)"
        )
    at = _AT_PORT.fullmatch(address)
    if at and not address.startswith("/") and not (at[1].isdecimal() and 0 < int(at[1]) <= MOST_PORT):
        raise ValueError(
            f'"{at[1]}" in "{address}" is no port (write a number from 1 to {MOST_PORT}, as in host:8080)'
        )


def is_path(address: str) -> bool:
    """Return whether an address is written as a serial line: a path below /dev, as links of udev may be
    called.
    """
    return _WRITTEN.fullmatch(address) is not None and ".." not in address.split("/")


def line(path: str) -> str:
    """Return the serial line to which a path leads. Raises OSError: it leads to none."""
    real = os.path.realpath(path, strict=True)
    if not is_path(path) or not _LINES.fullmatch(real):
        raise OSError(f"{path} is not a serial line (see `ls -l /dev/serial/by-id /dev/tty*`)")
    if real.startswith("/dev/pts/") and Path(real).stat().st_uid != os.geteuid():
        raise OSError(f"{path} is a terminal of another user, who would miss what he types")
    return real


def _line_address(address: str) -> None:
    if not is_path(address):
        raise ValueError(f'"{address}" is not a serial line (write its path, as in "/dev/ttyUSB0")')


def _line_or_host(address: str) -> None:
    if not is_path(address) and not _NAMED.fullmatch(address):
        raise ValueError(
            f'"{address}" is neither a serial line nor a host (write "/dev/ttyUSB0" or "192.0.2.27")'
        )


LineAddress = Annotated[str, passed_on(_line_address)]
LineOrHost = Annotated[str, passed_on(_line_or_host)]


def require_instrument(address: str) -> None:
    """Check that an address has a form that is permitted. Raises ValueError.

    pyvisa-py takes URLs for serial lines, one of which writes all that is said to a file that it names.
    """
    if not _ADDRESS.fullmatch(address) and not is_path(address.removeprefix("ASRL").removesuffix("::INSTR")):
        raise ValueError(
            f'"{address}" is not an address of an instrument (write one as in "192.0.2.50:5025" or '
            '"/dev/ttyUSB0")'
        )


InstrumentAddress = Annotated[str, passed_on(require_instrument), Field(description=ADDRESS)]


def visa(address: str) -> str:
    """Return an address in VISA's notation."""
    if "::" in address:
        return address
    if address.startswith("/"):
        return f"ASRL{address}::INSTR"
    host, _, port = address.partition(":")
    return f"TCPIP::{host}::{port or PORT}::SOCKET"
