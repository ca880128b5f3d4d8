"""Plugs with the Tasmota firmware, over HTTP or MQTT: https://tasmota.github.io/docs/Commands/

EnergyRes sets the decimals of its counter in kWh, WattRes those of its power in watts: by default 1 Wh (3.6
kJ) and 1 W, at best 36 J and 1 mW. Both are read at the start of the recording; set `EnergyRes 5` and
`WattRes 3` on the plug.
"""

import contextlib
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any, ClassVar, cast
from urllib.parse import quote, urlencode

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._http import Http, recognised
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._plug import JOULES_PER_KWH, Plug, number, phases_sum, table
from perjoule.meters.tasmota.mqtt import MqttAnswer, library, listening
from perjoule.model import OPTIONS, Json, PassedOnAs
from perjoule.model.errors import MachineError

EXAMPLE = """
[[meter]]
kind = "tasmota"
address = "192.0.2.30"        # or the MQTT broker's, with topic = "tasmota_1A2B3C"
covers = ["storage-1"]
"""

_ADDRESS = (
    'The plug\'s host name or IP address; with a topic that of the MQTT broker; with ":port" where it is '
    "not the usual one."
)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Tasmota(Plug):
    """A plug with Tasmota at the wall: its instantaneous power, and its energy counter."""

    # after `SetOption55 1`: https://tasmota.github.io/docs/Commands/
    announced: ClassVar[tuple[str, ...]] = ("_http._tcp",)

    address: Annotated[str, Field(description=_ADDRESS)]

    topic: Annotated[str, PassedOnAs(r"^[^#+]*$")] = ""
    """The plug's topic at an MQTT broker (%topic% of cmnd/%topic%/STATUS); empty: HTTP, to the plug
    itself.
    """

    ask: bool = True
    """Over MQTT: request each reading; false: listen to its periodic messages, each TelePeriod (300 s by
    default).
    """

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Read its resolutions, then poll its readings. Raises OSError, ValueError, MachineError."""
        with self._asking() as ask:
            steps = {}
            if self.ask:
                steps = {
                    command: decimals_step(ask(command)[-1].content, command)
                    for command in ("WattRes", "EnergyRes")
                }
            energy_step = steps.get("EnergyRes")
            power = self.power(extent, resolution_w=steps.get("WattRes"))
            energy = self.energy(extent, resolution_j=energy_step and energy_step * JOULES_PER_KWH)

            def read() -> list[MeterReading]:
                meter_readings: list[MeterReading] = []
                for answer in ask("Status 10"):
                    power_w, energy_j = readings(answer.content)
                    meter_readings += [
                        MeterReading(power, power_w, answer.t_s),
                        MeterReading(energy, energy_j, answer.t_s),
                    ]
                return meter_readings

            yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find Tasmotas with an energy meter that answer over HTTP; brokers are not searched."""
        return tuple(
            {"kind": "tasmota", "address": address}
            for address in addresses
            if recognised(address, _is_tasmota)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check for paho-mqtt, if MQTT is used."""
        return (library(),) if self.topic else ()

    def _asking(self) -> AbstractContextManager[Callable[[str], Sequence[MqttAnswer]]]:
        password = self.password
        if self.topic:
            return listening(
                self.address,
                self.topic,
                timeout_s=self.timeout_s,
                user=self.user,
                password=password,
                ask=self.ask,
            )
        plug = Http(self.address, timeout_s=self.timeout_s)
        login = {"user": self.user, "password": password} if password else {}

        def ask(command: str) -> Sequence[MqttAnswer]:
            answer = plug.json("/cm?" + urlencode({**login, "cmnd": command}, quote_via=quote))
            if "WARNING" in answer:
                advice = "set user and password_file of its web console in the [[meter]] table"
                raise MachineError("it rejects this user and password", where=self.address, next=advice)
            return [MqttAnswer(answer)]

        return contextlib.nullcontext(ask)


def _is_tasmota(plug: Http) -> bool:
    return bool(readings(plug.json("/cm?cmnd=Status%2010")))


def readings(answer: Mapping[str, Any]) -> tuple[float, float]:
    """Parse watts and joules in an answer to `Status 10`, or in a tele/%topic%/SENSOR message; NaN for null.

    A meter of several phases has a list of powers, whose sum is the total.

    Raises:
        ValueError: it has no energy meter.
    """
    energy = table(table(answer.get("StatusSNS", answer)).get("ENERGY"))
    if not {"Power", "Total"} <= energy.keys():
        raise ValueError("this Tasmota has no energy meter (no ENERGY in its answer to Status 10)")
    power, total = (_numbers(energy[name]) for name in ("Power", "Total"))
    return phases_sum(power) if len(power) > 1 else power[0], math.fsum(total) * JOULES_PER_KWH


def _numbers(answer: Any) -> list[float]:
    return [
        number(phase)
        for phase in cast("list[Any]", answer if isinstance(answer, list) and answer else [answer])
    ]


def decimals_step(answer: Mapping[str, Any], command: str) -> float | None:
    """Return the smallest step from an answer to WattRes or EnergyRes, in W or kWh; None if the firmware
    doesn't report it.
    """
    decimals = answer.get(command)
    return 10.0**-decimals if isinstance(decimals, int) and 0 <= decimals < 10 else None
