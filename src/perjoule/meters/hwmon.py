"""Power sensors of the kernel (INA2xx, ACPI power meters): https://docs.kernel.org/hwmon/sysfs-interface.html

hwmonN is renumbered at each boot, so a sensor is identified by its chip's name and its device. An INA2xx
computes watts from the voltage over a shunt; if the fitted shunt is not the one that the kernel assumes, all
watts are wrong by the same factor.

A label says what a sensor measures, and is often a part of a processor: that is what its channel is of,
whatever host it feeds. Processors' counters (amd_energy) are read by socket. A battery's sensor shows what
charges it, and is never chosen. ACPI power meters have their label in power1_oem_info, and, with kernels that
register them the old way, all of it in hwmonN/device.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
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
from perjoule.model.doubts import METERS, Doubt
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
# power_supply's chips
BATTERY = re.compile(r"BAT\d*|CMB\d*|.*battery.*|ucsi_source_psy_.*|AC\d*|ADP\d*", re.IGNORECASE)
SOCKETS = dict.fromkeys(("amd_energy", "zenergy"), re.compile(r"Esocket(\d+)"))  # of cores and sockets
PARTS = {  # what chips measure that give it no label, or one that does not tell
    "fam15h_power": "processor",
    "amd_hsmp_hwmon": "processor",
    **dict.fromkeys(("amdgpu", "i915", "nouveau", "xe"), "gpu"),
}
# of several sensors of a chip, that of the machine: of POWER9 (ibmpowernv) the first is that of a processor
WHOLE = re.compile(r"(?:total )?system(?: power)?", re.IGNORECASE)
OPTICAL = re.compile(r"[RT]X_power")  # light of a transceiver
PROCESSOR = re.compile(
    r"\b(e?core\d*|e?socket\d+|cpu|gpu|ppt|sysio|soc|chip \d+|apss \d+|svi2_p_\w+|pkg|package|vdd\w*)\b",
    re.IGNORECASE,
)
SEMANTICS: dict[str, Semantics] = {"energy": "counter", "average": "average", "input": "instantaneous"}


@plain_dataclass(frozen=True)
class Attribute:
    """One attribute of a chip."""

    folder: Path
    chip: str
    device: str  # "1-0040": where the chip sits, the same after each start
    name: str  # "power1_input"
    label: str = ""  # "Esocket0", "CPU Power Socket 0"
    usual: int = 1  # the number of the chip's sensor that is read unless another is named

    @property
    def sensor(self) -> int:
        """Its number: 1 of power1_input."""
        return int("".join(filter(str.isdigit, self.name)))

    @property
    def text(self) -> str:
        """Name it for the user."""
        return f"{self.name} of {self.chip} at {self.device}" + (f' ("{self.label}")' if self.label else "")

    @property
    def socket(self) -> str:
        """The processor that it counts, as RAPL names it: "package-0"; "" if it is something else."""
        match = SOCKETS[self.chip].fullmatch(self.label) if self.chip in SOCKETS else None
        return f"package-{match[1]}" if match else ""

    @property
    def part(self) -> str:
        """The part of a processor that it measures, as its label has it; "" if it is something else, or
        that is not known.
        """
        if self.chip in PARTS and not self.label:
            return PARTS[self.chip]
        labelled = self.chip in SOCKETS or self.chip in PARTS or PROCESSOR.search(self.label)
        return self.socket or ("-".join(re.findall(r"[a-z0-9]+", self.label.lower())) if labelled else "")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Hwmon(Sensed):
    """A power sensor on a board, as the kernel shows it on this machine or on the hosts."""

    patterns = ("name", "power*", "energy*", "update_interval", "shunt_resistor")
    patterns += ("device/name", "device/power*", "device/type")

    covers: tuple[str, ...] = ("servers",)
    """The hosts that it feeds."""

    root: Path = ROOT
    """Where the kernel exposes its sensors."""

    chip: str = ""
    """The chip's name ("ina226", "power_meter"); without it, the only chip with a power sensor."""

    device: str = ""
    """The chip's device ("1-0040"), to distinguish chips of one name."""

    sensor: int | None = Field(default=None, ge=1)
    """Which of the chip's sensors, by number: 1 is power1 or energy1; without it and `sensor_label`, the one
    labelled "System", or 1, or each socket of amd_energy."""

    sensor_label: str = ""
    """Which of them, by the label that the chip's driver gives it: "Esocket0", "Module Power Socket 0"."""

    reading: Literal["", "energy", "average", "input"] = ""
    """The energy counter, the chip's own average, or the instantaneous power; by default the first of
    these that exists.
    """

    shunt_correction_ratio: float | None = Field(default=None, gt=0)
    """The resistance that the kernel assumes for the shunt over that of the fitted one; 1 states that you
    have checked.
    """

    rate_hz: Annotated[Hertz, Field(description=RATE)] = MOMENTS_HZ

    def sensors(self, root: Path, extent: Boundary) -> Sequence[Sensor]:
        """Find the sensor, or one for each socket. Raises MachineError unless exactly one chip matches."""
        factor = 1e-6 * (self.shunt_correction_ratio or 1.0)
        sensors: list[Sensor] = []
        for attribute in self._chosen(root):
            if self.component and attribute.part and self.component != attribute.part:
                fault = f'{attribute.text} measures "{attribute.part}", not "{self.component}"'
                raise MachineError(fault, where=str(root), next="remove component")
            channel = _channel(extent, attribute)
            unknown = INVALID_UW if channel.quantity == "power" else math.inf
            sensors.append(Sensor(channel, attribute.folder / attribute.name, factor, unknown))
        return sensors

    def doubts_of(self, root: Path) -> Iterable[Doubt]:
        """A doubt about a shunt that nobody has verified."""
        if self.shunt_correction_ratio is None:
            for sensor in attributes(root):
                if self._meant(sensor) and (shunt_uohm := _sysfs.number(sensor.folder / "shunt_resistor")):
                    at, shunt_ohm = sensor.device, shunt_uohm / 1e6
                    yield METERS.shunt(meter=self.label, chip=sensor.chip, device=at, shunt_ohm=shunt_ohm)

    def checks(self) -> tuple[Check, ...]:
        """Check that the sensor exists."""
        if self.on:  # on the hosts, when recording begins
            return ()
        try:
            matching = self._chosen(self.root)
        except MachineError as error:
            return (
                Check(
                    "power sensor",
                    ok=False,
                    detail=str(error),
                    fix=error.next or "name another chip or device",
                ),
            )
        return (Check("power sensor", ok=True, detail=", ".join(sensor.text for sensor in matching)),)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find all chips of this machine with a power sensor, by name and device."""
        by_place = {
            (s.chip, s.device, s.sensor): s for s in attributes(ROOT) if s.socket or s.chip not in SOCKETS
        }
        return tuple(
            {"kind": "hwmon", "chip": chip, "device": device, "sensor": n} for chip, device, n in by_place
        )

    def _meant(self, sensor: Attribute) -> bool:
        number = self.sensor or (sensor.sensor if self.sensor_label or sensor.socket else sensor.usual)
        names = {f"power{number}_{self.reading}", f"{self.reading}{number}_input"}
        if not self.reading:
            names = {f"energy{number}_input", f"power{number}_average", f"power{number}_input"}
        socket = sensor.socket or sensor.chip not in SOCKETS or bool(self.sensor or self.sensor_label)
        matches = (
            self.sensor_label in ("", sensor.label)
            and self.chip in ("", sensor.chip)
            and self.device in ("", sensor.device)
        )
        return bool(socket) and matches and sensor.name in names

    def _chosen(self, root: Path) -> list[Attribute]:
        """Return the attribute of the sensor that is meant, or one for each socket of a chip."""
        all_attributes = attributes(root)
        meant = [sensor for sensor in all_attributes if self._meant(sensor)]
        if not meant:
            listed = ", ".join(sensor.text for sensor in all_attributes) or "no power sensor"
            sensor_text = (
                f'label "{self.sensor_label}"' if self.sensor_label else f"sensor {self.sensor or 1}"
            )
            raise MachineError(
                f"no {self.chip or 'chip'} with {sensor_text}", where=str(root), next=f"known: {listed}"
            )
        if len({sensor.folder for sensor in meant}) > 1:
            places = ", ".join(
                f'{s.chip} at "{s.device}"' + (f' ("{s.label}")' if s.label else "") for s in meant
            )
            raise MachineError(
                f"several sensors match: {places}",
                where=str(root),
                next="name chip and device, or sensor_label",
            )
        best: dict[int, Attribute] = {}
        for sensor in meant:
            best.setdefault(sensor.sensor, sensor)
        return list(best.values()) if meant[0].socket else meant[:1]


def attributes(root: Path) -> list[Attribute]:
    """List the attributes of power and energy, the best of each sensor first; none of batteries, or of
    what charges them.
    """
    listed: list[Attribute] = []
    for chip_folder in sorted(root.iterdir()) if root.is_dir() else []:
        behind = chip_folder / "device"
        name, device = _sysfs.attribute(chip_folder / "name"), behind.resolve().name
        if BATTERY.fullmatch(name) or _sysfs.attribute(behind / "type") in (
            "Battery",
            "Mains",
            "USB",
            "UPS",
            "Wireless",
        ):
            continue
        for folder in (chip_folder, behind):
            chip = name or _sysfs.attribute(folder / "name")
            patterns = ("energy*_input", "power*_average", "power*_input")
            places = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
            sensors = [Attribute(folder, chip, device, path.name, _label(path)) for path in places]
            sensors = [sensor for sensor in sensors if not OPTICAL.fullmatch(sensor.label)]
            if sensors and _sysfs.number(folder / "power1_is_battery") != 1:
                listed.extend(replace(sensor, usual=_usual(sensor, sensors)) for sensor in sensors)
                break  # of kernels that show it in both places, the new one
    return listed


def _usual(sensor: Attribute, sensors: Sequence[Attribute]) -> int:
    """Return the number of the sensor of the machine, among those of the quantity of one; 1 if none is."""
    alike = (each for each in sensors if _quantity(each) == _quantity(sensor))
    return next((each.sensor for each in alike if WHOLE.fullmatch(each.label)), 1)


def _label(path: Path) -> str:
    """Return the label of a sensor, or the name that an ACPI meter's maker gives it."""
    of, folder = path.name.partition("_")[0], path.parent
    return _sysfs.attribute(folder / f"{of}_label") or _sysfs.attribute(folder / f"{of}_oem_info")


def _quantity(sensor: Attribute) -> Literal["energy", "power"]:
    return "energy" if sensor.name.startswith("energy") else "power"


def _channel(extent: Boundary, sensor: Attribute) -> Channel:
    kind = "energy" if _quantity(sensor) == "energy" else sensor.name.partition("_")[2]
    grade: Grade = "BMC" if sensor.chip == ACPI and not sensor.label else "component"
    return extent.channel(
        _quantity(sensor), SEMANTICS[kind], grade, _specification(sensor), component=sensor.part
    )


def _specification(sensor: Attribute) -> Specification:
    """Return the specification that the chip's driver states, which never includes the tolerance of a
    shunt.
    """

    def number(name: str, factor: float) -> float | None:
        value = _sysfs.number(sensor.folder / name)
        return None if value is None else value * factor

    prefix = sensor.name.partition("_")[0]
    accuracy_ratio = number(f"{prefix}_accuracy", 0.01)
    return Specification(
        gain_ratio=None if accuracy_ratio is None else 1 - accuracy_ratio,
        period_s=number("update_interval", 1e-3),
        latency_s=number(f"{prefix}_average_interval", 1e-3),
        most_w=number(f"{prefix}_rated_max", 1e-6) if prefix.startswith("power") else None,
    )
