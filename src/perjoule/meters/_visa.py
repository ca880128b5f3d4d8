"""Line-based instruments over TCP, serial lines, or pyvisa-py:
https://pyvisa.readthedocs.io/projects/pyvisa-py

Addresses are "192.0.2.50:5025", "/dev/ttyUSB0", or VISA's: "TCPIP::192.0.2.50::INSTR",
"USB::0x0957::0x1234::SERIAL::INSTR".
"""

import importlib.util
import os
import re
import select
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Literal, Protocol

from perjoule.drivers.protocols import Check
from perjoule.machine.installing import installs
from perjoule.meters._address import line, require_instrument, visa
from perjoule.meters._deadline import Deadline, connected
from perjoule.model.errors import MachineError, PerjouleError

FIX = installs("perjoule[meters]")
Flow = Literal["none", "rts/cts", "xon/xoff"]
QUIET_S = 0.05  # without a line, after which nothing from before is under way
CHUNK_BYTES = 4096
MOST_LINE_BYTES = 64 * 1024  # the longest answer, a list of settings, has some hundred
MOST_BLOCK_BYTES = 16 * 1024**2  # an oscilloscope's whole memory is read in parts
_LONGEST_HEAD = 11
_HEAD = re.compile(rb"#([1-9])")
_SOCKET = re.compile(r"TCPIP\d*::(.+)::(\d+)::SOCKET", re.IGNORECASE)
_LINE = re.compile(r"ASRL(/.+?)(?:::INSTR)?", re.IGNORECASE)
_MORE = (0x3FFF0006,)  # VISA's "read as much as requested": there is more


class Wire(Protocol):
    """A byte connection to an instrument."""

    def write(self, message: bytes) -> None:
        """Send bytes."""

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received, at most some KiB; empty if none came in time."""
        ...

    def close(self) -> None:
        """Close the connection."""


class Instrument:
    """An open instrument; every failure is an OSError.

    No answer takes longer than its time limit, or is endless.
    """

    def __init__(self, address: str, wire: Wire, timeout_s: float) -> None:
        self._address, self._wire, self._timeout_s = address, wire, timeout_s
        self._came = bytearray()

    def tell(self, text: str) -> None:
        """Send a command."""
        with _as_os_error(self._address):
            self._wire.write(text.encode("ascii") + b"\n")

    def ask(self, text: str) -> str:
        """Send a query and return the line that answers it."""
        self.tell(text)
        return self.hear()

    def hear(self, timeout_s: float | None = None) -> str:
        """Wait for a line."""
        with _as_os_error(self._address):
            deadline = Deadline(self._timeout_s if timeout_s is None else timeout_s)
            while (end := self._came.find(b"\n")) < 0:
                self._more(deadline, MOST_LINE_BYTES)
            return self._taken(end + 1).decode("ascii", "replace").strip()

    def block(self, text: str) -> bytes:
        """Send a query that is answered by a block of bytes of stated length (IEEE 488.2,
        "#800001000...").
        """
        self.tell(text)
        with _as_os_error(self._address):
            deadline = Deadline(self._timeout_s)
            while not (head := _HEAD.match(self._came)):
                if len(self._came) > _LONGEST_HEAD:
                    raise ValueError(f"not a block of bytes: {bytes(self._came[:20])!r}")
                self._more(deadline, MOST_BLOCK_BYTES)
            count, digits = int(head[1]), 2 + int(head[1])
            while len(self._came) < digits:
                self._more(deadline, MOST_BLOCK_BYTES)
            length = int(self._came[2 : 2 + count])
            if length > MOST_BLOCK_BYTES:
                raise ValueError(f"a block of {length} bytes, more than {MOST_BLOCK_BYTES}")
            while len(self._came) < digits + length:
                self._more(deadline, MOST_BLOCK_BYTES + _LONGEST_HEAD)
            content = self._taken(digits + length)[digits:]
            while not self._came:  # the end of the line
                self._more(deadline, MOST_BLOCK_BYTES)
            del self._came[: 1 if self._came.startswith(b"\n") else 0]
            return content

    def quiet(self) -> None:
        """Read and discard the rest of earlier answers."""
        with suppress(OSError):
            deadline = Deadline(self._timeout_s)
            while deadline.left_s():
                self.hear(timeout_s=QUIET_S)
        self._came.clear()

    def _more(self, deadline: Deadline, most_bytes: int) -> None:
        if len(self._came) > most_bytes:
            self._came.clear()
            raise ValueError(f"an answer has no end after {most_bytes} bytes")
        self._came += self._wire.read(deadline.left_s())

    def _taken(self, count: int) -> bytes:
        taken = bytes(self._came[:count])
        del self._came[:count]
        return taken


class _Tcp:
    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._timeout_s, self._socket = timeout_s, connected(host, port, Deadline(timeout_s))

    def write(self, message: bytes) -> None:
        self._socket.settimeout(self._timeout_s)
        self._socket.sendall(message)

    def read(self, timeout_s: float) -> bytes:
        self._socket.deadline = Deadline(timeout_s)
        received = self._socket.recv(CHUNK_BYTES)
        if not received:
            raise ConnectionError("it has closed the connection")
        return received

    def close(self) -> None:
        self._socket.close()


class _Serial:
    def __init__(self, path: str, baud: int, flow: Flow, timeout_s: float) -> None:
        import serial

        by_line, by_sign = flow == "rts/cts", flow == "xon/xoff"
        self._port = serial.Serial(
            path, baud, timeout=0, write_timeout=timeout_s, rtscts=by_line, xonxoff=by_sign
        )

    def write(self, message: bytes) -> None:
        self._port.write(message)

    def read(self, timeout_s: float) -> bytes:
        if not select.select([self._port.fileno()], [], [], timeout_s)[0]:
            return b""
        received = os.read(self._port.fileno(), CHUNK_BYTES)
        if not received:
            raise ConnectionError("the serial line was disconnected")
        return received

    def close(self) -> None:
        self._port.close()


class _Visa:
    """Instruments that only VISA can reach: USB, VXI-11, HiSLIP."""

    def __init__(self, address: str, timeout_s: float) -> None:
        import pyvisa

        self._resource: Any = pyvisa.ResourceManager("@py").open_resource(
            address, open_timeout=round(timeout_s * 1000)
        )
        self._resource.timeout = timeout_s * 1000

    def write(self, message: bytes) -> None:
        self._resource.write_raw(message)

    def read(self, timeout_s: float) -> bytes:
        self._resource.timeout = timeout_s * 1000
        with self._resource.ignore_warning(*_MORE):
            received, status = self._resource.visalib.read(self._resource.session, CHUNK_BYTES)
        # the message's end is the line's
        return received if status in _MORE or received.endswith(b"\n") else bytes(received) + b"\n"

    def close(self) -> None:
        with suppress(Exception):  # what is broken may not even close
            self._resource.close()


@contextmanager
def instrument(
    address: str, *, timeout_s: float, baud: int = 115200, flow: Flow = "none"
) -> Generator[Instrument]:
    """Open an instrument; `baud` and `flow` apply to serial lines. Raises OSError, MachineError."""
    if not all(check.ok for check in libraries()):
        raise MachineError("pyvisa and pyvisa-py are not installed", where=address, next=FIX)
    with _as_os_error(address):
        require_instrument(address)
        written = visa(address)
        if tcp := _SOCKET.fullmatch(written):
            wire: Wire = _Tcp(tcp[1], int(tcp[2]), timeout_s)
        elif path := _LINE.fullmatch(written):
            wire = _Serial(line(path[1]), baud, flow, timeout_s)
        else:
            wire = _Visa(written, timeout_s)
    try:
        yield Instrument(address, wire, timeout_s)
    finally:
        wire.close()


def answers(address: str, identified: Callable[[Instrument], object]) -> bool:
    """Return whether `identified` recognises an instrument at this address, within seconds."""
    try:
        with instrument(address, timeout_s=0.5) as device:
            return bool(identified(device))
    except (PerjouleError, OSError, ValueError):
        return False


def libraries() -> tuple[Check, ...]:
    """Check for pyvisa and what it needs for TCP and serial lines."""
    needed = {"pyvisa": "pyvisa", "pyvisa-py": "pyvisa_py", "pyserial": "serial"}
    installed = {name: importlib.util.find_spec(module) is not None for name, module in needed.items()}
    return tuple(
        Check(name, ok, "it speaks to instruments" if ok else "it is missing", "" if ok else FIX)
        for name, ok in installed.items()
    )


@contextmanager
def _as_os_error(address: str) -> Generator[None]:
    try:
        yield
    except PerjouleError:
        raise
    except Exception as error:  # pyvisa raises errors of many families, and bare ones
        raise OSError(f"{address}: {error or type(error).__name__}") from error
