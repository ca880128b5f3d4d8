"""An oscilloscope's voltage and current channels, multiplied: Agilent and Keysight InfiniiVision (DSO6014A,
...) by SCPI

https://www.keysight.com/us/en/assets/9018-08017/programming-guides/9018-08017.pdf. The power is the mean of u
x i over an acquisition, point by point; the mean of u times the mean of i differs if both vary. It sees
nothing between acquisitions, so its readings are instantaneous. Tested with a simulator, never with a real
one.
"""

import math
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._address import InstrumentAddress
from perjoule.meters._drives import AtDrives
from perjoule.meters._metered import MeterReading, Read, answer
from perjoule.meters._visa import Instrument, answers, instrument, libraries
from perjoule.model import OPTIONS, Channel, Grade, Json, Specification
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError
from perjoule.model.units import RelativeError, Seconds, Volts

EXAMPLE = """
[[meter]]
kind = "scope"
address = "192.0.2.60"        # or "USB::0x0957::0x1734::SERIAL::INSTR"
component = "disks"
covers = ["storage-1"]
current_channel = 2
ampere_per_volt = 5.405       # a Hall sensor ACS712-05B: 185 mV for each ampere ...
current_zero = "2.5 V"        # ... around half of its supply
"""

KNOWN = r"(AGILENT|KEYSIGHT).*,\s*(DSO|MSO|EDUX)"
# bytes of a waveform that are not values: nothing there, below the screen, above it
HOLE, LOWEST, HIGHEST = 0, 1, 255
NOTHING = 9e37  # 9.9E+37 is a measurement that could not be made
POINTS = 1000
PAIR = re.compile(r"(\d)x(\d)")
DRIVES = (
    'What each pair of a voltage and a current channel ("1x2") feeds, if it isn\'t one pair for what '
    "`covers` says: a drive as "
    '"storage-1/sda", all disks of a host as "storage-1". Pairs of the same drive, such as its 5 V and its '
    "12 V, are added."
)

Pair = tuple[int, int]  # the channels of a voltage and of its current
Floats = NDArray[np.float64]


def _are_pairs(drives: Mapping[str, str]) -> Mapping[str, str]:
    if not all(PAIR.fullmatch(pair) for pair in drives):
        raise ValueError('name pairs of channels, the voltage first ("1x2")')
    return drives


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Scope(AtDrives):
    """The mean of voltage times current in each acquisition of an oscilloscope."""

    sets_up: ClassVar[bool] = True
    # of instruments that follow LXI: https://www.lxistandard.org/About/LXI-Protocols.aspx
    announced: ClassVar[tuple[str, ...]] = ("_scpi-raw._tcp",)

    address: InstrumentAddress

    voltage_channel: int = 1
    """The channel of the voltage."""

    current_channel: int = 2
    """The channel of the current's probe."""

    drives: Annotated[Mapping[str, str], AfterValidator(_are_pairs), Field(description=DRIVES)] = field(
        default_factory=dict[str, str]
    )

    volt_per_volt_ratio: float = 1.0
    """Volts at the load for each volt on the scope, which already includes the attenuation set there."""

    ampere_per_volt_ratio: float = 1.0
    """Amperes for each volt of the current's probe on the scope."""

    voltage_zero_v: Volts = 0.0
    """The scope's voltage reading without voltage."""

    current_zero_v: Volts = 0.0
    """The probe's reading without current: measure it with the load switched off."""

    window_s: Seconds = 0.5
    """Length of an acquisition; a whole number of mains periods, for alternating current."""

    reads: Literal["waveforms", "means"] = "waveforms"
    """Multiply point by point, or only the means that the scope measures (a doubt in each recording)."""

    voltage_accuracy_ratio: RelativeError | None = None
    """Error of the voltage, probe included, of the reading."""

    current_accuracy_ratio: RelativeError | None = None
    """The same of the current."""

    timeout_s: Seconds = 2.0
    """Time limit of an answer, in addition to the acquisition itself."""

    grade: Grade = "component"
    """Position of the probes: "component" behind a power supply, "wall" before it."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.drives and (self.voltage_channel, self.current_channel) != (1, 2):
            raise ValueError("drives names the channels (remove voltage_channel and current_channel)")
        return self

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Identify it, set it up, and acquire.

        Raises OSError, ValueError, MachineError (not a known oscilloscope).
        """
        feeds = self._feeds()
        numbers = sorted({number for pairs in feeds.values() for pair in pairs for number in pair})
        with instrument(self.address, timeout_s=self.timeout_s) as device:
            identified(device)
            error = device.ask(";".join((*setup(numbers, self.window_s), ":SYST:ERR?")))
            if not error.lstrip("+").startswith("0"):
                raise MachineError(f"the oscilloscope refuses its setup: {error}", where=self.address)
            channels = {fed: self._channel(extent, fed, pairs) for fed, pairs in feeds.items()}
            shown_v = of_waveform if self.reads == "waveforms" else of_mean

            def read() -> list[MeterReading]:
                device.tell(f":DIG {','.join(f'CHAN{number}' for number in numbers)};*OPC?")
                device.hear(self.window_s + self.timeout_s)
                middle_s = time.monotonic() - self.window_s / 2
                seen_v = {number: shown_v(device, number) for number in numbers}
                return [
                    MeterReading(channel, self._power_w(feeds[fed], seen_v), middle_s)
                    for fed, channel in channels.items()
                ]

            yield read

    def caveats(self) -> Iterable[Doubt]:
        """A doubt if only the means were multiplied."""
        if self.reads == "means":
            yield METERS.means_multiplied(meter=self.label)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find known oscilloscopes by *IDN? at these addresses; you declare what their channels show."""
        return tuple(
            {"kind": "scope", "address": address} for address in addresses if answers(address, identified)
        )

    def answers(self) -> tuple[Check, ...]:
        """Ask what it is: reading it would set it up again."""

        def ask() -> list[MeterReading]:
            with instrument(self.address, timeout_s=self.timeout_s) as device:
                identified(device)
            return []

        return (answer(self.label, ask),)

    def checks(self) -> tuple[Check, ...]:
        """Check for pyvisa and pyvisa-py."""
        return libraries()

    def _feeds(self) -> Mapping[str, list[Pair]]:
        """Return the pairs of channels at the supplies of each drive; of "", what `covers` says."""
        feeds: dict[str, list[Pair]] = {}
        for name, fed in self.drives.items():
            voltage, current = name.split("x")
            feeds.setdefault(fed, []).append((int(voltage), int(current)))
        return feeds or {"": [(self.voltage_channel, self.current_channel)]}

    def _channel(self, extent: Boundary, fed: str, pairs: Sequence[Pair]) -> Channel:
        voltage, current = pairs[0]
        covered = self.fed(extent, fed, f"{voltage}x{current}") if self.drives else extent
        return covered.channel("power", "instantaneous", self.grade, self._specification())

    def _power_w(self, pairs: Sequence[Pair], shown_v: Mapping[int, Floats]) -> float:
        """Return the sum of the pairs' means of u x i; NaN if a point is missing or off the screen."""
        power_w = 0.0
        for voltage, current in pairs:
            voltage_v = (shown_v[voltage] - self.voltage_zero_v) * self.volt_per_volt_ratio
            current_a = (shown_v[current] - self.current_zero_v) * self.ampere_per_volt_ratio
            if len(voltage_v) != len(current_a):
                raise ValueError(
                    f"channels {voltage} and {current} have {len(voltage_v)} and {len(current_a)} points"
                )
            power_w += float(np.mean(voltage_v * current_a))
        return power_w

    def _specification(self) -> Specification:
        """Return the specification: both errors at their worst add up."""
        parts = (self.voltage_accuracy_ratio, self.current_accuracy_ratio)
        gain_ratio = None if None in parts else sum(part for part in parts if part is not None)
        return Specification(gain_ratio=gain_ratio, latency_s=self.window_s / 2)


def identified(device: Instrument) -> str:
    """Return the answer to *IDN?. Raises OSError, MachineError: not a known oscilloscope."""
    device.quiet()
    identity = device.ask("*IDN?")
    if not re.search(KNOWN, identity, re.IGNORECASE):
        raise MachineError(
            f"it identifies itself as {identity!r}",
            next="supported: Agilent and Keysight InfiniiVision (DSO, MSO)",
        )
    return identity


def of_waveform(device: Instrument, number: int) -> Floats:
    """Return the volts that a channel's acquisition shows, shape (N,). Raises OSError, ValueError."""
    preamble = Preamble.of(device.ask(f":WAV:SOUR CHAN{number};:WAV:PRE?"))
    return volts(device.block(":WAV:DATA?"), preamble)


def of_mean(device: Instrument, number: int) -> Floats:
    """Return the mean volts of a channel's acquisition, shape (1,). Raises OSError, ValueError."""
    mean_v = float(device.ask(f":MEAS:VAV? CHAN{number}"))
    return np.array([mean_v if abs(mean_v) < NOTHING else math.nan])


def setup(channels: Sequence[int], window_s: float) -> tuple[str, ...]:
    """Commands before the first acquisition: the channels on, a window that begins without waiting for an
    edge, bytes.
    """
    display = tuple(f":CHAN{channel}:DISP ON" for channel in channels)
    window = (f":TIM:RANG {window_s:g}", ":TRIG:SWE AUTO", ":ACQ:TYPE NORM")
    return ("*CLS", *display, *window, ":WAV:FORM BYTE", ":WAV:UNS ON", f":WAV:POIN {POINTS}")


@plain_dataclass(frozen=True)
class Preamble:
    """The conversion of bytes to volts: (byte - reference) x increment + origin."""

    increment_v: float
    origin_v: float
    reference: float

    @classmethod
    def of(cls, text: str) -> "Preamble":
        """Parse an answer to :WAV:PRE?, ten numbers. Raises ValueError."""
        parts = text.split(",")
        if len(parts) != 10:
            raise ValueError(f"a preamble of {len(parts)} numbers, not ten: {text[:60]!r}")
        return cls(float(parts[7]), float(parts[8]), float(parts[9]))


def volts(block: bytes, preamble: Preamble) -> Floats:
    """Return the volts shown, shape (N,); NaN for holes and points off the screen.

    Raises ValueError: there are none.
    """
    if not block:
        raise ValueError("an acquisition without data points")
    raw = np.frombuffer(block, dtype=np.uint8)
    shown_v = (raw.astype(np.float64) - preamble.reference) * preamble.increment_v + preamble.origin_v
    return np.where(np.isin(raw, (HOLE, LOWEST, HIGHEST)), math.nan, shown_v)
