"""The counters of HPE's Cray nodes (XC, EX), below /sys/cray/pm_counters:
https://cray-hpe.github.io/docs-csm/en-15/operations/power_management/user_access_to_compute_node_power_data

The node's controller measures, about ten times a second (`raw_scan_hz`); everyone may read. A file is one line, such
as "873 W 1734094386462336 us": whole watts or joules, and, in newer systems, when they were new by the controller's
clock, which nobody compared with ours and which is not used. `freshness` counts the scans: values are of one moment
if it is the same before and after them. `startup` changes once the counters begin anew, `generation` with a power
cap.

The node's energy includes its processors, memory and accelerators, which are counted apart as components: they are
never added to it, or to each other. Their sum may exceed it, on real nodes by a tenth
(https://github.com/ROCm/omnistat/pull/190): neither has a stated accuracy.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters import _sysfs
from perjoule.meters._scans import ScanFiles
from perjoule.meters._sensed import Sensed
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS, Grade, Json, Semantics, Specification
from perjoule.model.errors import MachineError
from perjoule.model.units import Hertz

EXAMPLE = """
[[meter]]
kind = "pm_counters"
on = ["servers"]
"""

ROOT = Path("/sys/cray")
FOLDER = "pm_counters"
SCANS_HZ = 10.0  # where raw_scan_hz is missing
# "energy", "accel3_power"; not "power_cap", "cpu_temp"
_COUNTER = re.compile(r"(?:((?:cpu|memory|accel)\d*)_)?(energy|power)")
_UNITS: Mapping[str, str] = {"energy": "J", "power": "W"}
_ABSENT = "nodes of HPE Cray XC and EX have it; choose another meter"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class PmCounters(Sensed):
    """The energy and power of a node and its parts, by its own controller."""

    patterns = ("energy", "power", "*_energy", "*_power", "raw_scan_hz", "freshness", "startup")
    finds_parts: ClassVar[bool] = False  # the whole node is always there
    of_machine = "the counters"

    covers: tuple[str, ...] = ("servers",)
    """The host that runs perjoule, if it is the node; `on` names others."""

    rate_hz: Hertz = 5.0
    """How often the counters are read, on average; what was read already is left out."""

    root: Path = ROOT
    """Where the kernel exposes the folder pm_counters."""

    def sensors(self, root: Path, extent: Boundary) -> Sequence[Sensor]:
        """Find the counters and powers of the node, and of those parts that it has.

        Raises MachineError: some that each node has are missing.
        """
        folder = root / FOLDER
        files = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
        if missing := sorted({"energy", "power", "freshness", "startup"} - files):
            raise MachineError(
                f"no {FOLDER}" if not files else f"no {', '.join(missing)}", where=str(folder), next=_ABSENT
            )
        scans_hz = _sysfs.number(folder / "raw_scan_hz") or SCANS_HZ
        matches = [match for name in sorted(files) if (match := _COUNTER.fullmatch(name))]
        absent = {match[1] for match in matches if match[1] and _is_absent(folder, match[1])}
        return [
            _sensor(folder, match[1] or "", match[2], extent, 1 / scans_hz)
            for match in matches
            if match[1] not in absent
        ]

    def scan_files(self, root: Path) -> ScanFiles:
        """Return the files that count the scans, and the controller's starts."""
        return ScanFiles(root / FOLDER / "freshness", root / FOLDER / "startup")

    def checks(self) -> tuple[Check, ...]:
        """Check for the counters, and permission to read them."""
        if self.on:  # on the hosts, when recording begins
            return ()
        energy = self.root / FOLDER / "energy"
        readable = os.access(energy, os.R_OK)
        detail = str(energy) if readable else f"{energy} can't be read"
        return (Check(FOLDER, ok=readable, detail=detail, fix="" if readable else _ABSENT),)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's counters."""
        return ({"kind": FOLDER},) if (ROOT / FOLDER / "energy").exists() else ()


def _is_absent(folder: Path, part: str) -> bool:
    """Return whether counter and power are zero, as those of an accelerator that a node does not have."""
    texts = [_sysfs.attribute(folder / f"{part}_{quantity}") for quantity in _UNITS]
    return {text.partition(" ")[0] for text in texts} <= {"0", ""}


def _sensor(folder: Path, part: str, quantity: str, extent: Boundary, period_s: float) -> Sensor:
    counts: Literal["energy", "power"] = "energy" if quantity == "energy" else "power"
    semantics: Semantics = "counter" if counts == "energy" else "instantaneous"
    grade: Grade = "component" if part else "BMC"
    specification = Specification(resolution=1.0, period_s=period_s)
    channel = extent.channel(counts, semantics, grade, specification, component=part)
    path = folder / (f"{part}_{counts}" if part else counts)
    return Sensor(channel, path, 1.0, unit=_UNITS[counts])
