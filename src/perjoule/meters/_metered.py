"""Parts that meters of real power share: what they cover, how often they are polled, and gaps for failed
reads.
"""

import math
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass as plain_dataclass
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import SWITCH, Boundary, boundary, names
from perjoule.drivers.protocols import Check, Hosts, Meter, Outlet, Sink
from perjoule.meters._address import require_address
from perjoule.meters._sampler import sampling
from perjoule.model import OPTIONS, Channel, is_to_run
from perjoule.model.calibration import MeterCalibration
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.format import number
from perjoule.model.series import INLET, inlet
from perjoule.model.units import Hertz
from perjoule.model.withheld import withheld

ASKED_S = 15.0  # for an answer before a campaign, whatever the meter's own time limit
MOST_WORDS = 300  # characters of what a meter said, in a sentence

_COVERS = 'What it feeds: hosts by name or pattern ("stor-[1-4]"), "servers", "clients", "switch".'
_COMPONENT = (
    'The part of each host that it feeds, if not whole hosts: "disks", "board", ...; of two power supplies '
    '"inlet-1-of-2", "inlet-2-of-2".'
)
_NAME = "The name of its channels, if there are several of a kind; its kind by default."
MOMENTS_HZ = 2.0  # by default, of meters of momentary power: no energy is computed from one reading a second
RATE = "How often it is polled, on average; polls are jittered so that they can't lock to a timer."


@plain_dataclass(frozen=True)
class MeterReading:
    """One reading of a meter; NaN if the meter reports that it has none.

    `t_s` is the end of the sample's window on CLOCK_MONOTONIC if that is known; None stands for the middle of
    the request. `dated` says that it comes from a clock other than ours. `duration_s` is the window's length
    of a "window mean". `asked_s` and `arrived_s` are the times of request and answer, if the driver knows
    them more exactly than the whole request.
    """

    channel: Channel
    value: float
    t_s: float | None = None
    duration_s: float = 0.0
    dated: bool = False
    asked_s: float | None = None
    arrived_s: float | None = None


def _part(component: str) -> str:
    if component.startswith(INLET) and inlet(component) is None:
        raise ValueError(
            f'"{component}" is no power supply (write "inlet-1-of-2" and "inlet-2-of-2" for the two of a host)'
        )
    return component


_CALIBRATION = (
    'When it was calibrated, by whom, and the certificate: {date = "2026-03-01", laboratory = "PTB", '
    'certificate = "42"}. After its `due`, or two years, recordings have a doubt. `accuracy` has the error.'
)
# of its arrival may another clock date a sample: by more no sample with a time in whole seconds is ahead
MOST_AHEAD_S = 1.0
# options that don't choose what is read
HOW = frozenset({"on", "quantity", "timeout_s", "accuracy_ratio", "user", "password_file"})
# asks the meter once; may raise PerjouleError, OSError or ValueError
Read = Callable[[], Iterable[MeterReading]]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Metered(Meter):
    """A meter that is polled, with what it covers."""

    # Their words are not docstrings: pydantic finds those in a class's own text only, and drivers inherit
    # these fields.
    covers: Annotated[tuple[str, ...], Field(description=_COVERS)] = ("servers", SWITCH)
    component: Annotated[str, AfterValidator(_part), Field(description=_COMPONENT)] = ""
    name: Annotated[str, Field(description=_NAME)] = ""
    rate_hz: Annotated[Hertz, Field(description=RATE)] = 1.0
    calibration: Annotated[MeterCalibration | None, Field(description=_CALIBRATION)] = None

    @model_validator(mode="after")
    def _reachable(self, info: ValidationInfo) -> Self:
        if is_to_run(info) and "address" in vars(self):
            require_address(str(vars(self)["address"]))
        return self

    @abstractmethod
    def connect(self, extent: Boundary) -> AbstractContextManager[Read]:
        """Connect to the meter; the returned function polls it once. Raises PerjouleError, OSError."""

    def caveats(self) -> Iterable[Doubt]:
        """Doubts about its numbers on this machine, however well it is read; stored with each recording."""
        return ()

    def overdue(self) -> list[Doubt]:
        """Return the doubt about a calibration that is old today, if it is."""
        calibration = self.calibration
        if calibration is None or datetime.now(UTC).date() <= calibration.due_date:
            return []
        dates = {"date": str(calibration.date), "due": str(calibration.due_date)}
        return [METERS.calibration_old(meter=self.label, **dates)]

    @property
    def label(self) -> str:
        """The meter's name in its channels."""
        return self.name or type(self).__module__.rpartition(".")[2]

    def answers(self) -> tuple[Check, ...]:
        """Ask it once."""

        def ask() -> Iterable[MeterReading]:
            with self.connect(Boundary(self.label, "", self.component or "group", self.covers)) as read:
                return list(read())

        return (answer(self.label, ask),)

    @property
    def sampled_hz(self) -> float:
        """How often it is polled."""
        return self.rate_hz

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """What it feeds."""
        return {"covers": self.covers}

    @property
    def counts(self) -> str:
        """The quantity of its only channel; "" if it has both, or both are possible."""
        return ""

    @property
    def source(self) -> tuple[str, ...]:
        """What it reads, from the instrument to its part: two meters with the same one see the same watts."""
        return source(self)

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return all of it, as one."""
        extent = boundary(self.label, self.covers, hosts, self.component)
        part = f"/{self.component}" if self.component else ""
        devices = frozenset(name + part for name in names(self.label, self.covers, hosts))
        outlet = extent.outlet("covers", quantity=self.counts)
        return (replace(outlet, source=self.source, devices=devices),)

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream its readings.

        A first read that fails stops at once; later failures are gaps, with a doubt.
        """
        extent = boundary(self.label, self.covers, hosts, self.component)
        with ExitStack() as stack:
            poll = _Poll(self.label, lambda: self.connect(extent), sink, stack)
            doubts = stack.enter_context(sampling(self.label, self.rate_hz, poll.sample))
            yield doubts
        doubts.extend((*poll.doubts(), *self.overdue(), *self.caveats()))


def source(meter: Metered, *parts: str) -> tuple[str, ...]:
    """Return the kind of a meter and the options that choose what it reads; `parts` are those that choose
    among what an instrument has, and are left out.
    """
    beside = {*(field.name for field in fields(Metered)), *HOW, *parts}
    chosen = ((field.name, getattr(meter, field.name), field.default) for field in fields(meter))
    kind = type(meter).__module__.rpartition(".")[2]
    differing = (value for name, value, usual in chosen if name not in beside and value != usual)
    # fields of pydantic don't tell their default here: what is not set chooses nothing
    return (kind, *(str(value) for value in differing if value is not None and value not in ({}, (), "")))


def answer(label: str, ask: Callable[[], Iterable[MeterReading]]) -> Check:
    """Return whether a meter answers, within `ASKED_S`, and with a power that can be one."""
    checks: list[Check] = []

    def within() -> None:
        try:
            checks.append(_judged(label, ask()))
        except PerjouleError as error:
            checks.append(_silent(label, error.what, error.next or ""))
        except Exception as error:  # a library's own, too: it would end a thread, and be lost
            checks.append(_silent(label, _words(error)))

    thread = threading.Thread(target=within, name=f"asking {label}", daemon=True)
    thread.start()
    thread.join(ASKED_S)
    return checks[0] if checks else _silent(label, f"no answer within {ASKED_S:g} s")


def _judged(label: str, readings: Iterable[MeterReading]) -> Check:
    finite = [reading for reading in readings if math.isfinite(reading.value)]
    for reading in finite:
        if reading.channel.quantity == "power" and reading.value < 0:
            return _silent(
                label,
                f"it shows {number(reading.value)} W",
                "turn its clamp or its wires: power flows one way",
            )
    detail = ", ".join(f"{number(reading.value)} {reading.channel.unit}" for reading in finite[:3])
    return Check(
        f"answer of meter {label}", ok=True, detail=detail or "it answers, with no number at this moment"
    )


def _silent(label: str, detail: str, fix: str = "") -> Check:
    advice = fix or "check that it is connected and that its [[meter]] table is correct"
    return Check(f"answer of meter {label}", ok=False, detail=detail, fix=advice)


class _Poll:
    """One meter's connection, kept while it works and renewed when it breaks."""

    def __init__(
        self, label: str, connect: Callable[[], AbstractContextManager[Read]], sink: Sink, stack: ExitStack
    ) -> None:
        self._label, self._connect, self._sink = label, connect, sink
        self._connection = stack.enter_context(ExitStack())
        self._read: Read | None = None
        self._channels: dict[Channel, None] = {}
        self._asked_count = 0
        self._failures: list[str] = []

    def sample(self) -> None:
        """Poll once. Raises PerjouleError if the very first poll fails: nothing would be measured."""
        self._asked_count += 1
        began_s = time.monotonic()
        try:
            if self._read is None:
                self._read = self._connection.enter_context(self._connect())
            readings = list(self._read())
            _timely(readings)
        except (PerjouleError, OSError, ValueError) as error:
            message = _words(error)
            if self._asked_count == 1:
                if isinstance(error, PerjouleError):
                    raise
                place, advice = (
                    f"meter {self._label}",
                    "check that it is connected and that its [[meter]] table is correct",
                )
                raise MachineError(f"it can't be read: {message}", where=place, next=advice) from error
            self._failures.append(message)
            with suppress(PerjouleError, OSError):  # what is broken may not even close
                self._connection.close()
            self._read = None
            readings = [MeterReading(channel, math.nan) for channel in self._channels]
        ended_s = time.monotonic()
        for reading in readings:
            self._channels[reading.channel] = None
            self._sink.append(reading.channel, *_timed(reading, began_s, ended_s))

    def doubts(self) -> list[Doubt]:
        """Say how often polls failed, and why, or that none brought anything."""
        if not self._failures:
            return [] if self._channels else [METERS.silent(meter=self._label)]
        counts, error = (
            {"count": len(self._failures), "all_count": self._asked_count},
            str(self._failures[-1]),
        )
        return [METERS.reads_failed(meter=self._label, error=error, **counts)]


def _timely(readings: Iterable[MeterReading]) -> None:
    """Check that no sample comes from the future. Raises ValueError."""
    ahead_s = max((r.t_s - time.monotonic() for r in readings if r.dated and r.t_s is not None), default=0.0)
    if ahead_s > MOST_AHEAD_S:
        digits = ".1f" if ahead_s < 10 else ".0f"
        raise ValueError(
            f"its clock is at least {ahead_s:{digits}} s ahead: samples are dated after their arrival "
            "(check its clock and zone)"
        )


def _timed(reading: MeterReading, began_s: float, ended_s: float) -> tuple[float, float, float, float, float]:
    """Return a reading's time, value, length, and times of request and answer, for a request from
    `began_s` to `ended_s`.
    """
    asked_s = began_s if reading.asked_s is None else reading.asked_s
    arrived_s = ended_s if reading.arrived_s is None else reading.arrived_s
    if reading.t_s is None:
        t_s = (asked_s + arrived_s) / 2
    else:  # what our clock dates is known to be of that moment
        t_s = reading.t_s
        asked_s, arrived_s = (math.nan, arrived_s) if reading.dated else (t_s, t_s)
    return t_s, reading.value, reading.duration_s, asked_s, arrived_s


def _words(error: Exception) -> str:
    """Return an error in one line, without a number that only the kernel knows."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    message = withheld(" ".join(text.split())) or type(error).__name__
    return message if len(message) <= MOST_WORDS else f"{message[:MOST_WORDS]} ..."
