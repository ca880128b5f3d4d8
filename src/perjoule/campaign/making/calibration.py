"""The campaign from which prediction learns: clients x calls in flight x direction, on servers of several
speeds.

CPUs, networks and disks are slowed in turn: each resource is then the bottleneck once, and its part in the
throughput shows.
"""

from collections.abc import Sequence

from perjoule import drivers
from perjoule.campaign.describe import example_text
from perjoule.drivers.protocols import FileSystem
from perjoule.model.errors import CampaignError

REPETITIONS_COUNT = 5
CLIENTS_COUNTS = (1, 2, 4)
IN_FLIGHT_COUNTS = (1,)
SCALE = 0.2

_HEAD = """\
name = "calibration"
description = "{kinds}: throughput and work by clients and by speed of CPUs, networks and disks, for predictions."
# Bands take 9 conditions of a direction that are left out in turn, by clients and by each speed: with far fewer they have no end.
clients = {clients}
repetitions = {repetitions}
seed = 16

[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = {scale:g}
disk = "xfs"
server_cpu = [1.0, 0.5]
server_network = [1.0, 0.5]
server_disk = [1.0, 0.25]

{filesystems}
[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "4 MiB"
size = "128 MiB"
in_flight = {in_flight}
"""


def written(
    kinds: Sequence[str],
    *,
    repetitions: int = REPETITIONS_COUNT,
    scale: float = SCALE,
    clients: Sequence[int] = CLIENTS_COUNTS,
    in_flight: Sequence[int] = IN_FLIGHT_COUNTS,
) -> str:
    """Write the campaign for these file systems, with the options of their documented examples.

    Raises:
        CampaignError: a file system does not exist, or offers no folders on servers.
    """
    calibrated = [kind for kind in drivers.usable("filesystems") if _calibrated(kind)]
    for kind in kinds:
        if kind not in calibrated:
            raise CampaignError(f'"{kind}" can\'t be calibrated', next=f"choose from {', '.join(calibrated)}")
    tables = "\n".join(example_text("filesystem", kind) + "\n" for kind in kinds)
    return _HEAD.format(
        kinds=", ".join(kinds),
        repetitions=repetitions,
        scale=scale,
        clients=list(clients),
        in_flight=list(in_flight),
        filesystems=tables,
    )


def _calibrated(kind: str) -> bool:
    driver = drivers.driver_class("filesystems", kind)
    return issubclass(driver, FileSystem) and driver.offers == "folders"
