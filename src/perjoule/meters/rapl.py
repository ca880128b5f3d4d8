"""Energy counters inside the CPU (Intel, AMD): https://docs.kernel.org/power/powercap/powercap.html

They cover the CPU, at most its memory: never a disk, a board or a supply. Zones overlap ("core" lies in
"package", "package" and "dram" in "psys"), so they are separate channels of grade "component", which are
never added.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters import _sysfs
from perjoule.meters._sensed import Sensed
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS, Channel, Json, Specification
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import Hertz, Watts

EXAMPLE = """
[[meter]]
kind = "rapl"
covers = ["servers", "clients"]
rate = "5 Hz"
"""

ROOT = Path("/sys/class/powercap")
_ZONE = re.compile(r"(intel-rapl(?:-mmio|-tpmi)?):(\d+)(?::\d+)?")  # AMD's are called so, too
# of the counter; the range shown is its highest value (linux/drivers/powercap/intel_rapl_common.c)
_REGISTER_STEPS = 2**32
# Intel 64 and IA-32 manual, volume 3B, "RAPL interfaces": the counters are updated about every millisecond
_UPDATE_S = 1e-3
_POLL_RATIO = 0.4  # of the time in which a counter can wrap: asked more seldom, a wrap could pass unseen


@plain_dataclass(frozen=True)
class Zone:
    """One counter."""

    component: str  # "package-0", "dram-0", "psys"
    energy: Path
    range_j: float


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Rapl(Sensed):
    """The CPU's own energy counters, on the machine that runs perjoule or on the hosts."""

    patterns = ("name", "max_energy_range_uj", "energy_uj")
    of_machine = "the CPU"

    covers: tuple[str, ...] = ("servers", "clients")
    """The hosts whose work this machine's CPU does; on virtual hosts, all of them."""

    rate_hz: Hertz = 5.0
    """How often the counters are read, on average."""

    root: Path = ROOT
    """Where the kernel exposes the zones."""

    zones: tuple[str, ...] = ()
    """Only these ("package-0", "dram-0", "psys"); all by default."""

    most_w: Watts = 1000.0
    """A power that no zone ever exceeds: it distinguishes a wrapped counter from a reset one, and sets the
    polling rate
    needed."""

    def sensors(self, root: Path, extent: Boundary) -> Sequence[Sensor]:
        """Find the zones and their ranges.

        Raises:
            MachineError: there are none, or a range can't be read.
            CampaignError: it is polled so seldom that a counter could wrap unseen, or a zone does not exist.
        """
        read_zones = zones(root)
        if strange := set(self.zones) - {zone.component for zone in read_zones}:
            listed = ", ".join(zone.component for zone in read_zones) or "none"
            raise CampaignError(
                f"no such zone: {', '.join(sorted(strange))}", where=str(root), next=f"known: {listed}"
            )
        read_zones = [zone for zone in read_zones if not self.zones or zone.component in self.zones]
        if not read_zones:
            raise MachineError("no RAPL zone", where=str(root), next=_ABSENT)
        shortest_s = min(zone.range_j for zone in read_zones) / self.most_w
        if 1 / self.rate_hz > _POLL_RATIO * shortest_s:
            enough = f"set rate to at least {1 / (_POLL_RATIO * shortest_s):.2g} Hz"
            raise CampaignError(
                f"a counter may wrap within {shortest_s:.3g} s", where=f"meter {self.label}", next=enough
            )
        return [Sensor(_channel(zone, extent, self.most_w), zone.energy, 1e-6) for zone in read_zones]

    def checks(self) -> tuple[Check, ...]:
        """Check for zones, and permission to read them."""
        if self.on:  # on the hosts, when recording begins
            return ()
        files = [folder / "energy_uj" for folder in _folders(self.root)]
        if not files:
            return (Check("RAPL", ok=False, detail=f"no zone in {self.root}", fix=_ABSENT),)
        locked = [file for file in files if not os.access(file, os.R_OK)]
        # Root alone may read them since 5.10: their changes betray what other programs compute
        # (CVE-2020-8694).
        fix = f"sudo chmod a+r {' '.join(map(str, locked))}" if locked else ""
        detail = f"{len(files)} counters" + (
            f", {len(locked)} of them readable by root only (Linux >= 5.10)" if locked else ""
        )
        return (Check("RAPL", ok=not locked, detail=detail, fix=fix),)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's CPU, if it has counters."""
        return ({"kind": "rapl"},) if _folders(ROOT) else ()


_ABSENT = "sudo modprobe intel_rapl_msr (Intel since Sandy Bridge, AMD since Zen; virtual machines have none)"


def zones(root: Path) -> list[Zone]:
    """List the zones below a powercap folder, each once.

    Raises:
        MachineError: a zone has no readable range, so the value at which its counter wraps is unknown.
    """
    zones_by_component: dict[str, Zone] = {}
    for folder in _folders(root):
        range_uj = _sysfs.positive(folder / "max_energy_range_uj", name="the range of the counter")
        zone = Zone(_component(folder), folder / "energy_uj", range_uj * 1e-6)
        zones_by_component.setdefault(
            zone.component, zone
        )  # "intel-rapl-mmio" shows the same package a second time
    return list(zones_by_component.values())


def _folders(root: Path) -> list[Path]:
    inside = sorted(root.glob("*"), key=lambda folder: folder.name.partition(":")) if root.is_dir() else []
    return [folder for folder in inside if _ZONE.fullmatch(folder.name) and (folder / "energy_uj").exists()]


def _component(folder: Path) -> str:
    """Return a zone's name: "package-0" and "psys" as in the kernel, those inside a package with its
    number ("dram-0").
    """
    name, match = _sysfs.attribute(folder / "name") or folder.name, _ZONE.fullmatch(folder.name)
    if match is None or folder.name.count(":") == 1:
        return name
    above = _sysfs.attribute(folder.parent / f"{match[1]}:{match[2]}" / "name")
    return name + above.removeprefix("package") if above.startswith("package") else f"{above}-{name}"


def _channel(zone: Zone, extent: Boundary, most_w: float) -> Channel:
    return extent.channel(
        "energy", "counter", "component", _specification(zone, most_w), component=zone.component
    )


def _specification(zone: Zone, most_w: float) -> Specification:
    # Intel and AMD state no accuracy: gain and offset stay unknown.
    resolution_j = zone.range_j / (_REGISTER_STEPS - 1)
    return Specification(
        resolution=resolution_j, period_s=_UPDATE_S, range_value=zone.range_j + resolution_j, most_w=most_w
    )
