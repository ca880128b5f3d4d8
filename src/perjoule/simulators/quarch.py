"""Quarch Instrument Server with one module, of a 5 V and a 12 V rail: lines over TCP, as the help.txt of
QIS has them.
"""

import math
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._hostile import pour
from perjoule.simulators._lines import lines

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = ("late", "duplicate", "missing", "frozen", "nan", "spike", "disconnect")
MODULE = "usb::qtl2312-01-101"
RAILS = {"5V": (5.0, 0.4), "12V": (12.0, 0.6)}  # volts, and share of the power
MOST_STRIPES = 3072
DEVICE_US = 4  # the module's own period
# Answers end with a prompt; the greeting doesn't.
WELCOME, PROMPT = "$t v1.43 Mon Nov 23 23:44:19 UTC 2026\r\n", "\r\n>"
_HEADER = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<header>
	<version>V3</version>
	<devicePeriod>{device_us}us</devicePeriod>
	<mainPeriod>{period_us}us</mainPeriod>
	<legacyVersion>5</legacyVersion>
	<legacyFormat>15</legacyFormat>
	<legacyAverage>0</legacyAverage>
	<channels>
{channels}
	</channels>
</header>"""
_CHANNEL = """		<channel>
			<name>{name}</name>
			<group>{group}</group>
			<units>{units}</units>
			<maxTValue>0</maxTValue>
			<dataPosition>{place}</dataPosition>
		</channel>"""


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, power: bool = True
) -> Generator[Mapping[str, Json]]:
    """Serve during the block; `power` says whether the module computes power, or sends voltages and
    currents alone.
    """
    module = _Module(behaviour, power)

    def begin(send: Callable[[bytes], None], hang_up: Callable[[], None]) -> _Session:
        send(WELCOME.encode())
        return _Session(behaviour, module, send, hang_up)

    with lines(begin, "tcp", address, port) as resource:
        yield {"kind": "quarch", "address": f"{address}:{resource.split('::')[2]}", "drives": {MODULE: ""}}


class _Module:
    """A module, which keeps its stream whoever is connected."""

    def __init__(self, behaviour: Behaviour, power: bool) -> None:
        self._behaviour, self._power = behaviour, power
        self._totals = False
        self._period_us = DEVICE_US
        self._began_s: float | None = None
        self._ended, self._sent_count = False, 0
        self._shown_w, self._kept_j = math.nan, math.nan
        self._lock = threading.Lock()

    def answer(self, command: list[str]) -> str:
        with self._lock:
            match command:
                case ["stream?"]:
                    state = "Running" if self._began_s is not None and not self._ended else "Stopped: User"
                    return f"{state}\r\nStripes Buffered: 0 of 8388608"
                case ["stream", "mode", "header", "v3"]:
                    return "OK"
                case ["stream", "mode", "power", "total", "enable"]:
                    self._totals = self._power
                    return "OK" if self._power else "FAIL: 0x41 -Command not recognised"
                case ["stream", "mode", "resample", period]:
                    self._period_us = int(period.removesuffix("us"))
                    return "OK"
                case ["rec", "stream"]:
                    if self._began_s is not None and not self._ended:
                        return "FAIL: Stream already running"
                    self._began_s, self._ended, self._sent_count = self._behaviour.now_s(), False, 0
                    return "OK"
                case ["rec", "stop"]:
                    self._ended = True
                    return "OK"
                case ["stream", "text", "header"]:
                    return (
                        "Header Not Available"
                        if self._began_s is None
                        else self._header().replace("\n", "\r\n")
                    )
                case ["stream", "text", "all"]:
                    return "\r\n".join([*self._stripes(), "eof"])
                case _:
                    return "FAIL: 0x41 -Command not recognised"

    def _header(self) -> str:
        columns = [("Status", "status", "NA")]
        columns += [
            (rail, group, units) for rail in RAILS for group, units in (("voltage", "mV"), ("current", "uA"))
        ]
        if self._totals:
            columns += [(name, "power", "uW") for name in (*RAILS, "Tot")]
        channels = [
            _CHANNEL.format(name=name, group=group, units=units, place=place)
            for place, (name, group, units) in enumerate(columns)
        ]
        return _HEADER.format(device_us=DEVICE_US, period_us=self._period_us, channels="\n".join(channels))

    def _stripes(self) -> list[str]:
        """Return the windows since the last request: the mean power of each, with the fault of the
        request.
        """
        if self._began_s is None or self._ended:
            return []
        truth = self._behaviour.truth()
        factor = truth.power_w / truth.true_power_w
        frozen = truth.true_energy_j == self._kept_j
        self._kept_j = truth.true_energy_j
        waveform, period_s = self._behaviour.waveform, self._period_us * 1e-6
        due_count = int((self._behaviour.now_s() - self._began_s) / period_s)
        stripes: list[str] = []
        for n in range(self._sent_count, min(due_count, self._sent_count + MOST_STRIPES)):
            if not frozen:
                begin_s = self._began_s + n * period_s
                self._shown_w = waveform.energy_j(begin_s, begin_s + period_s) / period_s * factor
            stripes.append(self._stripe(n * self._period_us, self._shown_w))
        self._sent_count += len(stripes)
        return stripes

    def _stripe(self, t_us: int, power_w: float) -> str:
        if math.isnan(power_w):
            return f"{t_us} 5000"  # cut
        numbers: list[float] = []
        for volts, share in RAILS.values():
            numbers += [volts * 1e3, power_w * share / volts * 1e6]
        if self._totals:
            numbers += [power_w * share * 1e6 for _, share in RAILS.values()] + [power_w * 1e6]
        return " ".join(map(str, (t_us, *map(round, numbers))))


class _Session:
    """One connection."""

    def __init__(
        self,
        behaviour: Behaviour,
        module: _Module,
        send: Callable[[bytes], None],
        hang_up: Callable[[], None],
    ) -> None:
        self._behaviour, self._module, self._send, self._hang_up = behaviour, module, send, hang_up
        self._stop = threading.Event()

    def close(self) -> None:
        """End pending answers."""
        self._stop.set()

    def take(self, line: str) -> bytes | None:
        """Answer a command, of the server or of the module."""
        device, *command = line.split() or [""]
        if command == ["stream", "text", "all"]:
            manner = self._behaviour.manner()
            if manner.hang_up:
                self._hang_up()
            if manner.hostile:
                pour(manner.hostile, self._send, self._stop)
            if self._stop.wait(manner.delay_s) or manner.silent or manner.hang_up or manner.hostile:
                return None
        if line == "$list":
            reply = f"1) {MODULE}\r\n"
        elif line == "$version":
            reply = "v1.43"
        elif device.lower() == MODULE:
            reply = self._module.answer(command)
        else:
            reply = f"Device {device} Invalid or No Longer Valid"
        return (reply + PROMPT).encode()
