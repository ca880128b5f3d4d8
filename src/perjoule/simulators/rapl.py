"""A powercap folder of a machine with one CPU: its package, cores and memory, with counters that wrap and
reset.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators import _sysfs
from perjoule.simulators._behaviour import Behaviour, Fault, Truth

FAULTS: tuple[Fault, ...] = ("duplicate", "missing", "frozen", "nan", "wrap", "reset", "disconnect")
RANGE_J = 262143.328850  # of a counter of 2**32 steps of 61 uJ, as most show it
# of the power: package, core, dram
SHARES = {"intel-rapl:0": 1.0, "intel-rapl:0:0": 0.6, "intel-rapl:0:1": 0.1}
NAMES = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram"}


@contextmanager
def serve(behaviour: Behaviour, *, address: str = "", port: int = 0) -> Generator[Mapping[str, Json]]:
    """Show the folder during the block; address and port are ignored."""
    range_j = min(RANGE_J, behaviour.range_j)
    fixed = {f"{zone}/name": f"{name}\n" for zone, name in NAMES.items()}
    fixed |= {f"{zone}/max_energy_range_uj": _sysfs.micro(range_j * share) for zone, share in SHARES.items()}

    def values(truth: Truth) -> dict[str, str]:
        return {
            f"{zone}/energy_uj": _sysfs.micro(truth.energy_j % range_j * share)
            for zone, share in SHARES.items()
        }

    with _sysfs.tree(behaviour, fixed, values) as root:
        yield {"kind": "rapl", "root": str(root)}
