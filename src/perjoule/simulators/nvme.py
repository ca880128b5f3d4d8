"""A host with one NVMe drive, and the program nvme that asks it: https://nvmexpress.org/specifications
(base, 2.3)
"""

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.machine import removal
from perjoule.model import Json
from perjoule.simulators import _sysfs
from perjoule.simulators._behaviour import Behaviour, Fault, Truth

FAULTS: tuple[Fault, ...] = ("duplicate", "missing", "frozen", "nan", "spike", "disconnect")
STEP_W, SCALE = 0.01, 2
HOURS_COUNT = 1000  # watt-hours before it was simulated
ERROR = 5  # percent
STATES_W = (25.0, 11.0, 0.05)  # the highest power of each of its states
LOW_POWER = 2  # the number of the last one
# Octal escapes, because sysfs holds text and a program's output is bytes.
_TOOL = r"""#!/bin/sh
case " $* " in
  *" --log-id=2 "*) said=smart ;;
  *" --log-id=0x25 "*) said=measurement ;;
  " id-ctrl "*) said=control ;;
  *) said=state ;;
esac
[ -r "{root}/${{2#/dev/}}/$said" ] || exit 1
printf "$(cat "{root}/${{2#/dev/}}/$said")"
"""


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "", port: int = 0, measures: bool = True, estimates: bool = False
) -> Generator[Mapping[str, Json]]:
    """Have the drive and the program during the block; address and port are ignored.

    A drive that does not `measures` shows its power state alone: the last one below the mean of the
    waveform's powers.
    """
    attributes = 4 if estimates else 0
    measurement = bytes([0, 0, attributes, 0]).ljust(56, b"\0") + bytes([ERROR]).ljust(8, b"\0")
    fixed = {
        "nvme0/transport": "pcie\n",
        "nvme0/model": "SIMULATED 960GB\n",
        "nvme0/control": _escaped(_control()),
    }
    if measures:
        fixed["nvme0/measurement"] = _escaped(measurement)
    middle_w = (behaviour.waveform.low_w + behaviour.waveform.high_w) / 2

    def values(truth: Truth) -> dict[str, str]:
        power = 0 if math.isnan(truth.power_w) or not measures else min(round(truth.power_w / STEP_W), 0xFFFF)
        hours = HOURS_COUNT + math.ceil(truth.true_energy_j / 3600) if measures else 0
        page = (
            bytes(232)
            + hours.to_bytes(8, "little")
            + (power | SCALE << 16 if power else 0).to_bytes(4, "little")
        )
        state = LOW_POWER if truth.power_w < middle_w else 0
        # as nvme-cli 2.3 prints it: "%#0*x" has no 0x before a zero
        text = (
            f"get-feature:0x02 (Power Management), Current value:{f'{state:#010x}' if state else '0' * 8}\n"
        )
        return {"nvme0/smart": _escaped(page.ljust(512, b"\0")), "nvme0/state": text.replace("\n", r"\n")}

    with _sysfs.tree(behaviour, fixed, values) as root, removal.scratch("perjoule-meter-") as folder:
        path = folder / "nvme"
        path.write_text(_TOOL.format(root=root))
        path.chmod(0o755)
        folder.chmod(0o755)
        yield {"kind": "nvme", "tool": str(path), "root": str(root)}


def _control() -> bytes:
    page = bytearray(4096)
    page[263] = len(STATES_W) - 1
    for state, most_w in enumerate(STATES_W):
        fine = most_w < 1  # in tenths of milliwatts
        begin = 2048 + 32 * state
        page[begin : begin + 2] = round(most_w / (1e-4 if fine else 1e-2)).to_bytes(2, "little")
        page[begin + 3] = fine
    return bytes(page)


def _escaped(block: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in block)
