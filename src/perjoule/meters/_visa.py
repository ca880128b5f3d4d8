"""Instruments that take commands as lines, over TCP, serial lines or USB, through pyvisa-py: https://pyvisa.readthedocs.io/projects/pyvisa-py

Addresses are "192.0.2.50:5025", "/dev/ttyUSB0", or VISA's: "TCPIP::192.0.2.50::INSTR", "USB::0x0957::0x1234::SERIAL::INSTR".
"""

import importlib.util
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from perjoule.errors import MachineError, PerjouleError
from perjoule.protocols import Check

FIX = ".venv/bin/pip install 'perjoule[meters]'"
Flow = Literal["none", "rts/cts", "xon/xoff"]
STALE_LINES = 100  # what may be left in a line from before


PORT = 5025  # where instruments take lines

ADDRESS = (
    """Host or "HOST:PORT", a serial line as "/dev/ttyUSB0", or as VISA writes it: "TCPIP::HOST::INSTR", "USB::...::INSTR"."""
)


def visa(address: str) -> str:
    """An address as VISA writes it."""
    if "::" in address:
        return address
    if address.startswith("/"):
        return f"ASRL{address}::INSTR"
    host, _, port = address.partition(":")
    return f"TCPIP::{host}::{port or PORT}::SOCKET"


class Instrument:
    """An open instrument; whatever goes wrong in the library is an OSError here."""

    def __init__(self, address: str, resource: Any) -> None:
        self._address, self._resource = address, resource

    def tell(self, text: str) -> None:
        """Send a command."""
        with _as_os_error(self._address):
            self._resource.write(text)

    def ask(self, text: str) -> str:
        """Send a question and give the answer's line."""
        self.tell(text)
        return self.hear()

    def hear(self, timeout_s: float | None = None) -> str:
        """Wait for a line."""
        with _as_os_error(self._address):
            usual_ms = self._resource.timeout
            if timeout_s is not None:
                self._resource.timeout = timeout_s * 1000
            try:
                return self._resource.read().strip()
            finally:
                self._resource.timeout = usual_ms

    def block(self, text: str) -> bytes:
        """Send a question that is answered by a block of bytes of stated length (IEEE 488.2, "#800001000...")."""
        with _as_os_error(self._address):
            return bytes(self._resource.query_binary_values(text, datatype="B", container=bytes))

    def quiet(self) -> None:
        """Take what is still under way from before, and forget it."""
        with suppress(OSError):
            for _ in range(STALE_LINES):
                self.hear(timeout_s=0.05)


@contextmanager
def instrument(address: str, *, timeout_s: float, baud: int = 115200, flow: Flow = "none") -> Generator[Instrument]:
    """Open an instrument; `baud` and `flow` are of serial lines. Raises OSError, MachineError."""
    if not all(check.ok for check in libraries()):
        raise MachineError("pyvisa and pyvisa-py are not installed", where=address, next=FIX)
    import pyvisa
    from pyvisa.constants import ControlFlow

    with _as_os_error(address):
        opened: Any = pyvisa.ResourceManager("@py").open_resource(visa(address), open_timeout=round(timeout_s * 1000))
    try:
        with _as_os_error(address):
            opened.read_termination = opened.write_termination = "\n"
            opened.timeout = timeout_s * 1000
            if visa(address).upper().startswith("ASRL"):
                opened.baud_rate = baud
                opened.flow_control = {
                    "none": ControlFlow.none, "rts/cts": ControlFlow.rts_cts, "xon/xoff": ControlFlow.xon_xoff
                }[flow]  # fmt: skip
        yield Instrument(address, opened)
    finally:
        with suppress(Exception):  # what is broken may not even close
            opened.close()


def answers(address: str, identified: Callable[[Instrument], object]) -> bool:
    """Whether an instrument is there that `identified` takes for one of its own, within seconds."""
    try:
        with instrument(address, timeout_s=0.5) as device:
            return bool(identified(device))
    except (PerjouleError, OSError, ValueError):
        return False


def libraries() -> tuple[Check, ...]:
    """Whether pyvisa and what it needs for TCP and serial lines is there."""
    needed = {"pyvisa": "pyvisa", "pyvisa-py": "pyvisa_py", "pyserial": "serial"}
    found = {name: importlib.util.find_spec(module) is not None for name, module in needed.items()}
    return tuple(
        Check(name, ok, "it speaks to instruments" if ok else "it is missing", "" if ok else FIX) for name, ok in found.items()
    )


@contextmanager
def _as_os_error(address: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # pyvisa raises errors of many families, and bare ones
        raise OSError(f"{address}: {error or type(error).__name__}") from error
