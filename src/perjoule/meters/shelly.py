"""Shelly plugs and meters over HTTP: https://shelly-api-docs.shelly.cloud/

Gen1 counts watt-minutes (its EM and 3EM watt-hours), Gen2 and later watt-hours. Power is instantaneous. The
counter steps once a minute, so the power is better for a window of a few minutes.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._http import Http, recognised
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._plug import JOULES_PER_WH, Plug, number, phases_sum, table
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import MachineError

EXAMPLE = """
[[meter]]
kind = "shelly"
address = "192.0.2.20"
covers = ["storage-1"]
"""

STEP_S = 60.0  # both generations bring their counters up to date with the minute
JOULES_PER_WMIN = 60.0
POWER_STEP_W = {1: 0.01, 2: 0.1}
ENERGY_STEP_J = {1: JOULES_PER_WMIN, 2: 0.001 * JOULES_PER_WH}
EM_CHANNELS = {"SHEM": 2, "SHEM-3": 3}  # Gen1 with clamps: inputs
# Gen1 without a meter, whose /status has one of 0 W, or of a power that somebody typed in.
UNMETERED = frozenset({"SHSW-1", "SHSW-L", "SHUNI-1", "SHIX3-1"})
PHASES = ("a_act_power", "b_act_power", "c_act_power")
# Gen2: component -> name of its power, component of its counter, name of the counter.
COMPONENTS = {
    **{
        name: ("apower", name, "aenergy")
        for name in ("switch", "pm1", "cover", "light", "rgb", "rgbw", "cct", "rgbcct")
    },
    "em1": ("act_power", "em1data", "total_act_energy"),
    "em": ("total_act_power", "emdata", "total_act"),
}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Shelly(Plug):
    """A plug, relay or meter by Shelly, Gen1 to Gen4, at the wall."""

    # https://shelly-api-docs.shelly.cloud/gen2/General/mDNS: Gen1 announces the first alone
    announced: ClassVar[tuple[str, ...]] = ("_http._tcp", "_shelly._tcp")

    output: int | None = Field(default=None, ge=0)
    """Which of its outputs or inputs, from 0; without it all phases of a meter of three, else the first
    one.
    """

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Find its generation, then poll its status.

        Raises OSError, MachineError, ValueError (no such output).
        """
        plug = Http(self.address, timeout_s=self.timeout_s, user=self.user, password=self.password)
        identity = plug.json("/shelly")
        generation = _generation(identity)
        if generation == 1 and _meterless(identity):
            advice = "use one with PM in its name, or a plug"
            raise MachineError(
                f"a Shelly of type {identity.get('type')} has no power meter", where=self.address, next=advice
            )
        power = self.power(extent, resolution_w=POWER_STEP_W[generation])
        energy = self.energy(extent, resolution_j=ENERGY_STEP_J[generation], period_s=STEP_S)

        def read() -> list[MeterReading]:
            if generation == 1:
                power_w, energy_j = gen1(plug.json("/status"), self.output)
            else:
                power_w, energy_j = gen2(plug.json("/rpc/Shelly.GetStatus"), self.output)
            return [MeterReading(power, power_w), MeterReading(energy, energy_j)]

        yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find devices that answer /shelly like a Shelly."""
        return tuple(
            {"kind": "shelly", "address": address} for address in addresses if recognised(address, _is_shelly)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()


def _is_shelly(plug: Http) -> bool:
    identity = plug.json("/shelly")
    return "mac" in identity and not {"type", "gen"}.isdisjoint(identity)


def _generation(identity: Mapping[str, Any]) -> int:
    generation = identity.get("gen", 1)
    return 2 if isinstance(generation, int) and not isinstance(generation, bool) and generation >= 2 else 1


def _meterless(identity: Mapping[str, Any]) -> bool:
    """Return whether a Gen1 has no meter, whatever its /status shows."""
    kind = identity.get("type")
    clamps = kind in EM_CHANNELS or bool(identity.get("num_emeters"))
    return not clamps and (identity.get("num_meters") == 0 or kind in UNMETERED)


def gen1(status: Mapping[str, Any], output: int | None) -> tuple[float, float]:
    """Parse watts and joules of an output, or all phases of a 3EM, in a Gen1's /status; NaN if it marks them
    invalid.

    Raises:
        ValueError: it has no such output, or a phase is negative.
    """
    for name, joules in (("emeters", JOULES_PER_WH), ("meters", JOULES_PER_WMIN)):
        entries: Any = status.get(name)
        meters = [table(meter) for meter in entries] if isinstance(entries, list) else []  # pyright: ignore[reportUnknownVariableType]
        if output is None and name == "emeters" and len(meters) == EM_CHANNELS["SHEM-3"]:
            watts, counted = zip(*(_valid(meter, joules) for meter in meters), strict=True)
            return phases_sum(watts), math.fsum(counted)
        if (output or 0) < len(meters):
            return _valid(meters[output or 0], joules)
    raise ValueError(f"this Shelly has no meter {output or 0}")


def _valid(meter: Mapping[str, Any], joules: float) -> tuple[float, float]:
    """Return the watts and joules of a Gen1's meter; NaN if it marks them invalid."""
    valid = meter.get("is_valid", True)
    return (
        (number(meter.get("power")), number(meter.get("total")) * joules) if valid else (math.nan, math.nan)
    )


def gen2(status: Mapping[str, Any], output: int | None) -> tuple[float, float]:
    """Parse watts and joules of a component of a Gen2's Shelly.GetStatus; NaN for null.

    Raises:
        ValueError: it has no such component, or a phase is negative.
    """
    # a 3EM whose profile is "monophase" calls each phase a meter
    if output is None and all(f"em1:{phase}" in status for phase in range(len(PHASES))):
        watts, counted_j = zip(*(gen2(status, phase) for phase in range(len(PHASES))), strict=True)
        return phases_sum(watts), math.fsum(counted_j)
    place = output or 0
    for component, (power, counter, total) in COMPONENTS.items():
        readings = table(status.get(f"{component}:{place}"))
        if power in readings:
            counted = table(status.get(f"{counter}:{place}")).get(total)
            counted_wh = table(counted).get("total") if total == "aenergy" else counted
            if component == "em" and all(phase in readings for phase in PHASES):
                phases_sum([number(readings[phase]) for phase in PHASES])
            return number(readings[power]), number(counted_wh) * JOULES_PER_WH
    raise ValueError(f"this Shelly has no power meter at output {place}")
