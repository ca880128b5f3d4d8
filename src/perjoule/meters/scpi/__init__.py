"""Power analysers by ZES ZIMMER (LMG) and Yokogawa (WT), over TCP or a serial line: https://www.zes.com,
https://tmi.yokogawa.com

They integrate without gaps and report the mean of each of their own measuring cycles: with the reported cycle
length, the sum over the cycles is the energy. A missed cycle is a gap. Fixed ranges are best, because a
change of range costs cycles. Tested with a simulator that follows the manuals and lmgtools, on no real
instrument.
"""

import math
import queue
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._address import InstrumentAddress
from perjoule.meters._metered import Metered, MeterReading, Read, answer
from perjoule.meters._visa import Flow, Instrument, answers, instrument, libraries
from perjoule.meters.scpi.dialects import KNOWN, Dialect, dialect, errors, fields, range_w
from perjoule.model import OPTIONS, Grade, Json, PassedOnAs, Specification
from perjoule.model.errors import MachineError
from perjoule.model.units import RelativeError, Seconds, Watts

EXAMPLE = """
[[meter]]
kind = "scpi"
address = "192.0.2.50"        # or "/dev/ttyUSB0", with baud and flow
cycle = "500 ms"
range = "1500 W"
"""

MOST_LINES = 10_000  # that wait to be read
HELD_LINES = 100  # that may come at once after they were held up on their way
MOST_CYCLE_S = 120.0  # the longest that any of these instruments knows is 60 s
CYCLES = 2.0  # this many, and the time limit, may pass without a line
DRIFT_RATIO = 1e-4  # by which the instrument's clock may be off


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Scpi(Metered):
    """A power analyser that reports the mean power of each of its measuring cycles."""

    sets_up: ClassVar[bool] = True
    # of instruments that follow LXI: https://www.lxistandard.org/About/LXI-Protocols.aspx
    announced: ClassVar[tuple[str, ...]] = ("_scpi-raw._tcp",)

    address: InstrumentAddress

    channel: Annotated[str, PassedOnAs(r"^([0-9]{1,2}|(?i:SIGM?A?[AB]?))?$")] = ""
    """Which of its power values: "1" for P1 (ZES), the element 1 or "SIGMA" (Yokogawa); the first if
    empty.
    """

    cycle_s: Seconds | None = None
    """Sets its measuring cycle; if absent, the instrument's setting is used."""

    timeout_s: Seconds = 0.5
    """Time limit of an answer; a cycle that is later by this is a gap."""

    baud: int = 115200
    """Baud rate of a serial line."""

    flow: Flow = "none"
    """Flow control of a serial line: "none", "rts/cts", "xon/xoff"."""

    range_w: Watts | None = None
    """Its power range, for its error: with ZES the product of both ranges' peak values, with Yokogawa of
    both ranges.
    """

    accuracy_ratio: RelativeError | None = None
    """Its error, as a share of the reading, from a calibration; otherwise its manufacturer's, if known."""

    grade: Grade = "wall"
    """Where it is connected: "wall", or "component" behind the power supply."""

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Identify it, set it up, and listen to its cycles.

        Raises OSError, ValueError, MachineError (not a known instrument).
        """
        with instrument(self.address, timeout_s=self.timeout_s, baud=self.baud, flow=self.flow) as device:
            identity, language = identified(device)
            cycle_s = self._prepared(device, language)
            channel = extent.channel(
                "power", "window mean", self.grade, self._specification(device, identity, language, cycle_s)
            )
            limit_s = CYCLES * cycle_s + self.timeout_s
            dated = Dated(cycle_s)
            with _lines(device, language, cycle_s, limit_s) as lines:

                def read() -> list[MeterReading]:
                    heard = [(fields(line, language.fields), came_s) for line, came_s in lines()]
                    windows = [(numbers["power"], dated.window(numbers, came_s)) for numbers, came_s in heard]
                    return [
                        MeterReading(channel, power_w, *window)
                        for power_w, window in windows
                        if window is not None
                    ]

                yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find known analysers by *IDN? at these addresses."""
        return tuple(
            {"kind": "scpi", "address": address} for address in addresses if answers(address, identified)
        )

    def answers(self) -> tuple[Check, ...]:
        """Ask what it is: reading it would set it up again."""

        def ask() -> list[MeterReading]:
            with instrument(self.address, timeout_s=self.timeout_s, baud=self.baud, flow=self.flow) as device:
                identified(device)
            return []

        return (answer(self.label, ask),)

    def checks(self) -> tuple[Check, ...]:
        """Check for pyvisa, pyvisa-py, and pyserial for serial lines."""
        return libraries()

    def _prepared(self, device: Instrument, language: Dialect) -> float:
        """Set it up, and return its cycle."""
        values = {"channel": self.channel or language.channel}
        for command in language.begin:
            device.tell(command.format(**values))
        if self.cycle_s is not None:
            device.tell(language.cycle.format(cycle_s=self.cycle_s, cycle_ms=self.cycle_s * 1000))
        cycle_s = float(device.ask(language.cycle_question))
        if not 0 < cycle_s <= MOST_CYCLE_S:
            raise ValueError(f"{self.address} reports a cycle of {cycle_s} s")
        for command in language.go:
            device.tell(command.format(**values))
        return cycle_s

    def _specification(
        self, device: Instrument, identity: str, language: Dialect, cycle_s: float
    ) -> Specification:
        of_reading, of_range = errors(identity)
        full_w = self.range_w
        if full_w is None and language.ranges:
            full_w = range_w(device.ask(language.ranges))
        return Specification(
            gain_ratio=of_reading if self.accuracy_ratio is None else self.accuracy_ratio,
            offset=None if of_range is None or full_w is None else of_range * full_w,
            period_s=cycle_s,
            latency_s=self.timeout_s,
        )


def identified(device: Instrument) -> tuple[str, Dialect]:
    """Return the answer to *IDN?, and its dialect. Raises OSError, MachineError."""
    device.tell("CONT OFF")  # a ZES may still be sending from before; others have it in their list of errors
    device.quiet()
    identity = device.ask("*IDN?")
    language = dialect(identity)
    if language is None:
        raise MachineError(
            f"it identifies itself as {identity!r}, which is not supported", next=f"known: {KNOWN}"
        )
    return identity, language


class Dated:
    """The times of cycles: each ended at the latest when its line came, at the earliest one cycle after the
    one before.

    If the instrument counts or dates its cycles, a delayed line is thus dated by those before it. Consecutive
    cycles leave no gap, whatever the jitter of their lines.
    """

    def __init__(self, cycle_s: float) -> None:
        self._cycle_s = cycle_s
        self._count = self._time_s = self._end_s = math.nan  # of the cycle before

    def window(self, numbers: Mapping[str, float], came_s: float) -> tuple[float, float] | None:
        """Return end (CLOCK_MONOTONIC) and length of this cycle; None if it is the same as before, and
        thus not a new sample.
        """
        duration_s = numbers.get("duration", self._cycle_s)
        count, time_s, before_s = numbers.get("count", math.nan), numbers.get("time", math.nan), self._end_s
        steps, since_s = count - self._count, time_s - self._time_s
        if steps == 0 or since_s == 0:
            return None
        passed_s = since_s if "time" in numbers else steps * duration_s  # NaN where it says neither
        end_s = min(came_s, before_s + passed_s * (1 + DRIFT_RATIO)) if passed_s > 0 else came_s
        self._count, self._time_s, self._end_s = count, time_s, end_s
        elapsed_s = end_s - before_s
        follows = duration_s / 2 < elapsed_s < duration_s * 3 / 2
        return end_s, elapsed_s if follows else duration_s


@contextmanager
def _lines(device: Instrument, language: Dialect, cycle_s: float, limit_s: float) -> Generator["_Lines"]:
    """Listen in a thread, so each line is dated when it comes; return a function for the lines since its
    last call.
    """
    came: queue.SimpleQueue[tuple[str, float] | Exception] = queue.SimpleQueue()
    stop = threading.Event()

    def listen() -> None:
        try:
            while not stop.is_set():
                for question in language.line[:1]:
                    device.tell(question)
                first, t_s = device.hear(limit_s), time.monotonic()
                if came.qsize() > MOST_LINES:  # no reader any more
                    raise OSError(f"more than {MOST_LINES} lines wait to be read")
                came.put((";".join([first, *map(device.ask, language.line[1:])]), t_s))
        except Exception as error:
            came.put(error)

    thread = threading.Thread(target=listen, name="scpi", daemon=True)
    thread.start()
    try:
        yield _Lines(came, cycle_s, limit_s)
    finally:
        stop.set()
        thread.join()
        with suppress(OSError):
            for command in language.end:
                device.tell(command)


class _Lines:
    """Received lines; it waits only if none has come for too long, and for the first."""

    def __init__(
        self, came: "queue.SimpleQueue[tuple[str, float] | Exception]", cycle_s: float, limit_s: float
    ) -> None:
        self._came, self._cycle_s, self._limit_s, self._last_s = came, cycle_s, limit_s, -math.inf
        self._asked_s = time.monotonic()

    def __call__(self) -> list[tuple[str, float]]:
        """Return lines with arrival times, oldest first.

        Raises OSError: none for too long, or more than there can be cycles.
        """
        lines: list[tuple[str, float]] = []
        before_s, self._asked_s = self._asked_s, time.monotonic()
        while True:
            overdue = not lines and time.monotonic() - self._last_s > self._limit_s
            try:
                arrival = self._came.get(block=overdue, timeout=self._limit_s)
            except queue.Empty:
                if overdue:
                    raise OSError(f"no cycle within {self._limit_s:g} s") from None
                return lines
            if isinstance(arrival, Exception):
                raise arrival
            self._last_s = arrival[1]
            lines.append(arrival)
            passed_s = time.monotonic() - before_s
            if len(lines) > HELD_LINES + 2 * passed_s / self._cycle_s:
                raise OSError(
                    f"{len(lines)} lines in {passed_s:.2g} s, but its measuring cycle is {self._cycle_s:g} s"
                )
