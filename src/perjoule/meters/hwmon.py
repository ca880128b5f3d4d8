"""Power sensors of the kernel (INA2xx, ACPI power meters): https://docs.kernel.org/hwmon/sysfs-interface.html

hwmonN is renumbered at each boot, so a sensor is identified by its chip's name and its device. An INA2xx computes watts from the
voltage over a shunt; if the fitted shunt is not the one that the kernel assumes, all watts are wrong by the same factor.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters import _sysfs
from perjoule.meters._metered import MOMENTS_HZ, RATE
from perjoule.meters._sensed import Sensed
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS, Channel, Grade, Json, Semantics, Specification
from perjoule.model.errors import MachineError
from perjoule.model.units import Hertz

EXAMPLE = """
[[meter]]
kind = "hwmon"
covers = ["storage-1"]
component = "board"
chip = "ina226"
device = "1-0040"
shunt_correction = 1.0
"""

ROOT = Path("/sys/class/hwmon")
ACPI = "power_meter"
INVALID_UW = 0xFFFFFFFF * 1000  # what ACPI means by "not known" in mW, shown as 4.29 MW
SEMANTICS: dict[str, Semantics] = {"energy": "counter", "average": "average", "input": "instantaneous"}


@plain_dataclass(frozen=True)
class Attribute:
    """One attribute of a chip."""

    folder: Path
    chip: str
    device: str  # "1-0040": where the chip sits, the same after each start
    name: str  # "power1_input"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Hwmon(Sensed):
    """A power sensor on a board, as the kernel shows it on this machine or on the hosts."""

    patterns = ("name", "power*", "energy*", "update_interval", "shunt_resistor")

    covers: tuple[str, ...] = ("servers",)
    """The hosts that it feeds."""

    root: Path = ROOT
    """Where the kernel exposes its sensors."""

    chip: str = ""
    """The chip's name ("ina226", "power_meter"); without it, the only chip with a power sensor."""

    device: str = ""
    """The chip's device ("1-0040"), to distinguish chips of one name."""

    sensor: int = Field(default=1, ge=1)
    """Which of the chip's sensors: 1 is power1 or energy1."""

    reading: Literal["", "energy", "average", "input"] = ""
    """The energy counter, the chip's own average, or the instantaneous power; by default the first of these that exists."""

    shunt_correction_ratio: float | None = Field(default=None, gt=0)
    """The resistance that the kernel assumes for the shunt over that of the fitted one; 1 states that you have checked."""

    rate_hz: Annotated[Hertz, Field(description=RATE)] = MOMENTS_HZ

    def sensors(self, root: Path, where: Boundary) -> Sequence[Sensor]:
        """Find the sensor. Raises MachineError unless exactly one matches."""
        attribute = self._attribute(root)
        channel = _channel(where, attribute)
        factor = 1e-6 * (self.shunt_correction_ratio or 1.0)
        unknown = INVALID_UW if channel.quantity == "power" else math.inf
        return [Sensor(channel, attribute.folder / attribute.name, factor, unknown)]

    def doubts_of(self, root: Path) -> Iterable[str]:
        """A doubt about a shunt that nobody has verified."""
        if self.shunt_correction_ratio is None:
            for sensor in attributes(root):
                if self._meant(sensor) and (shunt_uohm := _sysfs.number(sensor.folder / "shunt_resistor")):
                    yield (
                        f"{self.label}: correct only if the shunt of {sensor.chip} at {sensor.device} has the "
                        f"{shunt_uohm / 1e3:g} mOhm that the kernel assumes (check it, then set shunt_correction)"
                    )

    def checks(self) -> tuple[Check, ...]:
        """Check that the sensor exists."""
        if self.on:  # on the hosts, when recording begins
            return ()
        try:
            sensor = self._attribute(self.root)
        except MachineError as error:
            return (Check("power sensor", ok=False, detail=str(error), fix=error.next or "name another chip or device"),)
        return (Check("power sensor", ok=True, detail=f"{sensor.name} of {sensor.chip} at {sensor.device}"),)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find all chips of this machine with a power sensor, by name and device."""
        found = {(s.chip, s.device, s.name[len(_quantity(s)) :].partition("_")[0]): s for s in attributes(ROOT)}
        return tuple({"kind": "hwmon", "chip": chip, "device": device, "sensor": int(n)} for chip, device, n in found)

    def _meant(self, sensor: Attribute) -> bool:
        names = {f"power{self.sensor}_{self.reading}", f"{self.reading}{self.sensor}_input"}
        if not self.reading:
            names = {f"energy{self.sensor}_input", f"power{self.sensor}_average", f"power{self.sensor}_input"}
        return sensor.name in names and self.chip in ("", sensor.chip) and self.device in ("", sensor.device)

    def _attribute(self, root: Path) -> Attribute:
        there = attributes(root)
        meant = [sensor for sensor in there if self._meant(sensor)]
        if not meant:
            others = ", ".join(f"{s.name} of {s.chip} at {s.device}" for s in there) or "no power sensor"
            raise MachineError(f"no {self.chip or 'chip'} with sensor {self.sensor}", where=str(root), next=f"known: {others}")
        if len({sensor.folder for sensor in meant}) > 1:
            places = ", ".join(f'{s.chip} at "{s.device}"' for s in meant)
            raise MachineError(f"several sensors match: {places}", where=str(root), next="name chip and device")
        return meant[0]


def attributes(root: Path) -> list[Attribute]:
    """List the attributes of power and energy, the best of each sensor first."""
    found: list[Attribute] = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        chip, device = _sysfs.word(folder / "name"), (folder / "device").resolve().name
        for pattern in ("energy*_input", "power*_average", "power*_input"):
            found.extend(Attribute(folder, chip, device, path.name) for path in sorted(folder.glob(pattern)))
    return found


def _quantity(sensor: Attribute) -> Literal["energy", "power"]:
    return "energy" if sensor.name.startswith("energy") else "power"


def _channel(where: Boundary, sensor: Attribute) -> Channel:
    kind = "energy" if _quantity(sensor) == "energy" else sensor.name.partition("_")[2]
    grade: Grade = "BMC" if sensor.chip == ACPI else "component"
    return where.channel(_quantity(sensor), SEMANTICS[kind], grade, _specification(sensor))


def _specification(sensor: Attribute) -> Specification:
    """Return the specification that the chip's driver states, which never includes the tolerance of a shunt."""

    def number(name: str, factor: float) -> float | None:
        found = _sysfs.number(sensor.folder / name)
        return None if found is None else found * factor

    prefix = sensor.name.partition("_")[0]
    accuracy_ratio = number(f"{prefix}_accuracy", 0.01)
    return Specification(
        gain_ratio=None if accuracy_ratio is None else 1 - accuracy_ratio,
        period_s=number("update_interval", 1e-3),
        latency_s=number(f"{prefix}_average_interval", 1e-3),
        most_w=number(f"{prefix}_rated_max", 1e-6) if prefix.startswith("power") else None,
    )
