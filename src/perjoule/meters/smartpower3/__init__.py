"""Hardkernel's SmartPower3, a supply of 3 to 20 V with two outputs that meters each, over USB or UDP:
https://wiki.odroid.com/accessory/power_supply_battery/smartpower3

Its watts are those behind the mains' supply, so they never stand for a host at the wall. A line has the mean current
of some four fifths of its interval times the last voltage, and cuts mA and mW off. perjoule adds up all lines between
two polls, and dates them by its clock. Choose the interval of its log on its screen and switch the log on; for UDP
set this machine and the port in its menu over USB. Tested with a simulator that follows the firmware, never with a
real one.
"""

import importlib.util
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._address import LineOrHost, is_path
from perjoule.meters._gathered import GatheredEnergy, gathering
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._outlets import WithOutlets, require_fed
from perjoule.meters.smartpower3.lines import Lines, SentLine, interval_s, passed_s
from perjoule.meters.smartpower3.ways import FIX, Receive, opened
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.units import Hertz, RelativeError, Seconds

EXAMPLE = """
[[meter]]
kind = "smartpower3"
address = "/dev/ttyUSB0"      # or its host, for UDP
outputs = {0 = "storage-1", 1 = "storage-2"}
"""

INPUT, OUTPUTS = "input", ("0", "1")
STEP_W = 0.02  # 1 mA at its highest voltage
FIRST_COUNT = 4  # lines whose times show its interval
MISSING_INTERVALS, HELD_UP_S = 3, 0.02  # between two lines, if none is missing, and its tasks hold it up
DRIFT_RATIO = 1e-4  # by which its clock may be off
MOST_LATE_S = 0.02  # from a line's moment to its arrival here
_LOOK_S = 0.05
Baud = Literal[9600, 19200, 38400, 57600, 115200, 230400, 460800, 500000, 576000, 921600]


def _are_outputs(outputs: Mapping[str, str]) -> Mapping[str, str]:
    if strange := [output for output in outputs if output not in OUTPUTS]:
        raise ValueError(f'it has no output "{strange[0]}" (write "0" and "1")')
    require_fed(outputs.values())
    return outputs


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Smartpower3(WithOutlets):
    """A SmartPower3: a channel for each output, and one for its input."""

    address: LineOrHost
    """Its serial line, or the host that it is in the network: only lines of that one are read."""

    outputs: Annotated[Mapping[str, str], AfterValidator(_are_outputs)] = Field(
        default_factory=dict[str, str]
    )
    """What each output, 0 and 1, feeds: hosts by name, pattern or "servers", a part of each of them
    ("storage-1/board"; also "disks", "supply"), "switch", or "" for what `covers` says."""

    input: str | None = None
    """The hosts that its input feeds, with both outputs and its own losses; as in `outputs`, without parts."""

    port: int = Field(default=6000, ge=1, le=65535)
    """The UDP port of this machine that it sends to."""

    baud: Baud = 115200
    """The baud rate of its serial line, as on its screen."""

    rate_hz: Hertz = 10.0
    """How often a mean is taken of all lines since the last one."""

    timeout_s: Seconds = 2.5
    """The longest time without a line."""

    accuracy_ratio: RelativeError | None = None
    """Its error, as a share of the reading, from a calibration: its maker states 3 % as typical, above 5 W."""

    @model_validator(mode="after")
    def _read(self) -> Self:
        if self.input is None and not self.outputs:
            raise ValueError('nothing of it is read (write outputs = {0 = "storage-1"}, or input)')
        if self.input is not None and "/" in self.input:
            raise ValueError(f'its input feeds no part of hosts (write "{self.input.partition("/")[0]}")')
        require_fed([self.input or ""])
        return self

    @property
    def feeding(self) -> Mapping[str, Mapping[str, str]]:
        """What its outputs and its input feed."""
        of_input = {} if self.input is None else {INPUT: {INPUT: self.input}}
        return {"outputs": self.outputs, **of_input}

    def read_at(self, outlet: str) -> tuple[str, ...]:
        """Return its address, and the output: the input includes both."""
        return ("smartpower3", self.address, *(() if outlet == INPUT else (f"output {outlet}",)))

    def feeds(self, extent: Boundary, text: str, outlet: str) -> Boundary:
        """Return what an output covers, or all that the input does."""
        covered = super().feeds(extent, text, outlet)
        return replace(covered, component=INPUT) if outlet == INPUT else covered

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Listen to its lines. Raises OSError, ValueError, MachineError."""
        with opened(self.address, self.port, self.baud) as receive:
            stop = threading.Event()
            heard = _heard(receive, self.timeout_s, stop)
            first = list(islice(heard, FIRST_COUNT))
            apart_s = interval_s([line for line, _ in first])
            channels = {
                (INPUT, *OUTPUTS).index(outlet): self._channel(self.feeds(extent, text, outlet), apart_s)
                for texts in self.feeding.values()
                for outlet, text in texts.items()
            }
            with _adding(chain(first, heard), apart_s, stop) as sums:

                def read() -> list[MeterReading]:
                    if (window := sums.taken()) is None:  # no line since
                        return []
                    end_s, length_s, energy_j = window
                    return [
                        MeterReading(channel, energy_j[column] / length_s, end_s, length_s)
                        for column, channel in channels.items()
                    ]

                yield read

    def _channel(self, covered: Boundary, apart_s: float) -> Channel:
        specification = Specification(
            gain_ratio=self.accuracy_ratio, resolution=STEP_W, period_s=apart_s, latency_s=MOST_LATE_S
        )
        return covered.channel("power", "window mean", "component", specification)

    def checks(self) -> tuple[Check, ...]:
        """Check for pyserial, if it is at a serial line."""
        if not is_path(self.address):
            return ()
        ok = importlib.util.find_spec("serial") is not None
        return (Check("pyserial", ok, "it opens the line" if ok else "it is missing", "" if ok else FIX),)


def _heard(receive: Receive, timeout_s: float, stop: threading.Event) -> Generator[tuple[SentLine, float]]:
    """Yield lines with the moments at which they came, until it is to stop.

    Raises OSError: none came in time. ValueError: one is wrong.
    """
    lines, last_s = Lines(), time.monotonic()
    while not stop.is_set():
        received = receive(min(_LOOK_S, timeout_s))
        came_s = time.monotonic()
        for line in lines.readings(received):
            last_s = came_s
            yield line, came_s
        if came_s - last_s > timeout_s:
            raise OSError(f"no line within {timeout_s:g} s (is its log on, and set to this machine or baud?)")


@contextmanager
def _adding(
    heard: Iterator[tuple[SentLine, float]], apart_s: float, stop: threading.Event
) -> Generator[GatheredEnergy]:
    """Add up the joules of lines in a thread during the block, each from the line before.

    A time in which lines are missing ends it: its watts are not known.
    """

    def add(sums: GatheredEnergy) -> None:
        first = next(heard, None)
        if first is None:  # stopped before
            return
        before, end_s = first
        for line, came_s in heard:
            length_s = passed_s(before, line)
            if length_s > MISSING_INTERVALS * apart_s + HELD_UP_S:
                raise ValueError(
                    f"{length_s:g} s between two lines by its clock: some are missing, or it began anew"
                )
            before, end_s = line, min(came_s, end_s + length_s * (1 + DRIFT_RATIO))
            sums.add([power_w * length_s for power_w in line.power_w], length_s, end_s)

    with gathering("smartpower3", 1 + len(OUTPUTS), add, stop) as sums:
        yield sums
