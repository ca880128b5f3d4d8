"""Plugwise Circles through the USB stick: https://www.plugwise.com, the protocol in stick.py

A Circle gives the mean power of its last 1 s (steps of 2.13 W) or 8 s (0.27 W). Overlapping windows lose
nothing, so poll often enough: 2 Hz for 1 s, 0.25 Hz for 8 s. The mesh takes some 0.1 s for each Circle.
Tested with a simulator, never with a real stick.
"""

import importlib.util
import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.machine.installing import installs
from perjoule.meters._address import LineAddress, line
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._outlets import WithOutlets, require_fed
from perjoule.meters.plugwise import stick
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.errors import MachineError
from perjoule.model.units import Seconds

EXAMPLE = """
[[meter]]
kind = "plugwise"
address = "/dev/ttyUSB0"
circles = {"000D6F0000B1B64B" = "storage-1", "000D6F0000B1C02A" = "storage-2"}
rate = "0.25 Hz"
"""

FIX = installs("perjoule[meters]")
WINDOWS_S = (1.0, 8.0)
MOST_FRAME_BYTES = 1024  # a frame has some hundred


def _is_window(window_s: float) -> float:
    if window_s not in WINDOWS_S:
        raise ValueError('a Circle reports the last 1 s and the last 8 s (write "1 s" or "8 s")')
    return window_s


def _are_circles(circles: Mapping[str, str]) -> Mapping[str, str]:
    by_mac = {mac.upper(): fed for mac, fed in circles.items()}
    if len(by_mac) < len(circles):
        raise ValueError("a Circle is there twice (its digits may be small or capital letters)")
    if not by_mac or any(len(mac) != 16 or set(mac) - set("0123456789ABCDEF") for mac in by_mac):
        raise ValueError(
            "name circles by the 16 hexadecimal digits on their backs (such as 000D6F0000B1B64B)"
        )
    require_fed(by_mac.values())
    return by_mac


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Plugwise(WithOutlets):
    """Circles at the wall, one channel each."""

    address: LineAddress
    """The stick's serial line."""

    circles: Annotated[Mapping[str, str], AfterValidator(_are_circles)]
    """What each Circle feeds: hosts by name, pattern or "servers", or a part of each of them
    ("servers/disks"; also "board",
    "supply"), "switch", or "" for what `covers` says. Two can't feed the same."""

    window_s: Annotated[Seconds, AfterValidator(_is_window)] = 8.0
    """The window of each reading: 1 s or 8 s."""

    timeout_s: Seconds = 1.0
    """Time limit of a Circle's answer."""

    @property
    def feeding(self) -> Mapping[str, Mapping[str, str]]:
        """What each Circle feeds."""
        return {"circles": self.circles}

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Open the stick and request each Circle's calibration. Raises OSError, ValueError, MachineError."""
        with _opened(self.address, self.timeout_s) as line:
            joined = line.ask(stick.INIT, "", stick.INIT_SAID)
            if joined[18:20] != "01":
                raise MachineError(
                    "the stick has joined no network of Circles",
                    where=self.address,
                    next="pair it with a Circle+",
                )
            calibrations = {
                mac: stick.calibration(line.ask(stick.CALIBRATION, mac, stick.CALIBRATION_SAID))
                for mac in self.circles
            }
            channels = {mac: self._channel(self.feeds(extent, fed, mac)) for mac, fed in self.circles.items()}

            def read() -> list[MeterReading]:
                readings: list[MeterReading] = []
                failures: list[Exception] = []
                for mac, circle in calibrations.items():
                    asked_s = time.monotonic()
                    try:
                        counted = stick.pulses(line.ask(stick.POWER, mac, stick.POWER_SAID))[
                            WINDOWS_S.index(self.window_s)
                        ]
                        power_w = stick.power_w(counted, self.window_s, circle)
                    except (
                        OSError,
                        ValueError,
                    ) as error:  # one Circle that was pulled out is not the end of the others
                        failures.append(error)
                        power_w = math.nan
                    of = channels[mac]
                    readings.append(
                        MeterReading(
                            of, power_w, None, self.window_s, asked_s=asked_s, arrived_s=time.monotonic()
                        )
                    )
                if len(failures) == len(readings):
                    raise failures[0]
                return readings

            yield read

    def _channel(self, circle: Boundary) -> Channel:
        step_w = 1 / stick.PULSES_PER_J / self.window_s
        specification = Specification(resolution=step_w, period_s=1.0, latency_s=self.timeout_s)
        return circle.channel("power", "window mean", "wall", specification)

    def checks(self) -> tuple[Check, ...]:
        """Check for pyserial."""
        ok = importlib.util.find_spec("serial") is not None
        return (Check("pyserial", ok, "it opens the stick" if ok else "it is missing", "" if ok else FIX),)


@contextmanager
def _opened(path: str, timeout_s: float) -> Generator["_Line"]:
    if importlib.util.find_spec("serial") is None:
        raise MachineError("pyserial is not installed", where="meter plugwise", next=FIX)
    import serial

    with serial.Serial(
        line(path), 115200, timeout=timeout_s, write_timeout=timeout_s, exclusive=True
    ) as port:
        port.reset_input_buffer()
        yield _Line(port, timeout_s)


class _Line:
    """The stick's line: one request at a time; answers to older ones are skipped."""

    def __init__(self, port: Any, timeout_s: float) -> None:
        self._port, self._timeout_s = port, timeout_s

    def ask(self, request: str, mac: str, kind: str) -> str:
        """Send a request and return what follows the sequence number in its answer.

        Raises OSError, ValueError.
        """
        self._port.write(stick.frame(request + mac))
        deadline_s = time.monotonic() + self._timeout_s
        sequence = ""
        while (left_s := deadline_s - time.monotonic()) > 0:
            self._port.timeout = left_s
            frame = stick.received(self._line(deadline_s))
            if frame is None:
                continue
            if frame.kind == stick.ACKNOWLEDGED:
                if frame.body in stick.REFUSALS and sequence in ("", frame.sequence):
                    raise OSError(f"{stick.REFUSALS[frame.body]} ({mac or 'no Circle configured'})")
                if frame.body == stick.ACCEPTED:
                    sequence = frame.sequence
            elif frame.kind == kind and frame.sequence == sequence:
                return frame.body
        raise OSError(f"{mac or 'the stick'} does not answer within {self._timeout_s:g} s")

    def _line(self, deadline_s: float) -> bytes:
        """Return the bytes up to the end of a line, or until the deadline.

        Raises ValueError: the line has no end.
        """
        received = bytearray()
        while not received.endswith(stick.TAIL) and time.monotonic() < deadline_s:
            received += self._port.read(1)
            if len(received) > MOST_FRAME_BYTES:
                raise ValueError(f"the stick sends {MOST_FRAME_BYTES} bytes without the end of a frame")
        return bytes(received)
