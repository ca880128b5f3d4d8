"""Shelly plugs and meters over HTTP: https://shelly-api-docs.shelly.cloud/

Gen1 counts watt-minutes (its EM and 3EM watt-hours), Gen2 and later watt-hours. Power is instantaneous. The counter steps once a
minute, so the power is better for a window of a few minutes.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._http import Http
from perjoule.meters._metered import Read, Reading
from perjoule.meters._plug import JOULES_PER_WH, Plug, number, table
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import PerjouleError

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
# Gen2: component -> name of its power, component of its counter, name of the counter.
COMPONENTS = {
    "switch": ("apower", "switch", "aenergy"),
    "pm1": ("apower", "pm1", "aenergy"),
    "cover": ("apower", "cover", "aenergy"),
    "em1": ("act_power", "em1data", "total_act_energy"),
    "em": ("total_act_power", "emdata", "total_act"),
}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Shelly(Plug):
    """A plug, relay or meter by Shelly, Gen1 to Gen4, at the wall."""

    output: int = 0
    """Which of its outputs or inputs, from 0."""

    @contextmanager
    def connect(self, where: Boundary) -> Generator[Read]:
        """Find its generation, then poll its status. Raises OSError, MachineError, ValueError (no such output)."""
        plug = Http(self.address, timeout_s=self.timeout_s, user=self.user, password=self.password)
        generation = 2 if number(plug.json("/shelly").get("gen", 1)) >= 2 else 1
        power = self.power(where, resolution_w=POWER_STEP_W[generation])
        energy = self.energy(where, resolution_j=ENERGY_STEP_J[generation], period_s=STEP_S)

        def read() -> list[Reading]:
            if generation == 1:
                power_w, energy_j = gen1(plug.json("/status"), self.output)
            else:
                power_w, energy_j = gen2(plug.json("/rpc/Shelly.GetStatus"), self.output)
            return [Reading(power, power_w), Reading(energy, energy_j)]

        yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find devices that answer /shelly like a Shelly."""
        return tuple({"kind": "shelly", "address": address} for address in addresses if _is_shelly(address))

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()


def _is_shelly(address: str) -> bool:
    try:
        said = Http(address, timeout_s=1.0).json("/shelly")
    except (PerjouleError, OSError, ValueError):
        return False
    return "mac" in said and not {"type", "gen"}.isdisjoint(said)


def gen1(status: Mapping[str, Any], output: int) -> tuple[float, float]:
    """Parse watts and joules of an output in a Gen1's /status; NaN if it marks them invalid. Raises ValueError."""
    for name, joules in (("emeters", JOULES_PER_WH), ("meters", JOULES_PER_WMIN)):
        found: Any = status.get(name)
        if isinstance(found, list) and output < len(found):  # pyright: ignore[reportUnknownArgumentType]
            meter = table(found[output])
            valid = meter.get("is_valid", True)
            return (number(meter.get("power")), number(meter.get("total")) * joules) if valid else (math.nan, math.nan)
    raise ValueError(f"this Shelly has no meter {output}")


def gen2(status: Mapping[str, Any], output: int) -> tuple[float, float]:
    """Parse watts and joules of a component of a Gen2's Shelly.GetStatus; NaN for null. Raises ValueError."""
    for component, (power, counter, total) in COMPONENTS.items():
        found = table(status.get(f"{component}:{output}"))
        if power in found:
            counted = table(status.get(f"{counter}:{output}")).get(total)
            counted_wh = table(counted).get("total") if total == "aenergy" else counted
            return number(found[power]), number(counted_wh) * JOULES_PER_WH
    raise ValueError(f"this Shelly has no power meter at output {output}")
