"""The folder pm_counters of a Cray node with one accelerator of two places, updated in scans."""

import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import count

from perjoule.model import Json
from perjoule.simulators import _sysfs
from perjoule.simulators._behaviour import Behaviour, Fault, Truth

FAULTS: tuple[Fault, ...] = ("duplicate", "missing", "frozen", "nan", "spike", "reset", "disconnect")
SHARES = {"": 1.0, "cpu_": 0.25, "memory_": 0.125, "accel0_": 0.5}  # of the node's power
FOLDER = "pm_counters"
SCANS_HZ = 10


@contextmanager
def serve(behaviour: Behaviour, *, address: str = "", port: int = 0) -> Generator[Mapping[str, Json]]:
    """Show the folder during the block; address and port are ignored."""
    scans, last = count(1), Last()
    fixed = {
        f"{FOLDER}/{name}": f"{text}\n"
        for name, text in (("version", 2), ("generation", 1), ("raw_scan_hz", SCANS_HZ))
    }
    fixed |= {f"{FOLDER}/accel1_energy": "0 J\n", f"{FOLDER}/accel1_power": "0 W\n"}

    def values(truth: Truth) -> dict[str, str]:
        """Give the values of the last scan; `freshness` stands if the controller's do."""
        if last.texts and time.monotonic() - last.scanned_s < 1 / SCANS_HZ:
            return last.texts
        last.scanned_s = time.monotonic()
        texts = {
            f"{FOLDER}/{part}{name}": _line(value * share, unit, truth.clock_s)
            for part, share in SHARES.items()
            for name, value, unit in (("energy", truth.energy_j, "J"), ("power", truth.power_w, "W"))
        }
        if truth is not last.truth:
            last.scan = next(scans)
        if last.truth is not None and truth.energy_j < last.truth.energy_j:
            last.start += 1
        last.truth = truth
        last.texts = {
            f"{FOLDER}/startup": f"{last.start}\n",
            **texts,
            f"{FOLDER}/freshness": f"{last.scan}\n",
        }
        return last.texts

    with _sysfs.tree(behaviour, fixed, values) as root:
        yield {"kind": "pm_counters", "root": str(root)}


class Last:
    """The state of the controller after its last scan."""

    def __init__(self) -> None:
        self.truth: Truth | None = None
        self.scan, self.start = 0, 1
        self.texts: dict[str, str] = {}
        self.scanned_s = 0.0


def _line(value: float, unit: str, clock_s: float) -> str:
    """Return a file's line; "" if the controller has no value."""
    return "" if math.isnan(value) else f"{round(value)} {unit} {clock_s * 1e6:.0f} us\n"
