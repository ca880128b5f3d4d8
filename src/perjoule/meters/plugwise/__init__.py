"""Plugwise Circles through the USB stick: https://www.plugwise.com, the protocol in stick.py

A Circle gives the mean power of its last 1 s (steps of 2.13 W) or 8 s (0.27 W). Overlapping windows lose
nothing, so poll often enough: 2 Hz for 1 s, 0.25 Hz for 8 s. The mesh takes some 0.1 s for each Circle.
Tested with a simulator, never with a real stick.
"""

import importlib.util
import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, boundary, names
from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import Check, Hosts, Outlet, Sink
from perjoule.meters._address import LineAddress, line
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters.plugwise import stick
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.doubts import Doubt
from perjoule.model.errors import MachineError
from perjoule.model.units import Seconds

EXAMPLE = """
[[meter]]
kind = "plugwise"
address = "/dev/ttyUSB0"
circles = {"000D6F0000B1B64B" = "storage-1", "000D6F0000B1C02A" = "storage-2"}
rate = "0.25 Hz"
"""

FIX = ".venv/bin/pip install 'perjoule[meters]'"
WINDOWS_S = (1.0, 8.0)
PARTS = ("board", "disks", "supply")
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
    for text in by_mac.values():
        hosts, part = _fed(text)
        if part and part not in PARTS:
            raise ValueError(f'"{text}": a host has no {part} (known: {", ".join(PARTS)})')
        if part and not hosts:
            raise ValueError(f'"{text}" names no hosts (write "servers/{part}")')
    return by_mac


def _fed(text: str) -> tuple[tuple[str, ...], str]:
    """Return the hosts and the part of them that a Circle feeds: "servers/disks".

    Raises ValueError: names are no pattern.
    """
    hosts, _, part = text.partition("/")
    return tuple(unfold(hosts)) if hosts else (), part


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Plugwise(Metered):
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
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """What it feeds, as a whole and by Circle."""
        return {
            **super().named,
            "circles": tuple(host for text in self.circles.values() for host in _fed(text)[0]),
        }

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return its Circles."""
        extent = boundary(self.label, self.covers, hosts, self.component)
        literal = {mac: self._literal(text, hosts) for mac, text in self.circles.items()}
        return [self.feeds(extent, text).outlet("circles", mac) for mac, text in literal.items()]

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the Circles' readings.

        Raises CampaignError: there is no host of such a name.
        """
        with_names = copy(self)  # `replace` can't: options have other names than fields
        object.__setattr__(
            with_names, "circles", {mac: self._literal(text, hosts) for mac, text in self.circles.items()}
        )
        with super(Plugwise, with_names).record(hosts, sink) as doubts:
            yield doubts

    def _literal(self, text: str, hosts: Hosts) -> str:
        """Write what a Circle feeds with the names of hosts that words like "servers" stand for."""
        places, part = _fed(text)
        return f"{','.join(names(self.label, places, hosts))}{'/' if part else ''}{part}"

    def feeds(self, extent: Boundary, text: str) -> Boundary:
        """Return what a Circle covers, where names of hosts are written out."""
        hosts, part = _fed(text)
        return boundary(extent.meter, hosts, Hosts(()), part) if hosts else extent

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
            channels = {mac: self._channel(extent, fed) for mac, fed in self.circles.items()}

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

    def _channel(self, extent: Boundary, fed: str) -> Channel:
        step_w = 1 / stick.PULSES_PER_J / self.window_s
        specification = Specification(resolution=step_w, period_s=1.0, latency_s=self.timeout_s)
        return self.feeds(extent, fed).channel("power", "window mean", "wall", specification)

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
