"""The same campaign on the fakes: same names, order and counts, and nothing real behind them."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

from perjoule import drivers
from perjoule.model import Json, Spec, Trial

METERS = (Spec("system", {"rate": "50 Hz"}, "system"), Spec("modelled", {"rate": "50 Hz"}, "modelled"))
CLUSTER = "odroid-hc4"


def simulated(groups: Sequence[Sequence[Trial]]) -> tuple[tuple[Trial, ...], ...]:
    """Put simulated drivers in the place of all others; each file system gets a speed of its own, known from its label."""
    return tuple(tuple(_simulated(trial) for trial in group) for group in groups)


def _simulated(trial: Trial) -> Trial:
    testbed: dict[str, Json] = {"cluster": trial.testbed.options.get("cluster", CLUSTER)}
    speed = 30 + zlib.crc32(trial.filesystem.label.encode()) % 60  # below the NIC of the cluster, so that nothing is doubted
    filesystem: dict[str, Json] = {"throughput": f"{speed} MiB/s", "noise": "3 %", "seed": trial.filesystem.label}
    workload: dict[str, Json] = {"operation": drivers.workload(trial.workload).directions[0], "size": "8 MiB"}
    return replace(
        trial,
        testbed=Spec("simulated", testbed, trial.testbed.label),
        filesystem=Spec("simulated", filesystem, trial.filesystem.label),
        workload=Spec("simulated", workload, trial.workload.label),
        meters=METERS,
    )
