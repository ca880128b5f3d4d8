"""PowerSensor3, an open sensor for the supplies of single devices, over USB:
https://powersensor3.readthedocs.io

It sends voltage and current of up to four supplies 20 000 times a second. perjoule speaks the firmware's
protocol itself: the host library dates samples when it processes them, and its dump file is megabytes of text
a second. Tested with a simulator that follows firmware 1.6.1, never with a real one.
"""

import importlib.util
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.machine.installing import installs
from perjoule.meters._address import LineAddress, line
from perjoule.meters._deadline import Deadline
from perjoule.meters._drives import AtDrives
from perjoule.meters._gathered import GatheredEnergy, gathering
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters.powersensor3 import frames
from perjoule.meters.powersensor3.frames import Frames, Pair
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.errors import MachineError
from perjoule.model.units import Hertz, RelativeError, Seconds

EXAMPLE = """
[[meter]]
kind = "powersensor3"
address = "/dev/ttyACM0"
drives = {"0" = "storage-1/nvme0", "1" = "storage-1/nvme0"}
"""

FIX = installs("perjoule[meters]")
QUIET_S = 0.1  # after which nothing sent before is under way
CHUNK_BYTES = 65536
MOST_LATE_S = 0.02  # from a sample to its arrival here
_LOOK_S = 0.05
_REST_S = 0.005  # in which the line gathers bytes: one read for each frame would take a core


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Powersensor3(AtDrives):
    """A PowerSensor3: one channel for each drive, the sum of the pairs of sensors on its supplies.

    A probe is a pair, by its number or its name; pairs that feed the same are added.
    """

    address: LineAddress
    """Its serial line."""

    rate_hz: Hertz = 10.0
    """How often a mean is taken of all samples since the last one."""

    timeout_s: Seconds = 1.0
    """Time limit of an answer, and the longest time without a sample."""

    accuracy_ratio: RelativeError | None = None
    """Its error, as a share of the reading, from a calibration."""

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Read its configuration and have it send.

        Raises OSError, ValueError, MachineError: a pair is missing or off.
        """
        with _opened(self.address, self.timeout_s) as port:
            pairs = frames.pairs(_configuration(port, self.timeout_s))
            feeds: dict[str, list[Pair]] = {}
            for name, fed in self.drives.items():
                feeds.setdefault(fed, []).append(self._pair(pairs, name))
            channels = {fed: self._channel(extent, fed, several[0]) for fed, several in feeds.items()}
            with _listening(port, list(feeds.values())) as sums:

                def read() -> Iterable[MeterReading]:
                    if (window := sums.taken(self.timeout_s)) is None:
                        raise OSError(f"no sample within {self.timeout_s:g} s")
                    end_s, length_s, energy_j = window
                    for channel, joules in zip(channels.values(), energy_j, strict=True):
                        yield MeterReading(channel, joules / length_s, end_s, length_s)

                yield read

    def _pair(self, pairs: Sequence[Pair], name: str) -> Pair:
        for pair in pairs:
            if name in (str(pair.number), pair.name):
                return pair
        listed = ", ".join(f'{pair.number} ("{pair.name}")' for pair in pairs) or "none"
        raise MachineError(
            f"no pair of sensors {name} is on", where=self.address, next=f"on: {listed}; see psconfig -p"
        )

    def _channel(self, extent: Boundary, fed: str, pair: Pair) -> Channel:
        specification = Specification(gain_ratio=self.accuracy_ratio, latency_s=MOST_LATE_S)
        return self.fed(extent, fed, str(pair.number)).channel(
            "power", "window mean", "component", specification
        )

    def checks(self) -> tuple[Check, ...]:
        """Check for pyserial."""
        ok = importlib.util.find_spec("serial") is not None
        return (Check("pyserial", ok, "it opens the line" if ok else "it is missing", "" if ok else FIX),)


@contextmanager
def _opened(path: str, timeout_s: float) -> Generator[Any]:
    if importlib.util.find_spec("serial") is None:
        raise MachineError("pyserial is not installed", where="meter powersensor3", next=FIX)
    import serial

    with serial.Serial(
        line(path), 115200, timeout=timeout_s, write_timeout=timeout_s, exclusive=True
    ) as port:
        port.write(frames.STOP)
        time.sleep(QUIET_S)
        port.reset_input_buffer()
        try:
            yield port
        finally:
            with suppress(OSError):
                port.write(frames.STOP)


def _configuration(port: Any, timeout_s: float) -> bytes:
    """Return the settings of all sensors. Raises OSError, ValueError."""
    deadline = Deadline(timeout_s)
    port.write(frames.CONFIGURATION)
    settings = b""
    for _ in range(frames.SENSORS_COUNT):
        settings += _whole(port, frames.SENSOR_BYTES, deadline)
        port.write(frames.NEXT)
    if _whole(port, 1, deadline) != frames.DONE:
        raise ValueError("this is not a PowerSensor3: its configuration has no end")
    return settings


def _whole(port: Any, count: int, deadline: Deadline) -> bytes:
    received = b""
    while len(received) < count:
        port.timeout = deadline.left_s()
        received += port.read(count - len(received))
    return received


@contextmanager
def _listening(port: Any, feeds: Sequence[Sequence[Pair]]) -> Generator[GatheredEnergy]:
    """Listen in a thread, for the line holds samples of a tenth of a second at most."""
    stop, heard = threading.Event(), Frames()

    def listen(sums: GatheredEnergy) -> None:
        while not stop.wait(_REST_S):
            port.timeout = _LOOK_S
            received = port.read(max(1, min(port.in_waiting, CHUNK_BYTES)))
            came_s = time.monotonic()
            levels, length_s = heard.levels(received)
            if len(length_s):
                added_j = [sum(float(pair.power_w(levels) @ length_s) for pair in feed) for feed in feeds]
                sums.add(added_j, float(length_s.sum()), came_s)

    port.write(frames.START)
    with gathering("powersensor3", len(feeds), listen, stop) as sums:
        yield sums
