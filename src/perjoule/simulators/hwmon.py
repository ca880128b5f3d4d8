"""A hwmon folder with an INA226 and an ACPI power meter on a machine with arbitrary numbering."""

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators import _sysfs
from perjoule.simulators._behaviour import Behaviour, Fault, Truth

FAULTS: tuple[Fault, ...] = (
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "spike",
    "disconnect",
    "reversed",
    "zero",
    "unknown",
)
UNKNOWN = f"{0xFFFFFFFF * 1000}\n"  # what ACPI meters show instead of a power that they don't know
FIXED = {
    "hwmon0/name": "coretemp\n",
    "hwmon0/temp1_input": "42000\n",
    "hwmon3/name": "ina226\n",
    "hwmon3/shunt_resistor": "10000\n",
    "hwmon3/update_interval": "4\n",
    "hwmon5/name": "power_meter\n",
    "hwmon5/power1_accuracy": "95.0%\n",
    "hwmon5/power1_average_interval": "1000\n",
}


@contextmanager
def serve(behaviour: Behaviour, *, address: str = "", port: int = 0) -> Generator[Mapping[str, Json]]:
    """Show the folder during the block; address and port are ignored."""

    def values(truth: Truth) -> dict[str, str]:
        power = UNKNOWN if math.isnan(truth.power_w) else _sysfs.micro(truth.power_w)
        return {"hwmon3/power1_input": power, "hwmon5/power1_average": power}

    with _sysfs.tree(behaviour, FIXED, values) as root:
        yield {"kind": "hwmon", "root": str(root), "chip": "ina226", "shunt_correction": 1.0}
